package mcmc

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// eachPath calls f for every path of n different sites from x: the sites in
// order and where it ends.
func eachPath(x []int32, levels, n int, f func(path, y []int32)) {
	y := append([]int32(nil), x...)
	path := make([]int32, 0, n)
	var walk func()
	walk = func() {
		if len(path) == n {
			f(path, y)
			return
		}
		for i := range x {
			if y[i] != x[i] {
				continue
			}
			path = append(path, int32(i))
			for l := range int32(levels) {
				if l != x[i] {
					y[i] = l
					walk()
				}
			}
			path, y[i] = path[:len(path)-1], x[i]
		}
	}
	walk()
}

// pathsMatrix sums over all paths. score lets a broken twin have its own.
func pathsMatrix(t *testing.T, k *hastings, p *paths, all [][]int32, score func(y, x []int32) (forth, back float64)) *exact.Matrix {
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		if sweeptest.Stuck(k, all[x], x, dst) {
			return
		}
		for n := 1; n <= p.longest(); n++ {
			eachPath(all[x], p.levels, n, func(path, y []int32) {
				load(p, k.next, y, nil)
				copy(p.path, path)
				p.length[0] = n
				forth, back := score(y, all[x])
				if math.IsInf(forth, -1) || math.IsNaN(forth) {
					return // cannot be drawn
				}
				a, ok := sweep.Accept(k.e[0]-k.next[0], forth, back)
				require.True(t, ok)
				dst[exact.Index(y, p.levels)] += math.Exp(forth) * a / float64(p.longest())
			})
		}
		sweeptest.Stay(dst, x)
	})
}

// scored returns the log-probabilities of the path of the first chain and of its way back.
func scored(p *paths) func(y, x []int32) (forth, back float64) {
	return func(y, x []int32) (forth, back float64) { return p.current(y, x, 0), p.logProb(x, y, 0) }
}

// TestPathProbabilities checks the probability of a path against sampling
// without replacement written out, weights being those of the state.
func TestPathProbabilities(t *testing.T) {
	m := exact.NewRugged(4, 3, 1, 0.5, 2)
	k := exact.Must(Paths{Length: 2, Balance: Barker}.Kernel(context.Background(), m, 1)).(*hastings)
	walks := k.proposal.(*paths)
	for _, x := range exact.States(4, 3) {
		require.NoError(t, k.Reset(sampler.Control{}, x))
		total := 0.0
		eachPath(x, 3, 3, func(path, y []int32) {
			left := 0.0
			for _, w := range walks.w.Now {
				left += float64(w)
			}
			p := 1.0
			for _, i := range path {
				row := walks.w.Now[3*i : 3*i+3]
				p *= float64(row[y[i]]) / left
				left -= float64(row[0]) + float64(row[1]) + float64(row[2])
			}
			got := walks.walk(false, 0, path, y)
			require.InDelta(t, math.Log(p), got, 1e-11)
			total += math.Exp(got)
		})
		require.InDelta(t, 1, total, 1e-12)
		for i := range x {
			row := walks.row(0, i, false)
			require.Equal(t, float64(row[0])+float64(row[1])+float64(row[2]), walks.tree(0, false).leaf(i), "the tree is put back")
		}
	}
}

// Twins: a way back that does not drop sites once they have changed, and one
// scored by the weights of the start.
func TestPathsBrokenTwins(t *testing.T) {
	exact.SkipUnderRace(t)
	m := exact.NewRugged(4, 3, 1, 0.5, 2)
	pi, _ := exact.Law(m)
	all := exact.States(4, 3)
	k := exact.Must(Paths{Length: 2}.Kernel(context.Background(), m, 1)).(*hastings)
	p := k.proposal.(*paths)
	right := pathsMatrix(t, k, p, all, scored(p))
	require.LessOrEqual(t, right.MaxDiff(pi), 1e-12)

	replaced := pathsMatrix(t, k, p, all, func(y, x []int32) (forth, back float64) {
		forth, _ = scored(p)(y, x)
		for _, i := range p.path[:p.length[0]] {
			back += math.Log(float64(p.row(0, int(i), true)[x[i]]) / p.tree(0, true)[1])
		}
		return forth, back
	})
	assert.Greater(t, replaced.MaxDiff(pi), 1e-3)
	oldWeights := pathsMatrix(t, k, p, all, func(y, x []int32) (float64, float64) {
		forth, _ := scored(p)(y, x)
		return forth, forth
	})
	assert.Greater(t, oldWeights.MaxDiff(pi), 1e-3)
	v, _ := exact.TransitionsPValue(sweeptest.Observed(t, m, Paths{Length: 2}, 640, 7), oldWeights)
	assert.Less(t, v, exact.Rate)
}

// Every state can be reached on two levels, although paths of one even length
// would keep the parity.
func TestPathsAreIrreducible(t *testing.T) {
	m := exact.NewRugged(4, 2, 1, 0, 1)
	p := transition(t, exact.Must(Paths{Length: 2}.Kernel(context.Background(), m, 1)), 4, 2)
	law := make([]float64, 16)
	law[0] = 1
	for range 2 {
		law = p.Apply(law)
	}
	for x, v := range law {
		assert.Positive(t, v, "state %d", x)
	}
}

func TestPathsAdapt(t *testing.T) {
	exact.SkipUnderRace(t)
	m, err := model.NewIsing(model.Lattice{8, 8}, 0.2, 0)
	require.NoError(t, err)
	c := runs.Run(t, m, Paths{}, sampler.Config{Chains: 32, Seed: 1, Warmup: 600}, 400)
	length := c.StepSizes()[0]
	assert.Greater(t, length, 4.0, "weak coupling allows long paths")
	assert.Less(t, length, 64.0)
	assert.InDelta(t, 0.574, c.Stats().Accept, 0.1)
	steep := runs.Run(t, exact.NewRugged(6, 2, 30, 0, 1), Paths{}, sampler.Config{Warmup: 200}, 10)
	assert.Less(t, steep.StepSizes()[0], 2.0)
	assert.GreaterOrEqual(t, steep.StepSizes()[0], 1.0)
}

func TestSumTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 20).Draw(t, "v")
		tree := make(sumTree, 2*leaves(len(v)))
		for i := range v {
			if v[i] < 0.2 {
				v[i] = 0
			}
			tree[len(tree)/2+i] = v[i]
		}
		tree.sum()
		require.InDelta(t, exact.Sum(v), tree[1], 1e-12)
		u := rapid.Float64Range(0, 0.999).Draw(t, "u")
		got := tree.pick(u)
		if exact.Sum(v) == 0 {
			require.Equal(t, -1, got)
			return
		}
		require.Positive(t, v[got])
		below := exact.Sum(v[:got])
		require.InDelta(t, 0, max(0, below-u*tree[1]), 1e-12)
		require.InDelta(t, 0, max(0, u*tree[1]-below-v[got]), 1e-12)
		before := append(sumTree(nil), tree...)
		tree.set(got, 0)
		require.InDelta(t, exact.Sum(v)-v[got], tree[1], 1e-12)
		tree.set(got, v[got])
		require.Equal(t, before, tree)
	})
	assert.Equal(t, -1, sumTree{0, math.NaN(), math.NaN(), 1}.pick(0.5))
}
