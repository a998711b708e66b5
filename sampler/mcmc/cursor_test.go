package mcmc

import (
	"bytes"
	"context"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stopping is a kernel whose step can stop in the middle.
type stopping interface {
	sampler.Kernel
	StepUntil(stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream) bool
}

func streams(n int) []sampler.Stream {
	r := make([]sampler.Stream, n)
	for i := range r {
		r[i].Seed(5, uint64(i))
	}
	return r
}

// A step that stops at every question, and goes on in a kernel restored from a
// checkpoint, ends with the bits of one that does not stop.
func TestStepsStopAndGoOn(t *testing.T) {
	ising := exact.Must(model.NewIsing(model.Lattice{300, 300}, 0.3, 0.1))
	odd := exact.Must(model.NewIsing(model.Lattice{300, 301}, 0.3, 0.1))
	large := exact.Must(model.NewIsing(model.Lattice{1200, 1200}, 0.3, 0.1))
	opaque := energy.Func{Sites: 300, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) - 0.5*float64(x[1]*x[2]) }}
	for _, c := range []struct {
		m      energy.Model
		method sampler.Method
		stops  int
	}{
		{ising, Gibbs{Scan: Systematic}, 3}, {odd, Gibbs{}, 2}, {large, Gibbs{}, 2}, {ising, Gibbs{Scan: Random}, 3}, {opaque, Gibbs{}, 2},
		{ising, HammingBall{Updates: 2}, 10}, {opaque, HammingBall{Block: 12, Radius: 5, Updates: 3}, 3},
	} {
		const chains = 3
		sites, _ := c.m.Shape()
		fresh := func() stopping {
			return exact.Must(c.method.Kernel(context.Background(), c.m, chains)).(stopping)
		}
		whole, x, r, info := fresh(), make([]int32, chains*sites), streams(chains), make([]sampler.Info, chains)
		part, y, q, told := fresh(), make([]int32, chains*sites), streams(chains), make([]sampler.Info, chains)
		require.NoError(t, whole.Reset(x))
		require.NoError(t, part.Reset(y))
		stops := 0
		for range 2 {
			whole.Step(info, x, r)
			again := true // every question is answered with no, then yes
			for !part.StepUntil(func() bool { again = !again; return again }, told, y, q) {
				if stops++; stops > 2 {
					continue
				}
				state := exact.Must(part.AppendBinary(nil))
				part = fresh()
				require.NoError(t, part.UnmarshalBinary(state))
				for i := 0; i < len(state); i += 1 + len(state)/50 {
					require.Error(t, fresh().UnmarshalBinary(state[:i]))
				}
			}
			require.Equal(t, x, y, "%T", c.method)
			require.Equal(t, info, told)
			require.True(t, bytes.Equal(exact.Must(whole.AppendBinary(nil)), exact.Must(part.AppendBinary(nil))))
		}
		assert.GreaterOrEqual(t, stops, c.stops, "%T", c.method)
	}
}

// A run whose context ends in the middle of a long step returns after a bounded
// number of energies, and resumes to the same bits.
func TestCancelledWithinAStep(t *testing.T) {
	const sites = 3000
	evaluated := 0
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	at := -1
	m := energy.Func{Sites: sites, Levels: 2, E: func(x []int32) float64 {
		if evaluated++; evaluated == at {
			cancel()
		}
		return float64(x[0] - x[1])
	}}
	cfg := sampler.Config{Chains: 64, Warmup: -1, Workers: 1}
	want := exact.Must(sampler.NewChains(m, HammingBall{Updates: 20}, cfg))
	require.NoError(t, want.Run(context.Background(), 2))

	c := exact.Must(sampler.NewChains(m, HammingBall{Updates: 20}, cfg))
	at = evaluated + 5000
	require.ErrorIs(t, c.Run(ctx, 2), context.Canceled)
	// A poll is pollWork sites; leveling asks 16 times more, in each worker.
	assert.Less(t, evaluated-at, 20*(pollWork/sites+ballBatch), "a step of all chains takes %d", 64*20*37)
	var file bytes.Buffer
	require.NoError(t, c.Save(&file))
	next := exact.Must(sampler.NewChains(m, HammingBall{Updates: 20}, cfg))
	require.NoError(t, next.Load(&file))
	require.NoError(t, next.Run(context.Background(), 2-next.Len()))
	assert.Equal(t, want.States(), next.States())
	assert.Equal(t, want.Stats(), next.Stats())
}
