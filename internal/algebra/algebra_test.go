package algebra

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNumbers compares with logarithms over the whole range.
func TestNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 17))
	for range 10_000 {
		a, b := r.NormFloat64()*1000, r.NormFloat64()*1000
		if r.IntN(2) == 0 {
			b = a + r.NormFloat64()*10
		}
		x, y := Exp(a), Exp(b)
		require.InDelta(t, a, x.Log(), 1e-9)
		require.InDelta(t, a+b, x.Times(y).Log(), 1e-9)
		require.InDelta(t, a-b, x.Over(y).Log(), 1e-9)
		require.InDelta(t, LogSum([]float64{a, b}), x.Plus(y).Log(), 1e-9)
		if math.Abs(a-b) > 1e-9 {
			require.Equal(t, a < b, x.Less(y))
		}
		require.InDelta(t, math.Exp(min(a, b)-max(a, b)), Exp(min(a, b)).Ratio(Exp(max(a, b))), 1e-9)
	}
	require.True(t, math.IsInf(Number{}.Log(), -1))
	require.Equal(t, Number{}, Exp(math.Inf(-1)))
	require.Equal(t, Number{}, Number{}.Times(Exp(1)))
	require.InDelta(t, math.E, Exp(1).Ratio(Number{M: 1}), 1e-12)
	require.InEpsilon(t, 0x1p300, Number{M: 0x1p-212, E: 1}.Ratio(Number{M: 1}), 1e-12)
	require.True(t, Number{}.Less(Exp(-1e6)))
	require.False(t, Exp(-1e6).Less(Number{}))
}

// Powers of two leave the mantissa as it is.
func TestPowers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 10_000 {
		x, n := math.Exp(100*r.NormFloat64()), int32(r.IntN(4000)-2000)
		frac, e := math.Frexp(x)
		require.EqualValues(t, e-1, Exponent(x))
		y := Scaled(x, n)
		require.True(t, y.M >= wordLow && y.M < wordHigh)
		f, at := math.Frexp(y.M)
		require.Equal(t, frac, f)
		require.EqualValues(t, e+int(n), at+int(y.E)*wordBits)
	}
	require.Equal(t, 0x1p-1000, Power(-1000))
	require.Equal(t, 0x1p1000, Power(1000))
	require.Zero(t, Power(-1001))
	require.Equal(t, math.Inf(1), Power(1001))
}

// LogDot is the logarithm of a sum of products that may lie anywhere.
func TestLogDot(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 1000 {
		n := 1 + r.IntN(8)
		a, b := make([]float64, n), make([]float64, n)
		for k := range a {
			a[k], b[k] = r.NormFloat64()*1e4, r.NormFloat64()*3
			if r.IntN(4) == 0 {
				a[k] = math.Inf(-1)
			}
		}
		i, j, terms := []int32{}, []int32{}, []float64{}
		for range r.IntN(10) {
			x, y := r.IntN(n), r.IntN(n)
			i, j, terms = append(i, int32(x)), append(j, int32(y)), append(terms, a[x]+b[y])
		}
		var x, y List
		require.True(t, x.Load(a))
		require.True(t, y.Load(b))
		if want, got := LogSum(terms), x.LogDot(&y, i, j); math.IsInf(want, -1) {
			require.Equal(t, want, got)
		} else {
			require.InDelta(t, want, got, 1e-9)
		}
	}
	require.False(t, new(List).Load([]float64{0, 1e9}))
	require.False(t, new(List).Load([]float64{math.NaN()}))
}

// TestRings compares the loops of each semiring with its sums and products, and these
// with float64.
func TestRings(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	near := func(want, got float64) {
		if math.IsInf(want, -1) {
			require.Equal(t, want, got)
		} else {
			require.InDelta(t, want, got, 1e-9)
		}
	}
	logs := func() float64 {
		if r.IntN(4) == 0 {
			return math.Inf(-1)
		}
		return float64(r.IntN(20))
	}
	check(t, Sums{}, func() Number { return Exp(300 * logs()) }, func(want, got Number) { near(want.Log(), got.Log()) })
	check(t, Best{}, logs, near)
	count := func() *big.Int {
		if n := r.Int64N(4); n > 0 {
			return big.NewInt(n)
		}
		return nil
	}
	check(t, Counts{}, count, func(want, got *big.Int) {
		require.Equal(t, want == nil, got == nil)
		require.Equal(t, want.String(), got.String())
	})

	require.InDelta(t, 3, Sums{}.Mul(Exp(1), Exp(2)).Log(), 1e-12)
	require.InDelta(t, math.Log(5), Sums{}.Dot(Number{M: 2}, []Number{{M: 3}, {}}, []Number{{M: 1}, {M: 4}}).Log(), 1e-12)
	require.InDelta(t, 600, Sums{}.Dot(Exp(-700), []Number{Exp(300)}, []Number{Exp(300)}).Log(), 1e-9)
	require.Equal(t, 3.0, Best{}.Mul(1, 2))
	require.Equal(t, 2.0, Best{}.Add(1, 2))
	require.Equal(t, big.NewInt(6), Counts{}.Mul(big.NewInt(2), big.NewInt(3)))
	require.Equal(t, big.NewInt(5), Counts{}.Add(big.NewInt(2), big.NewInt(3)))

	require.Equal(t, 1, Best{}.Choose([]float64{math.Inf(-1), 2, 1, 2}, nil))
	require.Panics(t, func() { Counts{}.Choose(nil, nil) })
	var drawn [3]int
	for range 3000 {
		drawn[Sums{}.Choose([]Number{Exp(-5000), {}, Exp(-5000 + math.Ln2)}, r)]++
	}
	require.Zero(t, drawn[1])
	require.InDelta(t, 1000, drawn[0], 5*math.Sqrt(3000*2./9)) // five sigma: 6e-7
}

