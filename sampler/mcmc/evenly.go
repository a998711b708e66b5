package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
)

// evenly is a model of two levels and pairs whose couplings have one strength:
//
//	E(x_i = 1) − E(x_i = 0) = base + weight·m
//
// for a site of a kind, with m of its neighbours in the state that counts, 1 or, against,
// 0.
type evenly struct {
	graph  *spins.Graph
	weight float64
	base   []float64 // by kind
	turned []int     // neighbours against, by kind
}

const (
	// mostKinds bounds the kinds of sites: models of more have fields of their own
	// at many sites.
	mostKinds = 32

	// sameBase is how far apart, by their size, rounding may take bases of a kind.
	sameBase = 1e-14
)

// newEvenly returns nil if the model is not of this kind, or has sites of more
// neighbours than spins.MostNear, or hardly any free ones.
func newEvenly(m energy.Model) *evenly {
	whole, fixed := unclamped(m)
	if few(fixed) {
		return nil
	}
	if from := newEqual(whole); from != nil {
		e := &evenly{weight: from.weight}
		return e.arrange(from, fixed)
	}
	return nil
}

// arrange finds the kinds of sites and puts sites in the order of a sweep.
func (e *evenly) arrange(from *equal, fixed []int32) *evenly {
	start, adj := from.start, from.adj
	sites := len(start) - 1
	kind, degrees, odd := make([]int32, sites), []int32{}, []*simd.Odds{}
	for i := range kind {
		d := start[i+1] - start[i]
		if d > spins.MostNear {
			return nil
		}
		b, size := from.base(i)
		at, turned := 0, int(from.negative(i))
		for at < len(e.base) && !(degrees[at] == d && e.turned[at] == turned && math.Abs(e.base[at]-b) <= sameBase*size) {
			at++
		}
		if kind[i] = int32(at); at < len(e.base) {
			continue
		}
		if at == mostKinds {
			return nil
		}
		p := make([]uint64, d+1)
		for n := range p {
			p[n] = odds(b + float64(e.weight*float64(n)))
		}
		e.base, e.turned, degrees, odd = append(e.base, b), append(e.turned, turned), append(degrees, d), append(odd, simd.NewOdds(p))
	}
	colour, _ := colouring(start, adj)
	e.graph = spins.NewGraph(spins.Layout{Start: start, Adj: adj, Against: from.against, Colour: colour, Kind: kind, Odds: odd, Fixed: fixed})
	return e
}
