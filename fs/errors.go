package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"syscall"
)

// Kind says what went wrong in a way that a file system can pass on: as an
// errno through FUSE, as a fixed string through 9P.
type Kind uint8

// The kinds of error. IO is the zero value: what nobody classified.
const (
	IO Kind = iota
	NotExist
	Permission // the mode bits or the rights list say no
	Fixed      // the name or attribute is not the caller's to change
	Exist
	Invalid // a bad command or value
	Busy    // in use, or claimed by another
	IsDir
	NotDir
	NotEmpty
	TooBig
	ReadOnly
	BadFid
	Interrupted
	Again // a queue is full; try later
	Timeout
	NoSpace
	NameTooLong
	NotSupported
	CrossDevice
)

// kinds is the one table: what FUSE and 9P say for each kind. The strings are
// those that the Linux kernel's 9P client maps back to the same errno; it
// compares them exactly (net/9p/error.c).
var kinds = [...]struct {
	errno syscall.Errno
	text  string
}{
	IO:           {syscall.EIO, "i/o error"},
	NotExist:     {syscall.ENOENT, "file does not exist"},
	Permission:   {syscall.EACCES, "permission denied"},
	Fixed:        {syscall.EPERM, "Operation not permitted"},
	Exist:        {syscall.EEXIST, "file already exists"},
	Invalid:      {syscall.EINVAL, "Invalid argument"},
	Busy:         {syscall.EBUSY, "Device or resource busy"},
	IsDir:        {syscall.EISDIR, "Is a directory"},
	NotDir:       {syscall.ENOTDIR, "not a directory"},
	NotEmpty:     {syscall.ENOTEMPTY, "directory is not empty"},
	TooBig:       {syscall.EFBIG, "file too big"},
	ReadOnly:     {syscall.EROFS, "Read-only file system"},
	BadFid:       {syscall.EBADF, "fid unknown or out of range"},
	Interrupted:  {syscall.EINTR, "Interrupted system call"},
	Again:        {syscall.EAGAIN, "Resource temporarily unavailable"},
	Timeout:      {syscall.ETIMEDOUT, "Connection timed out"},
	NoSpace:      {syscall.ENOSPC, "file system is full"},
	NameTooLong:  {syscall.ENAMETOOLONG, "file name too long"},
	NotSupported: {syscall.ENOTSUP, "operation not supported"},
	CrossDevice:  {syscall.EXDEV, "Invalid cross-device link"},
}

// Errno is the number that FUSE returns for k.
func (k Kind) Errno() syscall.Errno { return kinds[k].errno }

// String is the fixed string that 9P carries for k.
func (k Kind) String() string { return kinds[k].text }

// Error makes a bare kind usable as an error, and as a target for [errors.Is].
func (k Kind) Error() string { return k.String() }

// Error is a failed operation on the tree.
type Error struct {
	Op   string // "open", "write", "walk", …
	Path string // slash-separated, from the root of the tree; may be empty
	Kind Kind
	Text string // the sentence for a person; empty: the kind's own string
	Err  error  // the cause, if another error was
}

// Errorf returns an *Error of kind k whose sentence is made from format. The
// sentence is lower case and says what to do next. A %w operand is kept as
// the cause.
func Errorf(k Kind, format string, args ...any) error {
	e := fmt.Errorf(format, args...)
	return &Error{Kind: k, Text: e.Error(), Err: errors.Unwrap(e)}
}

// Error is "op path: sentence", without the parts that are empty.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		b.WriteByte(' ')
	}
	b.WriteString(e.Path)
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Sentence())
	return b.String()
}

// Sentence is what e says, without the operation and the path.
func (e *Error) Sentence() string {
	switch {
	case e.Text != "":
		return e.Text
	case e.Err != nil:
		return e.Err.Error()
	}
	return e.Kind.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's kind.
func (e *Error) Is(target error) bool {
	k, ok := target.(Kind)
	return ok && k == e.Kind
}

// KindOf classifies err: the kind of the outermost *Error or Kind in its
// chain, else what the operating system or the context says, else IO.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	var k Kind
	if errors.As(err, &k) {
		return k
	}
	var no syscall.Errno
	if errors.As(err, &no) {
		for k := range kinds {
			if kinds[k].errno == no {
				return Kind(k)
			}
		}
		if no == syscall.EDQUOT {
			return NoSpace
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.Is(err, iofs.ErrNotExist):
		return NotExist
	case errors.Is(err, iofs.ErrPermission):
		return Permission
	case errors.Is(err, iofs.ErrExist):
		return Exist
	case errors.Is(err, iofs.ErrInvalid):
		return Invalid
	}
	return IO
}

// ParseKind is the reverse of [Kind.String]; it reports whether text is one of
// the table's strings.
func ParseKind(text string) (Kind, bool) {
	for k := range kinds {
		if kinds[k].text == text {
			return Kind(k), true
		}
	}
	return IO, false
}
