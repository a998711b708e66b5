// Package sorted keeps sets of sequences that memory would not hold as automata of
// their own: a file of sorted sequences, mapped into memory, is the automaton.
//
// [Build] writes the file, [Open] maps it in no time whatever its size, and a
// [Lexicon] is read from several goroutines and processes at once. It does not
// change; [Layered] puts a small set on top that does. A Layered is what package
// projection/novelty calls a corpus, so that 10⁷ sequences can be kept out of what
// is generated.
package sorted
