// Package constrainttest tests whether an implementation of a language or a set of inequalities
// obeys the laws of its interface. Use it for your own implementations:
//
//	func TestMine(t *testing.T) {
//		a := mine.Language{…}
//		if err := constrainttest.TestAutomaton(ctx, a, constrainttest.Options{Sites: 6, Levels: 3}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// As in testing/fstest, each function returns nil if all laws hold. Otherwise the error names the
// broken law and a case that breaks it. The checks enumerate all sequences of a small space. The
// strongest test is Options.Accepts, set to an independent formula for the language.
package constrainttest
