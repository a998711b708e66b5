// Package samplertest checks that a [sampler.Method] obeys its laws, as package
// testing/fstest does for file systems. It imports no testing framework. Three lines
// check a method of your own:
//
//	if err := samplertest.TestMethod(ctx, Glauber{}, samplertest.Options{}); err != nil {
//		t.Fatal(err)
//	}
//
// The error names the broken law, the model, and what reproduces the failure.
// Options.Skip names laws to leave out.
//
// Laws about distributions are judged from draws of a fixed seed. Independent chains
// start from draws of the target π and move; then their states are counted. If the kernel
// leaves π invariant, the counts are those of draws from π. The p-value is exact for any
// number of draws: a correct method fails a law with a probability of at most 10⁻⁶. Each
// law also checks that it could have failed: the same method must fail on a model whose
// energies are half as large again.
package samplertest
