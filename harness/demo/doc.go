// Package demo is the provider of demo/echo, a stand-in that is never mistaken
// for a model: it needs no network and no key, and the same prompt gives the
// same answer. Each line of a prompt that begins with "$ " is run with the tool
// bash, and each "% name {json}" is a call of the tool name with those arguments:
// one call a turn, in order, and the answer is what they put out. A prompt
// without such a line is given back.
package demo
