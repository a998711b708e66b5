package mcmc

import (
	"bytes"
	"context"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// withCount returns a base and weight times the number of sites at level 1, as a Lagrangian of a
// constraint.Count is, and what sets the weight.
func withCount(base energy.Model, weight float64) (m *energy.Affine, set func(weight float64)) {
	sites, levels := base.Shape()
	logw := make([]float64, sites*levels)
	for at := 1; at < len(logw); at += levels {
		logw[at] = -1
	}
	m, weigh, err := energy.NewAffine(base, exact.Must(model.NewIndependent(logw, levels)))
	if err != nil {
		panic(err)
	}
	set = func(w float64) { weigh([]float64{1, w}, 0) }
	set(weight)
	return m, set
}

func counting(base energy.Model, weight float64) energy.Model {
	m, _ := withCount(base, weight)
	return m
}

// Kernels inside wrappers have the distribution of the wrapped model, by enumeration, at
// every number of fixed sites: none, one colour, most, all.
func TestInsideWrappers(t *testing.T) {
	exact.SkipRepeated(t)
	defer func(n int) { sweep.FewestFree = n }(sweep.FewestFree)
	sweep.FewestFree = 1
	torus := func(n int) energy.Model { return exact.Must(model.NewIsing(model.Lattice{n, n}, 0.3, 0.1)) }
	small := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))
	glass := exact.Must(model.NewIsing(exact.Must(model.NewGraph(8, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -2}, {I: 2, J: 3, W: 0.5}, {I: 3, J: 4, W: 1}, {I: 4, J: 7, W: 1.5}, {I: 5, J: 6, W: -1}, {I: 0, J: 6, W: 1}})), 0.4, 0.2))
	var edges, against []model.Edge
	for i := range 9 {
		for j := range i {
			edges = append(edges, model.Edge{I: i, J: j, W: 1})
			against = append(against, model.Edge{I: i, J: j, W: float64(1 - 2*((i+j)%2))})
		}
	}
	complete := exact.Must(model.NewIsing(exact.Must(model.NewGraph(9, edges)), 0.05, 0.13)) // no change costs nothing, see Metropolis.Scan
	fields := exact.Must(model.NewBernoulli([]float64{0.3, -0.2, 0.1, 0, 0.5, 0.4, -1, 0.2}))
	potts := exact.Must(model.NewPotts(model.Lattice{5}, 3, 0.7, []float64{0, 0.3, -0.1}))
	every := func(n int) func(i int) bool { return func(i int) bool { return i%n == 0 } }
	for _, c := range []struct {
		name   string
		m      energy.Model
		method sampler.Method
		chains int
		engine string
	}{
		{"scaled count on a torus", exact.Must(energy.Scale(counting(small, 0.4), 1.5)), Gibbs{}, 32, "wordGibbs"},
		{"scale of pairs and fields", exact.Must(energy.Scale(exact.Must(energy.Sum(glass, fields)), 0.7)), Gibbs{}, 1, ""},
		{"pairs and pairs", exact.Must(energy.Sum(exact.Must(model.NewIsing(model.Lattice{8}, 0.3, 0)), exact.Must(model.NewIsing(model.Lattice{8}, 0.2, 0.3)))), Gibbs{}, 32, "wordGibbs"},
		{"count on a Potts model", counting(potts, 0.7), Gibbs{}, 1, "sparseGibbs"},
		{"count on a complete graph", counting(complete, 0.3), Metropolis{Scan: Systematic}, 4, "denseGibbs"},
		{"clamped complete graph", sweeptest.Pinned(complete, func(i int) bool { return i > 1 }), Metropolis{Scan: Systematic}, 4, "denseGibbs"},
		{"complete graph of rows", sweeptest.Pinned(complete, func(i int) bool { return i%3 > 0 }), Gibbs{}, 8, "rowGibbs"},
		{"complete graph of rows in order", counting(sweeptest.Pinned(complete, func(i int) bool { return i%3 > 0 }), 0.2), Gibbs{Scan: Systematic}, 8, "rowGibbs"},
		{"rows, some against", sweeptest.Pinned(exact.Must(model.NewIsing(exact.Must(model.NewGraph(9, against)), 0.2, 0.13)), func(i int) bool { return i%4 > 0 }), Gibbs{}, 8, "rowGibbs"},
		{"replicas of rows", sweeptest.Pinned(complete, func(i int) bool { return i%3 > 0 }), Tempering{Base: Gibbs{}, Betas: []float64{1, 0.6}}, 8, "tempering"},
		{"table of two levels", sweeptest.Pinned(complete, func(i int) bool { return i%3 > 0 }), Gibbs{}, 4, "sparseGibbs"},
		{"table of two levels, replicas", sweeptest.Pinned(complete, func(i int) bool { return i%3 > 0 }), Tempering{Base: Gibbs{}, Betas: []float64{1, 0.6}}, 4, "tempering"},
		{"count in order", sweeptest.Pinned(complete, func(i int) bool { return i%3 > 0 }), Metropolis{Scan: Chromatic}, 4, "denseGibbs"},
		{"one by one", sweeptest.Pinned(potts, func(i int) bool { return i != 2 }), Gibbs{Scan: Systematic}, 4, "gibbs"},
		{"clamped glass", sweeptest.Pinned(glass, func(i int) bool { return i != 1 && i != 4 }), Gibbs{}, 4, "memoGibbs"},
		{"count on a clamped torus", counting(sweeptest.Pinned(small, func(i int) bool { return i > 2 }), 0.4), Gibbs{}, 32, "wordGibbs"},
		{"clamp of a count on a torus", sweeptest.Pinned(counting(small, 0.4), func(i int) bool { return i > 2 }), Gibbs{}, 32, "wordGibbs"},
		{"torus, few free", sweeptest.Pinned(torus(6), every(5)), Gibbs{}, 1, "torusGibbs"},
		{"torus, a colour fixed", sweeptest.Pinned(torus(4), func(i int) bool { return (i/4+i)%2 == 0 }), Gibbs{}, 32, "wordGibbs"},
		{"torus as bits, a colour fixed", sweeptest.Pinned(torus(6), func(i int) bool { return (i/6+i)%2 == 0 && i < 24 }), Gibbs{}, 1, "torusGibbs"},
		{"torus, none fixed", sweeptest.Pinned(small, every(1)), Gibbs{}, 32, "wordGibbs"},
		{"torus, all fixed", sweeptest.Pinned(torus(6), func(int) bool { return false }), Gibbs{}, 1, "torusGibbs"},
		{"count on a torus", counting(sweeptest.Pinned(torus(6), every(5)), 0.4), Gibbs{}, 1, "torusGibbs"},
		{"Potts model, clamped", counting(sweeptest.Pinned(exact.Must(model.NewPotts(model.FreeLattice{3, 3}, 3, 0.7, []float64{0, 0.3, -0.1})), func(i int) bool { return i%2 == 0 }), 0.2), Gibbs{}, 1, "sparseGibbs"},
		{"DMALA on a torus", sweeptest.Pinned(torus(12), every(24)), DMALA{StepSize: 0.5}, 1, "torusLangevin"},
		{"DLMC on a count on a torus", counting(sweeptest.Pinned(torus(12), func(i int) bool { return i > 138 }), 0.4), DLMC{StepSize: 0.5}, 4, "torusLangevin"},
		{"Metropolis on a torus", sweeptest.Pinned(torus(6), every(5)), Metropolis{Scan: Chromatic}, 1, "torusGibbs"},
		{"Potts of two levels, clamped", sweeptest.Pinned(exact.Must(model.NewPotts(model.Lattice{8}, 2, 0.5, []float64{0, 0.2})), func(i int) bool { return i != 3 }), Gibbs{}, 4, "wordGibbs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := exact.Must(c.method.Kernel(context.Background(), c.m, c.chains))
			if c.engine != "" {
				require.Equal(t, c.engine, sweeptest.EngineOf(k))
			}
			free, p := sweeptest.Distribution(c.m)
			_, levels := c.m.Shape()
			counts := make([]int, len(p))
			y, e := make([]int32, len(free)), make([]float64, 1)
			cfg := sampler.Config{Chains: c.chains, Seed: 5, Workers: 1, Thin: 6, Observe: func(_, _ int, x []int32, info *sampler.Info) {
				for at, i := range free {
					y[at] = x[i]
				}
				counts[exact.Index(append(y, 0)[:max(1, len(y))], levels)]++
				c.m.Energy(e, x)
				require.InDelta(t, e[0], info.Energy, 1e-9)
			}}
			runs.Run(t, c.m, c.method, cfg, sweeptest.Many(40000)/c.chains)
			exact.Counts(t, counts, p, exact.Rate)
		})
	}
}

