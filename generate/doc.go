// Package generate generates random test data that matches a JSON Schema, a regular expression or
// a grammar. Use it with package testing, testing/quick, fuzz targets and property-based testing
// libraries.
//
// [JSON], [Regexp] and [Grammar] return a [Generator], whose texts have at most Config.Bytes
// bytes. All texts (for JSON, all values) are equally likely unless Config.Weight says otherwise,
// and [Generator.Count] returns their number. [Generator.Edges] yields edge cases, such as the
// shortest and the longest text. [Generator.Invalid] yields texts that each violate one keyword
// of the schema, to test whether a decoder rejects them.
//
// A draw is determined by its seed, so a library that shrinks seeds can reproduce it:
//
//	rapid.Custom(func(t *rapid.T) string { return g.Seeded(rapid.Uint64().Draw(t, "seed")) })
package generate
