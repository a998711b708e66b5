// Package exact provides reference computations for the test suites. Only tests may import it.
//
// A sampler is tested on spaces small enough to enumerate. [Law] computes the probabilities of all
// states of a model. [Matrix] holds a kernel's transition probabilities between these states.
// [Counts] tests whether draws agree with a distribution, at a given false-positive rate:
//
//	pi, logZ := exact.Law(model)
//	p := exact.NewMatrix(len(pi), func(x int, dst []float64) { … })
//	require.LessOrEqual(t, p.MaxDiff(pi), 1e-12)
//	exact.Counts(t, counts, pi, 1e-6)
//	require.Less(t, exact.PValue(countsOfABrokenTwin, pi), 1e-6)
//
// The arithmetic is float64 from package math with compensated sums. It shares no code with the
// code under test, in particular with internal/simd. Its last bits differ between architectures.
//
// [Checker] compares a model with a plain formula for its energy. It tests everything that the
// interfaces of package energy promise, on every state. [NoAllocations] asserts that the methods
// that a kernel calls in a step allocate nothing.
//
// # States
//
// A state x holds a number x_i in 0…levels−1 for each site i. The index of x is Σ_i x_i·levels^i:
// site 0 is the fastest digit.
//
// # The agreement test
//
// [PValue] is valid for every sample size: P(PValue ≤ r) ≤ r for independent draws from the
// distribution. No part of it is asymptotic, so a false-positive rate of 1e-6 is not exceeded. The
// rate is divided between two tests. The first takes the exact binomial tail of every cell, with a
// Bonferroni correction; it detects a few wrong cells. The second takes Fisher's combination of
// conditional binomial tails over pooled cells; it detects many slightly wrong cells. Successive
// states of one chain are not independent draws: test transitions ([Transitions]) or separate
// chains.
package exact
