// Package text compiles constraints on text, such as regular expressions, to automata over the
// tokens of a vocabulary. A [Vocabulary] defines the text of every token. It may be your own or
// that of a tokenizer.json ([ReadVocabulary]).
//
// [Regexp], [Contains], [Avoids], [WordAt] and [Words] constrain the contents of a text.
// [WordCount], [Characters], [Sentences] and [WordLengths] constrain numbers of words, runes and
// sentences. Each returns the smallest automaton that accepts the token sequences spelling such a
// text, in any division into tokens. [Lift] does the same for any automaton over bytes. A [Cache]
// caches compiled patterns. [BPE] encodes texts as tokens.
//
// A compilation that grows too large returns a constraint.LimitError. A language that no token
// sequence spells is reported as constraint.ErrInfeasible, and a pattern that does not parse as a
// [*PatternError].
//
// All values are immutable and safe for concurrent use.
package text
