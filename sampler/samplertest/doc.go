// Package samplertest checks that a [sampler.Method] that you write meets its requirements. Like
// testing/fstest, it imports no testing framework. Three lines check a method:
//
//	if err := samplertest.TestMethod(ctx, Glauber{}, samplertest.Options{}); err != nil {
//		t.Fatal(err)
//	}
//
// The error names the violated requirement and the model, and explains how to reproduce the
// failure. Options.Skip lists requirements to skip.
//
// Distributions are checked with draws from a fixed seed. Independent chains start from draws of
// the target π and move; then their states are counted. If the kernel leaves π invariant, the
// counts are distributed like those of draws from π. The p-value is exact for any number of draws.
// A correct method fails a requirement with probability at most 10⁻⁶. To show that a check can
// fail, it is repeated on a model whose energies are multiplied by 1.5, where the method must fail.
package samplertest
