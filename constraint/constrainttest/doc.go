// Package constrainttest checks languages and sets, yours as well as those of this module,
// against their laws:
//
//	func TestMine(t *testing.T) {
//		a := mine.Language{…}
//		if err := constrainttest.TestAutomaton(ctx, a, constrainttest.Options{Sites: 6, Levels: 3}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// As in testing/fstest, each function returns nil if all laws hold, and otherwise an error
// that names the broken law and a case that breaks it. Everything is checked by enumeration
// of small spaces. The strongest test is Options.Accepts, set to an independent formula for
// the language.
package constrainttest
