package sweep

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// denseGibbs is the Gibbs kernel of two-level energy.Matching models with many neighbours, and
// the Metropolis kernel in a fixed order for any number of neighbours. It caches the number of
// neighbours in state 1 of each site, and looks up conditional probabilities by these counts. A
// visit that changes nothing takes a few operations; one that changes a site takes a pass over
// its neighbours.
type denseGibbs struct {
	sweeper    // an update is a visit of a site; the states stay in x
	coupling   float64
	field      []float64
	begin, adj []int32
	order      []int32

	// odds holds 2⁶⁴·p(x_i = 1) for 0, 1, …, d neighbours in state 1. There is one such list for
	// each number of neighbours d. In odds, the list of site i begins at index first[i].
	odds  []uint64
	diff  []float64 // E(x_i = 1) − E(x_i = 0), for each entry of odds
	first []int32

	// odds1 is nil except for Metropolis, where odds is the table for sites in state 0 and odds1
	// the table for sites in state 1.
	odds1 []uint64

	visits *simd.Visits
	look   []int32 // index in odds for the current neighbours, chains × sites
	words  []uint32
	price  cost.Memo
}

var (
	_ engine            = (*denseGibbs)(nil)
	_ sampler.Costed    = (*denseGibbs)(nil)
	_ sampler.Exchanger = (*denseGibbs)(nil)
)

// Indices of the counts that determine the energy of a state.
const (
	denseEqual   = iota // index of the number of edges between sites of equal level
	denseOnes           // index of the number of sites in state 1
	denseNumbers        // number of counts that determine the energy of a state
)

// newDenseGibbs returns a kernel that visits the free sites in the given order. It returns nil if
// the model is not energy.Matching with two levels, or has too few free sites.
func newDenseGibbs(m energy.Model, chains int, order []int32) *denseGibbs {
	whole, fixed := unclamped(m)
	g, ok := energy.As[energy.Matching](whole)
	if !ok || few(fixed) {
		return nil
	}
	coupling, field, ok := g.Matching()
	if !ok || len(field) != 2 {
		return nil
	}
	start, adj := g.Graph()
	sites := len(start) - 1
	k := padded.New(denseGibbs{
		sweeper:  sweeper{packed: newPacked(m, sites, chains, 1, denseNumbers, format{kept: denseNumbers})},
		coupling: coupling, field: field, begin: start, adj: adj, order: free(order, fixed),
		first: padded.Make[int32](sites), look: padded.Make[int32](chains * sites), words: padded.Make[uint32](2 * chunk),
	})
	k.init(k)
	k.work += len(adj)
	stretches := map[int]int32{}
	for i := range k.sites {
		d := int(start[i+1] - start[i])
		at, ok := stretches[d]
		if !ok {
			at = int32(len(k.odds))
			stretches[d] = at
			for n := range d + 1 {
				diff := float64(coupling*float64(d-2*n)) + (field[0] - field[1])
				k.diff = append(k.diff, diff)
				k.odds = append(k.odds, odds(diff))
			}
		}
		k.first[i] = at
	}
	k.visits = simd.NewVisits(start, adj, k.first, k.odds, nil, [2][]uint64{})
	return k
}

// dense reports whether the mean number of neighbours exceeds the limit of sparseGibbs.
func dense(m energy.Model) bool {
	whole, _ := unclamped(m)
	g, ok := energy.As[energy.Matching](whole)
	if !ok {
		return false
	}
	start, adj := g.Graph()
	return len(adj) > sparseDegree*(len(start)-1)
}

// pack implements holder: it counts the neighbours in state 1 of all sites of chain s.
func (k *denseGibbs) pack(s int, x []int32) {
	look := k.looks(s)
	for i := range look {
		at := k.first[i]
		for _, j := range k.adj[k.begin[i]:k.begin[i+1]] {
			at += x[j]
		}
		look[i] = at
	}
}

func (k *denseGibbs) looks(s int) []int32 { return k.look[s*k.sites : (s+1)*k.sites] }

// unpack implements holder: it copies the state of chain s, unless x is where it stays.
func (k *denseGibbs) unpack(s int, x []int32) { Store(x, k.rows(s, k.x)) }

