package sweep

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// twoLevels hides that two sites are together only where both are 1: a hard rule with
// a graph.
type (
	twoLevels   struct{ differences }
	differences = energy.Conditional // a field of another name than the method's
)

func (twoLevels) Graph() (start, adj []int32) { return []int32{0, 1, 2, 2}, []int32{1, 0} }

// memoModels are small models that memoGibbs takes: couplings and fields of their own
// everywhere, sums, scaled ones, and one in which states are impossible.
func memoModels(t *testing.T) map[string]energy.Model {
	glass := exact.Must(model.NewGraph(5, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -2}, {I: 0, J: 3, W: 0.5}, {I: 0, J: 2, W: 0.7}}))
	field := exact.Must(model.NewIndependent([]float64{0, 0.3, 0, -0.2, 0, 1, 0.5, 0, 0, 0.1}, 2))
	spins := exact.Must(model.NewIsing(glass, 0.8, 0.1))
	rule := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 && x[1] == 1 {
			return math.Inf(1)
		}
		return 0.4*float64(x[0]) - 0.3*float64(x[2])
	}}
	return map[string]energy.Model{
		"glass":  spins,
		"field":  exact.Must(energy.Sum(exact.Must(model.NewIsing(model.Lattice{5}, 0.5, 0)), field)),
		"scaled": exact.Must(energy.Scale(exact.Must(energy.Sum(spins, field)), 1.7)),
		"rule":   twoLevels{energy.Conditionals(rule)},
	}
}

// The draws are those of the kernel that keeps differences, in both orders, and the
// energies are those of the states; a memo whose entries are of other neighbours fails.
func TestMemoGibbsDrawsAsThePlainKernelDoes(t *testing.T) {
	const chains, steps = 7, 60
	for name, m := range memoModels(t) {
		sites, levels := m.Shape()
		for _, scan := range []Scan{Systematic, Chromatic} {
			if scan == Chromatic && name == "rule" {
				continue
			}
			k, ok := exact.Must(Gibbs{Scan: scan}.Kernel(context.Background(), m, chains)).(*memoGibbs)
			require.True(t, ok, name)
			plain := padded.New(gibbs{order: k.order, sitewise: newSitewise(NewLocals(m, chains, sites)), w: make([]float64, levels), unpolled: 1})
			same := func(k sampler.Kernel) bool {
				x, y := make([]int32, chains*sites), make([]int32, chains*sites)
				info, observed := make([]sampler.Info, chains), make([]sampler.Info, chains)
				var r, q []sampler.Stream
				for s := range uint64(chains) {
					r, q = append(r, *sampler.NewStream(1, s)), append(q, *sampler.NewStream(1, s))
				}
				require.NoError(t, k.Reset(sampler.Control{}, x))
				require.NoError(t, plain.Reset(sampler.Control{}, y))
				e := make([]float64, chains)
				for range steps {
					k.Step(sampler.Control{}, info, x, r)
					plain.Step(sampler.Control{}, observed, y, q)
					if !assert.ObjectsAreEqual(y, x) {
						return false
					}
					m.Energy(e, x)
					for s := range info {
						require.InDelta(t, e[s], info[s].Energy, 1e-12)
						require.Equal(t, observed[s].Moved, info[s].Moved)
					}
				}
				return true
			}
			require.True(t, same(k), "%s, %v", name, scan)
			wrong := *k.memo
			wrong.adj = append([]int32(nil), wrong.adj...)
			for i, j := range wrong.adj {
				wrong.adj[i] = (j + 1) % int32(sites)
			}
			k.memo = &wrong
			require.False(t, same(k), "%s, %v", name, scan)
		}
	}
}

// memoMatrix returns the transition matrix of a sweep.
func memoMatrix(k *memoGibbs, all [][]int32) *exact.Matrix {
	var p *exact.Matrix
	for _, i := range k.order {
		site := exact.NewMatrix(len(all), func(x int, dst []float64) {
			if sweeptest.Stuck(k, all[x], x, dst) {
				return
			}
			y := append([]int32(nil), all[x]...)
			up := k.memo.meet(k.memo.entry(i, y), int(i), y)
			y[i] = 1
			dst[exact.Index(y, 2)] = up
			y[i] = 0
			dst[exact.Index(y, 2)] = 1 - up
		})
		if p == nil {
			p = site
			continue
		}
		p = p.Mul(site)
	}
	return p
}

