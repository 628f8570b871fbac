// Package protocol is what the model providers share, whichever API they speak:
// one way to make HTTP calls, one reading of what a server says went wrong, and
// one preparation of a history so that every server accepts it.
//
// A provider calls [Prepare] on the messages of a request, sends them through
// an SDK whose middleware is [Guard.Check], and turns what its stream ended with
// into an error with [Guard.Broken] or [Guard.Failure]. Neither the SDK's own
// retries nor its reading of the environment are used.
package protocol
