package fs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"mikan/fs"
)

// table is what the Linux kernel's 9P client makes of a string.
var table = []struct {
	kind  fs.Kind
	errno syscall.Errno
	text  string
}{
	{fs.IO, syscall.EIO, "i/o error"},
	{fs.NotExist, syscall.ENOENT, "file does not exist"},
	{fs.Permission, syscall.EACCES, "permission denied"},
	{fs.Fixed, syscall.EPERM, "Operation not permitted"},
	{fs.Exist, syscall.EEXIST, "file already exists"},
	{fs.Invalid, syscall.EINVAL, "Invalid argument"},
	{fs.Busy, syscall.EBUSY, "Device or resource busy"},
	{fs.IsDir, syscall.EISDIR, "Is a directory"},
	{fs.NotDir, syscall.ENOTDIR, "not a directory"},
	{fs.NotEmpty, syscall.ENOTEMPTY, "directory is not empty"},
	{fs.TooBig, syscall.EFBIG, "file too big"},
	{fs.ReadOnly, syscall.EROFS, "Read-only file system"},
	{fs.BadFid, syscall.EBADF, "fid unknown or out of range"},
	{fs.Interrupted, syscall.EINTR, "Interrupted system call"},
	{fs.Again, syscall.EAGAIN, "Resource temporarily unavailable"},
	{fs.Timeout, syscall.ETIMEDOUT, "Connection timed out"},
	{fs.NoSpace, syscall.ENOSPC, "file system is full"},
	{fs.NameTooLong, syscall.ENAMETOOLONG, "file name too long"},
	{fs.NotSupported, syscall.ENOTSUP, "operation not supported"},
	{fs.CrossDevice, syscall.EXDEV, "Invalid cross-device link"},
}

func TestKindsErrnosAndStringsAreOneToOne(t *testing.T) {
	errnos, texts := map[syscall.Errno]bool{}, map[string]bool{}
	for i, row := range table {
		if int(row.kind) != i {
			t.Errorf("%v is %d; want %d", row.kind, row.kind, i)
		}
		if row.kind.Errno() != row.errno || row.kind.String() != row.text {
			t.Errorf("%d: %v, %q; want %v, %q", i, row.kind.Errno(), row.kind, row.errno, row.text)
		}
		if k, ok := fs.ParseKind(row.text); !ok || k != row.kind {
			t.Errorf("ParseKind(%q) = %v, %v", row.text, k, ok)
		}
		if k := fs.KindOf(row.errno); k != row.kind {
			t.Errorf("KindOf(%v) = %v", row.errno, k)
		}
		errnos[row.errno], texts[row.text] = true, true
	}
	if len(errnos) != len(table) || len(texts) != len(table) {
		t.Error("two kinds share an errno or a string")
	}
	if _, ok := fs.ParseKind("no such text"); ok {
		t.Error("an unknown text has a kind")
	}
}

func TestKindOfClassifies(t *testing.T) {
	for _, c := range []struct {
		err  error
		want fs.Kind
	}{
		{fs.Errorf(fs.Busy, "no"), fs.Busy},
		{fmt.Errorf("outer: %w", fs.Errorf(fs.IO, "inner: %w", fs.NotExist)), fs.IO},
		{fmt.Errorf("outer: %w", fs.Again), fs.Again},
		{&os.PathError{Op: "open", Path: "x", Err: syscall.ENOTDIR}, fs.NotDir},
		{syscall.EDQUOT, fs.NoSpace},
		{syscall.EXFULL, fs.IO},
		{os.ErrNotExist, fs.NotExist},
		{os.ErrPermission, fs.Permission},
		{context.Canceled, fs.Interrupted},
		{context.DeadlineExceeded, fs.Timeout},
		{errors.New("what?"), fs.IO},
	} {
		if got := fs.KindOf(c.err); got != c.want {
			t.Errorf("KindOf(%v) = %q; want %q", c.err, got, c.want)
		}
	}
}

func TestErrorTellsOperationPathAndSentenceOnce(t *testing.T) {
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{"v": text("one")}})
	err := client(t, tree, owner).WriteFile(t.Context(), "v", []byte("bad"))
	if got := err.Error(); got != "sync v: the value is bad; write a good one" {
		t.Errorf("error is %q", got)
	}
	var e *fs.Error
	if !errors.As(err, &e) || e.Kind != fs.Invalid || e.Path != "v" || e.Sentence() != "the value is bad; write a good one" {
		t.Errorf("error is %#v", e)
	}
}
