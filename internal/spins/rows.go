package spins

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RowGraph is an arrangement of sites in rows of bytes, one byte a chain. It is immutable, but
// for Share.
type RowGraph struct {
	sites  int
	free   int        // rows that redraws may change: the first ones
	place  []int32    // row of each site
	kinds  [][]rowRun // rows of each kind
	odds   []simd.RowOdds
	visits []simd.RowVisit
	near   []int32 // neighbours of visits, one after the other, in bytes from the first row
	parts  []rowPart
}

// rowPart is what is redrawn in a call: some visits and their neighbours.
type rowPart struct{ visit, visits, near, entries int }

// rowRun are rows of a kind that follow each other.
type rowRun struct{ first, end int }

// MostRows is the largest number of sites of a [RowGraph].
const MostRows = 1<<26 - 2

// NewRowGraph returns the arrangement of MostRows sites at most.
func NewRowGraph(from RowLayout) *RowGraph {
	g := &RowGraph{sites: len(from.Start) - 1, odds: from.Odds}
	octets := 0
	if from.Order == nil {
		from.Order, octets = from.octets()
	}
	rows := slices.Clone(from.Order)
	if octets == 0 {
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
	for at := 0; at < octets; at += octet {
		g.visit(from, from.Order[at:at+octet])
	}
	for at := range from.Order[octets:] {
		g.visit(from, from.Order[octets+at:][:1])
	}
	return g
}

// visit appends the visits of an octet of sites, or of one.
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
			g.near = append(g.near, int32(g.sites*simd.ChainBits)) // the row behind all sites is 0
		}
		return len(g.near) - begin
	}
	plus, minus := 0, 0
	if len(sites) == octet { // how many each of them has
		for _, i := range sites {
			plus, minus = max(plus, entries(i, false, 0)), max(minus, entries(i, true, 0))
		}
		g.near = g.near[:first]
	}
	begin := len(g.visits)
	for at, i := range sites {
		v := simd.RowVisit{Row: g.place[i], Plus: int32(entries(i, false, plus)), Minus: int32(entries(i, true, minus)), Bias: from.Bias[i], Odds: simd.RowTable * from.Kind[i]}
		if len(sites) == octet {
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

// Equal reports whether two graphs are redrawn alike: the same sites in the same rows, visited
// in the same order with the same odds.
func (g *RowGraph) Equal(h *RowGraph) bool {
	return slices.Equal(g.place, h.place) && slices.Equal(g.visits, h.visits) && slices.Equal(g.near, h.near) && slices.Equal(g.odds, h.odds)
}

// Parts returns the number of parts of a sweep.
func (g *RowGraph) Parts() int { return len(g.parts) }

// PartSites returns the number of sites of a part, and of rows that are added up.
func (g *RowGraph) PartSites(part int) (sites, rows int) {
	return g.parts[part].visits, g.parts[part].entries
}

// Free returns how many sites a sweep redraws.
func (g *RowGraph) Free() int { return g.free }

// Near returns how many rows a sweep adds up.
func (g *RowGraph) Near() int { return len(g.near) }

// Groups returns the number of groups of a random stream that a redraw of a part takes.
func (g *RowGraph) Groups(part int) uint64 { return simd.RowGroups(g.parts[part].visits) }

// Visit calls f for every site in the order of a sweep with 2⁶⁴ times the probability that
// a redraw makes it 1 in state x, and with the sum that this is looked up by.
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

// RowChains are the states of up to simd.ChainBits chains of a graph, as bytes and as bits.
type RowChains struct {
	*RowGraph
	rows  []simd.Row
	own   []uint64
	valid uint32 // the chains that there are

	sums, kept []simd.Row // kept is sums or nil
}

// NewChains returns states of so many chains whose sites are all 0.
func (g *RowGraph) NewChains(chains int) *RowChains {
	c := apart.New(RowChains{RowGraph: g, valid: uint32(1<<chains - 1)})
	c.rows, c.own = apart.Make[simd.Row](g.sites+1), apart.Make[uint64]((g.sites+1)/2)
	return c
}

// Redraw draws the sites of a part afresh, one after the other, from the random bits that
// RowGraph.Groups says, and adds what changed to a tally.
func (c *RowChains) Redraw(part int, t *simd.RowTally, from Source, w *simd.RowScratch) {
	p := &c.parts[part]
	simd.HeatRows(c.rows, c.own, c.visits[p.visit:p.visit+p.visits], c.near[p.near:p.near+p.entries], c.odds, c.valid, t, c.kept, w,
		from.ARS, from.Seed, from.Chain, from.Group)
}

// Keep says whether the sums of the neighbours are kept from visit to visit or added up at
// each: to the same bits, and sooner where less than half of the visits change a chain.
// The graph must be one of pairs.
func (c *RowChains) Keep(on bool) {
	if !on {
		c.kept = nil
		return
	}
	if c.sums == nil {
		c.sums = apart.Make[simd.Row](c.sites + 1)
	}
	c.kept = c.sums
	simd.CountRows(c.kept, c.rows, c.visits, c.near)
}

// Kept reports whether sums are kept.
func (c *RowChains) Kept() bool { return c.kept != nil }

// Ones stores how many sites of a kind are in state 1, for every chain.
func (c *RowChains) Ones(n *[simd.ChainBits]int32, kind int) {
	*n = [simd.ChainBits]int32{}
	for _, run := range c.kinds[kind] {
		simd.SumRows(n, c.rows[run.first:run.end])
	}
}

// Spread stores the states in x, a row for each chain.
func (c *RowChains) Spread(x []int32) { simd.SpreadChains(x, c.own, c.place) }

// Pack takes the states from x, a row of levels 0 and 1 for each chain. Sums are not kept then.
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

// Share reports whether two graphs hold states alike: the same sites in the same rows, of the
// same kinds, with the same neighbours. The first then has the slices of the second.
func (g *RowGraph) Share(h *RowGraph) bool {
	alike := slices.Equal(g.place, h.place) && slices.EqualFunc(g.kinds, h.kinds, func(a, b []rowRun) bool { return slices.Equal(a, b) }) &&
		slices.Equal(g.visits, h.visits) && slices.Equal(g.near, h.near)
	if alike {
		g.place, g.kinds, g.visits, g.near = h.place, h.kinds, h.visits, h.near
	}
	return alike
}

// Swap exchanges the states of some chains with those in from, and adds to moved, unless that
// is nil, at how many sites they differ, by chain. Sums are not kept then.
func (c *RowChains) Swap(from *RowChains, chains []int, moved []int) {
	swapLanes(c.own, from.own, chains, moved)
	mask := simd.Row{}
	for _, s := range chains {
		mask[s] = 0xff
	}
	m := [simd.ChainBits / 8]uint64{}
	for at := range m {
		m[at] = binary.LittleEndian.Uint64(mask[8*at:])
	}
	for i := range c.rows[:c.sites] {
		a, b := &c.rows[i], &from.rows[i]
		swapBytes(a[0:8:8], b[0:8:8], m[0])
		swapBytes(a[8:16:16], b[8:16:16], m[1])
		swapBytes(a[16:24:24], b[16:24:24], m[2])
		swapBytes(a[24:32:32], b[24:32:32], m[3])
	}
	c.kept, from.kept = nil, nil
}

// swapBytes exchanges those of eight bytes that a mask has.
func swapBytes(a, b []byte, mask uint64) {
	v, w := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b)
	d := (v ^ w) & mask
	binary.LittleEndian.PutUint64(a, v^d)
	binary.LittleEndian.PutUint64(b, w^d)
}

// Sums stores, for every chain, what sums of neighbours add up to over the sites in state 1
// that are not fixed, each pair once: what redraws would have told that had turned these
// sites from 0, one after the other.
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
			if row >= c.free { // which is met from this site only
				sign *= 2
			}
			for s, b := range c.rows[row] {
				n[s] += sign * int(own[s]&b)
			}
		}
		near = near[v.Plus+v.Minus:]
	}
	for s := range n {
		n[s] /= 2 // other pairs were met from both of their sites
	}
}
