// Package text compiles constraints on text, such as regular expressions, to automata over the
// tokens of a vocabulary. A [Vocabulary] defines the text of every token. Write your own, or read
// one from a tokenizer.json ([ReadVocabulary]).
//
// [Regexp], [Contains], [Avoids], [WordAt] and [Words] constrain the contents of a text.
// [WordCount], [Characters], [Sentences] and [WordLengths] constrain numbers of words, runes and
// sentences. Each returns the smallest automaton that accepts all token sequences that spell such a
// text. [Lift] does the same for any automaton over bytes. A [Cache] caches compiled patterns.
// [BPE] encodes texts as tokens.
//
// A compilation that grows too large returns a constraint.LimitError. If no token sequence spells a
// text of the language, the error wraps constraint.ErrInfeasible. If a pattern does not parse, the
// error is a [*PatternError].
//
// All values are immutable and safe for concurrent use.
package text
