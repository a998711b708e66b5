package diagnose_test

import (
	"context"
	"math"
	"math/rand/v2"
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

// A function that left its value once, and an effective sample size at its cap, say so.
func TestRareAndCapped(t *testing.T) {
	const chains, draws = 4, 500
	trace := diagnose.NewTrace(
		func(x []int32) float64 { return float64(x[0]) },
		func(x []int32) float64 { return float64(x[1]) },
		func(x []int32) float64 { return float64(x[2]) },
	).Name("once", "twice", "alternating")
	r := rand.New(sampler.NewStream(3, 9))
	for c := range chains {
		at := 0.0 // of an autoregression that alternates
		for d := range draws {
			at = -0.9*at + r.NormFloat64()
			x := []int32{0, 0, int32(1000 * at)}
			if c == 2 && d >= 100 && d < 110 {
				x[0], x[1] = 1, 1
			}
			if c == 1 && d == 300 {
				x[1] = 1
			}
			trace.Observe(c, d, x, &sampler.Info{})
		}
	}
	var figures []string
	for _, r := range trace.Summary().Reasons() {
		if r.Row == "once" && r.Figure == "visits" {
			require.Contains(t, r.Text, "all draws but one stretch of one chain are 0")
		}
		if r.Row == "alternating" && r.Value >= r.Limit && r.Figure == "ess_bulk" {
			require.Contains(t, r.Text, "is the largest that is stated for 2000 draws")
			require.InDelta(t, 2000*math.Log10(2000), r.Limit, 1e-9)
			r.Figure = "cap"
		}
		figures = append(figures, r.Row+" "+r.Figure)
	}
	require.Contains(t, figures, "once visits")
	require.NotContains(t, figures, "twice visits")
	require.Contains(t, figures, "alternating cap")
}
