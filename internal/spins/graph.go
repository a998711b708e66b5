package spins

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// MostNear is the maximum number of neighbours that a site of a [Graph] may have.
const MostNear = 7

// Layout describes the sites of a [Graph] and the probabilities with which redraws choose their
// states.
type Layout struct {
	Start, Adj []int32 // neighbours of each site, in compressed sparse rows
	// per entry of Adj: if true, the neighbour is counted in state 0 rather than 1; nil means that
	// all neighbours are counted in state 1
	Against []bool
	Colour  []int32      // per site: colour; sites of one colour are not neighbours
	Kind    []int32      // per site: kind; sites of one kind have the same number of neighbours
	Odds    []*simd.Odds // per kind: probabilities of state 1, by the number of counted neighbours
	// per site: ≥ 0 if redraws keep its state, and otherwise negative; nil means no site is fixed
	Fixed []int32
}

// Graph arranges the sites of a graph in lanes. A lane is 32 bits that hold the state of one site,
// one bit per chain. Sites that are redrawn together are in adjacent lanes: they are sorted by
// colour, then by kind (see [Layout]), and the sites of each colour and kind are padded to whole
// vector registers. A Graph is immutable, except for [Graph.Share].
type Graph struct {
	sites int
	place []int32 // per site: index of its lane
	lanes int
	parts []part
	odds  []*simd.Odds
	fixed []uint64 // bits of lanes that redraws keep; nil means none

	start, adj []int32 // neighbours of each site, as in Layout
}

// part is a group of sites of one colour and one kind, in adjacent lanes, that are redrawn
// together.
type part struct {
	lane, sites int // index of the first lane, and number of sites from it on
	colour      int32
	degree      int
	kind        int32
	// lanes of the neighbours, degree × lanes; the sign bit marks a neighbour that is counted in
	// state 0
	near []int32
}

// partLanes is the maximum number of lanes of a part, which a Scratch can hold.
const partLanes = 2 * strip

// registerLanes is the number of lanes in a vector register.
const registerLanes = simd.BitSites / simd.ChainBits

// NewGraph returns the graph for a layout. It panics if a site has more than MostNear neighbours.
func NewGraph(from Layout) *Graph {
	g := &Graph{sites: len(from.Start) - 1, odds: from.Odds, start: from.Start, adj: from.Adj}
	order := make([]int32, g.sites)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(from.Colour[a], from.Colour[b]), cmp.Compare(from.Kind[a], from.Kind[b]))
	})
	g.place = make([]int32, g.sites)
	for len(order) > 0 {
		first := order[0]
		n := 1
		for n < min(len(order), partLanes) && from.Colour[order[n]] == from.Colour[first] && from.Kind[order[n]] == from.Kind[first] {
			n++
		}
		degree := int(from.Start[first+1] - from.Start[first])
		if degree > MostNear {
			panic(fmt.Sprintf("spins: NewGraph: site %d has %d neighbours, want ≤ %d", first, degree, MostNear))
		}
		for k, i := range order[:n] {
			g.place[i] = int32(g.lanes + k)
		}
		g.parts = append(g.parts, part{lane: g.lanes, sites: n, colour: from.Colour[first], degree: degree, kind: from.Kind[first]})
		g.lanes += whole(n)
		order = order[n:]
	}
	g.connect(from)
	if from.Fixed != nil {
		g.fixed = make([]uint64, g.lanes/2)
		for i, p := range g.place {
			if from.Fixed[i] >= 0 {
				g.fixed[p>>1] |= (1<<32 - 1) << (32 * uint(p&1))
			}
		}
	}
	return g
}

// Fixes reports whether the layout has fixed sites. A [Joint] ignores this and redraws fixed
// sites as well.
func (g *Graph) Fixes() bool { return g.fixed != nil }

// whole returns n rounded up to a multiple of registerLanes.
func whole(n int) int { return (n + registerLanes - 1) / registerLanes * registerLanes }

// connect stores the neighbours of all lanes. A padding lane is its own neighbour and stays 0.
func (g *Graph) connect(from Layout) {
	site := make([]int32, g.lanes)
	for i := range site {
		site[i] = -1
	}
	for i, p := range g.place {
		site[p] = int32(i)
	}
	for at := range g.parts {
		p := &g.parts[at]
		n := whole(p.sites)
		p.near = make([]int32, n*p.degree)
		for l := range n {
			for k := range p.degree {
				near := &p.near[k*n+l]
				if i := site[p.lane+l]; i < 0 {
					*near = int32(p.lane + l)
				} else {
					entry := int(from.Start[i]) + k
					*near = g.place[from.Adj[entry]]
					if from.Against != nil && from.Against[entry] {
						*near |= -1 << 31
					}
				}
			}
		}
	}
}

