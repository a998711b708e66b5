package mcmc

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// partial lists a setting of every kernel, and has them ask whether to stop so
// often that one chain is more work than fits between two questions.
func partial(t *testing.T) []sized {
	was := sweep.PollWork
	sweep.PollWork = 64
	t.Cleanup(func() { sweep.PollWork = was })
	ising := exact.Must(model.NewIsing(model.Lattice{8, 12}, 0.3, 0.1))
	odd := exact.Must(model.NewIsing(model.Lattice{41, 13}, 0.3, 0.1))
	potts := exact.Must(model.NewPotts(model.Lattice{6, 7}, 3, 0.4, nil))
	opaque := energy.Func{Sites: 30, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) - 0.5*float64(x[1]*x[2]) }}
	rbm := exact.Must(model.NewRBM(filled(16*90, 0.01), filled(16, 0.1), filled(90, -0.2)))
	no11 := exact.Must(constraint.Avoids([]int32{1, 1}))
	dense := sweeptest.Ring(t, 300, 9, 0.02)
	return []sized{
		{dense, Gibbs{}}, {dense, Gibbs{Scan: Systematic}},
		{ising, Gibbs{}}, {odd, Gibbs{}}, {potts, Gibbs{}}, {ising, Gibbs{Scan: Systematic}}, {ising, Gibbs{Scan: Random}}, {ising, Gibbs{Scan: Chromatic}}, {opaque, Gibbs{}},
		{ising, HammingBall{Updates: 2}}, {opaque, HammingBall{Block: 12, Radius: 5, Updates: 3}},
		{ising, Metropolis{}}, {opaque, Metropolis{}},
		{ising, PairGibbs{}}, {opaque, PairGibbs{}}, {ising, PairGibbs{Within: no11, Updates: 40}},
		{ising, Swap{}}, {opaque, Swap{}}, {ising, Swap{Within: no11, Updates: 40}},
		{ising, BlockGibbs{Blocks: [][]int{{0, 1, 2}, {3, 4}, {5, 6, 7}}}}, {rbm, BlockGibbs{}},
		{ising, Subgraph{Width: 1}}, {ising, Subgraph{Width: 3}}, {potts, Subgraph{Width: 2, Within: no11}}, {ising, Tempering{Base: Subgraph{}, Betas: []float64{1, 0.5}}},
		{ising, DULA{}}, {potts, DULA{}}, {opaque, DULA{}},
		{ising, DMALA{}}, {potts, DMALA{}}, {opaque, DMALA{}}, {ising, DMALA{Within: no11}}, {ising, Cyclical{}},
		{ising, DUPS{}}, {ising, DMAPS{}}, {potts, DMAPS{}}, {opaque, DUPS{}}, {opaque, DMAPS{}}, {rbm, DMAPS{}}, {ising, DMALA{Balance: Barker}}, {opaque, DMALA{Exact: true}},
		{potts, DLMC{}}, {ising, GWG{Flips: 3}}, {opaque, GWG{}}, {potts, LocallyBalanced{Exact: true}}, {opaque, LocallyBalanced{Exact: true}},
		{potts, Paths{}}, {opaque, Paths{}},
		{ising, Tempering{Rungs: 3}}, {potts, Tempering{Base: Gibbs{}, Betas: []float64{1, 0.5}}}, {opaque, Tempering{Rungs: 2}},
	}
}

type sized struct {
	m      energy.Model
	method sampler.Method
}

func (c sized) String() string { return fmt.Sprintf("%T%+v on %T", c.method, c.method, c.m) }

func filled(n int, v float32) []float32 {
	f := make([]float32, n)
	for i := range f {
		f[i] = v * float32(i%7-3)
	}
	return f
}

