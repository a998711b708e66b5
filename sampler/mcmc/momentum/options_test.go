package momentum_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

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
