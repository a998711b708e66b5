package sweep

import (
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/spins"
)

// equal is a pair model of two levels whose couplings have one strength:
//
//	E(x_i = 1) − E(x_i = 0) = base(i) + weight·m
//
// for site i, of which m neighbours are in the state that counts: 1, or 0 for a neighbour
// that is against.
type equal struct {
	start, adj []int32
	against    []bool // by entry of adj; nil: none is
	weight     float64
	base       func(i int) (base, size float64) // size: the sum of the magnitudes that base is a sum of
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

// equalByKind is an equal model whose sites are of few kinds:
//
//	E(x_i = 1) − E(x_i = 0) = base + weight·m
//
// where base depends on the kind of site i only, and m is as for equal.
type equalByKind struct {
	graph  *spins.Graph
	weight float64
	base   []float64 // by kind
	turned []int     // neighbours against, by kind
}

const (
	// mostKinds bounds the kinds of sites. Models with more have individual fields at
	// many sites.
	mostKinds = 32

	// sameBase bounds the difference of bases of one kind by rounding, relative to size.
	sameBase = 1e-14
)

// newEqualByKind returns nil if the model is not of this kind, has sites with more
// neighbours than spins.MostNear or has hardly any free sites.
func newEqualByKind(m energy.Model) *equalByKind {
	whole, fixed := unclamped(m)
	if few(fixed) {
		return nil
	}
	if from := newEqual(whole); from != nil {
		e := &equalByKind{weight: from.weight}
		return e.arrange(from, fixed)
	}
	return nil
}

// arrange finds the kinds of sites and puts sites in the order of a sweep.
func (e *equalByKind) arrange(from *equal, fixed []int32) *equalByKind {
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

// rowKinds groups sites by the table that their conditionals are looked up in:
//
//	E(x_i = 1) − E(x_i = 0) = base + weight·sum
//
// for a site of a kind. sum is its bias, plus its neighbours in state 1, minus twice those of
// them that are against. Sites with different numbers of neighbours share a table if their
// bases differ by a multiple of the weight.
type rowKinds struct {
	kind, bias []int32 // by site; kind: −1 where it is fixed
	window     []rowWindow
}

// rowWindow is a kind. A sum s stands for base + weight·(s + low) and is at most high − low.
type rowWindow struct {
	base      float64
	low, high int32
}

// mostRowKinds bounds the kinds of sites. Models with more have individual fields at many
// sites.
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
		b += float64(e.weight * float64(minus)) // where no neighbour adds or takes away
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

// join adds site i, with sums of low … high, to an existing kind, or returns false.
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

// tables returns, by kind, the difference at sum 0 and the odds by sum.
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