func check[T any, R Ring[T]](t *testing.T, ring R, draw func() T, same func(want, got T)) {
	require.True(t, ring.IsZero(ring.Zero()))
	require.False(t, ring.IsZero(ring.One()))
	for range 300 {
		x, y := draw(), draw()
		same(x, ring.Add(ring.Zero(), x))
		same(x, ring.Mul(x, ring.One()))
		same(ring.Add(x, y), ring.Add(y, x))
		same(ring.Zero(), ring.Mul(x, ring.Zero()))
		const n = 5
		var dst, src, w, want [n]T
		for i := range dst {
			dst[i], src[i], w[i] = draw(), draw(), draw()
			want[i] = ring.Add(dst[i], ring.Mul(src[i], x))
		}
		got := dst
		ring.Axpy(got[:], src[:], x)
		for i := range got {
			same(want[i], got[i])
		}
		want, got = dst, dst
		f := &Fan{At: []int32{0, 1, 3, 3, 3, 4}, All: []Source{{2, 0}, {0, 2}, {3, 4}, {4, 1}}}
		for i, to := range []int{0, 1, 1, 4} {
			want[to] = ring.Add(want[to], ring.Mul(src[f.All[i].From], w[f.All[i].W]))
		}
		ring.Along(got[:], src[:], f, w[:])
		for i := range got {
			same(want[i], got[i])
		}
	}
}

// TestRefine compares with pairs that are distinguished one by one.
func TestRefine(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	coarse := 0
	for range 500 {
		n, labels, blocks := 1+r.IntN(9), 1+r.IntN(3), 1+r.IntN(3)
		lone := r.IntN(n + 1) // elements from this one on have edges of single labels
		to, first := make([][]int32, n), make([]int32, n)
		var e, single Edges
		var arcs Arcs
		for x := range to {
			sets := map[int32]*Set{} // by where they lead and, often, by label
			if first[x] = int32(r.IntN(blocks)); x >= lone {
				first[x] += int32(blocks)
			}
			for l := range labels {
				to[x] = append(to[x], int32(r.IntN(n+1)-1))
				if y := to[x][l]; y >= 0 {
					e.Add(int32(x), int32(l), y)
					if x >= lone {
						single.Add(int32(x), int32(l), y)
						continue
					}
					key := y
					if r.IntN(2) == 0 { // a set for each label
						key = y + int32(n*(l+1))
					}
					if sets[key] == nil {
						sets[key] = &Set{}
					}
					sets[key][l&3] |= 1 << (l * 9)
				}
			}
			for key, set := range sets {
				arcs.Add(int32(x), arcs.Set(*set), key%int32(n))
			}
		}
		block, count, err := e.Refine(t.Context(), slices.Clone(first), 2*blocks)
		require.NoError(t, err)
		byArcs, _, err := arcs.Refine(t.Context(), &single, slices.Clone(first), 2*blocks)
		require.NoError(t, err)
		distinct := make([][]bool, n)
		for x := range distinct {
			distinct[x] = make([]bool, n)
			for y := range distinct[x] {
				distinct[x][y] = first[x] != first[y]
			}
		}
		for again := true; again; {
			again = false
			for x := range n {
				for y := range n {
					for l := range labels {
						a, b := to[x][l], to[y][l]
						if !distinct[x][y] && ((a < 0) != (b < 0) || a >= 0 && distinct[a][b]) {
							distinct[x][y], again = true, true
						}
					}
				}
			}
		}
		seen := map[int32]bool{}
		for x := range n {
			seen[block[x]] = true
			for y := range n {
				require.Equal(t, distinct[x][y], block[x] != block[y])
				require.Equal(t, distinct[x][y], byArcs[x] != byArcs[y])
			}
		}
		require.Len(t, seen, count)
		if count < n {
			coarse++
		}
	}
	require.Greater(t, coarse, 100)

	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	var e Edges
	e.Add(0, 0, 0)
	_, _, err := e.Refine(ctx, []int32{0}, 1)
	require.ErrorIs(t, err, cause)
	_, _, err = (&Arcs{}).Refine(ctx, &e, []int32{0}, 1)
	require.ErrorIs(t, err, cause)
}

func TestErrors(t *testing.T) {
	require.EqualError(t, &DeadError{Site: 2}, "no sequence left at site 2")
	require.EqualError(t, &WeightError{Site: 1, Level: 3, Weight: math.NaN()}, "weight at site 1, level 3 is NaN")
	require.Equal(t, math.Inf(-1), LogSum(nil))
}

func TestPick(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 1))
	weights := []float64{0, 1, 0, 3, 0}
	counts := make([]int, len(weights))
	for range 4000 {
		counts[Pick(weights, 4, random)]++
	}
	require.Zero(t, counts[0]+counts[2]+counts[4])
	require.InDelta(t, 1000, counts[1], 5*math.Sqrt(750))

	// A total that rounding has made too large does not lead to a weight of 0.
	last := source(math.MaxUint64)
	require.Equal(t, 3, Pick(weights, 5, last))
	require.Equal(t, 0, Pick([]float64{1, 0}, 1, source(0)))
}

// source is a source that always returns the same value.
type source uint64

func (s source) Uint64() uint64 { return uint64(s) }
