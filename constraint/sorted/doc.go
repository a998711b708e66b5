// Package sorted keeps sets of sequences that are too large for an automaton in memory: a
// file of sorted sequences, mapped into memory, serves as the automaton.
//
// [Build] writes the file, and [Open] maps it at once, whatever its size. A [Lexicon] may
// be read from several goroutines and processes at once, but does not change; [Layered]
// adds a small set on top that does. A Layered is a corpus for package
// projection/novelty, which can keep 10⁷ sequences out of what is generated.
package sorted
