package mcmc

import (
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// fieldGibbs is the kernel of [Gibbs] for models of two levels and pairs on large sparse
// graphs, whatever couplings and fields are. A sweep redraws the colours of the graph in
// turn, each site from
//
//	E(x_i = 1) − E(x_i = 0) = h_i + Σ_j w_ij·x_j,
//
// added up in the order of the graph. Nothing is cached, and workers share one state.
type fieldGibbs struct {
	sitewise           // energies alone
	sweep    []int32   // the free sites by place: those of a colour one behind the other
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

// fieldDrawn is what became of a piece: added up in its order, so that energies do not
// depend on workers.
type fieldDrawn struct {
	rise  float64
	moved int
}

// newFieldGibbs returns nil if the model is not of pairs on a sparse graph.
func newFieldGibbs(m energy.Model, chains int) *fieldGibbs {
	whole, fixed := unclamped(m)
	b := sparsePairs(whole)
	if b == nil || few(fixed) {
		return nil
	}
	start, adj, weight, field := b.Start, b.Adj, b.Weight, b.Field
	k := apart.New(fieldGibbs{
		sitewise: newSitewise(newUncached(m, chains)), begin: []int32{0}, known: brackets(),
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
	k.pieces = newPieces(ends, each, k.draw)
	k.drawn = make([]fieldDrawn, len(k.pieces.all))
	return k
}

// sparsePairs returns the numbers of a model of pairs on a sparse graph, nil of another.
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
	return k.locals.Reset(ctl, x)
}

// draw redraws the places from … to−1, with two words of random bits each.
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
	return k.step(ctl, k, info, x, r, len(k.sweep))
}

// walk implements walker.
func (k *fieldGibbs) walk(_, s int, x []int32, r []sampler.Stream) (made int) {
	k.moving = x
	told, from := &k.at.told[s], k.at.update
	told.Accept = 1
	next := k.pieces.sweep(from, &r[s], func(piece int) {
		d := &k.drawn[piece]
		told.Moved += d.moved
		k.e[s] += d.rise
		*d = fieldDrawn{}
	})
	k.at.done((next - from) * siteWork)
	return next - from
}

// UnmarshalBinary implements [sampler.Transition].
func (k *fieldGibbs) UnmarshalBinary(b []byte) error { return k.restore(b, len(k.sweep)) }

// Cost implements [sampler.Costed].
func (k *fieldGibbs) Cost(info []sampler.Info) float64 {
	m := k.price.Of(k.model)
	return float64(len(info)) * float64(float64(k.sites)*(sparseCost+float64(nearCost*m.Degree)))
}
