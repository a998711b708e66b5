// Package novelty keeps sequences out of a set to which every produced sequence is added.
//
// A [Projector] moves a distribution to the nearest one whose likeliest sequence is new,
// exactly, and adds every finished sequence to the set. Any [Seen] works; a [Corpus],
// such as a lexicon, is searched by its automaton and also gives the probability of
// novelty and joint draws of new sequences.
package novelty