// Lanes returns the number of lanes: one per site, and the padding.
func (g *Graph) Lanes() int { return g.lanes }

// Parts returns the number of parts of a sweep. A part is a range of sites of one colour and kind
// that are redrawn by one call.
func (g *Graph) Parts() int { return len(g.parts) }

// PartSites returns the number of sites of a part.
func (g *Graph) PartSites(part int) int { return g.parts[part].sites }

// End returns the index of the next part that has a different colour, or Parts() if there is none.
// The parts from the given one to End(part)−1 may be redrawn at the same time.
func (g *Graph) End(part int) int {
	end := part + 1
	for end < len(g.parts) && g.parts[end].colour == g.parts[part].colour {
		end++
	}
	return end
}

// Groups returns how many groups of 64 random words a redraw of a part consumes.
func (g *Graph) Groups(part int) uint64 {
	return uint64(whole(g.parts[part].sites)/registerLanes) * simd.BitGroups
}

// Chains holds the states of up to simd.ChainBits chains on a graph.
type Chains struct {
	*Graph
	bits []uint64
}

// NewChains returns chains in which all sites are 0.
func (g *Graph) NewChains() *Chains {
	c := padded.New(Chains{Graph: g})
	c.bits = padded.Make[uint64](g.lanes / 2)
	return c
}

// Redraw redraws the sites of a part, given all other sites. It draws [Graph.Groups] groups of
// random words from src. It adds the changes to delta[k], where k is the kind of the part's sites.
func (c *Chains) Redraw(part int, delta []simd.ChainTally, src Source, w *Scratch) {
	now, old := c.drawn(part, src, w)
	simd.TallyBits(&delta[c.parts[part].kind], now, old, &w.count)
	copy(old, now)
}

// Draw redraws the sites of one part like [Chains.Redraw], but without a tally. It returns the
// number of sites that changed, summed over the chains 0 … chains−1.
func (c *Chains) Draw(at, chains int, from Source, w *Scratch) (moved int) {
	now, old := c.drawn(at, from, w)
	mask := uint64(1)<<chains - 1
	mask |= mask << 32
	for i, v := range now {
		moved += bits.OnesCount64((v ^ old[i]) & mask)
		old[i] = v
	}
	return moved
}

// drawn returns new states of the sites of one part, and a view of the current states.
func (c *Chains) drawn(at int, from Source, w *Scratch) (now, old []uint64) {
	p := &c.parts[at]
	old = c.near(p, w)
	now = w.draw[:len(old)]
	simd.HeatBits(now, &w.count, c.odds[p.kind], from.ARS, from.Seed, from.Chain, from.Group)
	clearFrom(now, p.sites)
	keep(now, old, c.fixed, p.lane/2)
	return now, old
}

// near counts the neighbours of a part into the scratch and returns the states of its sites.
func (c *Chains) near(p *part, w *Scratch) (own []uint64) {
	n := whole(p.sites)
	simd.GraphBits(&w.count, c.bits, p.near, n, p.degree)
	return c.bits[p.lane/2 : (p.lane+n)/2]
}

// Count tallies every site in state 1 as a change from 0 to 1, given the present states of its
// neighbours. The slice delta holds one tally per kind of sites.
func (c *Chains) Count(delta []simd.ChainTally, w *Scratch) {
	for at := range c.parts {
		p := &c.parts[at]
		own := c.near(p, w)
		simd.TallyBits(&delta[p.kind], own, zeros[:len(own)], &w.count)
	}
}

var zeros [strip]uint64

// clearFrom clears lane n and all later lanes of v.
func clearFrom(v []uint64, n int) {
	if n%2 == 1 {
		v[n/2] &= 1<<32 - 1
		n++
	}
	clear(v[n/2:])
}

// Spread writes the states to x as values 0 or 1, with one row of sites per chain.
func (c *Chains) Spread(x []int32) { simd.SpreadChains(x, c.bits, c.place) }

