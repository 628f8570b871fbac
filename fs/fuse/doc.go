// Package fuse mounts a tree with FUSE.
//
//	srv, err := fuse.Mount("/n/mikan", tree, fuse.Options{})
//	...
//	defer srv.Close()
//
// The source is an [fs.Attacher], so a tree in this process and a connection to
// one elsewhere are mounted by the same code. The mount keeps no state of the
// tree: a request attaches with the identity of its caller, walks the path, does
// its one thing and clunks. Only an open file holds on to its Fid. The kernel
// caches the pages of host files, and attributes for a tick of its clock, which
// saves it from asking twice about each step of a walk; otherwise what a client
// sees is what the tree says now.
//
// # Bodies
//
// A shell closes a file that it has just opened (open, dup2, close) before it
// writes the first byte, and the kernel tells of every close. What was written
// is therefore committed ([fs.Fid.Sync]) at the first close by the process that
// opened the file after something was written, and that close reports the error;
// else at the release of the file, which nobody waits for. "The process" is the
// thread group: the request carries a thread. One in a pid namespace that is not
// below ours has no number here; what it writes is committed when it reads an
// answer, or at the release, and an error of that is kept as the last error only.
//
// # Waiting
//
// Only a read of a conversational file waits. It ends with EINTR when its
// caller is signalled, with nothing consumed, and with the end of the file when
// the mount is closed. Every other operation is short and ignores interrupts,
// because Go programs send themselves signals all the time. A conversational
// file that was opened with O_NONBLOCK gives the end of the file at once, so
// that "grep -r" ends.
//
// # This process and the mount
//
// A process that serves a mount must not use it: a fork or an open of its own
// can wait for a reply that it has no thread left to give. Nothing here does.
package fuse
