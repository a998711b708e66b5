// Package novelty keeps sequences out of a set that grows by what was produced
// before.
//
// A [Projector] moves a distribution to the nearest one whose likeliest sequence is new,
// exactly, and adds every finished sequence to the set. Any [Seen] works; a [Corpus],
// such as a lexicon, is searched by its automaton and also gives the probability of
// novelty and joint draws of new sequences.
package novelty
