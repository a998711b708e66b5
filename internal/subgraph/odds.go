package subgraph

import (
	"cmp"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Pairs holds the couplings w and fields f of a model whose tables have at most two sites of two
// levels,
//
//	E(x) = Σ_i f_i x_i + Σ_{i<j} w_ij x_i x_j + a constant,  x_i ∈ {0, 1}.
type Pairs struct {
	start, adj []int32
	weight     []float64 // weights e^−w, by entry of adj
	field      []float64 // weights e^−f, by site

	// bonds of the energy Σ_b v_b |x_i − x_j| + Σ_i v_i x_i: first the pairs, then the fields that
	// are not 0, as bonds to an additional site whose level is 0
	bonds []simd.SpinBond
	pairs int     // number of pairs in bonds
	unit  float64 // unit of the energies in bonds, a power of two
}

// mostOdds is the maximum energy difference represented as odds: e^300 · e^300 is finite in
// float64.
const mostOdds = 300

// Pairs returns the model as couplings w and fields f, or nil if that is not possible. Tables that
// contain free sites must have one or two sites, of two levels each, and finite entries. For every
// free site i, |f_i| + Σ_j |w_ij| must be at most 300.
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
	total := 1.0
	for i, row := range near {
		reach := math.Abs(field[i])
		for _, b := range row {
			reach += math.Abs(b.w)
			p.adj, p.weight = append(p.adj, b.to), append(p.weight, simd.Exp(0-b.w))
		}
		if free[i] && !(reach <= mostOdds) {
			return nil
		}
		total += reach
		p.field[i] = simd.Exp(0 - field[i])
		p.start = append(p.start, int32(len(p.adj)))
	}
	// x_i x_j = (x_i + x_j − |x_i − x_j|)/2. Integers are added in any order with the same sum.
	_, e := math.Frexp(total)
	p.unit = math.Ldexp(1, e-energyBits)
	sites := make([]int64, len(near))
	for i, row := range near {
		sites[i] += int64(math.RoundToEven(field[i] / p.unit))
		for _, b := range row {
			half := int64(math.RoundToEven(b.w / (2 * p.unit)))
			sites[i] += half
			if int(b.to) > i {
				p.bonds = append(p.bonds, simd.SpinBond{I: int32(i), J: b.to, V: -half})
			}
		}
	}
	p.pairs = len(p.bonds)
	for i, v := range sites {
		if v != 0 {
			p.bonds = append(p.bonds, simd.SpinBond{I: int32(i), J: int32(len(sites)), V: v})
		}
	}
	return p
}

// energyBits is the number of bits of energies as integers. It leaves two bits for the sign and
// for rounding.
const energyBits = 61

// Energy returns the energy E(x) of [Pairs] without the constant.
func (p *Pairs) Energy(x []int32) float64 {
	sum := int64(0)
	for k := range p.bonds[:p.pairs] {
		b := &p.bonds[k]
		sum += b.V & -int64((x[b.I]^x[b.J])&1)
	}
	for k := range p.bonds[p.pairs:] {
		b := &p.bonds[p.pairs+k]
		sum += b.V & -int64(x[b.I]&1)
	}
	return float64(float64(sum) * p.unit)
}

// Energies stores in sum[c] the energy of chain c without the constant, for eight chains. Bit c of
// levels[i] is the level of site i in chain c. The slice levels has one more entry than there are
// sites; the last entry is 0.
func (p *Pairs) Energies(sum *[simd.ForestChains]float64, levels []uint8) {
	var n [simd.ForestChains]int64
	simd.SpinEnergies(&n, levels, p.bonds)
	for c, v := range n {
		sum[c] = float64(float64(v) * p.unit)
	}
}

