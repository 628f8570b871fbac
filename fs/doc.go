// Package fs is a file server's tree: nodes, kinds of file, identities,
// permissions and errors. It knows nothing of what the files mean.
//
// A server makes a [Tree] of [Node] values, most of them one of the kinds that
// this package implements once:
//
//   - [Value], a content that is read and replaced whole; [Secret], one that is
//     only written; [Ctl], commands, a line each
//   - [Log], lines that stay; [Feed], lines that pass
//   - [Answer], one growing text (a [Stream]) to its end; [Waiter], its end alone
//   - [Body], a text that is taken whole; [Ask], one that is answered
//   - [Service], by which a client serves the tree: it reads requests, and writes
//     the answers; [Bodies], what of them does not fit on a line
//   - [Dir], a directory, with scratch files for editors; [HostDir], a directory
//     of the host
//
// The tree is reached through a [Fid], which is 9P2000's: attach, walk, open,
// read, write, clunk. Three ways lead in, and behave alike: in process
// ([Tree.Attach]), over 9P2000 (package fs/ninep) and through a FUSE mount
// (package fs/fuse); package fs/fstest is the proof. A [Client] is the
// comfortable side of a Fid and is the same type for all of them; with package
// fs/serve it serves a Service.
//
// Permission is checked in one place, by the Fid, against the mode bits, or
// against the caller's rights list if it has one. Errors are [*Error] values of
// a [Kind]; one table maps a kind to an errno and to a 9P string.
package fs
