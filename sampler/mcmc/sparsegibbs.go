package mcmc

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// sparseGibbs is the kernel of [Gibbs] for energy.Matching models with few
// neighbours: a sweep redraws the colours of the graph in turn. Sites of one
// colour do not wait for each other, and nothing is cached, so that a change
// costs no more than none.
type sparseGibbs struct {
	sweeper // its updates are sites
	*matching
	placed [][]placedLevel // by chain
	pieces *pieces
	in     []int           // stretch of each piece
	told   [][]sparseDrawn // of each worker
	moving []placedLevel   // the state that moves
	price  cost.Memo
}

// What the energy of a state depends on: the number of edges between equals, and of sites of
// every level.
const (
	sparseEqual = iota
	sparseLevels
)

// placedLevel is a level of up to placedLevels. States hold them in the order in which a sweep
// visits the sites: those that are redrawn at the same time lie together, so that no worker
// reads lines that another one is writing, and a large state is nearer to the processor.
type placedLevel = uint16

const placedLevels = 1 << 16

var (
	_ engine            = (*sparseGibbs)(nil)
	_ sampler.Costed    = (*sparseGibbs)(nil)
	_ sampler.Exchanger = (*sparseGibbs)(nil)
)

// sparseDrawn is what a worker has changed.
type sparseDrawn struct {
	tally
	moved int
}

// newSparseGibbs returns nil if another kernel does better.
func newSparseGibbs(m energy.Model, chains int) *sparseGibbs {
	from := newMatching(m)
	if from == nil {
		return nil
	}
	form := format{kept: sparseLevels + from.levels}
	k := apart.New(sparseGibbs{
		sweeper: sweeper{packed: newPacked(m, from.sites, chains, 1, form.kept, form)}, matching: from, placed: make([][]placedLevel, chains),
	})
	k.init(k)
	for s := range k.placed {
		k.placed[s] = apart.Make[placedLevel](from.sites)
	}
	var ends, colours []int
	for _, s := range k.stretches {
		ends, colours = append(ends, s.first+s.sites), append(colours, s.colour)
	}
	k.pieces = newPieces(ends, colours, func(worker, piece, from, to int, words []uint32) {
		t, s := &k.told[worker][0], &k.stretches[k.in[piece]]
		t.moved += k.draw(&t.tally, s, from-s.first, to-s.first, k.moving, words)
	})
	of := 0
	for _, p := range k.pieces.all {
		for p.first >= ends[of] {
			of++
		}
		k.in = append(k.in, of)
	}
	k.share(1)
	return k
}

// share makes what so many workers write.
func (k *sparseGibbs) share(n int) {
	if n = k.pieces.share(n); n == len(k.told) {
		return
	}
	k.told = make([][]sparseDrawn, n)
	for w := range k.told {
		k.told[w] = apart.Make[sparseDrawn](1)
		k.told[w][0].tally = newTally(k.levels)
	}
}

// pack implements holder.
func (k *sparseGibbs) pack(s int, x []int32) {
	levels := k.placed[s]
	for i, at := range k.place {
		levels[at] = placedLevel(x[i])
	}
}

// unpack implements holder.
func (k *sparseGibbs) unpack(s int, x []int32) {
	levels := k.placed[s]
	for i, at := range k.place {
		x[i] = int32(levels[at])
	}
}

// count implements holder.
func (k *sparseGibbs) count(s int) {
	levels, twice := k.placed[s], 0
	counts := make([]int, k.levels)
	for n := range k.stretches {
		r := &k.stretches[n]
		for i, l := range levels[r.first : r.first+r.sites] {
			counts[l]++
			for _, j := range r.near[i*r.degree : (i+1)*r.degree] {
				if levels[j] == l {
					twice++
				}
			}
		}
	}
	k.is(s, sparseEqual, twice/2)
	for l, n := range counts {
		if k.flat {
			n = 0 // which draws do not count either
		}
		k.is(s, sparseLevels+l, n)
	}
}

// addEnergies implements holder.
func (k *sparseGibbs) addEnergies(e []float64, more [][]int) {
	for s := range e {
		sum := float64(k.coupling * float64(more[sparseEqual][s]))
		for l, field := range k.field {
			sum += float64(field * float64(more[sparseLevels+l][s]))
		}
		e[s] -= sum
	}
}

// alike implements holder.
func (k *sparseGibbs) alike(with holder) bool {
	other, ok := with.(*sparseGibbs)
	if !ok || k.levels != other.levels || k.flat != other.flat || !slices.Equal(k.place, other.place) ||
		!slices.EqualFunc(k.stretches, other.stretches, func(a, b stretch) bool { return a.degree == b.degree && slices.Equal(a.near, b.near) }) {
		return false
	}
	k.place, k.stretches = other.place, other.stretches
	return true
}

// swap implements holder.
func (k *sparseGibbs) swap(with holder, chains []int, moved []int) {
	other := with.(*sparseGibbs)
	for _, s := range chains {
		a, b := k.placed[s], other.placed[s]
		k.placed[s], other.placed[s] = b, a
		for i := 0; i < len(a) && moved != nil; i++ {
			moved[s] += differ(int32(a[i]), int32(b[i]))
		}
	}
}

// updates implements engine: they are sites.
func (k *sparseGibbs) updates() int { return k.matching.sites }

// redraw implements engine.
func (k *sparseGibbs) redraw(s, from int, _ []int32, r *sampler.Stream) (next, work int) {
	k.moving = k.placed[s]
	next = k.pieces.sweep(from, r, ignored)
	return next, (next - from) * siteWork
}

func ignored(int) {}

// flush implements engine.
func (k *sparseGibbs) flush(s int) {
	for w := range k.told {
		t := &k.told[w][0]
		k.at.told[s].Moved += t.moved
		k.since[sparseEqual][s] += t.equal
		for l, n := range t.count {
			k.since[sparseLevels+l][s] += int(n)
		}
		t.moved, t.equal = 0, 0
		clear(t.count)
	}
}

// Cost implements [sampler.Costed].
func (k *sparseGibbs) Cost(info []sampler.Info) float64 {
	m := k.price.Of(k.model)
	return float64(len(info)) * float64(float64(k.sites)*(sparseCost+float64(nearCost*m.Degree)))
}