// A sweep leaves the distribution invariant to rounding, and is what the kernel does.
func TestMemoGibbsIsExact(t *testing.T) {
	exact.SkipUnderRace(t)
	for name, m := range memoModels(t) {
		sites, levels := m.Shape()
		k := exact.Must(Gibbs{}.Kernel(context.Background(), m, 1)).(*memoGibbs)
		pi, _ := exact.Law(m)
		p := memoMatrix(k, exact.States(sites, levels))
		assert.LessOrEqual(t, p.RowError(), 1e-12, name)
		assert.LessOrEqual(t, p.MaxDiff(pi), 1e-12, name)
		exact.Transitions(t, sweeptest.Observed(t, m, Gibbs{}, 320, 3), p, exact.Rate)
	}
}

func TestMemoGibbsRuns(t *testing.T) {
	for name, m := range memoModels(t) {
		if name == "rule" { // random states are none of its
			continue
		}
		runs.Resume(t, m, Gibbs{})
		sites, _ := m.Shape()
		c := sampler.Config{Chains: 40, Seed: 2, Workers: 1, Warmup: -1}
		want := runs.Hash(runs.Run(t, m, Gibbs{}, c, 50).States())
		c.Workers = 7
		assert.Equal(t, want, runs.Hash(runs.Run(t, m, Gibbs{}, c, 50).States()), name)

		k := exact.Must(Gibbs{}.Kernel(context.Background(), m, 2))
		x, info, streams := make([]int32, 2*sites), make([]sampler.Info, 2), make([]sampler.Stream, 2)
		require.NoError(t, k.Reset(sampler.Control{}, x))
		if !exact.Race {
			assert.Zero(t, testing.AllocsPerRun(20, func() { k.Step(sampler.Control{}, info, x, streams) }), name)
		}
		assert.ErrorIs(t, k.UnmarshalBinary(make([]byte, 3)), wire.ErrShort)
	}
}

// What the memo cannot hold goes to other kernels; a site that has no conditional is an
// error that names it.
func TestMemoGibbsLimits(t *testing.T) {
	weights := func(n int, more ...model.Edge) energy.Model {
		edges := more
		for i := range n - 1 {
			edges = append(edges, model.Edge{I: i, J: i + 1, W: float64(1 + i%3)})
		}
		return exact.Must(model.NewIsing(exact.Must(model.NewGraph(n, edges)), 0.2, 0))
	}
	var star []model.Edge
	for i := 2; i < 20; i++ {
		star = append(star, model.Edge{I: 0, J: i, W: 1})
	}
	for name, c := range map[string]struct {
		m    energy.Model
		scan Scan
		memo bool
	}{
		"chain":  {weights(1000), Automatic, true},
		"random": {weights(10), Random, false},
		"long":   {weights(20000), Automatic, false},
		"star":   {weights(20, star...), Automatic, false},
		"potts":  {exact.Must(energy.Sum(exact.Must(model.NewPotts(model.Lattice{5}, 3, 0.5, nil)), exact.Must(model.NewIndependent(make([]float64, 15), 3)))), Automatic, false},
	} {
		_, ok := exact.Must(Gibbs{Scan: c.scan}.Kernel(context.Background(), c.m, 1)).(*memoGibbs)
		assert.Equal(t, c.memo, ok, name)
	}

	lost := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 {
			return math.NaN()
		}
		return 0
	}}
	k := exact.Must(Gibbs{}.Kernel(context.Background(), twoLevels{energy.Conditionals(lost)}, 1))
	x, info := make([]int32, 3), make([]sampler.Info, 1)
	require.NoError(t, k.Reset(sampler.Control{}, x))
	k.Step(sampler.Control{}, info, x, []sampler.Stream{*sampler.NewStream(1, 0)})
	assert.ErrorIs(t, info[0].Err, sampler.ErrNaN)
	assert.ErrorContains(t, info[0].Err, "site 0")
}
