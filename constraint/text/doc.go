// Package text compiles languages of texts to languages of token sequences. A
// [Vocabulary], your own or that of a tokenizer.json ([ReadVocabulary]), gives every
// token its text; [Regexp], [Contains], [Avoids], [WordAt], [Words] and the numbers of
// [WordCount], [Characters], [Sentences] and [WordLengths] compile a language of texts to
// the smallest automaton of the token sequences that spell one, however the text is cut
// into tokens, and [Lift] does so for any automaton over bytes. A [Cache] keeps compiled
// patterns by vocabulary. [BPE] encodes texts as tokens.
//
// Languages are first determinised over classes of runes and bytes, where they are small,
// and only then converted to tokens, by one walk of each byte state through the trie of the
// vocabulary. A compilation that grows too large returns a constraint.LimitError. A
// language that no token sequence spells is reported as constraint.ErrInfeasible, and a
// pattern that does not parse as a [*PatternError].
//
// All values are immutable and safe for concurrent use.
package text
