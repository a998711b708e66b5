package sweep

import (
	"cmp"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/cost"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// sparseGibbs is the Gibbs kernel of energy.Matching models with few neighbours. A sweep redraws
// the colours of the graph in turn, because sites of one colour do not depend on each other.
// Nothing is cached, so a visit that changes a site costs no more than one that does not.
type sparseGibbs struct {
	sweeper // an update is a visit of a site
	*matching
	ordered [][]orderedLevel // per chain: levels in sweep order
	pieces  *pieces
	delta   [][]sparseDrawn // per worker: its changes
	moving  []orderedLevel  // state of the chain that currently moves
	price   cost.Memo
}

// Indices of the counts that determine the energy of a state.
const (
	sparseEqual  = iota // index of the number of edges between sites of equal level
	sparseLevels        // first index of the numbers of sites at each level
)

// orderedLevel is a level below orderedLevels. States hold levels in sweep order: sites that are
// redrawn at the same time are adjacent. No worker then reads cache lines that another worker
// writes, and a large state takes less of the cache.
type orderedLevel = uint16

const orderedLevels = 1 << 16

var (
	_ engine            = (*sparseGibbs)(nil)
	_ sampler.Costed    = (*sparseGibbs)(nil)
	_ sampler.Exchanger = (*sparseGibbs)(nil)
)

// sparseDrawn holds the changes that one worker has made.
type sparseDrawn struct {
	tally
	moved int
}

// newSparseGibbs returns nil if the model is not energy.Matching, has too many neighbours, or has
// parameters too large for weights in float64.
func newSparseGibbs(m energy.Model, chains int) *sparseGibbs {
	from := newMatching(m)
	if from == nil {
		return nil
	}
	form := format{kept: sparseLevels + from.levels}
	k := padded.New(sparseGibbs{
		sweeper: sweeper{packed: newPacked(m, from.sites, chains, 1, form.kept, form)}, matching: from, ordered: make([][]orderedLevel, chains),
	})
	k.init(k)
	for s := range k.ordered {
		k.ordered[s] = padded.Make[orderedLevel](from.sites)
	}
	var ends, colours []int
	for _, s := range k.stretches {
		ends, colours = append(ends, s.first+s.sites), append(colours, s.colour)
	}
	k.pieces = newPieces(ends, colours, func(worker, piece, from, to int, words []uint32) {
		t, s := &k.delta[worker][0], &k.stretches[k.pieces.all[piece].stretch]
		t.moved += k.draw(&t.tally, s, from-s.first, to-s.first, k.moving, words)
	})
	k.share(1)
	return k
}

// share allocates workspaces for n workers, or for as many as a sweep can use.
func (k *sparseGibbs) share(n int) {
	if n = k.pieces.share(n); n == len(k.delta) {
		return
	}
	k.delta = make([][]sparseDrawn, n)
	for w := range k.delta {
		k.delta[w] = padded.Make[sparseDrawn](1)
		k.delta[w][0].tally = newTally(k.levels)
	}
}

// pack implements holder: it stores the levels of chain s in sweep order.
func (k *sparseGibbs) pack(s int, x []int32) {
	levels := k.ordered[s]
	for i, at := range k.place {
		levels[at] = orderedLevel(x[i])
	}
}

// unpack implements holder: it sets x to the levels of chain s.
func (k *sparseGibbs) unpack(s int, x []int32) {
	levels := k.ordered[s]
	for i, at := range k.place {
		x[i] = int32(levels[at])
	}
}

// count implements holder: it counts equal edges and the sites of each level of chain s.
func (k *sparseGibbs) count(s int) {
	levels, twice := k.ordered[s], 0
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
			n = 0 // draws do not count them either
		}
		k.is(s, sparseLevels+l, n)
	}
}

// addEnergies implements holder: it adds to e the energies of changed numbers of equal edges and
// of sites of each level.
func (k *sparseGibbs) addEnergies(e []float64, more [][]int) {
	for s := range e {
		sum := float64(k.coupling * float64(more[sparseEqual][s]))
		for l, field := range k.field {
			sum += float64(field * float64(more[sparseLevels+l][s]))
		}
		e[s] -= sum
	}
}

