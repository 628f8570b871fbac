// Package fake is a chat platform for tests and demos, and its adapter.
//
// A [Bus] is the platform's server: conversations with threads, messages that
// are edited and deleted, reactions, members. [Bus.Say] is a person who writes,
// [Bus.Transcript] what is to be seen. It can be told to misbehave as platforms
// do: [Bus.Trouble].
//
// An [Adapter] is a client of mikan's tree like any other: it serves
// platforms/<name>/out, writes to platforms/<name>/in, and knows nothing else.
package fake
