package lead

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// costs stores the cost of every token of the loaded row, and requires that
// tokens cost the same in order, one by one and all at once.
func costs(t *testing.T, r *Row, dst []float64) {
	t.Helper()
	for rank := range dst {
		v, cost, _ := r.At(rank)
		dst[v] = cost
		require.Equal(t, cost, r.Price(v), "a token costs two prices")
	}
	all := make([]float64, len(dst))
	r.Costs(all)
	require.Equal(t, dst, all)
}

// TestRowsAgainstBarrier: costs to 1e-9 of an independent convex solver, for
// both directions and several margins; pooled rows have that cost and satisfy
// the constraint.
func TestRowsAgainstBarrier(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	cases := 200
	if testing.Short() {
		cases = 50
	}
	for n := range cases {
		levels := 2 + r.IntN(5)
		reverse := n%2 == 1
		kappa := []float64{1, 1, 1.5, 4}[r.IntN(4)]
		w := make([]float32, levels)
		for l := range w {
			w[l] = float32(2 * r.NormFloat64())
			if !reverse && r.IntN(6) == 0 && l > 0 {
				w[l] = float32(math.Inf(-1))
			}
			if r.IntN(5) == 0 && l > 0 {
				w[l] = w[l-1] // ties
			}
		}
		s := New(levels, Rule{Reverse: reverse, Margin: kappa, Revive: true})
		_, ok := s.Load(w)
		require.True(t, ok)
		got := make([]float64, levels)
		costs(t, s, got)
		x := make([]float64, levels)
		for l := range x {
			x[l] = math.Exp(s.logp[l])
		}
		for v := range w {
			want, _ := exact.NearestRow(x, v, kappa, reverse)
			require.InDelta(t, want, got[v], 1e-9, "row %v, v %d, κ %v, reverse %v", x, v, kappa, reverse)
			checkPooled(t, s, w, x, int32(v), got[v])
		}
	}
}

func checkPooled(t *testing.T, s *Row, w []float32, x []float64, v int32, cost float64) {
	t.Helper()
	y := append([]float32(nil), w...)
	_, ok := s.Load(y)
	require.True(t, ok)
	s.Pool(y, v)
	require.True(t, s.Satisfied(y, v))
	sum, got := 0.0, 0.0
	for u := range y {
		p := math.Exp(float64(y[u]))
		sum += p
		switch {
		case s.Reverse && p > 0:
			got += p * math.Log(p/x[u])
		case !s.Reverse && x[u] > 0:
			got += x[u] * math.Log(x[u]/p)
		}
	}
	require.InDelta(t, 1, sum, 1e-6) // float32 logs
	require.InDelta(t, cost, got, 2e-6)
}

// TestRowsWide: rows of many levels, where tokens are sorted and S is found by
// bisection: costs agree with the pooled rows, whose level Newton's iteration
// finds, and with each other in any order.
func TestRowsWide(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for n := range 40 {
		levels := 30 + r.IntN(100)
		reverse := n%2 == 1
		size := []float64{.01, 1, 5}[r.IntN(3)]
		w := make([]float32, levels)
		for l := range w {
			w[l] = float32(size * r.NormFloat64())
		}
		s := New(levels, Rule{Reverse: reverse, Margin: []float64{1, 2}[r.IntN(2)]})
		_, ok := s.Load(w)
		require.True(t, ok)
		alone := make([]float64, levels)
		for _, v := range r.Perm(levels) {
			alone[v] = s.Price(int32(v))
		}
		got, x := make([]float64, levels), make([]float64, levels)
		_, ok = s.Load(w)
		require.True(t, ok)
		costs(t, s, got)
		require.Equal(t, alone, got)
		for l := range x {
			x[l] = math.Exp(s.logp[l])
		}
		for v := range w {
			checkPooled(t, s, w, x, int32(v), got[v])
		}
	}
}

// TestRowsKnown: a worked case each. x = (.5,.3,.2), v the last: forward with
// κ = 1 pools everything, c = 1/3; with x = (.6,.1,.3), c = .45 on the first.
func TestRowsKnown(t *testing.T) {
	s := New(3, Rule{})
	w := logs(.6, .1, .3)
	_, ok := s.Load(w)
	require.True(t, ok)
	got := make([]float64, 3)
	costs(t, s, got)
	require.InDelta(t, .6*math.Log(.6/.45)+.3*math.Log(.3/.45), got[2], 1e-7)
	require.Zero(t, got[0])
	s.Pool(w, 2)
	for l, p := range []float64{.45, .1, .45} {
		require.InDelta(t, p, math.Exp(float64(w[l])), 1e-7)
	}
	// Reverse: c = √(.6·.3), Z = 2c+.1.
	s = New(3, Rule{Reverse: true})
	w = logs(.6, .1, .3)
	s.Load(w)
	costs(t, s, got)
	z := 2*math.Sqrt(.18) + .1
	require.InDelta(t, -math.Log(z), got[2], 1e-7)
	s.Pool(w, 2)
	require.InDelta(t, .1/z, math.Exp(float64(w[1])), 1e-7)
}

func logs(p ...float64) []float32 {
	w := make([]float32, len(p))
	for l := range w {
		w[l] = float32(math.Log(p[l]))
	}
	return w
}

// TestRowsExtreme: weights far below float64's range cost what mathematics says
// and nothing becomes NaN.
func TestRowsExtreme(t *testing.T) {
	got := make([]float64, 3)
	for _, reverse := range []bool{false, true} {
		s := New(3, Rule{Reverse: reverse})
		w := []float32{0, -1e4, -2e4}
		_, ok := s.Load(w)
		require.True(t, ok)
		costs(t, s, got)
		if !reverse { // c = 1/2
			require.InDeltaSlice(t, []float64{0, math.Ln2, math.Ln2}, got, 1e-12)
		} else { // c = e^−5000, e^−1e4: Z = 2c and little else
			require.InDeltaSlice(t, []float64{0, 5000 - math.Ln2, 1e4 - math.Log(3)}, got, 1e-9)
		}
		for v := range w {
			u := append([]float32(nil), w...)
			s.Load(u)
			s.Pool(u, int32(v))
			require.True(t, s.Satisfied(u, int32(v)))
			for _, x := range u {
				require.False(t, math.IsNaN(float64(x)))
			}
		}
	}
}
