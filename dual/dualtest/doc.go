// Package dualtest checks dual rules and targets, yours as well as those of this module,
// against their laws:
//
//	func TestMine(t *testing.T) {
//		if err := dualtest.TestRule(ctx, mine.Rule{}, dualtest.Options{}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// As in testing/fstest, each function returns nil if all laws hold, and otherwise an error
// that names the broken law and a case that breaks it.
package dualtest
