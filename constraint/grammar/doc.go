// Package grammar compiles grammars and JSON Schemas to languages that constrain generated text.
// The languages may nest to unbounded depth, as brackets, expressions and JSON values do.
//
// [Parse] reads a grammar with rules, repetition and regular expressions. [ParseGBNF] and
// [ParseLark] read the notations of llama.cpp and Lark, and [JSONSchema] compiles a JSON Schema.
// All return a [Grammar], which accepts or rejects texts. [Grammar.Over] converts a grammar to a
// language over the tokens of a vocabulary. The resulting [Language] is a constraint.Language:
// projection.Path computes sums over its sequences, draws from it and finds its best sequence, all
// exactly. Package sampler/diffusion can condition on it.
//
// Rules that cannot contain themselves are expanded in place, up to 2¹² states. A schema without
// recursion thus becomes a regular language, and sums over it take time linear in the length.
//
// The automaton of a grammar is deterministic. Every text has exactly one path through it, so a sum
// over paths counts no text twice. If a grammar has no such automaton, the error is a
// [*ConflictError].
//
// # Masks
//
// A server that draws one token after the other needs only the set of tokens that may come next,
// called a mask. [Grammar.Masks] prepares the masks of a grammar for a vocabulary, and [MasksOf]
// prepares the masks of any automaton over tokens. A [Matcher] follows one text. A token is in a
// mask if and only if the text can still be completed after it. States are created when a text
// first reaches them, and all texts share them.
//
// # JSON
//
// The documentation of [JSONSchema] states which spellings of a JSON value are in the language of a
// schema. Within these spellings, a schema's assertions mean what the standard says. An unknown
// feature is an error that names its path.
package grammar
