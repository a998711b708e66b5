// Package constrainttest holds the laws of languages and sets, for parts of your own
// as for those of this module:
//
//	func TestMine(t *testing.T) {
//		a := mine.Language{…}
//		if err := constrainttest.TestAutomaton(ctx, a, constrainttest.Options{Sites: 6, Levels: 3}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// As in testing/fstest, a function returns an error that names the law that is broken
// and a case that shows it, nil if all hold. Everything is checked on spaces small
// enough to list. An Options.Accepts of your own makes the most of it: a formula for
// what the part is meant to say.
package constrainttest
