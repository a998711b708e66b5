// Package dualtest checks dual rules and targets against their laws, your own as well as
// those of this module:
//
//	func TestMine(t *testing.T) {
//		if err := dualtest.TestRule(ctx, mine.Rule{}, dualtest.Options{}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// As in testing/fstest, a function returns an error that names the broken law and a case
// that breaks it, nil if all hold.
package dualtest
