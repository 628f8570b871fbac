package fs

import "sync"

// maxUnfinished is how many bytes of drafts a writer may have, over all its open
// files of a tree. The limit of each file alone would be none: a connection may
// have thousands of them open.
const maxUnfinished = 64 << 20

// unfinished counts what each writer has written and not committed.
type unfinished struct {
	mu   sync.Mutex
	held map[writer]int
}

// writer is a user, or one that has a rights list, by its name: it must not use
// up the room of the user whose numbers it has.
type writer struct {
	uid   uint32
	guest string
}

// of returns who's account.
func (u *unfinished) of(who *Identity) *account {
	w := writer{uid: who.UID}
	if who.Rights != nil {
		w.guest = "guest " + who.Name
	}
	return &account{all: u, of: w}
}

// account is what a draft takes its room from; nil is without a limit.
type account struct {
	all *unfinished
	of  writer
}

// take takes n bytes or says why not.
func (a *account) take(n int) error {
	if a == nil || n == 0 {
		return nil
	}
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if a.all.held[a.of]+n > maxUnfinished {
		return Errorf(NoSpace, "%d MiB are written to open files and not finished; close some of them first", maxUnfinished>>20)
	}
	if a.all.held == nil {
		a.all.held = make(map[writer]int)
	}
	a.all.held[a.of] += n
	return nil
}

// give gives n bytes back.
func (a *account) give(n int) {
	if a == nil || n == 0 {
		return
	}
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if a.all.held[a.of] -= n; a.all.held[a.of] == 0 {
		delete(a.all.held, a.of)
	}
}

// drafter is a handle that keeps what is written until it is committed.
type drafter interface {
	// charge makes it take room for that from a, at once for what it has. It is
	// called before anything else, and if it fails the handle is closed.
	charge(a *account) error
}

var (
	_ drafter = (*askHandle)(nil)
	_ drafter = (*bodyHandle)(nil)
	_ drafter = (*valueHandle)(nil)
)

func (h *askHandle) charge(a *account) error   { return h.draft.charge(a) }
func (h *bodyHandle) charge(a *account) error  { return h.draft.charge(a) }
func (h *valueHandle) charge(a *account) error { return h.draft.charge(a) }
