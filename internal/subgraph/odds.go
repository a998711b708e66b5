package subgraph

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Pairs are the couplings and fields of tables over at most two sites of two levels,
//
//	E(x) = Σ_i f_i x_i + Σ_{i<j} w_ij x_i x_j + a constant,  x_i ∈ {0, 1}.
type Pairs struct {
	start, adj []int32
	weight     []float64 // e^−w
	field      []float64 // e^−f
}

// mostOdds bounds the differences of energies in odds: e^300 · e^300 is a float64.
const mostOdds = 300

// Pairs returns the model as couplings and fields, nil unless every free site has two
// levels, and tables that contain one have finite entries, one or two sites and differences
// that odds can hold.
func (m *Model) Pairs(free []bool) *Pairs {
	type edge struct {
		to int32
		w  float64
	}
	near, field := make([][]edge, len(m.cards)), make([]float64, len(m.cards))
	join := func(i, j int32, w float64) {
		for k := range near[i] {
			if near[i][k].to == j {
				near[i][k].w += w
				return
			}
		}
		near[i] = append(near[i], edge{j, w})
	}
	for k, scope := range m.scopes {
		t, any := m.tables[k], false
		for _, i := range scope {
			any = any || free[i]
		}
		if !any {
			continue
		}
		for _, e := range t {
			if math.IsInf(e, 0) {
				return nil
			}
		}
		switch {
		case len(scope) == 1 && len(t) == 2:
			field[scope[0]] += t[1] - t[0]
		case len(scope) == 2 && len(t) == 4:
			i, j := scope[0], scope[1]
			field[i] += t[2] - t[0]
			field[j] += t[1] - t[0]
			w := t[3] - t[2] - t[1] + t[0]
			join(i, j, w)
			join(j, i, w)
		default:
			return nil
		}
	}
	p := &Pairs{start: make([]int32, 1, len(near)+1), field: make([]float64, len(near))}
	for i, row := range near {
		reach := math.Abs(field[i])
		for _, b := range row {
			reach += math.Abs(b.w)
			p.adj, p.weight = append(p.adj, b.to), append(p.weight, simd.Exp(0-b.w))
		}
		if free[i] && !(reach <= mostOdds) {
			return nil
		}
		p.field[i] = simd.Exp(0 - field[i])
		p.start = append(p.start, int32(len(p.adj)))
	}
	return p
}

// Forest is the plan of a forest of pairs, with odds as messages. It is immutable. Loops
// over it avoid branches, since levels are practically random.
type Forest struct {
	links []link // of the sites, children first
	field []float64
	bonds []bond
	from  []int32 // those of place k are bonds[from[k]:from[k+1]]
}

// link is a site and its parent.
type link struct {
	site, parent int32      // parent: its site, or that of a root itself
	place        int32      // of the parent, or one behind the last site
	couple       [2]float64 // 1 and e^−w, of a root 1
}

// bond is a neighbour outside the forest.
type bond struct {
	place, to int32
	factor    [2]float64 // 1 and e^−w
}

// Forest returns the plan of a set of width 1.
func (p *Pairs) Forest(set []int32) *Forest {
	n := len(set)
	f := &Forest{links: make([]link, n), field: make([]float64, n), from: make([]int32, 1, n+1)}
	place := make(map[int32]int32, n)
	for k, i := range set {
		place[i] = int32(k)
	}
	for k, i := range set {
		l := link{site: i, parent: i, place: int32(n), couple: [2]float64{1, 1}}
		for a := p.start[i]; a < p.start[i+1]; a++ {
			j := p.adj[a]
			if at, inside := place[j]; !inside {
				f.bonds = append(f.bonds, bond{int32(k), j, [2]float64{1, p.weight[a]}})
			} else if at > int32(k) {
				l.parent, l.place, l.couple[1] = j, at, p.weight[a]
			}
		}
		f.links[k], f.field[k] = l, p.field[i]
		f.from = append(f.from, int32(len(f.bonds)))
	}
	return f
}

// Sites returns the number of sites of the forest.
func (f *Forest) Sites() int { return len(f.links) }

// Edges returns the number of neighbours outside the forest.
func (f *Forest) Edges() int { return len(f.bonds) }

// Forward stores in odds, which has one entry more than there are sites, the odds of x_i = 1
// that the neighbours outside, whose levels are those of x, and the children give. It does so
// for the places lo … hi−1, after all before. A child multiplies the odds of its parent by
// (1 + o e^−w)/(1 + o).
func (f *Forest) Forward(odds []float64, x []int32, lo, hi int) {
	odds = odds[:len(f.links)+1]
	if lo == 0 {
		copy(odds, f.field)
		odds[len(f.links)] = 1
	}
	bonds := f.bonds[f.from[lo]:f.from[hi]]
	for a := range bonds {
		b := &bonds[a]
		odds[b.place] *= b.factor[x[b.to]&1]
	}
	for k := lo; k < hi; k++ {
		l := &f.links[k]
		o := odds[k]
		odds[l.place] *= (1 + float64(o*l.couple[1])) / (1 + o)
	}
}

// Draw stores in x the levels of the forest, drawn with the odds of a completed Forward.
// Site k in reverse order takes u[k], a number in [0, 1). It returns the number of sites
// whose level changed.
func (f *Forest) Draw(x []int32, u, odds []float64) (moved int) {
	n := len(f.links)
	odds, u = odds[:n], u[:n]
	for k := range u {
		l := &f.links[n-1-k]
		// A root has no parent: both entries of its couple are 1.
		o := float64(odds[n-1-k] * l.couple[x[l.parent]&1])
		level := int32(math.Float64bits(float64(u[k]*(1+o))-o) >> 63)
		moved += int(x[l.site] ^ level)
		x[l.site] = level
	}
	return moved
}
