package mcmc

import (
	"context"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// hammingBallMatrix returns the matrix of one update: the mean over all blocks
// of Σ_u U(u|x) p(y|u), where the kernel gives the size of the ball, its members
// and their energies.
func hammingBallMatrix(k *hammingBall, all [][]int32) *exact.Matrix {
	var blocks [][]int
	for set := range uint(1) << k.Sites {
		if bits.OnesCount(set) == len(k.block) {
			var b []int
			for i := range k.Sites {
				if set>>i&1 == 1 {
					b = append(b, i)
				}
			}
			blocks = append(blocks, b)
		}
	}
	// Per block and centre, the law of x'.
	laws := make([][][]float64, len(blocks))
	for b, block := range blocks {
		copy(k.block, block)
		laws[b] = make([][]float64, len(all))
		for u := range all {
			copy(k.centre, all[u])
			k.visit(0, k.radius, -1)
			law := make([]float64, len(all))
			alive := false
			for _, d := range k.d {
				alive = alive || !math.IsInf(d, 1)
			}
			if !alive {
				continue // no state leads to this centre
			}
			for c, q := range sweeptest.Conditional(sweep.HeatBath, k.w, k.d) {
				copy(k.centre, all[u])
				k.visit(0, k.radius, c)
				law[exact.Index(k.centre, k.Levels)] += q
			}
			laws[b][u] = law
		}
	}
	return exact.NewMatrix(len(all), func(x int, dst []float64) {
		if sweeptest.Stuck(k, all[x], x, dst) {
			return
		}
		for b, block := range blocks {
			centres(k, block, all[x], func(u int, q float64) {
				for y, p := range laws[b][u] {
					dst[y] += q * p / float64(len(blocks))
				}
			})
		}
	})
}

// centres calls f for every centre that the kernel may draw from x, with its
// probability by the kernel's own shell sizes.
func centres(k *hammingBall, block []int, x []int32, f func(u int, q float64)) {
	n := 1
	for range block {
		n *= k.Levels
	}
	u := make([]int32, len(x))
	perDistance := make([]int, len(block)+1)
	for pass := range 2 {
		for code := range n {
			copy(u, x)
			distance := 0
			for j, c := 0, code; j < len(block); j, c = j+1, c/k.Levels {
				if u[block[j]] = int32(c % k.Levels); u[block[j]] != x[block[j]] {
					distance++
				}
			}
			if distance > k.radius {
				continue
			}
			if pass == 0 {
				perDistance[distance]++
				continue
			}
			f(exact.Index(u, k.Levels), float64(k.shells[distance])/float64(k.size)/float64(perDistance[distance]))
		}
	}
}

func TestHammingBallMembers(t *testing.T) {
	for _, c := range []struct{ block, radius, levels, size int }{
		{1, 1, 2, 2}, {4, 2, 2, 11}, {4, 4, 2, 16}, {5, 1, 3, 11}, {5, 2, 3, 51}, {4, 4, 4, 256}, {9, 3, 4, 1 + 27 + 324 + 2268}, {3, 2, 1, 1},
	} {
		m := exact.NewRugged(c.block, c.levels, 1, 0, 1)
		k := exact.Must(HammingBall{Block: c.block, Radius: c.radius}.Kernel(context.Background(), m, 1)).(*hammingBall)
		require.Equal(t, c.size, k.size, "%+v", c)
		for j := range k.block {
			k.block[j] = j
		}
		for i := range k.centre {
			k.centre[i] = int32(i % c.levels)
		}
		u := append([]int32(nil), k.centre...)
		k.visit(0, k.radius, -1)
		require.Equal(t, c.size, k.filled)
		require.Equal(t, u, k.centre)
		seen := map[int]bool{}
		for n := range k.size {
			copy(k.centre, u)
			k.visit(0, k.radius, n)
			index := exact.Index(k.centre, c.levels)
			require.Equal(t, m.E[index], k.d[n])
			distance := 0
			for i := range u {
				if u[i] != k.centre[i] {
					distance++
				}
			}
			require.LessOrEqual(t, distance, c.radius)
			seen[index] = true
		}
		assert.Len(t, seen, c.size, "no member twice")
	}
}

func TestHammingBallBlocksAreUniform(t *testing.T) {
	k := exact.Must(HammingBall{Block: 2}.Kernel(context.Background(), exact.NewRugged(4, 2, 1, 0, 1), 1)).(*hammingBall)
	r := sampler.NewStream(5, 0)
	counts, law := make([]int, 16), make([]float64, 16)
	for i := range 4 {
		for j := range 4 {
			if i != j {
				law[4*i+j] = 1.0 / 12
			}
		}
	}
	for range 12000 {
		k.pickBlock(r)
		counts[4*k.block[0]+k.block[1]]++
		require.Equal(t, []int{0, 1, 2, 3}, k.order)
	}
	exact.Counts(t, counts, law, exact.Rate)
}

// A twin that draws every radius with the same probability, as if a shell's
// size were not its weight, does not leave the target invariant where the ball
// differs from the block.
func TestHammingBallBrokenTwin(t *testing.T) {
	exact.SkipRepeated(t)
	m := exact.NewRugged(4, 3, 1, 0, 2)
	pi, _ := exact.Law(m)
	k := exact.Must(HammingBall{Block: 3, Radius: 2, Updates: 1}.Kernel(context.Background(), m, 1)).(*hammingBall)
	all := exact.States(4, 3)
	right := hammingBallMatrix(k, all)
	require.LessOrEqual(t, right.MaxDiff(pi), 1e-12)

	k.shells, k.size = []int{1, 1, 1}, 3
	twin := hammingBallMatrix(&hammingBall{
		Locals: k.Locals, radius: k.radius, shells: k.shells, size: 3, block: k.block, centre: k.centre, d: k.d, w: k.w, batch: k.batch,
	}, all)
	assert.Less(t, twin.RowError(), 1e-12)
	// Equal weights of the radii are symmetric in x and u: what breaks is
	// the second half, which then must weigh members by U(u|x') and does not.
	assert.Greater(t, twin.MaxDiff(pi), 1e-4)
	v, _ := exact.TransitionsPValue(sweeptest.Observed(t, m, HammingBall{Block: 3, Radius: 2, Updates: 1}, 6400, 7), twin)
	assert.Less(t, v, exact.Rate)
}

// With the radius of the block an update is a Gibbs update of the block.
func TestHammingBallOfFullRadiusIsGibbs(t *testing.T) {
	m := exact.NewRugged(4, 2, 1, 0, 3)
	ball := transition(t, exact.Must(HammingBall{Block: 4, Radius: 4}.Kernel(context.Background(), m, 1)), 4, 2)
	pi, _ := exact.Law(m)
	for x := range 16 {
		for y, p := range ball.Row(x) {
			assert.InDelta(t, pi[y], p, 1e-12)
		}
	}
}

func TestHammingBallStopsAtNaN(t *testing.T) {
	m := energy.Func{Sites: 3, Levels: 2, E: func(x []int32) float64 {
		if x[0] == 1 {
			return math.NaN()
		}
		return 0
	}}
	ch, err := sampler.NewChains(context.Background(), m, HammingBall{}, sampler.Config{Init: []int32{0, 0, 0}})
	require.NoError(t, err)
	assert.ErrorIs(t, ch.Run(context.Background(), 1), sampler.ErrNaN)
}
