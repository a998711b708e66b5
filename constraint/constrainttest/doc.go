// Package constrainttest checks languages and sets against their laws, your own as well
// as those of this module:
//
//	func TestMine(t *testing.T) {
//		a := mine.Language{…}
//		if err := constrainttest.TestAutomaton(ctx, a, constrainttest.Options{Sites: 6, Levels: 3}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// As in testing/fstest, a function returns an error that names the broken law and a case
// that breaks it, nil if all hold. Everything is checked on spaces small enough to list.
// Set Options.Accepts to an independent formula for the language: it makes the strongest
// test.
package constrainttest
