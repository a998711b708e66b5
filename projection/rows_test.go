package projection

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// barrier solves the row problem of rows with a logarithmic barrier and
// Newton's method on dense matrices: none of the structure that the closed form
// uses. With 2n−1 inequalities the objective is within (2n−1)/t of the optimum,
// t = 1e12 at the end.
func barrier(x []float64, v int, kappa float64, d Divergence) (cost float64, y []float64) {
	n := len(x)
	y = make([]float64, n)
	for u := range y {
		y[u] = 1
	}
	y[v] = 2 * kappa
	scaleTo1(y)
	for t := 1.0; t <= 1e12; t *= 4 {
		for range 60 {
			// Newton on t·f(y) − Σ log y_u − Σ log(y_v−κy_u), Σ y = 1.
			h, rhs := mat.NewDense(n+1, n+1, nil), mat.NewVecDense(n+1, nil)
			for u := range n {
				g, hess := -x[u]/y[u], x[u]/(y[u]*y[u])
				if d == Reverse {
					g, hess = math.Log(y[u]/x[u])+1, 1/y[u]
				}
				rhs.SetVec(u, rhs.AtVec(u)-t*g+1/y[u])
				h.Set(u, u, h.At(u, u)+t*hess+1/(y[u]*y[u]))
				h.Set(u, n, 1)
				h.Set(n, u, 1)
				if u == v {
					continue
				}
				s := y[v] - kappa*y[u]
				rhs.SetVec(v, rhs.AtVec(v)+1/s)
				rhs.SetVec(u, rhs.AtVec(u)-kappa/s)
				h.Set(v, v, h.At(v, v)+1/(s*s))
				h.Set(u, u, h.At(u, u)+kappa*kappa/(s*s))
				h.Set(u, v, h.At(u, v)-kappa/(s*s))
				h.Set(v, u, h.At(v, u)-kappa/(s*s))
			}
			var step mat.VecDense
			if err := step.SolveVec(h, rhs); err != nil {
				if _, poor := err.(mat.Condition); !poor {
					panic(err)
				}
			}
			size, decrement := 1.0, 0.0
			for u := range n {
				decrement += step.AtVec(u) * rhs.AtVec(u)
			}
			for !inside(y, &step, size, v, kappa) {
				size *= 0.7
			}
			for u := range n {
				y[u] += 0.99 * size * step.AtVec(u)
			}
			scaleTo1(y)
			if math.Abs(decrement) < 1e-12 {
				break
			}
		}
	}
	for u := range n {
		switch {
		case d == Reverse:
			cost += y[u] * math.Log(y[u]/x[u])
		case x[u] > 0:
			cost += x[u] * math.Log(x[u]/y[u])
		}
	}
	return cost, y
}

func inside(y []float64, step *mat.VecDense, size float64, v int, kappa float64) bool {
	for u := range y {
		if y[u]+size*step.AtVec(u) <= 0 {
			return false
		}
		if u != v && y[v]+size*step.AtVec(v)-kappa*(y[u]+size*step.AtVec(u)) <= 0 {
			return false
		}
	}
	return true
}

func scaleTo1(y []float64) {
	sum := 0.0
	for _, p := range y {
		sum += p
	}
	for u := range y {
		y[u] /= sum
	}
}

// costs stores the cost of every token of the loaded row, and requires that
// tokens cost the same in order and one by one.
func (r *rows) costs(dst []float64) {
	for rank := range r.order {
		v, cost, _ := r.at(rank)
		dst[v] = cost
		if alone, _ := r.price(v, 0); alone != cost {
			panic("a token costs two prices")
		}
	}
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
		d := Divergence(n % 2)
		kappa := []float64{1, 1, 1.5, 4}[r.IntN(4)]
		w := make([]float32, levels)
		for l := range w {
			w[l] = float32(2 * r.NormFloat64())
			if d == Forward && r.IntN(6) == 0 && l > 0 {
				w[l] = float32(math.Inf(-1))
			}
			if r.IntN(5) == 0 && l > 0 {
				w[l] = w[l-1] // ties
			}
		}
		s := newRows(levels, newRule(d, kappa, false, true))
		_, ok := s.load(w)
		require.True(t, ok)
		costs := make([]float64, levels)
		s.costs(costs)
		x := make([]float64, levels)
		for l := range x {
			x[l] = math.Exp(s.logp[l])
		}
		for v := range w {
			want, _ := barrier(x, v, kappa, d)
			require.InDelta(t, want, costs[v], 1e-9, "row %v, v %d, κ %v, %v", x, v, kappa, d)
			checkPooled(t, s, w, x, int32(v), costs[v])
		}
	}
}

