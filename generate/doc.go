// Package generate makes test data: values and texts that a JSON Schema, a regular expression
// or a grammar describes, for package testing, testing/quick, fuzz targets and libraries of
// property-based tests.
//
// [JSON], [Regexp] and [Grammar] return a [Generator]. Its texts have a length of at most
// Config.Bytes; each of them, and of JSON each value, is as likely as any other, or as
// Config.Weight says. [Generator.Count] tells how many there are. Tests begin with
// [Generator.Edges], which lie on the limits, and a decoder is tried with
// [Generator.Invalid]: texts each of which breaks one keyword of the schema.
//
// A draw is a function of a seed, so that a library that shrinks seeds repeats it:
//
//	rapid.Custom(func(t *rapid.T) string { return g.Seeded(rapid.Uint64().Draw(t, "seed")) })
package generate
