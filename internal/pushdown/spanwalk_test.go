package pushdown

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAmong compares the draw from a plain array with that from a list of steps,
// which leaves out zeros: the same number for the same random number, also
// where the sum claims more than there is.
func TestAmong(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	last := 0
	for range 4000 {
		x, total := make([]float64, 1+r.IntN(20)), 0.0
		x[r.IntN(len(x))] = r.ExpFloat64()
		for i := range x {
			if r.IntN(3) > 0 {
				x[i] = r.ExpFloat64()
			}
			total += x[i]
		}
		seed := r.Uint64()
		a, b := spanWalk{random: rand.New(rand.NewPCG(seed, 1))}, spanWalk{random: rand.New(rand.NewPCG(seed, 1))}
		for i, y := range x {
			a.put(y, step{from: int32(i)})
		}
		require.Equal(t, int(a.pick().from), b.among(x, total))
		i := b.among(x, 4*total)
		require.Positive(t, x[i])
		if x[len(x)-1] == 0 && i < len(x)-1 {
			last++
		}
	}
	require.Greater(t, last, 100)
}

// TestDrawAllocatesNothing draws again from one sum, of spans and of numbers, once
// its scratch has its size.
func TestDrawAllocatesNothing(t *testing.T) {
	for _, sd := range []float64{1, 200} {
		r := rand.New(rand.NewPCG(9, 17))
		x, src := make([]int32, 40), rand.NewPCG(1, 1)
		nested := 0
		for tried := 0; nested < 3; tried++ {
			require.Less(t, tried, 100)
			m, v := randomMachine(r, 3), randomTokens(r, 3, 6)
			run := NewRunner(lifted(t, m, v), len(x), 6)
			_, err := run.Filter(randomWeights(r, len(x)*6, sd))
			if err != nil || run.exact != (sd > 1) || len(run.g.starts) == 0 || cap(run.spans.memory.chunks) == 0 {
				continue
			}
			nested++
			for range 200 {
				run.Draw(x, src)
			}
			require.Zero(t, testing.AllocsPerRun(100, func() { run.Draw(x, src) }))
			require.True(t, accepts(m, v, x))
		}
	}
}
