package modeltest_test

import (
	"strings"
	"testing"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/wire"
)

// The servers' caches count as the providers say: what was marked or is long
// enough is read again, and a change loses all that comes after it.
func TestServer_counts_what_its_cache_has(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t)
		s.Counts = true
		provider := a.dial(s, client(t))
		system := strings.Repeat("word", 2000)
		send := func(system string, msgs ...wire.Message) (u wire.Usage, prompt int) {
			t.Helper()
			s.Then(modeltest.Turn{Text: "ok"})
			m, err := provider.Stream(t.Context(), harness.Request{Model: a.model, System: system, Messages: msgs, Tools: specs}, func(harness.Delta) {})
			if err != nil {
				t.Fatal(err, s.Refusals())
			}
			return *m.Usage, m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheWrite
		}
		near := func(what string, got, want int) {
			t.Helper()
			if got > want || got < want-140 { // a step of a cache, and the roles
				t.Errorf("%s: %d tokens, want %d", what, got, want)
			}
		}
		one, first := send(system, user("one"))
		near("nothing is read at first", one.CacheRead, 0)
		two, second := send(system, user("one"), assistant(a, wire.TextPart(strings.Repeat("1234", 500))), user("two"))
		near("all of the first is read", two.CacheRead, first)
		again, _ := send(system, user("one"), assistant(a, wire.TextPart(strings.Repeat("1234", 500))), user("two"))
		near("all is read again", again.CacheRead, second)
		other, _ := send(system, user("another"))
		near("what came before is read", other.CacheRead, first)
		changed, _ := send("x"+system, user("one"))
		near("nothing is read of another", changed.CacheRead, 0)
		short, _ := send("", user("one"))
		near("what is short is not kept", short.CacheRead, 0)
		if again, _ := send("", user("one")); again.CacheRead+again.CacheWrite != 0 {
			t.Errorf("a short prompt was kept: %+v", again)
		}
	})
}
