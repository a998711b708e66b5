package diagnose

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// TestTraceOfARun puts the error bars of both modes to the test: the mean of a Gibbs run
// lies within 5.2 MCSE of the enumerated one. A standard normal is farther out with
// probability 2e−7; ESS above 4000 makes the MCSE exact to a few per cent, for which 5.2
// rather than the 4.9 of rate 1e−6 leaves a margin. Workers do not matter, and a saved
// trace goes on as if nothing had been.
func TestTraceOfARun(t *testing.T) {
	m, err := model.NewIsing(model.Lattice{3, 3}, 0.2, 0.1)
	require.NoError(t, err)
	p, _ := exact.Law(m)
	want := exact.Expect(p, 9, 2, energy.Magnetization)

	const chains = 40 // two blocks
	start := func(workers int) (*sampler.Chains, *Trace, *Trace) {
		full := NewTrace(energy.Magnetization).Name("mag")
		small := NewStreamingTrace(energy.Magnetization).Name("mag")
		ch, err := sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: chains, Seed: 3, Warmup: 20, Workers: workers,
			Observe: sampler.Observer(full.Observe).And(small.Observe)})
		require.NoError(t, err)
		return ch, full, small
	}
	ctx := context.Background()
	ch, full, small := start(2)
	full.Reserve(600)
	require.NoError(t, ch.Run(ctx, 600))

	one, two := full.Summary(), small.Summary()
	for _, row := range []Row{one.Rows[0], two.Rows[0]} {
		assert.InDelta(t, want, row.Mean.Value, 5.2*row.MCSE.Value)
		assert.Greater(t, row.ESSMean.Value, 4000.0)
		assert.Less(t, row.RHat.Value, rHatLimit)
	}
	assert.Empty(t, one.Warnings())
	assert.InEpsilon(t, one.Rows[0].Mean.Value, two.Rows[0].Mean.Value, 1e-10)
	assert.Equal(t, 1.0, one.Accept.Value)
	// A broken twin, which sees +1 in one draw of ten, fails.
	broken := NewTrace(energy.Magnetization)
	draws, err := full.Values("mag")
	require.NoError(t, err)
	for c, x := range draws {
		for i, v := range x {
			if i%10 == 0 {
				v = 1
			}
			broken.functions[0] = func([]int32) float64 { return v }
			broken.Observe(c, i, nil, nil)
		}
	}
	row := broken.Summary().Rows[0]
	assert.Greater(t, math.Abs(row.Mean.Value-want), 5.2*row.MCSE.Value)

	ch, half, halfSmall := start(1)
	require.NoError(t, ch.Run(ctx, 250))
	var saved bytes.Buffer
	require.NoError(t, ch.Save(&saved))
	a, err := half.AppendBinary(nil)
	require.NoError(t, err)
	b, err := halfSmall.AppendBinary(nil)
	require.NoError(t, err)

	ch, half, halfSmall = start(3)
	require.NoError(t, ch.Load(context.Background(), &saved))
	require.NoError(t, half.UnmarshalBinary(a))
	require.NoError(t, halfSmall.UnmarshalBinary(b))
	require.NoError(t, ch.Run(ctx, 350))
	assert.Equal(t, one, half.Summary())
	assert.Equal(t, two, halfSmall.Summary())
}
