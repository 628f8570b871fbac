// Bench measures mikan against the budget of its design and prints a table: each
// path beside a peer that does the same, or as little as can be done, on the same
// machine in the same run. Ratios are what it judges, since machines differ; the
// peers take turns, so that both meet the same weather.
//
// It is a module of its own, so that the peers are none of mikan's dependencies.
// It measures packages in process and, for what a user waits for, the built
// binary. A miss is printed and is no failure: a busy machine must not break a
// build.
package main