// What a wrapper changes reaches the kernel at the next Reset; step sizes stay.
func TestFollowingWeights(t *testing.T) {
	base := exact.Must(model.NewIsing(model.Lattice{12, 12}, 0.3, 0.1))
	m, set := withCount(base, 0)
	for _, method := range []sampler.Method{Gibbs{}, DMALA{}, DLMC{}, Metropolis{Scan: Chromatic}} {
		set(0)
		c := runs.Run(t, m, method, sampler.Config{Chains: 4, Seed: 1, Warmup: 20}, 10)
		want := runs.Run(t, base, method, sampler.Config{Chains: 4, Seed: 1, Warmup: 20}, 10)
		assert.Equal(t, want.States(), c.States(), "λ = 0 is the base")
		steps := c.StepSizes()
		set(0.8)
		require.NoError(t, c.Reset())
		require.NoError(t, c.Run(context.Background(), 1000))
		assert.Equal(t, steps, c.StepSizes())
		ups := 0
		for _, l := range c.States() {
			ups += int(l)
		}
		assert.Less(t, ups, 4*144/2, "%T: a field against ones", method)
		e := make([]float64, 4)
		m.Energy(e, c.States())
		for s, info := range c.Info() {
			assert.InDelta(t, e[s], info.Energy, 1e-9, "%T", method)
		}
	}
}

