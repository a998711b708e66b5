// Package dualtest checks dual rules and targets, including your own, against the laws of their
// interfaces:
//
//	func TestMine(t *testing.T) {
//		if err := dualtest.TestRule(ctx, mine.Rule{}, dualtest.Options{}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// Each function returns nil if all laws hold, like the functions of testing/fstest. Otherwise the
// error names the broken law and a case that breaks it.
package dualtest
