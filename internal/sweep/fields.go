package sweep

import (
	"math"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// fieldGibbs is the Gibbs kernel of two-level pair models on large sparse graphs, with arbitrary
// couplings w and fields h. A sweep redraws the colours of the graph in turn, each site from
//
//	E(x_i = 1) − E(x_i = 0) = h_i + Σ_j w_ij·x_j,
//
// which is summed in the order of the graph. Nothing is cached, and several workers share one
// state.
type fieldGibbs struct {
	sitewise           // only its energies are used
	sweep    []int32   // free sites in the order of the sweep; sites of one colour are adjacent
	begin    []int32   // per position in sweep: start of its neighbours in near
	near     []int32   // neighbours, as site numbers
	weight   []float64 // couplings to the neighbours in near
	field    []float64 // per position in sweep: field
	known    []bracket
	pieces   *pieces
	drawn    []fieldDrawn // per piece: number of changed sites and change of the energy
	moving   []int32      // state of the chain that currently moves
}

var (
	_ sampler.Costed    = (*fieldGibbs)(nil)
	_ sampler.Exchanger = (*fieldGibbs)(nil)
)

// fieldDrawn is the result of redrawing a piece. Results are summed in the order of the pieces,
// so that energies do not depend on the number of workers.
type fieldDrawn struct {
	rise  float64
	moved int
}

// newFieldGibbs returns nil if the model is not a pair model on a sparse graph.
func newFieldGibbs(m energy.Model, chains int) *fieldGibbs {
	whole, fixed := unclamped(m)
	b := sparsePairs(whole)
	if b == nil || few(fixed) {
		return nil
	}
	start, adj, weight, field := b.Start, b.Adj, b.Weight, b.Field
	k := padded.New(fieldGibbs{
		sitewise: newSitewise(NewEnergies(m, chains, 0)), begin: []int32{0}, known: brackets(),
		near: make([]int32, 0, len(adj)), weight: make([]float64, 0, len(adj)),
	})
	colour, colours := colouring(start, adj)
	var ends, each []int
	for c := range colours {
		for i, own := range colour {
			if int(own) != c || fixed != nil && fixed[i] >= 0 {
				continue
			}
			k.sweep, k.field = append(k.sweep, int32(i)), append(k.field, field[i])
			k.near = append(k.near, adj[start[i]:start[i+1]]...)
			k.weight = append(k.weight, weight[start[i]:start[i+1]]...)
			k.begin = append(k.begin, int32(len(k.near)))
		}
		ends, each = append(ends, len(k.sweep)), append(each, c)
	}
	k.Updates = len(k.sweep)
	k.pieces = newPieces(ends, each, k.draw)
	k.drawn = make([]fieldDrawn, len(k.pieces.all))
	return k
}

// sparsePairs returns the parameters of a pair model on a sparse graph, or nil for any other
// model.
func sparsePairs(m energy.Model) *bonds.Bonds {
	b := bonds.Of(m)
	if b == nil || len(b.Adj) > sparseDegree*len(b.Field) || !check.AllFinite(b.Weight) || !check.AllFinite(b.Field) {
		return nil
	}
	return b
}

// Reset computes the energies of the states in x. It implements [sampler.Transition].
func (k *fieldGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.pieces.share(ctl.Workers)
	return k.Locals.Reset(ctl, x)
}

// draw redraws a range of positions of the sweep, with two random words for each position.
func (k *fieldGibbs) draw(_, piece, from, to int, words []uint32) {
	d, x := k.drawn[piece], k.moving
	begin, words := k.begin[from:to+1], words[:2*(to-from)]
	at := begin[0]
	for n, i := range k.sweep[from:to] {
		end := begin[n+1]
		near, weight := k.near[at:end], k.weight[at:end]
		at = end
		weight = weight[:len(near)]
		rise := k.field[from+n]
		for e, j := range near {
			rise += float64(weight[e] * float64(x[j]))
		}
		u := float64(float64((uint64(words[2*n+1])<<32|uint64(words[2*n]))>>11) * 0x1p-53)
		l := up(k.known, rise, u)
		change := l - x[i]
		x[i] = l
		d.moved += int(change & 1)
		d.rise += float64(rise * float64(change))
	}
	k.drawn[piece] = d
}

// Step makes one step of every chain, checking for a stop about every millisecond. It implements
// [sampler.Transition].
func (k *fieldGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.pieces.share(ctl.Workers)
	return k.Make(ctl, k, info, x, r)
}

// Walk sweeps once over the sites of chain s. Several workers update pieces of the state, and the
// changes of the energy are added up. Walk implements [Walker].
func (k *fieldGibbs) Walk(_, s int, x []int32, r []sampler.Stream) (made int) {
	k.moving = x
	pending, from := &k.At.Info[s], k.At.Update
	pending.Accept = 1
	next := k.pieces.sweep(from, &r[s], func(piece int) {
		d := &k.drawn[piece]
		pending.Moved += d.moved
		k.E[s] += d.rise
		*d = fieldDrawn{}
	})
	k.At.Done((next - from) * SiteWork)
	return next - from
}

// Cost estimates the time in nanoseconds of a step, which visits every site and its neighbours. It
// implements [sampler.Costed].
func (k *fieldGibbs) Cost(info []sampler.Info) float64 {
	return lookups(k.Price.Of(k.Model), info)
}

// bracket holds a lower and an upper bound of a probability.
type bracket struct{ low, high float64 }

const (
	bracketEnd = 40 // largest absolute difference that has a bracket
	// brackets per unit of difference; at most one draw in forty falls within a bracket
	bracketsUnit = 8
	// relative widening of the bounds, far above the rounding error of simd.Sigmoid
	bracketSlack = 1e-12
)

// brackets returns bounds of the probability of level 1, simd.Sigmoid(−rise). There is one pair
// of bounds per bin of rise, between −bracketEnd and bracketEnd. Most draws then need no
// exponential.
var brackets = sync.OnceValue(func() []bracket {
	// a value just below the end may round to the end
	b := make([]bracket, 2*bracketEnd*bracketsUnit+1)
	for n := range b {
		from := float64(float64(n)/bracketsUnit) - bracketEnd
		b[n] = bracket{low: simd.Sigmoid(-(from + 1./bracketsUnit)) * (1 - bracketSlack), high: simd.Sigmoid(-from) * (1 + bracketSlack)}
	}
	return b
})

// up returns 1 if the uniform number u is below the probability of level 1, and 0 otherwise. The
// argument rise is the energy of level 1 minus that of level 0.
func up(known []bracket, rise, u float64) int32 {
	if rise > -bracketEnd && rise < bracketEnd {
		b := &known[int((rise+bracketEnd)*bracketsUnit)]
		if l := below(u, b.low); l == below(u, b.high) {
			return l
		}
	}
	return below(u, simd.Sigmoid(-rise))
}

// below returns 1 if u < p, and 0 otherwise, for non-negative u and p. Non-negative numbers are
// ordered like their bits, so the comparison needs no branch, which would often be mispredicted.
func below(u, p float64) int32 { return int32((math.Float64bits(u) - math.Float64bits(p)) >> 63) }