// alike implements holder. It reports whether sweep order and graph are the same. If so, the
// kernels share them.
func (k *sparseGibbs) alike(with holder) bool {
	other, ok := with.(*sparseGibbs)
	if !ok || k.levels != other.levels || k.flat != other.flat || !slices.Equal(k.place, other.place) ||
		!slices.EqualFunc(k.stretches, other.stretches, func(a, b stretch) bool { return a.degree == b.degree && slices.Equal(a.near, b.near) }) {
		return false
	}
	k.place, k.stretches = other.place, other.stretches
	return true
}

// swap implements holder: it exchanges the states of the given chains.
func (k *sparseGibbs) swap(with holder, chains []int, moved []int) {
	other := with.(*sparseGibbs)
	for _, s := range chains {
		a, b := k.ordered[s], other.ordered[s]
		k.ordered[s], other.ordered[s] = b, a
		for i := 0; i < len(a) && moved != nil; i++ {
			moved[s] += differ(int32(a[i]), int32(b[i]))
		}
	}
}

// updates implements engine: an update is a visit of one site.
func (k *sparseGibbs) updates() int { return k.matching.sites }

// redraw implements engine: it redraws some pieces of chain s.
func (k *sparseGibbs) redraw(s, from int, _ []int32, r *sampler.Stream) (next, work int) {
	k.moving = k.ordered[s]
	next = k.pieces.sweep(from, r, ignored)
	return next, (next - from) * SiteWork
}

func ignored(int) {}

// flush implements engine: it adds the changes of all workers to the counts.
func (k *sparseGibbs) flush(s int) {
	for w := range k.delta {
		t := &k.delta[w][0]
		k.at.Info[s].Moved += t.moved
		k.since[sparseEqual][s] += t.equal
		for l, n := range t.count {
			k.since[sparseLevels+l][s] += int(n)
		}
		t.moved, t.equal = 0, 0
		clear(t.count)
	}
}

// Cost estimates the time in nanoseconds of a step, which visits every site and its neighbours. It
// implements [sampler.Costed].
func (k *sparseGibbs) Cost(info []sampler.Info) float64 {
	return lookups(k.price.Of(k.model), info)
}

// matching computes the conditional probabilities of an energy.Matching model: p(x_i = l) ∝
// exp(J·n_l + h_l), where n_l is the number of neighbours at level l, J the coupling and h the
// field.
type matching struct {
	sites, levels int
	coupling      float64
	field         []float64
	flat          bool      // all levels have the same field
	power, base   []float64 // exp(J·n) and exp(h_l − max h), for sites without a table

	place     []int32   // per site: position in a sweep
	stretches []stretch // stretches of sites, in the order of a sweep
	// per number of neighbours: table of conditional probabilities; empty if it would be too
	// large
	tables []lookup
}

// stretch is a range of positions of a sweep whose sites do not interact and have the same number
// of neighbours.
type stretch struct {
	first, sites, degree int
	colour               int
	fixed                bool    // the sites keep their levels
	near                 []int32 // positions of the neighbours, sites × degree
}

// lookup is a table of conditional probabilities. The levels of the neighbours, as digits of a
// number in base levels, select a row of as many words as there are levels. Word l is 2⁵³·p(x_i ≤
// l), rounded. The last word instead packs the neighbour counts n_l of all levels, with four bits
// each.
type lookup []uint64

const (
	// sparseDegree is the maximum mean number of neighbours for which counting the neighbours at
	// every visit is faster than updating cached differences (BenchmarkSparseGibbs).
	sparseDegree = 16

	// tableEntries is the maximum number of entries of a table, 1 MB, so that it stays in the
	// processor's cache.
	tableEntries = 1 << 17

	// countBits is the number of bits of a neighbour count in a table, which is therefore at most
	// 15.
	countBits = 4

	// steepest is the maximum of |J|·n + |h|, so that no weight overflows or underflows.
	steepest = 600
)

