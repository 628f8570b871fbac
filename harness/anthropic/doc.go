// Package anthropic is the provider for Anthropic's Messages API, and for the
// servers of others that speak it.
//
// [New] takes an address and a key; it reads nothing from the environment.
// Stream sends one request and reads the stream of its answer; it never tries
// again, since only the loop knows whether it may.
package anthropic
