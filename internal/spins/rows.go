package spins

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RowGraph arranges sites in rows of bytes, one byte per chain. It is immutable, except for
// [RowGraph.Share].
type RowGraph struct {
	sites  int
	free   int        // number of rows that redraws may change, which come first
	place  []int32    // per site: index of its row
	kinds  [][]rowRun // per kind: runs of rows of that kind
	odds   []simd.RowOdds
	visits []simd.RowVisit
	// neighbours of the visits, one visit after the other, as byte offsets from the first row
	near  []int32
	parts []rowPart
}

// rowPart is the range of visits, and of their neighbours, that one call redraws.
type rowPart struct{ visit, visits, near, entries int }

// rowRun is the range first … end−1 of consecutive rows of one kind.
type rowRun struct{ first, end int }

// MostRows is the maximum number of sites of a [RowGraph].
const MostRows = 1<<26 - 2

// NewRowGraph returns the graph for a layout of at most MostRows sites.
func NewRowGraph(from RowLayout) *RowGraph {
	g := &RowGraph{sites: len(from.Start) - 1, odds: from.Odds}
	eights := 0
	if from.Order == nil {
		from.Order, eights = from.eights()
	}
	rows := slices.Clone(from.Order)
	if eights == 0 {
		slices.SortFunc(rows, func(a, b int32) int { return cmp.Or(cmp.Compare(from.Kind[a], from.Kind[b]), cmp.Compare(a, b)) })
	}
	g.free = len(rows)
	for i, kind := range from.Kind {
		if kind < 0 {
			rows = append(rows, int32(i))
		}
	}
	g.place, g.kinds = make([]int32, g.sites), make([][]rowRun, len(from.Odds))
	for row, i := range rows {
		if g.place[i] = int32(row); row >= g.free {
			continue
		}
		runs := &g.kinds[from.Kind[i]]
		if n := len(*runs); n == 0 || (*runs)[n-1].end != row {
			*runs = append(*runs, rowRun{row, row})
		}
		(*runs)[len(*runs)-1].end++
	}
	for at := 0; at < eights; at += eight {
		g.visit(from, from.Order[at:at+eight])
	}
	for at := range from.Order[eights:] {
		g.visit(from, from.Order[eights+at:][:1])
	}
	return g
}

// visit appends the visits of a group of eight sites, or of one site.
func (g *RowGraph) visit(from RowLayout, sites []int32) {
	first := len(g.near)
	entries := func(i int32, against bool, least int) int {
		begin := len(g.near)
		for n := from.Start[i]; n < from.Start[i+1]; n++ {
			if (from.Against != nil && from.Against[n]) == against {
				g.near = append(g.near, g.place[from.Adj[n]]*simd.ChainBits)
			}
		}
		for (len(g.near)-begin)%nearStep != 0 || len(g.near)-begin < least {
			g.near = append(g.near, int32(g.sites*simd.ChainBits)) // the row after all sites is 0
		}
		return len(g.near) - begin
	}
	plus, minus := 0, 0
	if len(sites) == eight { // lists are padded to the longest of the group
		for _, i := range sites {
			plus, minus = max(plus, entries(i, false, 0)), max(minus, entries(i, true, 0))
		}
		g.near = g.near[:first]
	}
	begin := len(g.visits)
	for at, i := range sites {
		v := simd.RowVisit{Row: g.place[i], Plus: int32(entries(i, false, plus)), Minus: int32(entries(i, true, minus)), Bias: from.Bias[i], Odds: simd.RowTable * from.Kind[i]}
		if len(sites) == eight {
			v.Eight = int32(at + 1)
		}
		g.visits = append(g.visits, v)
	}
	more := len(g.near) - first
	if n := len(g.parts); n == 0 || g.parts[n-1].visits+len(sites) > simd.RowVisits || g.parts[n-1].entries+more > simd.RowNear {
		g.parts = append(g.parts, rowPart{visit: begin, near: first})
	}
	p := &g.parts[len(g.parts)-1]
	p.visits += len(sites)
	p.entries += more
}

// Equal reports whether two graphs have the same sites in the same rows, and visit them in the same
// order with the same probabilities. Redraws of both graphs then give the same states.
func (g *RowGraph) Equal(h *RowGraph) bool {
	return slices.Equal(g.place, h.place) && slices.Equal(g.visits, h.visits) && slices.Equal(g.near, h.near) && slices.Equal(g.odds, h.odds)
}

// Parts returns the number of parts of a sweep. A part is a range of sites in sweep order that are
// redrawn by one call.
func (g *RowGraph) Parts() int { return len(g.parts) }

// PartSites returns the number of sites of a part. It also returns the number of rows that a redraw
// of the part reads: one for each neighbour of each site, and padding.
func (g *RowGraph) PartSites(part int) (sites, rows int) {
	return g.parts[part].visits, g.parts[part].entries
}

