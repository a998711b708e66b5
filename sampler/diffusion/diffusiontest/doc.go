// Package diffusiontest holds the laws of processes, denoisers and projectors, for
// parts of your own as for those of this module:
//
//	func TestMine(t *testing.T) {
//		if err := diffusiontest.TestProcess(ctx, mine.Process{}, diffusiontest.ProcessOptions{}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// As in testing/fstest, a function returns an error that names the law that is broken
// and a case that shows it, nil if all hold. Distributions are compared with ones that
// are found by enumeration, on three sites that depend on each other: a part that has
// the right marginals and no more does not pass. Draws have fixed seeds, and the rate
// of false alarms of a call is 1e-6 where seeds are new.
package diffusiontest
