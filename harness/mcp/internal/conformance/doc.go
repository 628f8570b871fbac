// Command conformance is the client that the conformance suite of the protocol
// tests: mikan's own, with nothing added. It connects to the server whose URL it
// is given and calls each of its tools once.
package main
