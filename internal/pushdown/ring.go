package pushdown

import (
	"math"
	"math/rand/v2"
)

// ring is a semiring over values T, with the two loops that cost.
type ring[T any] interface {
	zero() T
	one() T
	isZero(x T) bool
	add(x, y T) T
	mul(x, y T) T
	axpy(dst, src []T, k T)               // dst[i] += k·src[i]
	along(dst, src []T, es []edge, w []T) // dst[e.to] += src[e.from]·w[e.w]
	// choose returns the index of one of the terms of a sum: a random one in
	// proportion to it, or the first among the greatest.
	choose(terms []T, src *rand.Rand) int
}

// sums is (+, ×) on numbers.
type sums struct{}

func (sums) zero() number           { return number{} }
func (sums) one() number            { return number{m: 1} }
func (sums) isZero(x number) bool   { return x.m == 0 }
func (sums) add(x, y number) number { return x.plus(y) }
func (sums) mul(x, y number) number { return x.times(y) }

func (sums) axpy(dst, src []number, k number) {
	dst = dst[:len(src)]
	for i, y := range src {
		if y.m == 0 {
			continue
		}
		p, e := float64(k.m*y.m), k.e+y.e
		x := &dst[i]
		if p >= wordLow && p < wordHigh && x.e == e {
			if s := x.m + p; s < wordHigh {
				x.m = s
				continue
			}
		}
		*x = x.plus(number{p, e}.normal())
	}
}

// dot returns s + Σ_i x[i]·y[i].
func (sums) dot(s number, x, y []number) number {
	y = y[:len(x)]
	for i := range x {
		a, b := &x[i], &y[i]
		if a.m == 0 || b.m == 0 {
			continue
		}
		p, e := float64(a.m*b.m), a.e+b.e
		if p >= wordLow && p < wordHigh && s.e == e {
			if m := s.m + p; m < wordHigh {
				s.m = m
				continue
			}
		}
		s = s.plus(number{p, e}.normal())
	}
	return s
}

func (sums) along(dst, src []number, es []edge, w []number) {
	for _, e := range es {
		y, k := &src[e.from], &w[e.w]
		if y.m == 0 || k.m == 0 {
			continue
		}
		p, n := float64(k.m*y.m), k.e+y.e
		x := &dst[e.to]
		if p >= wordLow && p < wordHigh && x.e == n {
			if s := x.m + p; s < wordHigh {
				x.m = s
				continue
			}
		}
		*x = x.plus(number{p, n}.normal())
	}
}

func (sums) choose(terms []number, src *rand.Rand) int {
	var top number
	for _, x := range terms {
		if top.less(x) {
			top = x
		}
	}
	total := 0.0
	for _, x := range terms {
		total += x.ratio(top)
	}
	u, last := float64(src.Float64()*total), -1
	for i, x := range terms {
		if p := x.ratio(top); p > 0 {
			last = i
			if u < p {
				return i
			}
			u -= p
		}
	}
	return last
}

// best is (max, +) on log-weights.
type best struct{}

func (best) zero() float64            { return math.Inf(-1) }
func (best) one() float64             { return 0 }
func (best) isZero(x float64) bool    { return math.IsInf(x, -1) }
func (best) add(x, y float64) float64 { return max(x, y) }
func (best) mul(x, y float64) float64 { return x + y }

func (best) axpy(dst, src []float64, k float64) {
	dst = dst[:len(src)]
	for i, y := range src {
		if s := k + y; s > dst[i] {
			dst[i] = s
		}
	}
}

func (best) along(dst, src []float64, es []edge, w []float64) {
	for _, e := range es {
		if s := src[e.from] + w[e.w]; s > dst[e.to] {
			dst[e.to] = s
		}
	}
}

func (best) choose(terms []float64, _ *rand.Rand) int {
	top := -1
	for i, x := range terms {
		if !math.IsInf(x, -1) && (top < 0 || x > terms[top]) {
			top = i
		}
	}
	return top
}