// Free returns the number of sites that a sweep redraws.
func (g *RowGraph) Free() int { return g.free }

// Near returns the number of rows that a sweep reads: one for each neighbour of each redrawn site,
// and padding.
func (g *RowGraph) Near() int { return len(g.near) }

// Groups returns how many groups of 64 random words a redraw of a part consumes.
func (g *RowGraph) Groups(part int) uint64 { return simd.RowGroups(g.parts[part].visits) }

// Visit calls f for every site in sweep order. It passes to f the sum over the site's neighbours in
// the state x, and 2⁶⁴ times the probability that a redraw with this sum gives state 1.
func (g *RowGraph) Visit(x []int32, f func(site, sum int, odds uint64)) {
	site := make([]int, g.sites)
	for i, p := range g.place {
		site[p] = i
	}
	near := g.near
	for _, v := range g.visits {
		sum := int(v.Bias)
		for k, at := range near[:v.Plus+v.Minus] {
			if row := at / simd.ChainBits; int(row) < g.sites {
				if by := int(x[site[row]]); k < int(v.Plus) {
					sum += by
				} else {
					sum -= by
				}
			}
		}
		near = near[v.Plus+v.Minus:]
		f(site[v.Row], sum, g.odds[v.Odds/simd.RowTable].At(sum))
	}
}

// RowChains holds the states of up to simd.ChainBits chains on a graph, both as bytes and as bits.
type RowChains struct {
	*RowGraph
	rows  []simd.Row
	own   []uint64
	valid uint32 // mask of the chains in use

	sums, kept []simd.Row // sums of neighbours; kept is sums while Keep is on, otherwise nil
}

// NewChains returns the given number of chains. All their sites are in state 0.
func (g *RowGraph) NewChains(chains int) *RowChains {
	c := padded.New(RowChains{RowGraph: g, valid: uint32(1<<chains - 1)})
	c.rows, c.own = padded.Make[simd.Row](g.sites+1), padded.Make[uint64]((g.sites+1)/2)
	return c
}

// Redraw redraws the sites of a part, one after the other. It draws [RowGraph.Groups] groups of
// random words from src, and adds the changes to t.
func (c *RowChains) Redraw(part int, t *simd.RowTally, src Source, w *simd.RowScratch) {
	p := &c.parts[part]
	simd.HeatRows(c.rows, c.own, c.visits[p.visit:p.visit+p.visits], c.near[p.near:p.near+p.entries], c.odds, c.valid, t, c.kept, w,
		src.ARS, src.Seed, src.Chain, src.Group)
}

// Keep selects how redraws compute the sum over a site's neighbours. With on = true, redraws keep
// the sums of all sites and update them when a site changes. With on = false, they add up the
// states of the neighbours at each visit. Both ways give the same results. Keeping sums requires a
// symmetric graph. It is faster if fewer than half of the visits change a chain.
func (c *RowChains) Keep(on bool) {
	if !on {
		c.kept = nil
		return
	}
	if c.sums == nil {
		c.sums = padded.Make[simd.Row](c.sites + 1)
	}
	c.kept = c.sums
	simd.CountRows(c.kept, c.rows, c.visits, c.near)
}

// Kept reports whether sums of neighbours are kept from visit to visit; see [RowChains.Keep].
func (c *RowChains) Kept() bool { return c.kept != nil }

// Ones stores in n[c], for each chain c, the number of sites of the given kind that are in state 1.
func (c *RowChains) Ones(n *[simd.ChainBits]int32, kind int) {
	*n = [simd.ChainBits]int32{}
	for _, run := range c.kinds[kind] {
		simd.SumRows(n, c.rows[run.first:run.end])
	}
}

// Spread writes the states to x as values 0 or 1, with one row of sites per chain.
func (c *RowChains) Spread(x []int32) { simd.SpreadChains(x, c.own, c.place) }

// Pack sets the states of all chains to x, which has one row of sites per chain. Each entry is 0 or
// 1. Pack turns off [RowChains.Keep].
func (c *RowChains) Pack(x []int32) {
	c.kept = nil
	clear(c.rows)
	clear(c.own)
	for at := 0; at < len(x); at += c.sites {
		chain := uint(at / c.sites)
		for i, p := range c.place {
			v := x[at+i] & 1
			c.rows[p][chain] = byte(v)
			c.own[p>>1] |= uint64(v) << (uint(p&1)*32 + chain)
		}
	}
}

