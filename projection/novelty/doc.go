// Package novelty keeps sequences out of a set that grows by what was produced
// before.
//
// A [Projector] moves a distribution to the nearest one whose likeliest
// sequence is new, exactly, and takes every finished sequence into the set. Any
// [Seen] will do; a [Corpus], such as a lexicon, is searched by its automaton and
// also gives the probability of novelty and joint draws of new sequences.
//
// Products are written float64(a*b) + c: a compiler may fuse them otherwise, and
// fused bits differ between processors.
package novelty
