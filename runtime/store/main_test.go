package store

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The laws are tried fewer times than is usual, since each try writes to the
// disk many times; -rapid.checks says how often.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "20"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(code) }))
}
