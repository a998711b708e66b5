package mcmc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// stiff has sites that are up once in e⁷ times: almost every proposal leaves all of
// them down.
func stiff(sites int, logit float64) *model.Independent {
	logits := make([]float64, sites)
	for i := range logits {
		logits[i] = -logit
	}
	return exact.Must(model.NewBernoulli(logits))
}

// On a stiff target the step size comes to where proposals that change something are
// accepted as they should be, and not to its bound, where nearly none is.
func TestStepSizesOfStiffTargets(t *testing.T) {
	ctx := context.Background()
	changing, accepted := 0, 0.0
	ch := exact.Must(sampler.NewChains(context.Background(), stiff(10, 7), mcmc.DMALA{}, sampler.Config{Chains: 64, Seed: 1,
		Observe: func(_, _ int, _ []int32, info *sampler.Info) {
			if info.Accept < 1 || info.Moved > 0 {
				changing++
				accepted += info.Accept
			}
		}, Workers: 1}))
	require.NoError(t, ch.Run(ctx, 1000))
	for _, alpha := range ch.StepSizes() {
		assert.Less(t, alpha, 1.)
		assert.Greater(t, alpha, 0.05)
	}
	require.Greater(t, changing, 300)
	assert.InDelta(t, 0.574, accepted/float64(changing), 0.25)
	assert.Empty(t, ch.Warnings())
}

// A step size at its bound gives a warning, except on a target on which every proposal is
// accepted: the bound is right there.
func TestStepSizesAtABoundWarn(t *testing.T) {
	run := func(m *model.Independent, method sampler.Method) []string {
		ch := exact.Must(sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 6, Seed: 1}))
		require.NoError(t, ch.Run(context.Background(), 1))
		return ch.Warnings()
	}
	warnings := run(stiff(3, 25), mcmc.DMALA{})
	require.NotEmpty(t, warnings)
	assert.Contains(t, warnings[0], "chain 0, 6 in all: warm-up took the step size up to its bound")
	assert.Empty(t, run(stiff(10, 0), mcmc.DMALA{}))
	assert.Empty(t, run(stiff(3, 25), mcmc.DMALA{StepSize: 1}))
	assert.Empty(t, run(stiff(3, 25), mcmc.Gibbs{}))
}
