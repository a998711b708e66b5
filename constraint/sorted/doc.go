// Package sorted stores sets of sequences that are too large for an automaton in memory. The set is
// a file of sorted sequences that is mapped into memory and searched directly.
//
// [Build] writes the file, and [Open] maps it in constant time, whatever its size. A [Lexicon] is
// immutable and may be read by several goroutines and processes at once. [Layered] combines a
// Lexicon with a small, mutable set. With a Layered as its corpus, package projection/novelty can
// exclude 10⁷ known sequences from generation.
package sorted
