package sweep

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
)

// equal is a two-level pair model whose couplings all have the same magnitude:
//
//	E(x_i = 1) − E(x_i = 0) = base(i) + weight·m
//
// for site i, where m is the number of its neighbours that count. A neighbour marked in the field
// against counts if it is in state 0; any other neighbour counts if it is in state 1.
type equal struct {
	start, adj []int32
	against    []bool // per entry of adj: the neighbour counts in state 0; nil means none does
	weight     float64
	// base of a site, and the sum of the magnitudes of its terms
	base func(i int) (base, size float64)
}

// newEqual returns the model m as a value of type equal. It returns nil if m is not a two-level
// pair model whose couplings have one magnitude.
func newEqual(m energy.Model) *equal {
	if g, ok := energy.As[energy.Matching](m); ok {
		if coupling, field, ok := g.Matching(); ok && len(field) == 2 {
			start, adj := g.Graph()
			return &equal{start: start, adj: adj, weight: -2 * coupling, base: func(i int) (base, size float64) {
				return float64(coupling*float64(start[i+1]-start[i])) + (field[0] - field[1]), 0
			}}
		}
	}
	b := bonds.Of(m)
	if b == nil || len(b.Weight) == 0 {
		return nil
	}
	weight, field := b.Weight, b.Field
	e := &equal{start: b.Start, adj: b.Adj, weight: math.Abs(weight[0]), against: make([]bool, len(weight))}
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

// negative returns the number of neighbours of site i that are marked in the field against.
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

// equalByKind is an equal model whose sites have few kinds:
//
//	E(x_i = 1) − E(x_i = 0) = base + weight·m
//
// where base depends only on the kind of site i, and m is as in equal.
type equalByKind struct {
	graph  *spins.Graph
	weight float64
	base   []float64 // per kind: base
	turned []int     // per kind: number of neighbours marked in equal.against
}

const (
	// mostKinds is the maximum number of kinds of sites. Models with more kinds have individual
	// fields at many sites.
	mostKinds = 32

	// sameBase is the largest rounding difference between bases of one kind, relative to their
	// size.
	sameBase = 1e-14
)

// newEqualByKind returns m as an equalByKind. It returns nil if the sites have too many kinds, if
// a site has more neighbours than spins.MostNear, or if fewer than FewestFree sites are free.
func newEqualByKind(m energy.Model) *equalByKind {
	whole, fixed := unclamped(m)
	if few(fixed) {
		return nil
	}
	if from := newEqual(whole); from != nil {
		e := &equalByKind{weight: from.weight}
		if l, ok := e.arrange(from, fixed); ok {
			e.graph = spins.NewGraph(l)
			return e
		}
	}
	return nil
}

// arrange finds the kinds of the sites and returns the layout of their graph. It returns ok = false
// if there are too many kinds or neighbours.
func (e *equalByKind) arrange(from *equal, fixed []int32) (l spins.Layout, ok bool) {
	start, adj := from.start, from.adj
	sites := len(start) - 1
	kind, degrees, odd := make([]int32, sites), []int32{}, []*simd.Odds{}
	for i := range kind {
		d := start[i+1] - start[i]
		if d > spins.MostNear {
			return l, false
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
			return l, false
		}
		p := make([]uint64, d+1)
		for n := range p {
			p[n] = odds(b + float64(e.weight*float64(n)))
		}
		e.base, e.turned, degrees, odd = append(e.base, b), append(e.turned, turned), append(degrees, d), append(odd, simd.NewOdds(p))
	}
	colour, _ := colouring(start, adj)
	return spins.Layout{Start: start, Adj: adj, Against: from.against, Colour: colour, Kind: kind, Odds: odd, Fixed: fixed}, true
}

// rowKinds groups sites by the table in which their conditional probabilities are looked up:
//
//	E(x_i = 1) − E(x_i = 0) = base + weight·sum
//
// for a site of some kind. Here sum is the site's bias, plus the number of its neighbours in state
// 1, minus twice the number of those neighbours that are marked in the field against. Sites with
// different numbers of neighbours share a table if their bases differ by a multiple of the weight.
type rowKinds struct {
	kind, bias []int32 // per site: kind, −1 if the site is fixed; bias of the sum
	window     []rowWindow
}

// rowWindow is one kind of sites; see rowKinds. A site with sum s has the energy difference base +
// weight·(s + low), where s is at most high − low.
type rowWindow struct {
	base      float64
	low, high int32
}

// mostRowKinds is the maximum number of kinds of sites. Models with more kinds have individual
// fields at many sites.
const mostRowKinds = 256

// newRowKinds returns nil if there are too many kinds or a free site has too many neighbours.
func newRowKinds(e *equal, fixed []int32) *rowKinds {
	if !(math.Abs(e.weight) > 0) {
		return nil
	}
	k := &rowKinds{kind: make([]int32, len(e.start)-1), bias: make([]int32, len(e.start)-1)}
	for i := range k.kind {
		if fixed != nil && fixed[i] >= 0 {
			k.kind[i] = -1
			continue
		}
		d := e.start[i+1] - e.start[i]
		if d >= simd.RowCounts {
			return nil
		}
		minus := e.negative(i)
		b, size := e.base(i)
		b += float64(e.weight * float64(minus)) // base if no neighbour contributes
		size += float64(math.Abs(e.weight) * float64(simd.RowCounts))
		if !k.join(i, b, e.weight, size, -minus, d-minus) {
			if len(k.window) == mostRowKinds {
				return nil
			}
			k.kind[i] = int32(len(k.window))
			k.window = append(k.window, rowWindow{b, -minus, d - minus})
		}
	}
	for i, at := range k.kind {
		if at >= 0 {
			k.bias[i] -= k.window[at].low
		}
	}
	return k
}

// join adds site i, whose sums are low … high, to an existing kind. It returns false if none
// fits.
func (k *rowKinds) join(i int, base, weight, size float64, low, high int32) bool {
	for at := range k.window {
		w := &k.window[at]
		shift := math.Round((base - w.base) / weight)
		if !(math.Abs(shift) < simd.RowCounts) || math.Abs(w.base+float64(weight*shift)-base) > sameBase*(size+math.Abs(base)) {
			continue
		}
		by := int32(shift)
		lowest, highest := min(w.low, low+by), max(w.high, high+by)
		if highest-lowest < simd.RowCounts {
			w.low, w.high = lowest, highest
			k.kind[i], k.bias[i] = int32(at), by
			return true
		}
	}
	return false
}

// tables returns, per kind, the energy difference at sum 0 and the odds of level 1 by sum.
func (k *rowKinds) tables(weight float64) (base []float64, o []simd.RowOdds) {
	for _, w := range k.window {
		p := make([]uint64, w.high-w.low+1)
		for n := range p {
			p[n] = odds(w.base + float64(weight*float64(n+int(w.low))))
		}
		base, o = append(base, w.base+float64(weight*float64(w.low))), append(o, simd.NewRowOdds(p))
	}
	return base, o
}