// Runs of wrapped models resume to the same bits, and refuse starts off their support.
func TestInsideResumes(t *testing.T) {
	torus := exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.3, 0.1))
	for _, m := range []energy.Model{counting(torus, 0.5), sweeptest.Pinned(torus, func(i int) bool { return i%3 > 0 }), counting(sweeptest.Pinned(torus, func(i int) bool { return i%3 > 0 }), 0.5)} {
		runs.Resume(t, m, Gibbs{})
		runs.Resume(t, m, Gibbs{Scan: Systematic})
	}
	m := sweeptest.Pinned(torus, func(i int) bool { return i > 1 })
	for _, chains := range []int{1, 4} {
		k := exact.Must(Gibbs{}.Kernel(context.Background(), m, chains))
		x := make([]int32, 36*chains)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		x[len(x)-36] = 1
		var start *sampler.StartError
		require.ErrorAs(t, k.Reset(sampler.Control{}, x), &start)
		require.Equal(t, chains-1, start.Chain)
		require.Equal(t, math.Inf(1), start.Energy)
	}
}

// Hidden units survive a Lagrangian of a count and a clamp.
func TestInsideLayers(t *testing.T) {
	exact.SkipUnderRace(t)
	w := []float32{0.5, -1, 0.25, 1, 0.3, -0.2, 0.7, 0.1, -0.6, 0.4}
	rbm := exact.Must(model.NewRBM(w, []float32{0.1, -0.2}, []float32{0.2, 0, -0.4, 0.3, 0.1}))
	m := counting(sweeptest.Pinned(rbm, func(i int) bool { return i != 2 }), 0.6)
	k := exact.Must(BlockGibbs{}.Kernel(context.Background(), m, 4))
	require.Equal(t, "bipartite", sweeptest.EngineOf(k))
	free, p := sweeptest.Distribution(m)
	counts, y := make([]int, len(p)), make([]int32, len(free))
	runs.Run(t, m, BlockGibbs{}, sampler.Config{Chains: 4, Seed: 3, Thin: 8, Workers: 1, Observe: func(_, _ int, x []int32, _ *sampler.Info) {
		for at, i := range free {
			y[at] = x[i]
		}
		counts[exact.Index(y, 2)]++
	}}, 5000)
	exact.Counts(t, counts, p, exact.Rate)
}

