package mcmc

import (
	"errors"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// matches is the proposal of [rows] for energy.Matching models of few levels and neighbours,
// Potts models above all. The weights of a site depend only on its level and on how many of
// its neighbours have each level. These select a row of a table, which is computed when it is
// first met; a site holds the place of its row and no weights.
type matches struct {
	unconfined
	model         energy.Model
	sites, levels int
	coupling      float64
	field         []float64
	first, adj    []int32 // neighbours in compressed rows
	degrees       []int   // that occur
	base          []int32 // of each site: the first place of its degree
	scale         []int32 // by level: what a neighbour adds to the place; nothing for the last level
	four          bool    // all sites have four neighbours

	row   *rows   // weighs one row
	own   []int32 // the level of its site
	made  []bool
	bound []uint64  // 2⁵³ times the probability of the levels up to l, rounded
	prob  []float64 // of each level

	place padded.Pair[int32] // chains × sites
}

const (
	// matchEntries bounds the entries of a table: four neighbours on five levels, 250 kB.
	matchEntries = 1 << 14

	// matchSteepest bounds |J|·n + |h|, so that no difference overflows a float32.
	matchSteepest = 1e30
)

// newMatches returns nil if the model is not of that kind, the table would be large or the
// settings differ from site to site.
func newMatches(m energy.Model, chains int, l langevin) *matches {
	g, ok := energy.As[energy.Matching](m)
	if !ok || l.preconditioner != nil || l.window > 0 || l.minibatch {
		return nil
	}
	coupling, field, ok := g.Matching()
	if !ok {
		return nil
	}
	start, adj := g.Graph()
	p := &matches{model: m, sites: len(start) - 1, levels: len(field), coupling: coupling, field: field, first: start, adj: adj, own: make([]int32, 1)}
	p.base, p.scale = make([]int32, p.sites), make([]int32, p.levels)
	most := 0
	for i := range p.sites {
		degree := int(start[i+1] - start[i])
		if most = max(most, degree); !slices.Contains(p.degrees, degree) {
			p.degrees = append(p.degrees, degree)
		}
		if len(p.degrees)*p.levels*p.levels > matchEntries {
			return nil
		}
	}
	slices.Sort(p.degrees)
	size := p.levels * p.levels // entries of the rows of a site all of whose neighbours have the last level
	for n := range p.levels - 1 {
		p.scale[n] = int32(size)
		if size *= most + 1; size*len(p.degrees) > matchEntries {
			return nil
		}
	}
	if !(float64(math.Abs(coupling)*float64(most))+slices.Max(field)-slices.Min(field) <= matchSteepest) {
		return nil
	}
	for i := range p.base {
		p.base[i] = int32(size * slices.Index(p.degrees, int(start[i+1]-start[i])))
	}
	p.four = slices.Equal(p.degrees, []int{4})
	one := langevin{alpha: l.alpha, balance: l.balance}
	p.row, _ = newRows("", m, 0, one) // it has no window, so there is no error
	p.row.g, p.row.p, p.row.sum = padded.NewPair[float32](1, p.levels), padded.NewPair[float32](1, p.levels), padded.NewPair[float64](1, 1)
	size *= len(p.degrees)
	p.made, p.bound, p.prob = make([]bool, size/p.levels), make([]uint64, size), make([]float64, size)
	p.place = padded.NewPair[int32](chains, p.sites)
	return p
}

// counts stores in n how many neighbours of a site at a place have each level, and returns the
// level of the site; ok is false if there is no such place.
func (p *matches) counts(n []float64, place int) (own int32, ok bool) {
	q := p.levels
	own = int32(place / q % q)
	each := len(p.bound) / len(p.degrees)
	left, rest := p.degrees[place/each], place%each/(q*q)
	most := p.degrees[len(p.degrees)-1]
	for l := range q - 1 {
		near := rest % (most + 1)
		n[l] = float64(near)
		rest, left = rest/(most+1), left-near
	}
	n[q-1] = float64(left)
	return own, left >= 0 && place%q == 0
}

// compute makes the row at a place.
func (p *matches) compute(place int) {
	q := p.levels
	prob, w := p.prob[place:place+q], p.row.p.Now
	p.own[0], _ = p.counts(prob, place)
	own := p.own[0]
	for l := range q {
		p.row.g.Now[l] = float32(float64(p.coupling*(prob[own]-prob[l])) + (p.field[own] - p.field[l]))
	}
	p.row.weights(0, 1, w, p.row.sum.Now, p.row.g.Now, p.own)
	total, sum := p.row.sum.Now[0], 0.0
	for l := range q {
		sum += float64(w[l])
		prob[l] = float64(w[l]) / total
		p.bound[place+l] = uint64(math.RoundToEven(float64(sum / total * (1 << 53))))
	}
	p.made[place/q] = true
}

// ready computes the rows of some places that have not been met before.
func (p *matches) ready(places []int32) {
	for _, c := range places {
		if !p.made[int(c)/p.levels] {
			p.compute(int(c))
		}
	}
}

func (p *matches) work() int { return sweep.Times(p.sites, p.levels) }

func (p *matches) evaluate(lo, hi int, e []float64, y, _ []int32, _ *sweep.Cursor) bool {
	y = y[lo*p.sites : hi*p.sites]
	p.model.Energy(e[lo:hi], y)
	for s := lo; s < hi; s++ {
		p.find(p.place.Chain(s, true), y[(s-lo)*p.sites:(s-lo+1)*p.sites])
	}
	return true
}

// find stores the places of the rows of a state.
func (p *matches) find(places, x []int32) {
	q, adj, scale := int32(p.levels), p.adj, p.scale
	if p.four {
		for i, own := range x {
			a := adj[4*i : 4*i+4 : 4*i+4]
			places[i] = q*own + scale[x[a[0]]] + scale[x[a[1]]] + scale[x[a[2]]] + scale[x[a[3]]]
		}
		return
	}
	for i, own := range x {
		c := p.base[i] + q*own
		for _, j := range adj[p.first[i]:p.first[i+1]] {
			c += scale[x[j]]
		}
		places[i] = c
	}
}

func (p *matches) weigh(lo, hi int, _ []int32, _ *sweep.Cursor) bool {
	for s := lo; s < hi; s++ {
		p.ready(p.place.Chain(s, true))
	}
	return true
}

func (p *matches) accept(lo, hi int) { p.place.Accept(lo, hi) }

func (p *matches) tune(alpha, beta float64) {
	p.row.tune(alpha, beta)
	clear(p.made)
}

func (p *matches) rebuild(lo, hi int, _ []int32, _ *sweep.Cursor) bool {
	for s := lo; s < hi; s++ {
		p.ready(p.place.Chain(s, false))
	}
	return true
}

func (p *matches) draw(y, x []int32, s int, r *sampler.Stream) (moved int, logq float64) {
	const each = 128
	var words [2 * each]uint32
	q, product := p.levels, newProduct()
	places := p.place.Chain(s, false)
	for len(places) > 0 {
		n := min(len(places), each)
		r.Uint32s(words[:2*n])
		for i, c := range places[:n] {
			u := (uint64(words[2*i+1])<<32 | uint64(words[2*i])) >> 11
			l := uint64(0)
			for _, b := range p.bound[int(c) : int(c)+q-1] {
				l += (b - 1 - u) >> 63 // 1 if b ≤ u
			}
			if y[i] = int32(l); y[i] != x[i] {
				moved++
			}
			product.mul(p.prob[int(c)+int(l)])
		}
		places, x, y = places[n:], x[n:], y[n:]
	}
	return moved, product.log()
}

func (p *matches) logProb(y, _ []int32, s int) float64 { return p.score(y, p.place.Chain(s, true)) }

func (p *matches) current(y, _ []int32, s int) float64 { return p.score(y, p.place.Chain(s, false)) }

func (p *matches) score(y, places []int32) float64 {
	q := newProduct()
	for i, c := range places {
		q.mul(p.prob[c+y[i]])
	}
	return q.log()
}

func (p *matches) fields(f *wire.Fields) {
	f.Tokens(p.place.Now, len(p.bound))
	if !f.Reading() {
		return
	}
	n, each := make([]float64, p.levels), len(p.bound)/len(p.degrees)
	for i, c := range p.place.Now {
		if _, ok := p.counts(n, int(c)); !ok || uint(c-p.base[i%p.sites]) >= uint(each) {
			f.Fail(errors.New("mcmc: a site has no such neighbours"))
			return
		}
	}
	p.ready(p.place.Now)
}
