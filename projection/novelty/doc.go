// Package novelty generates sequences that are not yet in a given set, and adds every generated
// sequence to the set.
//
// A [Projector] moves a distribution to the nearest one whose likeliest sequence is new,
// exactly, and adds every finished sequence to the set. Any [Seen] can be the set. If the set
// is a [Corpus], such as a lexicon, its automaton makes the search fast. It also allows the
// probability of novelty and joint draws of new sequences to be computed.
package novelty
