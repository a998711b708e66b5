package subgraph

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Pairs holds the couplings and fields of a model whose tables have at most two sites of two
// levels,
//
//	E(x) = Σ_i f_i x_i + Σ_{i<j} w_ij x_i x_j + a constant,  x_i ∈ {0, 1}.
type Pairs struct {
	start, adj []int32
	weight     []float64 // weights e^−w, by entry of adj
	field      []float64 // weights e^−f, by site
}

// mostOdds is the maximum energy difference represented as odds: e^300 · e^300 is finite in
// float64.
const mostOdds = 300

// Pairs returns the model as couplings and fields, or nil if that is not possible. Every free
// site must have two levels. Tables that contain free sites must have one or two sites, finite
// entries, and energy differences of at most mostOdds.
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

// Forest is the plan for a forest of pairs, with odds as messages. It is immutable. Loops over
// it avoid branches, because levels are nearly random and branches would be mispredicted.
type Forest struct {
	links []link // links of the sites to their parents, children first
	field []float64
	bonds []bond
	from  []int32 // bonds of place k are bonds[from[k]:from[k+1]]
}

// link is a site of the forest and its parent.
type link struct {
	site, parent int32      // site, and site of its parent; a root is its own parent
	place        int32      // position of the parent in links; for a root, len(links)
	couple       [2]float64 // 1 and e^−w of the coupling to the parent; for a root, 1 and 1
}

// bond is a coupling between a site of the forest, at position place, and the outside site to.
type bond struct {
	place, to int32
	factor    [2]float64 // 1 and e^−w of the coupling
}

// Forest returns the plan for a set of width 1.
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

// Edges returns the number of couplings to sites outside the forest.
func (f *Forest) Edges() int { return len(f.bonds) }

// Forward stores in odds the odds of x_i = 1 for each site of the forest. They are conditioned on
// the levels of x outside the forest, with the site's children summed out. The slice odds has one
// extra entry after those of the sites. Forward processes the places lo … hi−1 and must be called
// for all places in order. A child multiplies the odds of its parent by (1 + o e^−w)/(1 + o), where
// o is the child's odds.
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

// Draw stores in x the levels of the forest, drawn with the odds of a completed Forward. The k-th
// site in reverse order uses u[k], a number in [0, 1). Draw returns the number of sites whose level
// changed.
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
