// Package grammar compiles nested languages of texts, without a bound on the depth:
// brackets within brackets, expressions, JSON that a schema describes.
//
// [Parse] reads a grammar in a notation with rules, repetition and regular expressions;
// [JSONSchema] compiles a JSON Schema. Both return a [Grammar], which accepts or refuses
// texts. [Grammar.Over] converts it to a language over the tokens of a vocabulary. The
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
// The language of a schema holds texts, and JSON has many for one value. Schemas are written as
// unions of conjunctions (oneOf is one where its schemas plainly exclude each other), and each
// conjunction agrees on the following; schemas that cannot be written so, because of not,
// oneOf, if or dependencies, are read side by side, and then all that apply at one place agree
// on it. Properties that at least one of the schemas lists
// come in the order of the schema, each at most once, and all others after them; names
// that are only required come anywhere among those others, each at most once (of more
// than six, the last six; those before them have a place in the order). What applies to
// one property imposes no order on the members of another's value, unless schemas that
// meet there have more than five patterns of names. White space is as JSON allows
// it, or none. Characters are spelled as themselves or by an escape, and by \u escapes up
// to U+00FF if a keyword restricts the string. Numbers that a keyword restricts have no
// exponent, and no number has one if the schema negates (not, oneOf, if, dependencies).
// With [Canonical] a value has one text, but for members that no schema names.
//
// On these texts the assertions are exact, with two exceptions that err on the
// safe side: names that no schema knows may repeat, so that all of them together
// count as one towards minProperties, and formats email, hostname, time,
// date-time, duration and uri accept the common part of their standards. Below a
// negation either is a [*SchemaError] instead. A keyword of the standard that is
// not understood (uniqueItems, unevaluatedProperties, unevaluatedItems,
// $dynamicRef), an unknown format and a lookaround or backreference within a
// pattern are errors, too, that name their path. Keywords that no draft knows
// are annotations.
package grammar