// newMatching returns nil if the model, clamped or not, is not energy.Matching. It also returns
// nil if the model has so many neighbours or such large parameters that other kernels are better.
func newMatching(m energy.Model) *matching {
	whole, fixed := unclamped(m)
	g, ok := energy.As[energy.Matching](whole)
	if !ok {
		return nil
	}
	coupling, field, ok := g.Matching()
	if !ok {
		return nil
	}
	start, adj := g.Graph()
	k := padded.New(matching{sites: len(start) - 1, levels: len(field), coupling: coupling, field: field})
	if few(fixed) {
		return nil
	}
	if k.levels < 2 || k.levels > orderedLevels || len(adj) > sparseDegree*k.sites {
		return nil
	}
	most := 0
	for i := range k.sites {
		most = max(most, int(start[i+1]-start[i]))
	}
	low, high := slices.Min(field), slices.Max(field)
	if !(float64(math.Abs(coupling)*float64(most))+(high-low) <= steepest) {
		return nil
	}
	k.flat = low == high
	for n := range most + 1 {
		k.power = append(k.power, simd.Exp(coupling*float64(n)))
	}
	for _, h := range field {
		k.base = append(k.base, simd.Exp(h-high))
	}
	k.arrange(start, adj, fixed)
	k.tables = make([]lookup, most+1)
	for _, s := range k.stretches {
		if k.tables[s.degree] == nil {
			k.tables[s.degree] = k.tabulate(s.degree)
		}
	}
	return k
}

// arrange orders the sites for a sweep: by colour, then free sites first, then by degree.
func (k *matching) arrange(start, adj, fixed []int32) {
	colour, _ := colouring(start, adj)
	degree := func(i int32) int { return int(start[i+1] - start[i]) }
	held := func(i int32) int32 { // −1 for a free site, 0 for a fixed one
		if fixed == nil {
			return -1
		}
		return min(fixed[i], 0)
	}
	order := make([]int32, k.sites)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(int(colour[a]-colour[b]), int(held(a)-held(b)), degree(a)-degree(b))
	})
	k.place = make([]int32, k.sites)
	for at, i := range order {
		k.place[i] = int32(at)
	}
	for at, i := range order {
		if at == 0 || colour[i] != colour[order[at-1]] || degree(i) != degree(order[at-1]) || held(i) != held(order[at-1]) {
			k.stretches = append(k.stretches, stretch{first: at, degree: degree(i), colour: int(colour[i]), fixed: held(i) == 0})
		}
		s := &k.stretches[len(k.stretches)-1]
		s.sites++
		for _, j := range adj[start[i]:start[i+1]] {
			s.near = append(s.near, k.place[j])
		}
	}
}

// tabulate returns the table for sites with degree neighbours, or nil if it would be too large.
func (k *matching) tabulate(degree int) lookup {
	size := k.levels
	for range degree {
		if size *= k.levels; size > tableEntries {
			return nil
		}
	}
	if degree >= 1<<countBits || k.levels*countBits > 64 {
		return nil
	}
	t, w := make(lookup, size), make([]float64, k.levels)
	for c := range size / k.levels {
		row := t[c*k.levels : (c+1)*k.levels]
		counts, digits := uint64(0), c
		for range degree {
			counts += 1 << (countBits * (digits % k.levels))
			digits /= k.levels
		}
		total := 0.0
		for l := range w {
			total += k.weight(l, int(counts>>(countBits*l)&(1<<countBits-1)))
			w[l] = total
		}
		for l := range row {
			row[l] = uint64(math.RoundToEven(w[l] / total * (1 << 53)))
		}
		row[k.levels-1] = counts
	}
	return t
}

// weight returns p(x_i = l), up to a factor, for a site with n neighbours at level l.
func (k *matching) weight(l, n int) float64 { return float64(k.base[l] * k.power[n]) }

// tally counts changes of the numbers that determine an energy: the number of edges between sites
// of equal level and, unless the field is flat, the number of sites at each level.
type tally struct {
	equal int
	count []int64
	near  []int32 // scratch of drawByCount: neighbours at each level; all 0 between two sites
}

// newTally returns a tally for the given number of levels.
func newTally(levels int) tally {
	return tally{count: padded.Make[int64](levels), near: padded.Make[int32](levels)}
}

