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
	type bond struct {
		to int32
		w  float64
	}
	near, field := make([][]bond, len(m.cards)), make([]float64, len(m.cards))
	join := func(i, j int32, w float64) {
		for k := range near[i] {
			if near[i][k].to == j {
				near[i][k].w += w
				return
			}
		}
		near[i] = append(near[i], bond{j, w})
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

// Forest is the plan of a forest of pairs: messages are odds. It is immutable.
type Forest struct {
	sites, parent []int32 // children first; parent −1 for a root, else its place
	couple        []float64
	field         []float64
	from, to      []int32      // neighbours outside the forest of place k: to[from[k]:from[k+1]]
	factor        [][2]float64 // 1 and e^−w of these
}

// Forest returns the plan of a set of width 1.
func (p *Pairs) Forest(set []int32) *Forest {
	f := &Forest{sites: set, from: make([]int32, 1, len(set)+1)}
	place := make([]int32, len(p.field))
	for i := range place {
		place[i] = -1
	}
	for k, i := range set {
		place[i] = int32(k)
	}
	for k, i := range set {
		parent, c := int32(-1), 1.0
		for a := p.start[i]; a < p.start[i+1]; a++ {
			switch j := place[p.adj[a]]; {
			case j < 0:
				f.to, f.factor = append(f.to, p.adj[a]), append(f.factor, [2]float64{1, p.weight[a]})
			case j > int32(k):
				parent, c = j, p.weight[a]
			}
		}
		f.parent, f.couple, f.field = append(f.parent, parent), append(f.couple, c), append(f.field, p.field[i])
		f.from = append(f.from, int32(len(f.to)))
	}
	return f
}

// Sites returns the number of sites of the forest.
func (f *Forest) Sites() int { return len(f.sites) }

// Edges returns the number of neighbours outside the forest.
func (f *Forest) Edges() int { return len(f.to) }

// Forward stores in odds, which has room for all sites, the odds of x_i = 1 that the
// neighbours outside, whose levels are those of x, and the children give. It does so for the
// places lo … hi−1, after all before. A child multiplies the odds of its parent by
// (1 + o e^−w)/(1 + o).
func (f *Forest) Forward(odds []float64, x []int32, lo, hi int) {
	n := len(f.sites)
	odds, parent, couple, from := odds[:n], f.parent[:n], f.couple[:n], f.from[:n+1]
	if lo == 0 {
		copy(odds, f.field)
	}
	for k := lo; k < hi; k++ {
		o := odds[k]
		for a := from[k]; a < from[k+1]; a++ {
			o *= f.factor[a][x[f.to[a]]&1]
		}
		odds[k] = o
		if p := parent[k]; p >= 0 {
			odds[p] *= (1 + float64(o*couple[k])) / (1 + o)
		}
	}
}

// Draw stores in x the levels of the forest, drawn by the odds of a whole Forward. Site k in
// reverse order takes u[k], a number in [0, 1). It returns the number of sites whose level
// changed.
func (f *Forest) Draw(x []int32, u, odds []float64) (moved int) {
	n := len(f.sites)
	odds, u, parent, couple := odds[:n], u[:n], f.parent[:n], f.couple[:n]
	for k := n - 1; k >= 0; k-- {
		o := odds[k]
		if p := parent[k]; p >= 0 && x[f.sites[p]] != 0 {
			o *= couple[k]
		}
		level := int32(0)
		if float64(u[n-1-k]*(1+o)) < o {
			level = 1
		}
		i := f.sites[k]
		moved += int(x[i] ^ level)
		x[i] = level
	}
	return moved
}
