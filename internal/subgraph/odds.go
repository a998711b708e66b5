package subgraph

import (
	"cmp"
	"math"
	"slices"

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

	energy []float64         // fields f, by site
	later  []simd.ForestBond // neighbours with greater numbers: 0 and w; one extra entry at the end
	from   []int32           // the later neighbours of site i are later[from[i]:from[i+1]]
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
	p := &Pairs{start: make([]int32, 1, len(near)+1), field: make([]float64, len(near)), energy: field, from: make([]int32, 1, len(near)+1)}
	for i, row := range near {
		reach := math.Abs(field[i])
		for _, b := range row {
			reach += math.Abs(b.w)
			p.adj, p.weight = append(p.adj, b.to), append(p.weight, simd.Exp(0-b.w))
			if int(b.to) > i {
				p.later = append(p.later, simd.ForestBond{Place: int32(i), To: b.to, Factor: [2]float64{0, b.w}})
			}
		}
		if free[i] && !(reach <= mostOdds) {
			return nil
		}
		p.field[i] = simd.Exp(0 - field[i])
		p.start, p.from = append(p.start, int32(len(p.adj))), append(p.from, int32(len(p.later)))
	}
	p.later = append(p.later, simd.ForestBond{})
	return p
}

// Energy returns the energy of a state without the constant.
func (p *Pairs) Energy(x []int32) float64 {
	sum := 0.0
	for i, v := range p.energy {
		for _, b := range p.later[p.from[i]:p.from[i+1]] {
			v += b.Factor[x[b.To]&1]
		}
		both := [2]float64{0, v}
		sum += both[x[i]&1]
	}
	return sum
}

// Energies stores in sum the energies of eight chains without the constant. Bit c of own[i] is
// the level of site i in chain c.
func (p *Pairs) Energies(sum *[simd.ForestChains]float64, own []uint8) {
	*sum = [simd.ForestChains]float64{}
	simd.ForestEnergies(sum, own, p.energy, p.later, p.from)
}

// Forest is the plan for a forest of pairs, with odds as messages. It is immutable. Loops over
// it avoid branches, because levels are nearly random and branches would be mispredicted.
type Forest struct {
	links []simd.ForestLink // links of the sites to their parents, children first
	field []float64
	bonds []simd.ForestBond // neighbours outside the forest, with 1 and e^−w; one more at the end
	from  []int32           // bonds of place k are bonds[from[k]:from[k+1]]
	eight simd.Forest       // the same plan for eight chains at a time
}

// Forest returns the plan for a set of width 1.
func (p *Pairs) Forest(set []int32) *Forest {
	n := len(set)
	set = p.byHeight(set)
	f := &Forest{links: make([]simd.ForestLink, n), field: make([]float64, n), from: make([]int32, 1, n+1)}
	place := make(map[int32]int32, n)
	for k, i := range set {
		place[i] = int32(k)
	}
	for k, i := range set {
		l := simd.ForestLink{Site: i, Parent: i, Place: int32(n), Couple: [2]float64{1, 1}}
		for a := p.start[i]; a < p.start[i+1]; a++ {
			j := p.adj[a]
			if at, inside := place[j]; !inside {
				f.bonds = append(f.bonds, simd.ForestBond{Place: int32(k), To: j, Factor: [2]float64{1, p.weight[a]}})
			} else if at > int32(k) {
				l.Parent, l.Place, l.Couple[1] = j, at, p.weight[a]
			}
		}
		f.links[k], f.field[k] = l, p.field[i]
		f.from = append(f.from, int32(len(f.bonds)))
	}
	f.bonds = append(f.bonds, simd.ForestBond{})
	f.eight = simd.Forest{Links: f.links, Field: f.field, Bonds: f.bonds, From: f.from}
	return f
}

// byHeight orders a set of width 1 so that leaves come first, then sites above leaves only, and so
// on, and of equal heights those with few neighbours outside first. Successive sites hardly depend on
// each other and have loops of equal length, so that processors work on several at once.
func (p *Pairs) byHeight(set []int32) []int32 {
	type rank struct{ height, outside int }
	ranks := make(map[int32]rank, len(set))
	for _, i := range set {
		ranks[i] = rank{height: -1}
	}
	for _, i := range set { // children come first; the one neighbour without a height yet is the parent
		r := rank{}
		for _, j := range p.adj[p.start[i]:p.start[i+1]] {
			if below, inside := ranks[j]; inside {
				r.height = max(r.height, below.height+1)
			} else {
				r.outside++
			}
		}
		ranks[i] = r
	}
	set = slices.Clone(set)
	slices.SortStableFunc(set, func(i, j int32) int {
		return cmp.Or(cmp.Compare(ranks[i].height, ranks[j].height), cmp.Compare(ranks[i].outside, ranks[j].outside))
	})
	return set
}

// Eight returns the same forest for drawing eight chains at once. Draws have the same bits.
func (f *Forest) Eight() *simd.Forest { return &f.eight }

// Sites returns the number of sites of the forest.
func (f *Forest) Sites() int { return len(f.links) }

// Edges returns the number of couplings to sites outside the forest.
func (f *Forest) Edges() int { return len(f.bonds) - 1 }

// Forward stores in odds the odds of x_i = 1 for each site of the forest. They are conditioned on
// the levels of x outside the forest; the sites below i (its children, their children, and so on)
// are summed out. The slice odds has one extra entry after those of the sites. Forward processes
// the places lo … hi−1 and must be called for all places in order. A child multiplies the odds of
// its parent by (1 + o e^−w)/(1 + o), where o is the child's odds and w the coupling.
func (f *Forest) Forward(odds []float64, x []int32, lo, hi int) {
	odds = odds[:len(f.links)+1]
	if lo == 0 {
		copy(odds, f.field)
		odds[len(f.links)] = 1
	}
	bonds := f.bonds[f.from[lo]:f.from[hi]]
	for a := range bonds {
		b := &bonds[a]
		odds[b.Place] *= b.Factor[x[b.To]&1]
	}
	for k := lo; k < hi; k++ {
		l := &f.links[k]
		o := odds[k]
		odds[l.Place] *= (1 + float64(o*l.Couple[1])) / (1 + o)
	}
}

// Draw stores in x the levels of the forest, drawn with the odds that [Forest.Forward] has
// computed. The k-th site in reverse order uses u[k], a number in [0, 1). Draw returns the number
// of sites whose level changed.
func (f *Forest) Draw(x []int32, u, odds []float64) (moved int) {
	n := len(f.links)
	odds, u = odds[:n], u[:n]
	for k := range u {
		l := &f.links[n-1-k]
		// A root has no parent: both entries of its couple are 1.
		o := float64(odds[n-1-k] * l.Couple[x[l.Parent]&1])
		level := int32(math.Float64bits(float64(u[k]*(1+o))-o) >> 63)
		moved += int(x[l.Site] ^ level)
		x[l.Site] = level
	}
	return moved
}
