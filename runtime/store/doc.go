// Package store keeps what an office must not lose, in SQLite: one database per
// office ([DB]: the platform log, the session tree, the queue of prompts, the
// usage) and one index over all offices ([Index]: which have work waiting), the
// only database that a start reads.
//
// What a file of the tree shows of the past is kept as it is shown: a
// transcript entry and a log record are stored as the line that the file gives,
// with the offset at which it ends, so that a read at any offset is one look-up
// and nothing is rendered or rewritten again.
//
// What is said can be searched: triggers put the words of each record and entry
// into an index in the transaction that adds it, and [DB.Search] takes whatever
// people type. A database that is not what was written is moved aside as it is and
// never replaced ([Unusable]).
//
// Every change is one transaction, synchronous=FULL, on one connection. An
// error leaves nothing of it behind.
package store