// draw redraws a range of sites of stretch s in x, which holds levels in sweep order. It uses two
// random words per site. It returns the number of sites that changed.
func (k *matching) draw(t *tally, s *stretch, at, end int, x []orderedLevel, words []uint32) (moved int) {
	switch rows := k.tables[s.degree]; {
	case s.fixed:
		return 0
	case rows == nil:
		return k.drawByCount(t, s, at, end, x, words)
	case s.degree == 4:
		return k.drawByFour(t, rows, s, at, end, x, words)
	default:
		return k.drawByTable(t, rows, s, at, end, x, words)
	}
}

// drawByFour is drawByTable for sites with four neighbours.
func (k *matching) drawByFour(t *tally, rows []uint64, s *stretch, at, end int, x []orderedLevel, words []uint32) (moved int) {
	q, equal := k.levels, 0
	near, words := s.near[4*at:4*end], words[:2*(end-at)]
	own := x[s.first+at : s.first+end]
	for n, before := range own {
		a := near[4*n : 4*n+4 : 4*n+4]
		c := int(x[a[0]]) + q*int(x[a[1]]) + q*q*(int(x[a[2]])+q*int(x[a[3]]))
		row := rows[c*q : c*q+q : c*q+q]
		u := (uint64(words[2*n+1])<<32 | uint64(words[2*n])) >> 11
		l, old := pick(row[:len(row)-1], u), int32(before)
		own[n] = orderedLevel(l)
		equal += gain(row[len(row)-1], l, old)
		moved += differ(old, l)
		if !k.flat {
			t.count[l]++
			t.count[old]--
		}
	}
	t.equal += equal
	return moved
}

// drawByTable redraws sites like draw, by a table of conditional probabilities.
func (k *matching) drawByTable(t *tally, rows []uint64, s *stretch, at, end int, x []orderedLevel, words []uint32) (moved int) {
	q, d := k.levels, s.degree
	own := x[s.first+at : s.first+end]
	for n, before := range own {
		c, scale := 0, q
		for _, j := range s.near[(at+n)*d : (at+n+1)*d] {
			c += int(x[j]) * scale
			scale *= q
		}
		row := rows[c : c+q : c+q]
		u := (uint64(words[2*n+1])<<32 | uint64(words[2*n])) >> 11
		l, old := pick(row[:len(row)-1], u), int32(before)
		own[n] = orderedLevel(l)
		t.equal += gain(row[len(row)-1], l, old)
		moved += differ(old, l)
		if !k.flat {
			t.count[l]++
			t.count[old]--
		}
	}
	return moved
}

// drawByCount redraws sites like draw, by counting the neighbours at each level.
func (k *matching) drawByCount(t *tally, s *stretch, at, end int, x []orderedLevel, words []uint32) (moved int) {
	counts := t.near
	d := s.degree
	own := x[s.first+at : s.first+end]
	for n, before := range own {
		near := s.near[(at+n)*d : (at+n+1)*d]
		for _, j := range near {
			counts[x[j]]++
		}
		total := 0.0
		for l, c := range counts {
			total += k.weight(l, int(c))
		}
		u := float64(total * (float64((uint64(words[2*n+1])<<32|uint64(words[2*n]))>>11) * 0x1p-53))
		l := 0
		for ; l < k.levels-1; l++ {
			if u -= k.weight(l, int(counts[l])); u < 0 {
				break
			}
		}
		old := int32(before)
		own[n] = orderedLevel(l)
		t.equal += int(counts[l] - counts[old])
		moved += differ(old, int32(l))
		if !k.flat {
			t.count[l]++
			t.count[old]--
		}
		for _, j := range near {
			counts[x[j]] = 0
		}
	}
	return moved
}

// pick returns the number of bounds that are at most u, without a branch. All values must be at
// most 2⁵³.
func pick(bound []uint64, u uint64) int32 {
	l := uint64(0)
	for _, b := range bound {
		l += (b - 1 - u) >> 63
	}
	return int32(l)
}

// gain returns n_l − n_old. The word counts packs the neighbour counts n of all levels.
func gain(counts uint64, l, old int32) int {
	const mask = 1<<countBits - 1
	return int(counts>>(countBits*l&63)&mask) - int(counts>>(countBits*old&63)&mask)
}

// differ returns 1 if a and b differ, and 0 otherwise.
func differ(a, b int32) int { return int((uint64(uint32(a^b)) + (1<<63 - 1)) >> 63) }
