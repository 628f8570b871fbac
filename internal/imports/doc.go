// Package imports has no code. Its tests hold the repository to its rules: who
// may import whom, that every package and every exported name says what it is
// for, that every dependency has its reason in docs/dependencies.md.
//
// The rule of imports is what makes the parts what they are said to be. Package
// fs knows nothing of mikan; an adapter or an executor sees the tree and the
// formats that cross it, so that it is a client which would work the same in
// another process; and binaries only wire.
package imports
