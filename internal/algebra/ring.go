package algebra

import (
	"math"
	"math/big"
	"math/rand/v2"
)

// Ring is a semiring over values of type T. Besides the sum and the product, it has the inner loops
// of the dynamic programs. The implementations are empty structs, so that generic code is compiled
// separately for each of them.
type Ring[T any] interface {
	Zero() T
	One() T
	IsZero(x T) bool
	Add(x, y T) T
	Mul(x, y T) T
	Axpy(dst, src []T, k T) // Axpy computes dst[i] += k·src[i]
	// Along computes dst[t] += src[e.From]·w[e.W] for each edge e of f to an entry t
	Along(dst, src []T, f *Fan, w []T)
	// Choose returns the index of one term of a sum. If the semiring's sum is a sum of weights, the
	// index is random with probability proportional to the term. If that sum is a maximum, the
	// index is that of the first largest term.
	Choose(terms []T, src *rand.Rand) int
}

// Fan holds the edges of a dynamic program from the entries of one vector to those of the next, sorted
// by target. The edges to entry t are All[At[t]:At[t+1]].
type Fan struct {
	At  []int32
	All []Source
}

// Source is the source of an edge, and the index of its weight.
type Source struct{ From, W int32 }

// To returns the edges to an entry.
func (f *Fan) To(entry int) []Source { return f.All[f.At[entry]:f.At[entry+1]] }

// Sums is the semiring (+, ×) over values of type [Number].
type Sums struct{}

func (Sums) Zero() Number           { return Number{} }
func (Sums) One() Number            { return Number{M: 1} }
func (Sums) IsZero(x Number) bool   { return x.M == 0 }
func (Sums) Add(x, y Number) Number { return x.Plus(y) }
func (Sums) Mul(x, y Number) Number { return x.Times(y) }

func (Sums) Axpy(dst, src []Number, k Number) {
	dst = dst[:len(src)]
	for i, y := range src {
		if y.M == 0 {
			continue
		}
		p, e := float64(k.M*y.M), k.E+y.E
		x := &dst[i]
		if p >= wordLow && p < wordHigh && x.E == e {
			if s := x.M + p; s < wordHigh {
				x.M = s
				continue
			}
		}
		*x = x.Plus(Number{p, e}.Normal())
	}
}

// Dot returns s + Σ_i x[i]·y[i].
func (Sums) Dot(s Number, x, y []Number) Number {
	y = y[:len(x)]
	for i := range x {
		a, b := &x[i], &y[i]
		if a.M == 0 || b.M == 0 {
			continue
		}
		p, e := float64(a.M*b.M), a.E+b.E
		if p >= wordLow && p < wordHigh && s.E == e {
			if m := s.M + p; m < wordHigh {
				s.M = m
				continue
			}
		}
		s = s.Plus(Number{p, e}.Normal())
	}
	return s
}

func (Sums) Along(dst, src []Number, f *Fan, w []Number) {
	for t := range dst {
		x := &dst[t]
		for _, e := range f.To(t) {
			y, k := &src[e.From], &w[e.W]
			if y.M == 0 || k.M == 0 {
				continue
			}
			p, n := float64(k.M*y.M), k.E+y.E
			if p >= wordLow && p < wordHigh && x.E == n {
				if s := x.M + p; s < wordHigh {
					x.M = s
					continue
				}
			}
			*x = x.Plus(Number{p, n}.Normal())
		}
	}
}

func (Sums) Choose(terms []Number, src *rand.Rand) int {
	var top Number
	for _, x := range terms {
		if top.Less(x) {
			top = x
		}
	}
	total := 0.0
	for _, x := range terms {
		total += x.Ratio(top)
	}
	u, last := float64(src.Float64()*total), -1
	for i, x := range terms {
		if p := x.Ratio(top); p > 0 {
			last = i
			if u < p {
				return i
			}
			u -= p
		}
	}
	return last
}

// Best is the semiring (max, +) over log-weights.
type Best struct{}

func (Best) Zero() float64            { return math.Inf(-1) }
func (Best) One() float64             { return 0 }
func (Best) IsZero(x float64) bool    { return math.IsInf(x, -1) }
func (Best) Add(x, y float64) float64 { return max(x, y) }
func (Best) Mul(x, y float64) float64 { return x + y }

func (Best) Axpy(dst, src []float64, k float64) {
	dst = dst[:len(src)]
	for i, y := range src {
		if s := k + y; s > dst[i] {
			dst[i] = s
		}
	}
}

func (Best) Along(dst, src []float64, f *Fan, w []float64) {
	for t := range dst {
		for _, e := range f.To(t) {
			dst[t] = max(dst[t], src[e.From]+w[e.W])
		}
	}
}

func (Best) Choose(terms []float64, _ *rand.Rand) int {
	top := -1
	for i, x := range terms {
		if !math.IsInf(x, -1) && (top < 0 || x > terms[top]) {
			top = i
		}
	}
	return top
}

// Counts is the semiring (+, ×) over whole numbers. The value nil represents zero. Values are never
// modified.
type Counts struct{}

func (Counts) Zero() *big.Int         { return nil }
func (Counts) One() *big.Int          { return big.NewInt(1) }
func (Counts) IsZero(x *big.Int) bool { return x == nil }
func (Counts) Mul(x, y *big.Int) *big.Int {
	if x == nil || y == nil {
		return nil
	}
	return new(big.Int).Mul(x, y)
}

func (Counts) Add(x, y *big.Int) *big.Int {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return new(big.Int).Add(x, y)
}

func (c Counts) Axpy(dst, src []*big.Int, k *big.Int) {
	for i, y := range src {
		dst[i] = c.Add(dst[i], c.Mul(y, k))
	}
}

func (c Counts) Along(dst, src []*big.Int, f *Fan, w []*big.Int) {
	for t := range dst {
		for _, e := range f.To(t) {
			dst[t] = c.Add(dst[t], c.Mul(src[e.From], w[e.W]))
		}
	}
}

// Choose panics, because drawing from counts is not supported.
func (Counts) Choose([]*big.Int, *rand.Rand) int { panic("algebra: counts are not drawn from") }
