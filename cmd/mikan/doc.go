// Mikan serves the offices in which an AI coding agent works, as a file tree.
// It only wires: what it does is in the packages beside it. See mikan(1).
package main
