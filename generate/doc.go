// Package generate generates random test data that matches a JSON Schema, a regular expression
// or a grammar. Use it with package testing, testing/quick, fuzz targets and property-based
// testing libraries.
//
// [JSON], [Regexp] and [Grammar] return a [Generator], whose texts have at most Config.Bytes
// bytes. All texts (for JSON, all values) are equally likely unless Config.Weight says
// otherwise, and [Generator.Count] returns their number. For edge cases, use [Generator.Edges],
// which yields texts at the limits. To test a decoder, use [Generator.Invalid], which yields
// texts that each violate one keyword of the schema.
//
// A draw is determined by its seed, so a library that shrinks seeds can reproduce it:
//
//	rapid.Custom(func(t *rapid.T) string { return g.Seeded(rapid.Uint64().Draw(t, "seed")) })
package generate