// Share makes g use the memory of h if every site has the same row, kind and neighbours in both
// graphs. In this case, g releases its own memory and Share returns true.
func (g *RowGraph) Share(h *RowGraph) bool {
	alike := slices.Equal(g.place, h.place) && slices.EqualFunc(g.kinds, h.kinds, func(a, b []rowRun) bool { return slices.Equal(a, b) }) &&
		slices.Equal(g.visits, h.visits) && slices.Equal(g.near, h.near)
	if alike {
		g.place, g.kinds, g.visits, g.near = h.place, h.kinds, h.visits, h.near
	}
	return alike
}

// Swap exchanges the states that c and other hold for each chain s in the slice chains. If moved is
// not nil, Swap adds to moved[s] the number of sites at which these two states differ. Swap turns
// off [RowChains.Keep] for both.
func (c *RowChains) Swap(other *RowChains, chains []int, moved []int) {
	swapLanes(c.own, other.own, chains, moved)
	mask := simd.Row{}
	for _, s := range chains {
		mask[s] = 0xff
	}
	m := [simd.ChainBits / 8]uint64{}
	for at := range m {
		m[at] = binary.LittleEndian.Uint64(mask[8*at:])
	}
	for i := range c.rows[:c.sites] {
		a, b := &c.rows[i], &other.rows[i]
		swapBytes(a[0:8:8], b[0:8:8], m[0])
		swapBytes(a[8:16:16], b[8:16:16], m[1])
		swapBytes(a[16:24:24], b[16:24:24], m[2])
		swapBytes(a[24:32:32], b[24:32:32], m[3])
	}
	c.kept, other.kept = nil, nil
}

// swapBytes exchanges those of the first eight bytes of a and b that mask selects.
func swapBytes(a, b []byte, mask uint64) {
	v, w := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
	d := (v ^ w) & mask
	binary.LittleEndian.PutUint64(a, v^d)
	binary.LittleEndian.PutUint64(b, w^d)
}

// Sums stores a sum in n[c] for each chain c. A free site in state 1 adds its Bias. A pair of
// neighbours in state 1 adds 1, or −1 where [RowLayout].Against is true; pairs of fixed sites do
// not count. A [simd.RowTally] has the same Sum after the free sites in state 1 have changed from 0
// to 1, one by one.
func (c *RowChains) Sums(n *[simd.ChainBits]int) {
	*n = [simd.ChainBits]int{}
	near := c.near
	for _, v := range c.visits {
		own := &c.rows[v.Row]
		for s, b := range own {
			n[s] += 2 * int(v.Bias) * int(b)
		}
		for k, at := range near[:v.Plus+v.Minus] {
			sign := 1
			if k >= int(v.Plus) {
				sign = -1
			}
			row := int(at / simd.ChainBits)
			if row >= c.free { // a fixed site, whose pairs are visited only once
				sign *= 2
			}
			for s, b := range c.rows[row] {
				n[s] += sign * int(own[s]&b)
			}
		}
		near = near[v.Plus+v.Minus:]
	}
	for s := range n {
		n[s] /= 2 // all other pairs were visited twice
	}
}

// RowLayout describes the sites of a [RowGraph].
type RowLayout struct {
	Start, Adj []int32 // neighbours of each site, in compressed sparse rows
	// per entry of Adj: whether the neighbour is subtracted from the sum; nil means none is
	Against []bool
	// sweep order of the free sites; nil means an order in which many sites are redrawn at once
	Order []int32
	Bias  []int32 // per site: initial value of the sum of its neighbours
	// per site: its kind; negative for a fixed site, whose state redraws keep
	Kind []int32
	Odds []simd.RowOdds // per kind: probabilities of state 1, by the sum over the neighbours
}

const (
	// nearStep is the number to a multiple of which lists of neighbours are padded.
	nearStep = 4

	// eight is the number of sites in a group that is redrawn at once; see simd.RowVisit.
	eight = 8

	// eightChunk is the number of consecutive sites from which a group of eight is chosen. The
	// bound keeps sites that are close in a large graph close in memory. The search for a group
	// examines up to eightWindow sites.
	eightChunk, eightWindow = 1 << 12, 256

	// eightSpread is the maximum difference between the numbers of neighbours in a group, because
	// lists of neighbours are padded to the longest.
	eightSpread = 2 * nearStep
)

