// Package laws holds the code shared by the public test packages (samplertest, energytest, …). A
// law is a property that every implementation of an interface must have. The package enumerates the
// states and the distribution of a small model, and tests whether draws agree with a distribution.
// It counts allocations, and provides contexts that end at a chosen point. It imports no testing
// framework, so that the test packages need none. Package exact offers the same computations to the
// module's own tests.
//
// The arithmetic is float64 from package math with compensated sums. It shares no code with the
// code under test.
package laws