// Pack sets the states of all chains to x, which has one row of sites per chain. Each entry is 0 or
// 1.
func (c *Chains) Pack(x []int32) {
	clear(c.bits)
	for at := 0; at < len(x); at += c.sites {
		chain := uint(at / c.sites)
		for i, p := range c.place {
			c.bits[p>>1] |= uint64(x[at+i]&1) << (uint(p&1)*32 + chain)
		}
	}
}

// Change describes the effect of redraws on one chain. It determines the change of the chain's
// energy. Ones is the change in the number of sites in state 1. Near is a sum over the changed
// sites: a site that changed to 1 adds m, and a site that changed to 0 subtracts m. Here m is the
// number of the site's neighbours in state 1, or in state 0 where [Layout].Against is true. Ones
// and Near depend only on the states before and after.
type Change struct{ Ones, Near int }

// Add adds to c the changes of one chain that t has counted.
func (c *Change) Add(t *simd.ChainTally, chain int) {
	up := int(t.Up[chain])
	down := int(t.Moved[chain]) - up
	c.Ones += up - down
	c.Near += int(t.Sum[chain]) - simd.TallyDown*down
}

// Share makes g use the memory of h if every site has the same lane, kind and neighbours in both
// graphs. In this case, g releases its own memory and Share returns true.
func (g *Graph) Share(h *Graph) bool {
	alike := slices.Equal(g.place, h.place) && slices.EqualFunc(g.parts, h.parts, func(a, b part) bool {
		return a.lane == b.lane && a.sites == b.sites && a.kind == b.kind && slices.Equal(a.near, b.near)
	})
	if alike {
		g.place, g.parts, g.start, g.adj = h.place, h.parts, h.start, h.adj
	}
	return alike
}

// Swap exchanges the states that c and other hold for each chain s in the slice chains. If moved is
// not nil, Swap adds to moved[s] the number of sites at which these two states differ.
func (c *Chains) Swap(other *Chains, chains []int, moved []int) {
	swapLanes(c.bits, other.bits, chains, moved)
}

// swapLanes swaps the given chains between a and b, which hold two lanes of 32 chains per word.
func swapLanes(a, b []uint64, chains []int, moved []int) {
	mask := uint64(0)
	for _, s := range chains {
		mask |= 1 << (s & 31)
	}
	mask |= mask << 32
	b = b[:len(a)]
	for i, v := range a {
		d := (v ^ b[i]) & mask
		a[i], b[i] = v^d, b[i]^d
		if moved == nil {
			continue
		}
		for ; d != 0; d &= d - 1 {
			moved[bits.TrailingZeros64(d)&31]++
		}
	}
}

// Joint holds up to simd.JointBlocks blocks on one graph, interleaved in memory. A block holds the
// states of one [Chains]. The blocks are redrawn together, with the same results as in separate
// redraws.
type Joint struct {
	*Graph
	bits []uint32 // lane p of block b is at index p·simd.JointBlocks + b
}

// NewJoint returns a Joint in which all sites are 0.
func (g *Graph) NewJoint() *Joint {
	j := padded.New(Joint{Graph: g})
	j.bits = padded.Make[uint32](g.lanes * simd.JointBlocks)
	return j
}

// Take fills block b of the Joint with the states of c.
func (j *Joint) Take(b int, c *Chains) {
	for p := 0; p < j.lanes; p += 2 {
		v := c.bits[p/2]
		j.bits[p*simd.JointBlocks+b], j.bits[(p+1)*simd.JointBlocks+b] = uint32(v), uint32(v>>32)
	}
}

// Give writes the states of block b to c.
func (j *Joint) Give(b int, c *Chains) {
	for p := 0; p < j.lanes; p += 2 {
		c.bits[p/2] = uint64(j.bits[p*simd.JointBlocks+b]) | uint64(j.bits[(p+1)*simd.JointBlocks+b])<<32
	}
}

// Sweep redraws all sites of all blocks once. Each block has one of the streams of random words.
// Sweep begins by skipping 64·ahead words of each stream.
func (j *Joint) Sweep(streams *simd.Joint, ahead uint64) {
	for at := range j.parts {
		p := &j.parts[at]
		streams.Heat(j.bits, p.lane, p.sites, p.near, whole(p.sites), p.degree, j.odds[p.kind], ahead)
		ahead += j.Groups(at)
	}
}

// SweepGroups returns how many groups of 64 random words a sweep consumes.
func (g *Graph) SweepGroups() uint64 { return uint64(g.lanes/registerLanes) * simd.BitGroups }
