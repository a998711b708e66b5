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

// fieldGibbs is the kernel of Gibbs for pair models of two levels on large sparse graphs,
// with arbitrary couplings and fields. A sweep redraws the colours of the graph in turn, each
// site from
//
//	E(x_i = 1) − E(x_i = 0) = h_i + Σ_j w_ij·x_j,
//
// added up in the order of the graph. Nothing is cached, and workers share one state.
type fieldGibbs struct {
	sitewise           // energies alone
	sweep    []int32   // the free sites by place; those of one colour are adjacent
	begin    []int32   // of the neighbours of each place
	near     []int32   // sites
	weight   []float64 // their couplings
	field    []float64 // by place
	known    []bracket
	pieces   *pieces
	drawn    []fieldDrawn // by piece
	moving   []int32      // the state that moves
}

var (
	_ sampler.Costed    = (*fieldGibbs)(nil)
	_ sampler.Exchanger = (*fieldGibbs)(nil)
)

// fieldDrawn is the result of a piece. Pieces are summed in their order, so that energies do
// not depend on the number of workers.
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

// sparsePairs returns the parameters of a pair model on a sparse graph, nil for other models.
func sparsePairs(m energy.Model) *bonds.Bonds {
	b := bonds.Of(m)
	if b == nil || len(b.Adj) > sparseDegree*len(b.Field) || !finite(b.Weight) || !finite(b.Field) {
		return nil
	}
	return b
}

// finite reports whether all numbers are.
func finite(v []float64) bool {
	for _, f := range v {
		if !check.Finite(f) {
			return false
		}
	}
	return true
}

// Reset implements [sampler.Transition].
func (k *fieldGibbs) Reset(ctl sampler.Control, x []int32) error {
	k.pieces.share(ctl.Workers)
	return k.Locals.Reset(ctl, x)
}

// draw redraws the places from … to−1, with two words of random bits for each.
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

// Step implements [sampler.Transition]. It asks whether to stop about every millisecond.
func (k *fieldGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	k.pieces.share(ctl.Workers)
	return k.Make(ctl, k, info, x, r)
}

// Walk implements [Walker].
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

// Cost implements [sampler.Costed].
func (k *fieldGibbs) Cost(info []sampler.Info) float64 {
	m := k.Price.Of(k.Model)
	return float64(len(info)) * float64(float64(k.Sites)*(sparseCost+float64(nearCost*m.Degree)))
}

// bracket holds bounds of a probability.
type bracket struct{ low, high float64 }

const (
	bracketEnd   = 40    // of the differences that have one
	bracketsUnit = 8     // in a unit of difference: one draw in forty or fewer lies within
	bracketSlack = 1e-12 // relative; far above the rounding error of simd.Sigmoid
)

// brackets bounds the probability of level 1, simd.Sigmoid(−rise), for differences between
// −bracketEnd and bracketEnd, one pair of bounds per bin: most draws then need no
// exponential.
var brackets = sync.OnceValue(func() []bracket {
	b := make([]bracket, 2*bracketEnd*bracketsUnit+1) // what is just below the end may round to it
	for n := range b {
		from := float64(float64(n)/bracketsUnit) - bracketEnd
		b[n] = bracket{low: simd.Sigmoid(-(from + 1./bracketsUnit)) * (1 - bracketSlack), high: simd.Sigmoid(-from) * (1 + bracketSlack)}
	}
	return b
})

// up returns 1 if the uniform number u is below the probability of level 1, given the
// difference between the energies of level 1 and level 0, else 0.
func up(known []bracket, rise, u float64) int32 {
	if rise > -bracketEnd && rise < bracketEnd {
		b := &known[int((rise+bracketEnd)*bracketsUnit)]
		if l := below(u, b.low); l == below(u, b.high) {
			return l
		}
	}
	return below(u, simd.Sigmoid(-rise))
}

// below returns 1 if u < p, else 0, without a branch, which would often be mispredicted:
// non-negative numbers are ordered like their bits.
func below(u, p float64) int32 { return int32((math.Float64bits(u) - math.Float64bits(p)) >> 63) }