// After a change a kernel that works on the model makes the first steps, then the one of the
// model as it is; a checkpoint between holds which.
func TestFollowingTakesTurns(t *testing.T) {
	m, set := withCount(exact.Must(model.NewIsing(model.Lattice{6, 6}, 0.3, 0.1)), 0.2)
	cfg := sampler.Config{Chains: 3, Seed: 1, Warmup: -1, Workers: 1}
	start := func() *sampler.Chains {
		c := runs.Run(t, m, Gibbs{}, cfg, 5)
		set(0.5)
		require.NoError(t, c.Reset())
		return c
	}
	want := start()
	at := func(c *sampler.Chains) string { return sweeptest.EngineOf(c.Kernels()[0]) }
	require.NoError(t, want.Run(context.Background(), 1))
	assert.NotEqual(t, "torusGibbs", at(want))
	require.NoError(t, want.Run(context.Background(), 2*patience))
	assert.Equal(t, "torusGibbs", at(want))
	for _, n := range []int{1, patience - 1, patience, patience + 3} {
		set(0.2)
		c := start()
		require.NoError(t, c.Run(context.Background(), n))
		var file bytes.Buffer
		require.NoError(t, c.Save(&file))
		other := exact.Must(sampler.NewChains(context.Background(), m, Gibbs{}, cfg))
		require.NoError(t, other.Load(context.Background(), &file))
		require.NoError(t, other.Run(context.Background(), 1+2*patience-n))
		assert.Equal(t, want.States(), other.States(), "saved after %d steps", n)
		assert.Equal(t, want.Info(), other.Info())
	}
	k := exact.Must(Gibbs{}.Kernel(context.Background(), m, 1))
	require.Error(t, k.UnmarshalBinary([]byte{1}))
	require.ErrorContains(t, k.UnmarshalBinary(append([]byte{patience + 1}, make([]byte, 7)...)), "= 17, want 0 … 16")
}

// Replicas of a model whose numbers change move by the kernels of what it is now, wherever
// their kernels are made anew: at a Reset, or some steps after it.
func TestTemperingFollows(t *testing.T) {
	exact.SkipUnderRace(t)
	const chains, steps = 8, 3000
	m, set := withCount(exact.Must(model.NewIsing(model.Lattice{4, 4}, 0.1, 0)), 0.2)
	k := exact.Must(Tempering{Base: Gibbs{}, Betas: []float64{1, 0.8, 0.5, 0.2}}.Kernel(t.Context(), m, chains)).(*tempering)
	x, info, r := make([]int32, chains*16), make([]sampler.Info, chains), make([]sampler.Stream, chains)
	for s := range r {
		r[s].Seed(1, uint64(s))
	}
	for _, weight := range []float64{0.2, 2, -1} {
		set(weight)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		_, p := sweeptest.Distribution(m)
		want, got := 0.0, make([]float64, 4)
		for state, q := range p {
			want += float64(bits.OnesCount(uint(state))) * q
		}
		for range steps {
			require.Equal(t, 1, k.Step(sampler.Control{}, info, x, r))
			for s := range info {
				require.NoError(t, info[s].Err)
				for j := range got {
					_, e, y := info[s].Rungs.Rung(j)
					var f [1]float64
					m.Energy(f[:], y)
					require.InDelta(t, f[0], e, 1e-9)
					for _, l := range y {
						got[j] += float64(l) / steps / chains
					}
				}
				require.Equal(t, x[s*16:(s+1)*16], third(info[s].Rungs.Rung(0)))
			}
		}
		require.InDelta(t, want, got[0], 0.2, "weight %v", weight)
	}

	set(0.5)
	require.NoError(t, k.Reset(sampler.Control{}, x))
	for range 2 * patience { // some saved before the kernels change, some after
		b, err := k.AppendBinary(nil)
		require.NoError(t, err)
		again := exact.Must(Tempering{Base: Gibbs{}, Betas: k.betas}.Kernel(t.Context(), m, chains))
		require.NoError(t, again.UnmarshalBinary(b))
		y, other := slices.Clone(x), slices.Clone(r)
		k.Step(sampler.Control{}, info, x, r)
		energies := make([]float64, chains)
		for s := range info {
			energies[s] = info[s].Energy
		}
		again.Step(sampler.Control{}, info, y, other)
		require.Equal(t, x, y)
		for s := range info {
			require.Equal(t, energies[s], info[s].Energy)
		}
	}
}

func third[A, B, C any](_ A, _ B, c C) C { return c }
