// Package generate makes test data: values and texts described by a JSON Schema, a regular
// expression or a grammar, for package testing, testing/quick, fuzz targets and
// property-based testing libraries.
//
// [JSON], [Regexp] and [Grammar] return a [Generator]. Its texts have at most Config.Bytes
// bytes. All texts (for JSON, all values) are equally likely unless Config.Weight says
// otherwise, and [Generator.Count] returns their number. Start tests with
// [Generator.Edges], the texts at the limits, and test a decoder with [Generator.Invalid],
// texts that each break one keyword of the schema.
//
// A draw is a function of a seed, so a library that shrinks seeds can reproduce it:
//
//	rapid.Custom(func(t *rapid.T) string { return g.Seeded(rapid.Uint64().Draw(t, "seed")) })
package generate
