package diagnose_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Chains that are stuck in different modes agree with themselves and not with
// each other: a streaming trace must not take that for certainty. Its error is
// held against that of the standard error of the chain means, which needs no
// autocorrelations, and against the full trace.
func TestStuckChainsShowInStreamingTraces(t *testing.T) {
	exact.SkipUnderRace(t)
	const chains, draws = 64, 2000
	for _, c := range []struct {
		side int
		a    float64
	}{{6, 0.6}, {8, 0.4}, {8, 0.5}} {
		m := exact.Must(model.NewIsing(model.Lattice{c.side, c.side}, c.a, 0))
		full, stream := diagnose.NewTrace(energy.Magnetization), diagnose.NewStreamingTrace(energy.Magnetization)
		run := exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, sampler.Config{Chains: chains, Warmup: 200, Seed: 4,
			Observe: sampler.Observer(full.Observe).And(stream.Observe)}))
		require.NoError(t, run.Run(context.Background(), draws))
		series, err := full.Values("f1")
		require.NoError(t, err)
		var means []float64
		grand := 0.0
		for _, x := range series {
			sum := 0.0
			for _, v := range x {
				sum += v
			}
			means = append(means, sum/draws)
			grand += sum / draws / chains
		}
		between := 0.0
		for _, v := range means {
			between += (v - grand) * (v - grand) / (chains - 1)
		}
		row, all := stream.Summary().Rows[0], full.Summary().Rows[0]
		alone := math.Sqrt(between / chains)
		assert.InEpsilon(t, alone, row.MCSE.Value, 0.15, "%+v", c)
		assert.InEpsilon(t, alone, row.MCSEChains.Value, 1e-9, "%+v", c)
		assert.InEpsilon(t, alone, all.MCSEChains.Value, 1e-9, "%+v", c)
		assert.InEpsilon(t, all.MCSE.Value, row.MCSE.Value, 0.25, "%+v: 64 chain means know the error to 9 %%", c)
		assert.InEpsilon(t, all.RHatNested.Value, row.RHatNested.Value, 1e-9, "%+v", c)
	}
}