// A step that stops at every question, and goes on in a kernel restored from a
// checkpoint, ends with the bits of one that does not stop. So does a Reset.
func TestStepsStopAndGoOn(t *testing.T) {
	for _, c := range partial(t) {
		chains, sites := 3, 0
		if sites, _ = c.m.Shape(); sites == 300 {
			chains = sweep.FewestRows // of its kernel
		} else if c.method == (Subgraph{Width: 1}) {
			chains = 17 // eight at a time, twice, and one more
		}
		fresh := func() sampler.Kernel {
			return exact.Must(c.method.Kernel(context.Background(), c.m, chains))
		}
		whole, x, r, info := fresh(), make([]int32, chains*sites), sweeptest.Streams(chains), make([]sampler.Info, chains)
		part, y, q, observed := fresh(), make([]int32, chains*sites), sweeptest.Streams(chains), make([]sampler.Info, chains)
		for i := 0; i < len(x); i += 5 {
			x[i], y[i] = 1, 1
		}
		require.NoError(t, whole.Reset(sampler.Control{}, x), c)
		again := true // every question is answered with no, then yes
		ask := func() bool { again = !again; return again }
		for {
			err := part.Reset(sampler.Control{Stop: ask}, y)
			if err == nil {
				break
			}
			require.Equal(t, sampler.ErrStopped, err)
		}
		stops := 0
		for step := range 2 {
			whole.Step(sampler.Control{}, info, x, r)
			adapt(whole, info, step)
			for part.Step(sampler.Control{Stop: ask}, observed, y, q) == 0 {
				if stops++; stops > 2 {
					continue
				}
				state := exact.Must(part.AppendBinary(nil))
				part = fresh()
				require.NoError(t, part.Reset(sampler.Control{}, y))
				require.NoError(t, part.UnmarshalBinary(state), c)
				for i := 0; i < len(state); i += 1 + len(state)/5 {
					require.Error(t, fresh().UnmarshalBinary(state[:i]), c)
				}
			}
			adapt(part, observed, step)
			require.True(t, slices.Equal(x, y), "%v", c)
			require.Equal(t, shown(info), shown(observed), "%v", c) // NaN is not equal to itself
			for s := range r {
				require.Equal(t, exact.Must(r[s].MarshalBinary()), exact.Must(q[s].MarshalBinary()), "%v", c)
			}
			require.True(t, bytes.Equal(exact.Must(whole.AppendBinary(nil)), exact.Must(part.AppendBinary(nil))), "%v", c)
		}
		assert.GreaterOrEqual(t, stops, 1, "%v", c)
	}
}

// shown prints what a step said, with what is on the rungs.
func shown(info []sampler.Info) string {
	var s strings.Builder
	for _, i := range info {
		rungs := i.Rungs
		i.Rungs = nil
		fmt.Fprintln(&s, i)
		for j := 0; rungs != nil && j < rungs.Len(); j++ {
			fmt.Fprintln(&s, fmt.Sprint(rungs.Rung(j)))
		}
	}
	return s.String()
}

func adapt(k sampler.Kernel, info []sampler.Info, step int) {
	if a, ok := k.(sampler.Adaptive); ok {
		a.Adapt(info, step, 100)
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
	want := exact.Must(sampler.NewChains(context.Background(), m, HammingBall{Updates: 20}, cfg))
	require.NoError(t, want.Run(context.Background(), 2))

	c := exact.Must(sampler.NewChains(context.Background(), m, HammingBall{Updates: 20}, cfg))
	at = evaluated + 5000
	require.ErrorIs(t, c.Run(ctx, 2), context.Canceled)
	// A poll is pollWork sites; leveling asks 16 times more, in each worker.
	assert.Less(t, evaluated-at, 20*(sweep.PollWork/sites+ballBatch), "a step of all chains takes %d", 64*20*37)
	var file bytes.Buffer
	require.NoError(t, c.Save(&file))
	next := exact.Must(sampler.NewChains(context.Background(), m, HammingBall{Updates: 20}, cfg))
	require.NoError(t, next.Load(context.Background(), &file))
	require.NoError(t, next.Run(context.Background(), 2-next.Len()))
	assert.Equal(t, want.States(), next.States())
	assert.Equal(t, want.Stats(), next.Stats())
}
