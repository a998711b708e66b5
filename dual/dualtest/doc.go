// Package dualtest holds the laws of dual rules and targets, for parts of your own as
// for those of this module:
//
//	func TestMine(t *testing.T) {
//		if err := dualtest.TestRule(ctx, mine.Rule{}, dualtest.Options{}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// As in testing/fstest, a function returns an error that names the law that is broken
// and a case that shows it, nil if all hold.
package dualtest
