package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestOps_every_field_exists(t *testing.T) {
	request, answer := fieldNames(reflect.TypeFor[OpRequest]()), fieldNames(reflect.TypeFor[OpAnswer]())
	for _, op := range Ops {
		for _, f := range slices.Concat(op.Needs, op.Takes) {
			if !slices.Contains(request, f) {
				t.Errorf("%s: a request has no field %s", op.Name, f)
			}
		}
		for _, f := range op.Gives {
			if !slices.Contains(answer, f) {
				t.Errorf("%s: an answer has no field %s", op.Name, f)
			}
		}
		if op.Repeat == ReadBack && !slices.Contains(slices.Concat(op.Needs, op.Takes), "key") {
			t.Errorf("%s is read back and has no key", op.Name)
		}
	}
}

func TestOpRequest_check(t *testing.T) {
	on := true
	for say, r := range map[string]OpRequest{
		"": {Op: "post", Conversation: "C1", Text: "hi", Key: "1"},
		"unknown operation \"psot\" (did you mean post?)": {Op: "psot"},
		"post needs text": {Op: "post", Key: "1"},
		"react takes no text; it takes ts, emoji, remove": {Op: "react", TS: "1", Emoji: "eyes", Text: "x"},
		"typing needs on": {Op: "typing"},
	} {
		err := r.Check()
		if say == "" && err != nil || say != "" && (err == nil || !strings.Contains(err.Error(), say)) {
			t.Errorf("%+v: %v, want %q", r, err, say)
		}
	}
	if err := (OpRequest{Op: "typing", On: &on}).Check(); err != nil {
		t.Error(err)
	}
}
