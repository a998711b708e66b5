// Package sorted keeps sets of sequences that are too large for an automaton in memory: a
// file of sorted sequences, mapped into memory, serves as the automaton.
//
// [Build] writes the file, and [Open] maps it in constant time, whatever its size. A
// [Lexicon] may be read by several goroutines and processes at once, but does not change;
// [Layered] puts a small, mutable set on top of one. A Layered can serve as the corpus of
// package projection/novelty, which can exclude 10⁷ sequences from what is generated.
package sorted
