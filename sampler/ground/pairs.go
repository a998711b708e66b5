package ground

import "github.com/gibbsite-go/gibbsite/internal/simd"

// pairs lists, for each site, the neighbours with which it is flipped in one move. Penalties for
// groups of which one site must have level 1 need such moves: any single flip violates a penalty.
type pairs[T number] struct {
	start []int32
	near  []neighbour[T]
}

const (
	// pairWeight is the least weight of a partner's bond, relative to the largest of the site.
	pairWeight = 0.5

	// pairGain is the ratio of the smallest energy differences of single flips and of pairs, at
	// local minima, from which on pairs are flipped. Tori and random graphs have at most 3.4.
	pairGain = 4
)

func newPairs[T number](g *system[T]) *pairs[T] {
	p := &pairs[T]{start: make([]int32, 1, g.sites()+1)}
	for i := range g.sites() {
		most := 0.0
		for _, a := range g.row(i) {
			most = max(most, float64(max(a.w, -a.w)))
		}
		for _, a := range g.row(i) {
			if float64(max(a.w, -a.w)) >= float64(pairWeight*most) {
				p.near = append(p.near, a)
			}
		}
		p.start = append(p.start, int32(len(p.near)))
	}
	return p
}

func (p *pairs[T]) row(i int) []neighbour[T] { return p.near[p.start[i]:p.start[i+1]] }

// both returns the energy change if site i and the neighbour a of it are flipped.
func (x *spins[T]) both(i int, a neighbour[T]) T {
	return x.loss[i] + x.loss[a.to] + T(T(x.s[i]*x.s[a.to])*a.w)
}

// sweep makes, for each of the sites lo … hi−1 in turn, a Metropolis update of the site and a
// random one of its partners. The slice table is that of [spins.sweep], for integers.
func (p *pairs[T]) sweep(g *system[T], x *spins[T], lo, hi int, beta float64, table []uint32, r *words) {
	_, integers := any(x).(*spins[int32])
	for i := lo; i < hi; i++ {
		row := p.row(i)
		if len(row) == 0 {
			continue
		}
		a := row[uint64(r.next())*uint64(len(row))>>32]
		l := x.both(i, a)
		switch {
		case l <= 0:
		case integers:
			if int(l) >= len(table) || r.next() >= table[int(l)] {
				continue
			}
		case float64(l)*beta >= neverBelow || float64(r.next()) >= float64(two32*simd.Exp(-beta*float64(l))):
			continue
		}
		x.flip(g, i)
		x.flip(g, int(a.to))
	}
}
