package conformance_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// Warm-up finds the step size at which Target is what is accepted; of Cyclical, whose long steps
// are accepted half as often, one in that order.
func TestAcceptanceTargets(t *testing.T) {
	m := exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.3, 0.1))
	for name, method := range map[string]func(target float64) sampler.Method{
		"DLMC":     func(target float64) sampler.Method { return mcmc.DLMC{Target: target} },
		"DMAPS":    func(target float64) sampler.Method { return mcmc.DMAPS{Target: target} },
		"Paths":    func(target float64) sampler.Method { return mcmc.Paths{Target: target} },
		"DHAMS":    func(target float64) sampler.Method { return momentum.DHAMS{Target: target} },
		"Cyclical": func(target float64) sampler.Method { return mcmc.Cyclical{Target: target} },
	} {
		accept := func(target float64) float64 {
			return runs.Run(t, m, method(target), sampler.Config{Chains: 16, Seed: 1, Warmup: 600}, 200).Stats().Accept
		}
		low, high := accept(0.45), accept(0.8)
		assert.Greater(t, high, low+0.1, name)
		if name != "Cyclical" {
			assert.InDelta(t, 0.45, low, 0.12, name)
			assert.InDelta(t, 0.8, high, 0.12, name)
		}
	}
}

// No site goes further than Window in a step, and without it some do.
func TestWindows(t *testing.T) {
	m := exact.Ordinal{Rugged: exact.NewRugged(4, 9, 1, 0.5, 3)}
	furthest := func(method sampler.Method) (far int32) {
		last := make([]int32, 4)
		runs.Run(t, m, method, sampler.Config{Chains: 1, Seed: 1, Warmup: -1, Workers: 1, Observe: func(_, step int, x []int32, _ *sampler.Info) {
			for i, l := range x {
				if step > 1 {
					far = max(far, l-last[i], last[i]-l)
				}
			}
			copy(last, x)
		}}, 2000)
		return far
	}
	for _, methods := range [][2]sampler.Method{
		{mcmc.DMALA{StepSize: 30}, mcmc.DMALA{StepSize: 30, Window: 2}},
		{mcmc.DULA{StepSize: 30}, mcmc.DULA{StepSize: 30, Window: 2}},
		{mcmc.Cyclical{StepSize: 30}, mcmc.Cyclical{StepSize: 30, Window: 2}},
	} {
		assert.Greater(t, furthest(methods[0]), int32(2))
		assert.Equal(t, int32(2), furthest(methods[1]))
	}
}

// Steps bounded below by the longest one are all alike: a cycle at β = ½ is then DMALA, with
// the preconditioner of that.
func TestCyclicalOfEqualSteps(t *testing.T) {
	m := exact.NewRugged(4, 3, 1, 0.5, 2)
	cfg := sampler.Config{Chains: 5, Seed: 4}
	for _, g := range [][]float32{nil, {0.3, 1, 2, 4}} {
		want := runs.Run(t, m, mcmc.DMALA{StepSize: 0.7, Preconditioner: g}, cfg, 50).States()
		same := mcmc.Cyclical{StepSize: 0.7, MinStep: 0.7, Balance: 0.5, Preconditioner: g}
		assert.Equal(t, want, runs.Run(t, m, same, cfg, 50).States())
		same.MinStep = 0.1
		assert.NotEqual(t, want, runs.Run(t, m, same, cfg, 50).States())
	}
}

// DULA weighs levels by its Balance: from level 0 a site goes to level 1 by the formula.
func TestBalanceOfDULA(t *testing.T) {
	const alpha, d, chains = 0.8, 0.7, 20000
	m := exact.Must(model.NewBernoulli([]float64{0.7})) // E(0) − E(1) = d
	zero, one := make([]float64, 1), make([]float64, 1)
	m.Energy(zero, []int32{0})
	m.Energy(one, []int32{1})
	require.InDelta(t, d, zero[0]-one[0], 1e-12)
	for balance, g := range map[mcmc.Balance]func(t float64) float64{
		mcmc.Sqrt: math.Sqrt, mcmc.Barker: func(t float64) float64 { return t / (1 + t) }, mcmc.Min: func(t float64) float64 { return min(1, t) }, mcmc.Max: func(t float64) float64 { return max(1, t) },
	} {
		c := exact.Must(sampler.NewChains(t.Context(), m, mcmc.DULA{StepSize: alpha, Balance: balance}, sampler.Config{Chains: chains, Seed: 1, Warmup: -1}))
		require.NoError(t, c.SetStates(make([]int32, chains)))
		require.NoError(t, c.Run(t.Context(), 1))
		counts := make([]int, 2)
		for _, l := range c.States() {
			counts[l]++
		}
		stay, leave := g(1), g(math.Exp(d))*math.Exp(-1/(2*alpha))
		exact.Counts(t, counts, []float64{stay / (stay + leave), leave / (stay + leave)}, exact.Rate)
	}
}

// Exact differences are those of the model's energies, whatever its table says.
func TestExactDifferences(t *testing.T) {
	right, wrong := exact.NewRugged(5, 2, 1, 0, 1), exact.NewRugged(5, 2, 1, 0.5, 1)
	cfg := sampler.Config{Chains: 5, Seed: 4}
	for _, methods := range [][2]sampler.Method{
		{mcmc.DULA{StepSize: 0.6}, mcmc.DULA{StepSize: 0.6, Exact: true}},
		{mcmc.DUPS{StepSize: 0.6}, mcmc.DUPS{StepSize: 0.6, Exact: true}},
	} {
		states := func(m energy.Model, method sampler.Method) []int32 { return runs.Run(t, m, method, cfg, 100).States() }
		assert.Equal(t, states(right, methods[0]), states(wrong, methods[1]))
		assert.NotEqual(t, states(right, methods[0]), states(wrong, methods[0]))
	}
}

// An Ising model is quadratic: by its own curvature, which PDHAMS finds itself, nothing is
// rejected, by another one something is, and longer steps move further.
func TestCurvatureAndStepSize(t *testing.T) {
	const sites = 16
	m := exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.3, 0.1))
	run := func(p momentum.PDHAMS) sampler.Stats {
		return runs.Run(t, m, p, sampler.Config{Chains: 8, Seed: 2, Warmup: -1}, 400).Stats()
	}
	found := run(momentum.PDHAMS{})
	assert.InDelta(t, 1, found.Accept, 1e-3)
	assert.Less(t, run(momentum.PDHAMS{Curvature: make([]float64, sites*sites)}).Accept, 0.99)
	assert.Greater(t, found.Moved, 1.5*run(momentum.PDHAMS{StepSize: 0.3}).Moved)
}

// Whatever the correction is, independent sites have their probabilities.
func TestCorrection(t *testing.T) {
	logits := []float64{0.8, -0.3, 0}
	m := exact.Must(model.NewBernoulli(logits))
	pi, _ := exact.Law(m)
	for _, method := range []sampler.Method{momentum.DHAMS{StepSize: 0.8, Correction: 0.3}, momentum.PDHAMS{Correction: 0.3}, momentum.PDHAMS{StepSize: 1, Correction: -0.2}} {
		counts := make([]int, 8)
		runs.Run(t, m, method, sampler.Config{Chains: 4, Seed: 3, Thin: 10, Workers: 1, Observe: func(_, _ int, x []int32, _ *sampler.Info) {
			exact.Tally(counts, x, 3, 2)
		}}, 8000)
		exact.Counts(t, counts, pi, exact.Rate)
	}
}
