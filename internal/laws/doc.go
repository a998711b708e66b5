// Package laws is shared by the public test packages (samplertest, energytest, …): the
// states and the distribution of a small model, whether draws agree with a distribution,
// the allocations of a call, and contexts that end at a chosen point. It imports no
// testing framework, so that these packages do not either; package exact serves the same
// arithmetic to tests.
//
// The arithmetic is float64 from package math with compensated sums. It shares no code
// with the code under test.
package laws