// eights returns an order of all free sites. The sites at its beginning form groups of eight. The
// result together is the number of these sites. The sites of a group have one kind and about
// equally many neighbours of either sign, and no two of them are neighbours.
func (l *RowLayout) eights() (order []int32, together int) {
	sites := len(l.Start) - 1
	plus, minus := make([]int32, sites), make([]int32, sites)
	list := make([]int32, 0, sites)
	for i := range plus {
		if l.Kind[i] >= 0 {
			list = append(list, int32(i))
		}
		for n := l.Start[i]; n < l.Start[i+1]; n++ {
			if l.Against != nil && l.Against[n] {
				minus[i]++
			} else {
				plus[i]++
			}
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(l.Kind[a], l.Kind[b]), cmp.Compare(a/eightChunk, b/eightChunk), cmp.Compare(minus[a], minus[b]), cmp.Compare(plus[a], plus[b]))
	})
	alike := func(a, b int32) bool {
		return l.Kind[a] == l.Kind[b] && max(plus[a]-plus[b], plus[b]-plus[a], minus[a]-minus[b], minus[b]-minus[a]) <= eightSpread
	}
	// A doubly linked list of the remaining sites; the additional last entry is its head.
	n := len(list)
	before, after := make([]int32, n+1), make([]int32, n+1)
	for at := range after {
		before[at], after[at] = int32((at+n)%(n+1)), int32((at+1)%(n+1))
	}
	var singles []int32
	// number of the group that the site cannot join, because a neighbour is in it
	excluded := make([]int32, sites)
	chosen := make([]int32, 0, eight)
	end := int32(n)
	for number := int32(1); after[end] != end; number++ {
		chosen = chosen[:0]
		first := list[after[end]]
		for at, seen := after[end], 0; at != end && seen < eightWindow && len(chosen) < eight; at, seen = after[at], seen+1 {
			i := list[at]
			if !alike(first, i) || excluded[i] == number {
				continue
			}
			chosen = append(chosen, at)
			for _, j := range l.Adj[l.Start[i]:l.Start[i+1]] {
				excluded[j] = number
			}
		}
		if len(chosen) < eight {
			chosen = chosen[:1]
			singles = append(singles, first)
		}
		for _, at := range chosen {
			if len(chosen) == eight {
				order = append(order, list[at])
			}
			after[before[at]], before[after[at]] = after[at], before[at]
		}
	}
	return append(order, singles...), len(order)
}

// RowPair holds two blocks on one graph, interleaved in memory. A block holds the states of one
// [RowChains]. The blocks are redrawn together, with the same results as in separate redraws.
type RowPair struct {
	*RowGraph
	rows  []simd.Row
	own   []uint64
	valid [2]uint32
	work  simd.PairScratch
}

// NewPair returns a pair in which all sites are 0.
func (g *RowGraph) NewPair() *RowPair {
	p := padded.New(RowPair{RowGraph: g})
	p.rows, p.own = padded.Make[simd.Row](g.sites+1), padded.Make[uint64](g.sites+1)
	return p
}

// Take fills the pair with the states of two blocks.
func (p *RowPair) Take(first, second *RowChains) {
	p.valid = [2]uint32{first.valid, second.valid}
	for at := range p.sites {
		row, a, b := &p.rows[at], &first.rows[at], &second.rows[at]
		for c := range row {
			row[c] = a[c] | b[c]<<4
		}
		p.own[at] = uint64(first.lane(at)) | uint64(second.lane(at))<<32
	}
}

// Give writes the states of the pair to two blocks. It switches [RowChains.Keep] off for both.
func (p *RowPair) Give(first, second *RowChains) {
	for at := range p.sites {
		row, a, b := &p.rows[at], &first.rows[at], &second.rows[at]
		for c, v := range row {
			a[c], b[c] = v&1, v>>4
		}
		first.setLane(at, uint32(p.own[at]))
		second.setLane(at, uint32(p.own[at]>>32))
	}
	first.kept, second.kept = nil, nil
}

// Sweep redraws all sites of both blocks once, and adds the changes of block b to t[b]. Block b
// draws from src[b]. The two sources may differ only in Chain and Group.
func (p *RowPair) Sweep(t *[2]simd.RowTally, src [2]Source) {
	stream, group := [2]uint64{src[0].Chain, src[1].Chain}, [2]uint64{src[0].Group, src[1].Group}
	for at := range p.parts {
		part := &p.parts[at]
		simd.HeatPairs(p.rows, p.own, p.visits[part.visit:part.visit+part.visits], p.near[part.near:part.near+part.entries], p.odds, p.valid, t, &p.work,
			src[0].ARS, src[0].Seed, stream, group)
		for b := range group {
			group[b] += p.Groups(at)
		}
	}
}

// SweepGroups returns how many groups of 64 random words a sweep consumes.
func (g *RowGraph) SweepGroups() (n uint64) {
	for part := range g.parts {
		n += g.Groups(part)
	}
	return n
}

// lane returns the states of a row as 32 bits, one per chain.
func (c *RowChains) lane(row int) uint32 { return uint32(c.own[row>>1] >> (uint(row&1) * 32)) }

// setLane sets the states of a row from 32 bits, one per chain.
func (c *RowChains) setLane(row int, states uint32) {
	lane, shift := &c.own[row>>1], uint(row&1)*32
	*lane = *lane&^((1<<32-1)<<shift) | uint64(states)<<shift
}
