package harness

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mikan/wire"
)

// The law of the lists: what is put behind a summary, whatever stands in that, is
// found there again, and nothing else.
func TestFilesOfASummaryAreFoundAgain(t *testing.T) {
	name := rapid.StringMatching(`[a-z/<>\- é"]{1,12}`).Filter(oneLine)
	piece := rapid.SampledFrom([]string{"text", "\n", "\n\n", "<read-files>", "</read-files>", "<modified-files>", "</modified-files>", "a", "## Goal"})
	rapid.Check(t, func(rt *rapid.T) {
		summary := ""
		for _, p := range rapid.SliceOf(piece).Draw(rt, "summary") {
			summary += p
		}
		d := wire.Details{
			Read:     rapid.SliceOfDistinct(name, rapid.ID).Draw(rt, "read"),
			Modified: rapid.SliceOfDistinct(name, rapid.ID).Draw(rt, "modified"),
		}
		whole := withFiles(summary, d)
		if got := listIn(whole, readFiles); !slices.Equal(got, d.Read) && len(got)+len(d.Read) > 0 {
			rt.Fatalf("read %q, want %q", got, d.Read)
		}
		if got := listIn(whole, modifiedFiles); !slices.Equal(got, d.Modified) && len(got)+len(d.Modified) > 0 {
			rt.Fatalf("modified %q, want %q", got, d.Modified)
		}
		if got := withoutFiles(whole); got != noLists.Replace(summary) {
			rt.Fatalf("%q, want %q", got, noLists.Replace(summary))
		}
	})
}
