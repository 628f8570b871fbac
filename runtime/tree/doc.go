// Package tree lays out the files through which all of mikan is used, and
// nothing else decides a file's name. Each file is one of the kinds of package
// fs, tied to a method of package runtime; what stands where, in which words, is the
// table wire.TreeFiles.
package tree