// Forest is the plan for redrawing a forest: a set of sites whose edges in a model [Pairs] form no
// cycle. A redraw passes the odds of level 1 against level 0 from children to parents. A Forest is
// immutable.
//
// If no site of a subtree has a neighbour outside the forest, the odds of the sites are constant.
// Such a subtree is called a pendant tree. In it, a draw only compares random bits with thresholds.
type Forest struct {
	// links to their parents of the sites outside pendant trees, children first; an odd number is
	// followed by a site that does not exist
	links []simd.ForestLink
	open  int               // number of these sites
	field []float64         // odds of these sites, including the factors of pendant children
	bonds []simd.ForestBond // neighbours outside the forest, with 1 and e^−w; one more at the end
	from  []int32           // bonds of place k are bonds[from[k]:from[k+1]]
	eight simd.Forest       // the same plan for eight chains at a time
	// sites of pendant trees, parents first; an odd number is followed by a site that does not
	// exist
	pendants []simd.ForestPendant
	hung     int         // number of pendant sites
	chance   [][2]uint64 // probability of level 1 of a pendant site by the level of its parent, times 2⁶⁴
}

// Forest returns the plan for a set of width 1, that is, a set whose edges form no cycle.
func (p *Pairs) Forest(set []int32) *Forest {
	set, odds, f := p.peel(set)
	n := len(set)
	set = p.byHeight(set)
	f.open = n
	f.links, f.field, f.from = make([]simd.ForestLink, n+n&1), make([]float64, n), make([]int32, 1, n+1)
	if n&1 != 0 {
		none := int32(len(p.field))
		f.links[n] = simd.ForestLink{Site: none, Parent: none, Place: int32(n), Couple: [2]float64{1, 1}}
	}
	place := make(map[int32]int32, n)
	for k, i := range set {
		place[i] = int32(k)
	}
	hung := make(map[int32]bool, f.hung)
	for _, q := range f.pendants {
		hung[q.Site] = true
	}
	for k, i := range set {
		l := simd.ForestLink{Site: i, Parent: i, Place: int32(n), Couple: [2]float64{1, 1}}
		for a := p.start[i]; a < p.start[i+1]; a++ {
			j := p.adj[a]
			if at, inside := place[j]; hung[j] {
			} else if !inside {
				f.bonds = append(f.bonds, simd.ForestBond{Place: int32(k), To: j, Factor: [2]float64{1, p.weight[a]}})
			} else if at > int32(k) {
				l.Parent, l.Place, l.Couple[1] = j, at, p.weight[a]
			}
		}
		f.links[k], f.field[k] = l, odds[i]
		f.from = append(f.from, int32(len(f.bonds)))
	}
	f.bonds = append(f.bonds, simd.ForestBond{})
	f.eight = simd.Forest{Links: f.links[:n], Field: f.field, Bonds: f.bonds, From: f.from}
	return f
}

// peel removes the pendant trees from a set of width 1, leaf by leaf. It returns the other sites in
// the same order, the odds of the sites after the factors of their pendant children, and a forest
// with the pendant trees.
func (p *Pairs) peel(set []int32) (rest []int32, odds map[int32]float64, f *Forest) {
	near, odds := make(map[int32]int, len(set)), make(map[int32]float64, len(set))
	for _, i := range set {
		near[i], odds[i] = 0, p.field[i]
	}
	const touched = 1 << 30 // more than any number of neighbours
	for _, i := range set {
		for _, j := range p.adj[p.start[i]:p.start[i+1]] {
			if _, inside := near[j]; inside {
				near[i]++
			} else {
				near[i] |= touched
			}
		}
	}
	f = &Forest{}
	var leaves []int32
	for _, i := range set {
		if near[i] <= 1 {
			leaves = append(leaves, i)
		}
	}
	for k := 0; k < len(leaves); k++ {
		i := leaves[k]
		delete(near, i)
		q, couple, o := simd.ForestPendant{Site: i, Parent: i}, 1.0, odds[i]
		for a := p.start[i]; a < p.start[i+1]; a++ {
			j := p.adj[a]
			if n, inside := near[j]; inside {
				q.Parent, couple = j, p.weight[a]
				odds[j] *= (1 + float64(o*couple)) / (1 + o)
				if near[j] = n - 1; n == 2 {
					leaves = append(leaves, j)
				}
			}
		}
		chance := [2]uint64{chanceOf(o), chanceOf(float64(o * couple))}
		for l, v := range chance {
			q.High[l] = uint32(v>>48) << 16
		}
		f.pendants, f.chance = append(f.pendants, q), append(f.chance, chance)
	}
	slices.Reverse(f.pendants)
	slices.Reverse(f.chance)
	if f.hung = len(f.pendants); f.hung&1 != 0 {
		none := int32(len(p.field))
		f.pendants, f.chance = append(f.pendants, simd.ForestPendant{Site: none, Parent: none}), append(f.chance, [2]uint64{})
	}
	for _, i := range set {
		if _, left := near[i]; left {
			rest = append(rest, i)
		}
	}
	return rest, odds, f
}