// count implements holder: it counts equal edges and sites in state 1 of chain s.
func (k *denseGibbs) count(s int) {
	twice, ones := 0, 0
	x := k.rows(s, k.x)
	for i, l := range x {
		ones += int(l)
		for _, j := range k.adj[k.begin[i]:k.begin[i+1]] {
			if x[j] == l {
				twice++
			}
		}
	}
	k.is(s, denseEqual, twice/2)
	k.is(s, denseOnes, ones)
}

// alike implements holder. It reports whether the other kernel has the same order and graph. If
// so, both kernels share these slices.
func (k *denseGibbs) alike(with holder) bool {
	other, ok := with.(*denseGibbs)
	if !ok || !slices.Equal(k.order, other.order) || !slices.Equal(k.begin, other.begin) || !slices.Equal(k.adj, other.adj) {
		return false
	}
	k.order, k.first = other.order, other.first
	return true
}

// swap implements holder: it exchanges states and cached counts of the given chains.
func (k *denseGibbs) swap(with holder, chains []int, moved []int) {
	other := with.(*denseGibbs)
	for _, s := range chains {
		swap(k.rows(s, k.x), other.rows(s, other.x), s, moved)
		Exchange(k.looks(s), other.looks(s))
	}
}

// share implements engine. It does nothing, because one worker moves a chain.
func (k *denseGibbs) share(int) {}

// updates implements engine: an update is a visit of one site.
func (k *denseGibbs) updates() int { return len(k.order) }

// redraw implements engine: it visits the next chunk of sites of chain s.
func (k *denseGibbs) redraw(s, from int, x []int32, r *sampler.Stream) (next, work int) {
	pending := &k.at.Info[s]
	n := min(chunk, len(k.order)-from)
	words := k.words[:2*n]
	r.Uint32s(words)
	v := k.visits.Visit(k.looks(s), x, k.order[from:from+n], words)
	pending.Moved += v.Moved
	pending.Accept += float64(float64(v.Accept) * (1.0 / acceptUnit))
	k.since[denseEqual][s] += v.Equal
	k.since[denseOnes][s] += v.Ones
	return from + n, n*SiteWork + Times(v.Moved, len(k.adj)/k.sites)
}

// flush implements engine. It does nothing, because redraw leaves nothing pending.
func (k *denseGibbs) flush(int) {}

// acceptUnit represents the acceptance probability 1 in integer sums. The sum of a chunk fits in
// 64 bits.
const acceptUnit = 1 << 52

// metropolise turns the kernel into one of Metropolis. odds then holds the probabilities that a
// site in state 0 flips, and odds1 the probabilities that a site in state 1 stays.
func (k *denseGibbs) metropolise() {
	k.proposes = len(k.order)
	k.odds1 = make([]uint64, len(k.diff))
	var accepts [2][]uint64
	for n, d := range k.diff {
		up, _ := Accept(-d, 0, 0)
		down, _ := Accept(d, 0, 0)
		for l, a := range []float64{up, down} {
			accepts[l] = append(accepts[l], uint64(math.RoundToEven(a*acceptUnit)))
		}
		k.odds[n], k.odds1[n] = fraction(up), -fraction(down)
		if down == 1 {
			k.odds1[n] = 0
		}
	}
	k.visits = simd.NewVisits(k.begin, k.adj, k.first, k.odds, k.odds1, accepts)
}

// addEnergies implements holder: it adds to e the energies of changed numbers of equal edges and
// of sites in state 1.
func (k *denseGibbs) addEnergies(e []float64, more [][]int) {
	for s := range e {
		sum := float64(k.coupling * float64(more[denseEqual][s]))
		e[s] -= sum + float64((k.field[1]-k.field[0])*float64(more[denseOnes][s]))
	}
}

// Cost estimates the time in nanoseconds of a step. A step visits every site, and also the
// neighbours of each site that changes. It implements [sampler.Costed].
func (k *denseGibbs) Cost(info []sampler.Info) float64 {
	m := k.price.Of(k.model)
	return float64(float64(len(info))*float64(denseCost*float64(k.sites))) + float64(Moves(info)*float64(nearCost*m.Degree))
}
