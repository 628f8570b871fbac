package store

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestIndex_is_made_anew_when_missing_or_damaged(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "index.db")
	ix, fresh, err := OpenIndex(ctx, path)
	if err != nil || !fresh {
		t.Fatalf("fresh %v, %v", fresh, err)
	}
	ix.Close() // a death before it was filled
	ix, fresh, err = OpenIndex(ctx, path)
	if err != nil || !fresh {
		t.Fatalf("an index that was never filled: fresh %v, %v", fresh, err)
	}
	if err := ix.Fill(ctx, []string{"v1-local-a"}, nil); err != nil {
		t.Fatal(err)
	}
	ix.Close()

	ix, fresh, err = OpenIndex(ctx, path)
	if err != nil || fresh {
		t.Fatalf("a good index: fresh %v, %v", fresh, err)
	}
	if keys, err := ix.Pending(ctx); err != nil || !slices.Equal(keys, []string{"v1-local-a"}) {
		t.Fatalf("pending %v, %v", keys, err)
	}
	ix.Close()

	if err := os.WriteFile(path, []byte("this was a database once, and is none any more"), 0o600); err != nil {
		t.Fatal(err)
	}
	ix, fresh, err = OpenIndex(ctx, path)
	if err != nil || !fresh {
		t.Fatalf("a damaged index: fresh %v, %v", fresh, err)
	}
	defer ix.Close()
	if keys, err := ix.Pending(ctx); err != nil || len(keys) != 0 {
		t.Fatalf("pending %v, %v", keys, err)
	}
}

func TestIndex_sets_one_mark_and_keeps_the_other(t *testing.T) {
	ctx := context.Background()
	ix, _, err := OpenIndex(ctx, filepath.Join(t.TempDir(), "index.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if err := ix.SetArchived(ctx, "k", true); err != nil {
		t.Fatal(err)
	}
	if err := ix.SetPending(ctx, "k", true); err != nil {
		t.Fatal(err)
	}
	if err := ix.SetPending(ctx, "k", false); err != nil {
		t.Fatal(err)
	}
	if keys, err := ix.Archived(ctx); err != nil || !slices.Equal(keys, []string{"k"}) {
		t.Fatalf("archived %v, %v", keys, err)
	}
}
