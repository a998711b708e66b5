// Package laws holds the code shared by the public test packages (samplertest, energytest, …). A
// law is a property that every implementation of an interface must have. The package enumerates the
// states of a small model with their probabilities, and tests whether draws agree with a
// distribution. It counts allocations, and provides contexts that end at a chosen call. It does not
// import package testing, so the test packages need not either. Package exact offers the same
// computations to the module's own tests.
//
// The arithmetic is float64 from package math with compensated sums. It shares no code with the
// code under test.
package laws
