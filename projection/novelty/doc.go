// Package novelty generates sequences that are not yet in a given set, and adds every generated
// sequence to the set.
//
// A [Projector] finds the distribution that is nearest to a given distribution and whose likeliest
// sequence is new. The result is exact. Any [Seen] can be the set. If it is a [Corpus], such as a
// lexicon, its automaton makes the search fast. A [CorpusProjection] can also draw new sequences
// jointly, and computes the probability that a draw is new.
package novelty
