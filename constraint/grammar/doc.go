// Package grammar compiles nested languages of texts, without a bound on the depth:
// brackets within brackets, expressions, JSON that a schema describes.
//
// [Parse] reads a grammar in a notation with rules, repetition and regular expressions,
// [ParseGBNF] one in that of llama.cpp; [JSONSchema] compiles a JSON Schema. All return a
// [Grammar], which accepts or refuses texts. [Grammar.Over] converts it to a language over the tokens of a vocabulary. The
// resulting [Language] is a constraint.Language: projection.Path sums over it, draws from
// it and finds its best sequence exactly, and package diffusion conditions on it. Rules that
// cannot contain themselves are read in place, up to 2¹² states: a schema without recursion is
// a regular language, and sums over it take time linear in the length.
//
// Sums over runs are sums over texts only if there is one run for each text. Rules are
// therefore determinised; rules that are called together form one level. A grammar that
// stays ambiguous is a [*ConflictError]; no text is ever counted twice.
//
// # Masks
//
// A server that draws one token after the other needs no automaton over tokens, but the set of
// tokens that may come next. [Grammar.Masks] prepares these sets for a vocabulary, for any
// automaton over tokens [MasksOf] does; a [Matcher] follows one text. A token is in a mask
// exactly if some text completes the language after it. Nothing is computed ahead: states are
// made when a text meets them, and shared by all texts.
//
// # JSON
//
// Which texts of a value a schema has is said at [JSONSchema]. Assertions of the standard are
// exact on these texts; a keyword that is not understood is an error that names its path.
package grammar
