// Package grammar says which texts a nested language holds: brackets within
// brackets, expressions, JSON that a schema describes, without a bound on the
// depth.
//
// [Parse] reads a grammar in a notation with rules, repetition and regular
// expressions; [JSONSchema] compiles a JSON Schema. Either gives a [Grammar],
// which accepts or refuses texts, and which [Grammar.Over] carries over to the
// tokens of a vocabulary. The resulting [Language] is a constraint.Language:
// projection.Path sums over it, draws from it and finds its best sequence
// exactly, and package diffusion conditions on it.
//
// Sums over runs are sums over texts only if there is one run for each text.
// Rules are therefore determinised, those that are called together as one level.
// What remains ambiguous is a [*ConflictError] and never counted twice.
//
// # JSON
//
// The language of a schema holds texts, and JSON has many for one value. All
// schemas that apply at one place agree on the following. Properties that some
// of them names stand in the order of the schema, each at most once, and others
// after them; names that are required only stand anywhere among the others.
// White space is as JSON allows it, or none. Characters are spelled as
// themselves or by an escape, and by \u escapes up to U+00FF where anything is
// asked of the string. Numbers about which anything is asked have no exponent,
// and none has where the schema negates (not, oneOf, if, dependencies).
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
