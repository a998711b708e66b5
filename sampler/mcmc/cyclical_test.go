package mcmc

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

func TestCosPi(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 20, 1000} {
		for k := range n + 1 {
			assert.InDelta(t, math.Cos(math.Pi*float64(k)/float64(n)), cosPi(k, n), 5e-16)
		}
	}
}

// TestCyclicalSchedule holds the schedule to its formula, in plain arithmetic.
func TestCyclicalSchedule(t *testing.T) {
	k := exact.Must(Cyclical{StepSize: 4, MinStep: 0.3, Balance: 0.9, Period: 8}.Kernel(context.Background(), exact.NewQuadratic(3, 1), 1)).(*cyclical)
	var alphas []float64
	for i := range 8 {
		k.at = i
		alpha, beta := k.stage()
		alphas = append(alphas, alpha)
		c := math.Cos(math.Pi * float64(i) / 8)
		if want := 2 * (1 + c); want >= 0.3 {
			assert.InDelta(t, want, alpha, 1e-14)
			assert.InDelta(t, 0.7+0.2*c, beta, 1e-14)
		} else {
			assert.Equal(t, []float64{0.3, 0.5}, []float64{alpha, beta})
		}
	}
	assert.Equal(t, 4.0, alphas[0])
	assert.Equal(t, 0.3, alphas[7])
	k = exact.Must(Cyclical{}.Kernel(context.Background(), exact.NewQuadratic(3, 1), 1)).(*cyclical)
	alpha, beta := k.stage()
	assert.Equal(t, []float64{2, 1}, []float64{alpha, beta})
}

// TestCyclicalLeavesItsTargetInvariant judges every step of a cycle on its own,
// with its observed transitions, and the cycle as a whole.
func TestCyclicalLeavesItsTargetInvariant(t *testing.T) {
	exact.SkipUnderRace(t)
	for space, m := range spaces() {
		sites, levels := m.Shape()
		method := Cyclical{StepSize: 3, MinStep: 0.4, Period: 4, Balance: 0.8}
		if space == "ordinal" {
			method.Window = 1
		}
		pi, _ := exact.Law(m)
		one := exact.Must(method.Kernel(context.Background(), m, 1)).(*cyclical)
		block := exact.Must(method.Kernel(context.Background(), m, sampler.BlockSize)).(*cyclical)
		var cycle *exact.Matrix
		for at := range method.Period {
			one.at = at
			p := transition(t, one, sites, levels)
			assert.LessOrEqual(t, p.RowError(), 1e-12, "%s, step %d", space, at)
			assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12, "%s, step %d", space, at)
			assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-12, "%s, step %d", space, at)
			if !testing.Short() {
				exact.Transitions(t, sweeptest.ObservedKernel(t, m, block, func() { block.at = at }, 320, 7), p, exact.Rate)
			}
			if cycle == nil {
				cycle = p
			} else {
				cycle = cycle.Mul(p)
			}
		}
		assert.LessOrEqual(t, cycle.MaxDiff(pi), 1e-12, space)
	}
}

// The twin scores the way back with the step size of the next step.
func TestCyclicalBrokenTwin(t *testing.T) {
	exact.SkipUnderRace(t)
	m := exact.NewRugged(4, 3, 1, 0.5, 2)
	pi, _ := exact.Law(m)
	all := exact.States(4, 3)
	k := exact.Must(Cyclical{StepSize: 3, Period: 4}.Kernel(context.Background(), m, 1)).(*cyclical)
	twin := exact.NewMatrix(len(all), func(x int, dst []float64) {
		require.NoError(t, k.Reset(sampler.Control{}, all[x]))
		k.at = 0
		alpha, beta := k.stage()
		setStep(k.proposal, alpha, beta, all[x])
		now := append([]float32(nil), k.proposal.(*rows).p.Now...)
		sum := append([]float64(nil), k.proposal.(*rows).sum.Now...)
		k.at = 2
		alpha, beta = k.stage()
		setStep(k.proposal, alpha, beta, all[x])
		copy(k.proposal.(*rows).p.Now, now)
		copy(k.proposal.(*rows).sum.Now, sum)
		for y := range dst {
			if y == x {
				continue
			}
			load(k.proposal, k.next, all[y], all[x])
			forth := k.proposal.current(all[y], all[x], 0)
			a, _ := sweep.Accept(k.e[0]-k.next[0], forth, k.proposal.logProb(all[x], all[y], 0))
			dst[y] = math.Exp(forth) * a
		}
		sweeptest.Stay(dst, x)
	})
	assert.Greater(t, twin.MaxDiff(pi), 1e-3)
	block := exact.Must(Cyclical{StepSize: 3, Period: 4}.Kernel(context.Background(), m, sampler.BlockSize)).(*cyclical)
	v, _ := exact.TransitionsPValue(sweeptest.ObservedKernel(t, m, block, func() { block.at = 0 }, 3200, 7), twin)
	assert.Less(t, v, exact.Rate)
}

