// Package runtime is the coordinator: it owns the offices, accepts prompts,
// keeps their queues, makes and leases the runners that answer them, and
// settles what came of it.
//
// A [Runtime] has a [Workspace], which gives out [Office] values: who a
// conversation is ([Address]), where its data lies ([OfficeKey]) and every path
// of it. Nothing else joins a path from a root and an id. Prompts of one
// session are answered one after the other, those of different sessions at the
// same time. What a prompt has been promised is in the store before the caller
// hears of it, so that a crash at any moment loses nothing and repeats nothing.
//
// A chat platform has a [Desk], where its adapter works: what people say comes in
// by [Desk.Deliver], and an answer goes out through an outbox, which posts it once
// whatever dies on the way.
//
// What clients add to the tools of agents are [Tools], of an office or of a desk;
// each [AddedTool] is called through a file that a client serves.
//
// Settings say what a run may use up ([Budget]) and how a session that is at work
// takes a prompt ([QueueMode]). The end has an order ([Runtime.Shutdown]); what
// waits then runs at the next start, unless the daemon dies of it again and again.
//
// Package runtime/store is the disk, package runtime/tree the files.
package runtime
