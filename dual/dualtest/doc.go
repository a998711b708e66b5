// Package dualtest checks that dual rules and targets, including your own, obey the documented
// requirements of their interfaces:
//
//	func TestMine(t *testing.T) {
//		if err := dualtest.TestRule(ctx, mine.Rule{}, dualtest.Options{}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// Each function returns nil if all requirements are met, like the functions of testing/fstest.
// Otherwise the error names the first requirement that is not met and a case that shows it.
package dualtest
