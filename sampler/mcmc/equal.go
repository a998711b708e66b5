package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
)

// equal is a model of two levels and pairs whose couplings have one strength:
//
//	E(x_i = 1) − E(x_i = 0) = base(i) + weight·m
//
// for site i with m of its neighbours in the state that counts, 1 or, against, 0.
type equal struct {
	start, adj []int32
	against    []bool // of each entry of adj; nil: of none
	weight     float64
	base       func(i int) (base, size float64) // size: what base was made from
}

// newEqual returns nil if the model is not of this kind.
func newEqual(m energy.Model) *equal {
	if g, ok := energy.As[energy.Matching](m); ok {
		if coupling, field, ok := g.Matching(); ok && len(field) == 2 {
			start, adj := g.Graph()
			return &equal{start: start, adj: adj, weight: -2 * coupling, base: func(i int) (base, size float64) {
				return float64(coupling*float64(start[i+1]-start[i])) + (field[0] - field[1]), 0
			}}
		}
	}
	p, ok := energy.As[pairwise](m)
	if !ok {
		return nil
	}
	start, adj, weight, field, ok := p.Pairs()
	if !ok || len(weight) == 0 {
		return nil
	}
	e := &equal{start: start, adj: adj, weight: math.Abs(weight[0]), against: make([]bool, len(weight))}
	for n, w := range weight {
		if math.Abs(w) != e.weight {
			return nil
		}
		e.against[n] = w < 0
	}
	e.base = func(i int) (base, size float64) {
		sum := float64(e.weight * float64(e.negative(i)))
		return field[i] - sum, math.Abs(field[i]) + sum
	}
	return e
}

// negative returns how many neighbours of site i are against.
func (e *equal) negative(i int) (n int32) {
	if e.against != nil {
		for _, is := range e.against[e.start[i]:e.start[i+1]] {
			if is {
				n++
			}
		}
	}
	return n
}

// pairwise is ground.Pairwise.
type pairwise = interface {
	energy.Model
	Pairs() (start, adj []int32, weight, field []float64, ok bool)
}