func checkPooled(t *testing.T, s *rows, w []float32, x []float64, v int32, cost float64) {
	t.Helper()
	y := append([]float32(nil), w...)
	_, ok := s.load(y)
	require.True(t, ok)
	s.pool(y, v)
	require.True(t, s.satisfied(y, v))
	sum, got := 0.0, 0.0
	for u := range y {
		p := math.Exp(float64(y[u]))
		sum += p
		switch {
		case s.divergence == Reverse && p > 0:
			got += p * math.Log(p/x[u])
		case s.divergence == Forward && x[u] > 0:
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
		d := Divergence(n % 2)
		size := []float64{.01, 1, 5}[r.IntN(3)]
		w := make([]float32, levels)
		for l := range w {
			w[l] = float32(size * r.NormFloat64())
		}
		s := newRows(levels, newRule(d, []float64{1, 2}[r.IntN(2)], false, false))
		_, ok := s.load(w)
		require.True(t, ok)
		alone := make([]float64, levels)
		for _, v := range r.Perm(levels) {
			alone[v], _ = s.price(int32(v), 0)
		}
		costs, x := make([]float64, levels), make([]float64, levels)
		_, ok = s.load(w)
		require.True(t, ok)
		s.costs(costs)
		require.Equal(t, alone, costs)
		for l := range x {
			x[l] = math.Exp(s.logp[l])
		}
		for v := range w {
			checkPooled(t, s, w, x, int32(v), costs[v])
		}
	}
}

// TestRowsKnown: a worked case each. x = (.5,.3,.2), v the last: forward with
// κ = 1 pools everything, c = 1/3; with x = (.6,.1,.3), c = .45 on the first.
func TestRowsKnown(t *testing.T) {
	s := newRows(3, newRule(Forward, 1, false, false))
	w := logs(.6, .1, .3)
	_, ok := s.load(w)
	require.True(t, ok)
	costs := make([]float64, 3)
	s.costs(costs)
	require.InDelta(t, .6*math.Log(.6/.45)+.3*math.Log(.3/.45), costs[2], 1e-7)
	require.Zero(t, costs[0])
	s.pool(w, 2)
	for l, p := range []float64{.45, .1, .45} {
		require.InDelta(t, p, math.Exp(float64(w[l])), 1e-7)
	}
	// Reverse: c = √(.6·.3), Z = 2c+.1.
	s = newRows(3, newRule(Reverse, 1, false, false))
	w = logs(.6, .1, .3)
	s.load(w)
	s.costs(costs)
	z := 2*math.Sqrt(.18) + .1
	require.InDelta(t, -math.Log(z), costs[2], 1e-7)
	s.pool(w, 2)
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
	costs := make([]float64, 3)
	for _, d := range []Divergence{Forward, Reverse} {
		s := newRows(3, newRule(d, 1, false, false))
		w := []float32{0, -1e4, -2e4}
		_, ok := s.load(w)
		require.True(t, ok)
		s.costs(costs)
		if d == Forward { // c = 1/2
			require.InDeltaSlice(t, []float64{0, math.Ln2, math.Ln2}, costs, 1e-12)
		} else { // c = e^−5000, e^−1e4: Z = 2c and little else
			require.InDeltaSlice(t, []float64{0, 5000 - math.Ln2, 1e4 - math.Log(3)}, costs, 1e-9)
		}
		for v := range w {
			u := append([]float32(nil), w...)
			s.load(u)
			s.pool(u, int32(v))
			require.True(t, s.satisfied(u, int32(v)))
			for _, x := range u {
				require.False(t, math.IsNaN(float64(x)))
			}
		}
	}
}
