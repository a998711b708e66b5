// Package samplertest checks that a [sampler.Method] meets its requirements, as package
// testing/fstest does for file systems. It imports no testing framework. Three lines check a method
// that you write:
//
//	if err := samplertest.TestMethod(ctx, Glauber{}, samplertest.Options{}); err != nil {
//		t.Fatal(err)
//	}
//
// The error names the violated requirement, the model, and how to reproduce the failure.
// Options.Skip names requirements to skip.
//
// Requirements on distributions are checked with draws from a fixed seed. Independent chains start
// from draws of the target π and move; then their states are counted. If the kernel leaves π
// invariant, the counts are distributed like those of draws from π. The p-value is exact for any
// number of draws: a correct method fails a requirement with a probability of at most 10⁻⁶. Each
// such check also shows that it could have failed: the same method must fail on a model whose
// energies are larger by half.
package samplertest