func TestCyclicalTunes(t *testing.T) {
	m, err := model.NewIsing(model.Lattice{8, 8}, 0.2, 0)
	require.NoError(t, err)
	var short, long float64
	k := Cyclical{Period: 10}
	c, err := sampler.NewChains(context.Background(), m, k, sampler.Config{Chains: 64, Seed: 1, Warmup: 900})
	require.NoError(t, err)
	require.NoError(t, c.Run(context.Background(), 0))
	in := c.Kernels()[0].(*cyclical)
	assert.Nil(t, in.tuning)
	assert.Greater(t, in.longest, in.shortest)
	for range 400 {
		at := in.at
		require.NoError(t, c.Run(context.Background(), 1))
		for _, info := range c.Info() {
			switch at {
			case 0:
				long += info.Accept / (40 * 64)
			case 9:
				short += info.Accept / (40 * 64)
			}
		}
	}
	assert.InDelta(t, 0.574, short, 0.05)
	assert.InDelta(t, 0.287, long, 0.05)
	fixed := runs.Run(t, m, Cyclical{StepSize: 2}, sampler.Config{Warmup: 100}, 1)
	assert.Equal(t, []float64{2, 2, 2, 2}, fixed.StepSizes())
}

// A checkpoint in the middle of either tuning run resumes to the same bits.
func TestCyclicalCheckpointWithinPilots(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	for _, at := range []int{1, 20, 50, 80, 120} {
		step := func(k *cyclical, x []int32, r []sampler.Stream, from, to int) {
			info := make([]sampler.Info, 2)
			for s := from; s < to; s++ {
				k.Step(sampler.Control{}, info, x, r)
				if s < 90 {
					k.Adapt(info, s, 90)
				}
			}
		}
		a := exact.Must(Cyclical{Period: 7}.Kernel(context.Background(), m, 2)).(*cyclical)
		x, r := make([]int32, 18), []sampler.Stream{*sampler.NewStream(1, 0), *sampler.NewStream(1, 1)}
		require.NoError(t, a.Reset(sampler.Control{}, x))
		step(a, x, r, 0, at)
		saved, err := a.AppendBinary(nil)
		require.NoError(t, err)
		b := exact.Must(Cyclical{Period: 7}.Kernel(context.Background(), m, 2)).(*cyclical)
		require.NoError(t, b.UnmarshalBinary(saved))
		for n := range saved {
			require.Error(t, exact.Must(Cyclical{Period: 7}.Kernel(context.Background(), m, 2)).UnmarshalBinary(saved[:n]))
		}
		x2, r2 := append([]int32(nil), x...), append([]sampler.Stream(nil), r...)
		step(a, x, r, at, 150)
		step(b, x2, r2, at, 150)
		assert.Equal(t, x, x2)
		want, _ := a.AppendBinary(nil)
		got, _ := b.AppendBinary(nil)
		assert.True(t, bytes.Equal(want, got), "saved at %d", at)
	}
	bad := wire.AppendFloat64s(nil, []float64{1, 1, 7, 0, 0, 0, 0})
	assert.ErrorContains(t, exact.Must(Cyclical{Period: 7}.Kernel(context.Background(), m, 2)).UnmarshalBinary(bad), "want positive ones at 0 … 6")
}
