package diagnose

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wide returns numbers of all sizes and both signs, the smallest and largest among
// them.
func wide(src *rand.Rand, n int) []float64 {
	x := []float64{0, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64, 0x1p-1022, 1}
	for len(x) < n {
		x = append(x, math.Ldexp(src.NormFloat64(), src.IntN(2090)-1074))
	}
	for i, v := range x {
		if math.IsInf(v, 0) {
			x[i] = 1
		}
	}
	src.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
	return x
}

// reference sums with big.Float of 4500 bits, which holds every sum exactly.
func reference(x []float64, square bool) *big.Float {
	sum := new(big.Float).SetPrec(precision)
	for _, v := range x {
		f := new(big.Float).SetPrec(precision).SetFloat64(v)
		if square {
			f.Mul(f, f)
		}
		sum.Add(sum, f)
	}
	return sum
}

func TestExactSum(t *testing.T) {
	src := rand.New(rand.NewPCG(68, 32))
	for range 100 {
		x := wide(src, 200)
		var a exactSum
		for _, v := range x {
			a.add(v)
		}
		require.Zero(t, reference(x, false).Cmp(a.big()))
		b := a.append(nil)

		// In pieces, in another order, by bytes, with carries in between.
		src.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
		var c exactSum
		for at := 0; at < len(x); {
			end := min(len(x), at+1+src.IntN(40))
			var p, q exactSum
			for _, v := range x[at:end] {
				p.add(v)
			}
			rest, err := q.read(p.append(nil))
			require.NoError(t, err)
			require.Empty(t, rest)
			if src.IntN(2) == 0 {
				c.terms = carryAfter
			}
			if src.IntN(2) == 0 {
				q.terms = carryAfter - 1
				q.add(0)
			}
			c.merge(&q)
			at = end
		}
		require.Equal(t, b, c.append(nil))

		// What is added and taken away is gone.
		for _, v := range x {
			c.add(-v)
		}
		assert.Equal(t, []byte{0, 0, 0}, c.append(nil))
		assert.Zero(t, c.float64())
	}
}

func TestExactSquares(t *testing.T) {
	src := rand.New(rand.NewPCG(2, 2))
	x := make([]float64, 500)
	var s, q exactSum
	for i := range x {
		x[i] = math.Ldexp(src.NormFloat64(), src.IntN(900)-450)
		s.add(x[i])
		q.addSquare(x[i])
	}
	assert.Zero(t, reference(x, true).Cmp(q.big()))

	// The variance of large numbers that hardly differ.
	var sum, squares exactSum
	for _, v := range []float64{1e15, 1e15 + 1, 1e15 + 2} {
		sum.add(v)
		squares.addSquare(v)
	}
	assert.Equal(t, 1., variance(&sum, &squares, 3))
	assert.Equal(t, 1e15+1, sum.over(3))
}

func FuzzExactSum(f *testing.F) {
	var a exactSum
	a.add(-1.5)
	f.Add(a.append(nil))
	f.Add([]byte{0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s exactSum
		rest, err := s.read(b)
		if err == nil {
			require.Equal(t, b, append(s.append(nil), rest...))
		}
	})
}

func BenchmarkExactSum(b *testing.B) {
	var s exactSum
	for b.Loop() {
		s.add(1.234)
	}
}
