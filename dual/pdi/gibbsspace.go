package pdi

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// gibbsSpace is what one worker needs.
type gibbsSpace struct {
	y, s, eps     []float32
	e, shift      []float64
	center, width []float64 // of the candidates of a state
}

func newGibbsSpace(k, n int) gibbsSpace {
	return gibbsSpace{y: make([]float32, k*n), s: make([]float32, k*n), eps: make([]float32, n),
		e: make([]float64, k), shift: make([]float64, n), center: make([]float64, n), width: make([]float64, n)}
}

// one predicts one state.
func (g *GibbsScore) one(b *gibbsSpace, v, x []float32, alpha float64, src rand.Source) (effective float64, err error) {
	n := len(x)
	root := max(math.Sqrt(alpha), g.o.MinAlpha)
	variance := 1 - alpha
	for i, xi := range x {
		center, spread := g.candidate(i, float64(xi), root, variance)
		b.center[i], b.width[i] = center, math.Sqrt(spread)
	}
	for k := range g.o.Candidates {
		if k%2 == 0 || !g.o.Antithetic {
			normal.Fill(b.eps, src)
		} else {
			for i := range b.eps {
				b.eps[i] = -b.eps[i]
			}
		}
		y := b.y[k*n : (k+1)*n]
		for i, e := range b.eps {
			y[i] = float32(b.center[i] + float64(b.width[i]*float64(e)))
		}
	}
	g.l.Energy(b.e, b.y)
	top := math.Inf(-1)
	for k, e := range b.e {
		for i, f := range g.field {
			e += float64(f * float64(b.y[k*n+i]))
		}
		if g.center != nil {
			for i, y := range b.y[k*n : (k+1)*n] {
				d := float64(y) - g.center[i]
				e -= float64(0.5*float64(d*d)) / g.o.Spread[i]
			}
		}
		b.e[k] = 0 - e
		top = max(top, b.e[k])
	}
	if !check.Finite(top) {
		return 0, fmt.Errorf("largest log-weight of %d candidates = %v, want a finite number", g.o.Candidates, top)
	}
	sum, squares := 0.0, 0.0
	for k, w := range b.e {
		b.e[k] = simd.Exp(w - top)
		sum += b.e[k]
		squares += float64(b.e[k] * b.e[k])
	}
	if !check.Finite(sum) {
		return 0, fmt.Errorf("the energy of a candidate is NaN")
	}
	effective = float64(sum*sum) / squares
	if g.o.Control {
		g.controlled(b, v, x, sum, root, variance)
		return effective, nil
	}
	clear(b.shift)
	weights := b.keep(n)
	from := b.y
	if !g.o.Mean {
		from = b.s[:len(weights)*n]
		g.l.Score(from, b.y[:len(from)])
	}
	for k, w := range weights {
		w /= sum
		for i := range n {
			f := float64(from[k*n+i])
			if !g.o.Mean && g.field != nil {
				f -= g.field[i]
			}
			if !g.o.Mean && g.center != nil { // the score of the weight
				f += (float64(b.y[k*n+i]) - g.center[i]) / g.o.Spread[i]
			}
			b.shift[i] += float64(w * f)
		}
	}
	for i, xi := range x {
		if g.o.Mean {
			v[i] = float32(b.shift[i])
			continue
		}
		// Stein's identity on the candidates' Gaussian: its centre plus its
		// variance times the mean score of the weight. With the paper's
		// candidates this is Tweedie's formula.
		center, spread := g.candidate(i, float64(xi), root, variance)
		if g.o.Unscaled {
			center, spread = float64(xi)/root, variance/root
		}
		v[i] = float32(center + float64(spread*b.shift[i]))
	}
	return effective, nil
}

// negligible is the weight, relative to the largest, below which a candidate moves no
// bit of a sum in float64 unless its score is 2²⁷ times as large.
const negligible = 0x1p-80

// keep moves the candidates that count to the front, in their order, and returns their
// weights: at high noise these are a few, and a score costs more than an energy.
func (b *gibbsSpace) keep(n int) []float64 {
	kept := 0
	for k, w := range b.e {
		if w < negligible {
			continue
		}
		if kept < k {
			b.e[kept] = w
			copy(b.y[kept*n:(kept+1)*n], b.y[k*n:(k+1)*n])
		}
		kept++
	}
	return b.e[:kept]
}

// controlled stores the estimate with the control variate
// d_k = V·∇log w(y_k) − (y_k − m), for candidates from N(m, V) with weights w.
func (g *GibbsScore) controlled(b *gibbsSpace, v, x []float32, sum, root, variance float64) {
	n := len(x)
	g.l.Score(b.s, b.y)
	k := float64(g.o.Candidates)
	cov, square := 0.0, 0.0
	for i, xi := range x {
		center, spread := g.candidate(i, float64(xi), root, variance)
		meanY, meanD := 0.0, 0.0 // under the weights
		sy, sd, sydy, sdd := 0.0, 0.0, 0.0, 0.0
		for c, w := range b.e {
			y := float64(b.y[c*n+i])
			f := float64(b.s[c*n+i])
			if g.field != nil {
				f -= g.field[i]
			}
			if g.center != nil {
				f += (y - g.center[i]) / g.o.Spread[i]
			}
			y -= center
			d := float64(spread*f) - y
			w /= sum
			meanY += float64(w * y)
			meanD += float64(w * d)
			sy += y
			sd += d
			sydy += float64(y * d)
			sdd += float64(d * d)
		}
		cov += sydy - float64(sy*sd)/k
		square += sdd - float64(sd*sd)/k
		b.shift[i] = meanD
		v[i] = float32(center + meanY)
	}
	c := 0.0
	if square > 0 {
		c = 0 - cov/square
	}
	for i, d := range b.shift {
		v[i] = float32(float64(v[i]) + float64(c*d))
	}
}

// candidate returns the mean and the variance of coordinate i of the candidates.
func (g *GibbsScore) candidate(i int, x, root, variance float64) (center, spread float64) {
	switch {
	case g.o.Unscaled:
		return x, variance
	case g.center == nil || variance == 0:
		return x / root, variance / float64(root*root)
	}
	precision := float64(root*root)/variance + 1/g.o.Spread[i]
	spread = 1 / precision
	return float64(spread * (float64(root*x)/variance + g.center[i]/g.o.Spread[i])), spread
}
