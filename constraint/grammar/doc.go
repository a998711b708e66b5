// Package grammar compiles nested languages of texts of unbounded depth: brackets within
// brackets, expressions, JSON described by a schema.
//
// [Parse] reads a grammar in a notation with rules, repetition and regular expressions,
// [ParseGBNF] and [ParseLark] read those of llama.cpp and Lark, and [JSONSchema] compiles a
// JSON Schema. All return a [Grammar], which accepts or rejects texts. [Grammar.Over] converts a
// grammar to a language over the tokens of a vocabulary. The resulting [Language] is a
// constraint.Language: projection.Path sums over it, draws from it and finds its best
// sequence exactly, and package diffusion conditions on it. Rules that cannot contain
// themselves are expanded in place, up to 2¹² states, so a schema without recursion is a
// regular language, and sums over it take time linear in the length.
//
// Sums over runs are sums over texts only if each text has exactly one run. Rules are
// therefore determinised; rules that are called together form one level. A grammar that
// remains ambiguous is reported as a [*ConflictError], so no text is ever counted twice.
//
// # Masks
//
// A server that draws one token after the other does not need an automaton over tokens,
// only the set of tokens that may come next. [Grammar.Masks] prepares these sets for a
// vocabulary, [MasksOf] prepares them for any automaton over tokens, and a [Matcher]
// follows one text. A token is in a mask if and only if the text can still be completed
// after it. Nothing is computed in advance: states are created when a text first reaches
// them, and are shared by all texts.
//
// # JSON
//
// [JSONSchema] states which of the texts of a JSON value are in the language of a schema.
// The standard's assertions are exact on these texts. An unknown feature is an error that
// names its path.
package grammar
