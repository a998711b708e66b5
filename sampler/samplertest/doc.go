// Package samplertest holds the laws that a [sampler.Method] must obey, as package
// testing/fstest does for file systems. It imports no testing framework; a method
// of one's own is checked in three lines:
//
//	if err := samplertest.TestMethod(ctx, Glauber{}, samplertest.Options{}); err != nil {
//		t.Fatal(err)
//	}
//
// The error names the law that is broken, the model, and what reproduces it;
// Options.Skip names laws that are not to be checked.
//
// Laws about distributions are judged from draws of a fixed seed. Independent chains
// start from draws of the target π and move; where they are is then counted. If the
// kernel leaves π invariant the counts are those of draws from π, and the p-value is
// exact for any number of them: a right method is refused with a probability of at
// most 10⁻⁶ a law. A law also checks that it could have failed: the same method
// must be found wrong on a model whose energies are half as large again.
package samplertest