// chanceOf returns the probability o/(1 + o) times 2⁶⁴, at least 1 and less than 2⁶⁴.
func chanceOf(o float64) uint64 {
	v := o / (1 + o) * 0x1p64
	if v >= 0x1p64 {
		return math.MaxUint64
	}
	return max(1, uint64(v))
}

// byHeight orders a set of width 1 so that leaves come first, then sites above leaves only, and so
// on, and of equal heights those with few neighbours outside first. Successive sites hardly depend
// on each other and have loops of equal length, so that processors work on several at once.
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

// Eight returns the forest as a [simd.Forest], which draws eight chains at once. Each chain gets
// the same levels as in a draw of its own.
func (f *Forest) Eight() *simd.Forest { return &f.eight }

// Sites returns the number of sites outside and inside pendant trees (see [Forest]).
func (f *Forest) Sites() (open, pendant int) { return f.open, f.hung }

// Words returns the number of random words that a draw of the forest uses: half a word per site.
// The words of the sites outside pendant trees come first.
func (f *Forest) Words() int { return len(f.links)/2 + len(f.pendants)/2 }

// Edges returns the number of couplings to sites outside the forest.
func (f *Forest) Edges() int { return len(f.bonds) - 1 }

// Forward computes the odds of x_i = 1 for each site i of the forest that is in no pendant tree
// (see [Forest]). The levels of x outside the forest are given, and the descendants of i are summed
// out. The slice odds has one entry for each of these sites, and one more. One call processes the
// sites lo, …, hi−1 in the order of the forest, children first. Call Forward for consecutive
// ranges, from lo = 0 to the last site.
//
// A child multiplies the odds of its parent by
//
//	(1 + o·e^−w)/(1 + o),
//
// where o is the child's odds and w the coupling.
func (f *Forest) Forward(odds []float64, x []int32, lo, hi int) {
	odds = odds[:f.open+1]
	if lo == 0 {
		copy(odds, f.field)
		odds[f.open] = 0
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

// Draw draws the levels of the sites of the forest, parents first, and stores them in x. It returns
// the number of sites whose level changed.
//
// A site has level 1 if a uniform number is below the probability of that level. Each entry of
// words holds the highest 16 bits of the numbers of two sites, the first site in its lower half. If
// these bits do not decide, the next bits are the highest bits of random().
//
// Outside pendant trees, the probability follows from the odds that [Forest.Forward] has computed.
func (f *Forest) Draw(x []int32, words []uint32, odds []float64, random func() uint64) (moved int) {
	n, top := f.open, len(f.links)
	for k := top - n; k < top; k++ {
		place := top - 1 - k
		l, w := &f.links[place], words[k>>1]>>(k&1*16)&0xffff
		o := float64(odds[place] * l.Couple[x[l.Parent]&1]) // a root's couple is 1
		level, tie := simd.ForestLevel(w, o)
		if tie != 0 {
			level = tieOf(w, o, random())
		}
		moved += int(x[l.Site] ^ int32(level))
		x[l.Site] = int32(level)
	}
	return moved + f.drawPendants(x, words[top/2:], random)
}

// tieOf returns the level of a site with the given odds, given the highest 16 bits w of a uniform
// number. Its next bits are the 37 highest bits of more.
func tieOf(w uint32, odds float64, more uint64) uint8 {
	u := float64(uint64(w)<<37|more>>27) * 0x1p-53
	return uint8(math.Float64bits(float64(u*(1+odds))-odds) >> 63)
}

// drawPendants draws the levels of the sites of pendant trees, and stores them in x. It returns the
// number of sites whose level changed.
//
// A site has level 1 if a random number of 64 bits is below its chance. The words have the highest
// 16 bits of the number. If these equal the highest bits of the chance, the highest 48 bits of
// more() follow.
func (f *Forest) drawPendants(x []int32, words []uint32, more func() uint64) (moved int) {
	for k := 0; k < f.hung; k++ {
		if k&1 == 0 { // pairs have fewer instructions per site
			pairs, n := untilTie(f.pendants[k:f.hung], x, words[k/2:])
			k, moved = k+2*pairs, moved+n
		}
		if k < f.hung {
			p := &f.pendants[k]
			above := uint8(x[p.Parent] & 1)
			w, t := words[k/2]>>(k&1*16)&0xffff, p.High[above]>>16
			level := int32((w - t) >> 31)
			if w == t {
				level = int32(f.tie(k, above, more()))
			}
			moved += int(x[p.Site] ^ level)
			x[p.Site] = level
		}
	}
	return moved
}

// untilTie draws pairs of pendant sites. It stops at the first pair in which the random bits of a
// site equal those of its chance, and returns the number of pairs before it and the number of sites
// whose level changed. The first site of that pair may have been drawn.
func untilTie(pendants []simd.ForestPendant, x []int32, words []uint32) (pairs, moved int) {
	changed, n := int32(0), len(pendants)/2
	words = words[:n]
	for q := 0; q < n && len(pendants) >= 2; q++ {
		a, b, w := &pendants[0], &pendants[1], words[q]
		v, t := w<<16, a.High[x[a.Parent]&1]
		if v == t {
			return q, int(changed)
		}
		at, level := &x[a.Site], int32((uint64(v)-uint64(t))>>63)
		changed += *at ^ level
		*at = level
		if v, t = w&^0xffff, b.High[x[b.Parent]&1]; v == t {
			return q, int(changed)
		}
		at, level = &x[b.Site], int32((uint64(v)-uint64(t))>>63)
		changed += *at ^ level
		*at = level
		pendants = pendants[2:]
	}
	return n, int(changed)
}

// tie returns the level of a pendant site whose highest random bits are those of its chance, by the
// highest 48 of further bits.
func (f *Forest) tie(k int, above uint8, more uint64) uint8 {
	return uint8((more>>16 - f.chance[k][above]&(1<<48-1)) >> 63)
}

// DrawEight draws like [Forest.Draw] in up to eight chains. Chain c is live if bit c of the
// argument live is 1. Bit c of levels[i] is the level of site i in chain c. In chains that are not
// live, levels change arbitrarily. Chain c uses the random words words[8k + c] for k = 0, 1, …. If
// these leave a level undecided, the next bits come from random(c).
func (f *Forest) DrawEight(levels []uint8, words []uint32, odds []float64, live uint8, random func(chain int) uint64) {
	top := len(f.links)
	for k := 0; k < top; k += 2 {
		if k += 2 * f.eight.Draw(levels, words[simd.ForestChains*(k/2):], odds, f.links[:top-k], live); k == top {
			break
		}
		for at := max(k, top-f.open); at < k+2; at++ { // one of these sites has a tie
			place := top - 1 - at
			l, drawn := &f.links[place], uint8(0)
			parent := levels[l.Parent]
			for c, o := range odds[simd.ForestChains*place : simd.ForestChains*(place+1)] {
				w := words[simd.ForestChains*(at/2)+c] >> (at & 1 * 16) & 0xffff
				o = float64(o * l.Couple[parent>>c&1])
				level, tie := simd.ForestLevel(w, o)
				if tie&(live>>c) != 0 {
					level = tieOf(w, o, random(c))
				}
				drawn |= level << c
			}
			levels[l.Site] = drawn
		}
	}
	words = words[simd.ForestChains*(top/2):]
	for k := 0; k < len(f.pendants); k += 2 {
		if k += 2 * simd.DrawPendants(levels, words[simd.ForestChains*(k/2):], f.pendants[k:], live); k == len(f.pendants) {
			break
		}
		for at := k; at < min(k+2, f.hung); at++ { // one of these sites has a tie
			p, drawn := &f.pendants[at], uint8(0)
			parent := levels[p.Parent]
			for c := range simd.ForestChains {
				above := parent >> c & 1
				w, t := words[simd.ForestChains*(k/2)+c]>>(at&1*16)&0xffff, p.High[above]>>16
				level := uint8((w - t) >> 31)
				if w == t && live>>c&1 != 0 {
					level = f.tie(at, above, random(c))
				}
				drawn |= level << c
			}
			levels[p.Site] = drawn
		}
	}
}
