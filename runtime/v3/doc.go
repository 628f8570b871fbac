// Package v3 reads session files: JSON lines, a header and then entries that form
// a tree. The original program wrote them, in three versions, and a transcript of
// ours is one of version 3.
//
// [Read] judges a file; [Session.Context] is what the session's model would see
// next, and [Session.Visible] is what the original program would let it see.
//
// The files are not trusted. The last line may be torn; anything else that is
// wrong is an error that names the line, and never an empty session.
package v3
