package spins

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// random returns a graph of sites of up to seven neighbours, some against, in colours
// that are the sites' own order, and kinds by the number of neighbours, two of each.
func random(r *rand.Rand, sites int) Layout {
	near := make([][]int32, sites)
	for range 4 * sites {
		i, j := r.IntN(sites), r.IntN(sites)
		if i != j && len(near[i]) < MostNear && len(near[j]) < MostNear && !slices.Contains(near[i], int32(j)) {
			near[i], near[j] = append(near[i], int32(j)), append(near[j], int32(i))
		}
	}
	g := Layout{Start: []int32{0}, Colour: make([]int32, sites), Kind: make([]int32, sites)}
	for i, row := range near {
		g.Adj = append(g.Adj, row...)
		g.Start = append(g.Start, int32(len(g.Adj)))
		for range row {
			g.Against = append(g.Against, r.IntN(3) == 0)
		}
		for _, j := range row {
			if int(j) < i && g.Colour[j] >= g.Colour[i] {
				g.Colour[i] = g.Colour[j] + 1
			}
		}
		g.Kind[i] = int32(2*len(row) + r.IntN(2))
	}
	for kind := range 2 * (MostNear + 1) {
		p := make([]uint64, kind/2+1)
		for n := range p {
			p[n] = r.Uint64()
		}
		g.Odds = append(g.Odds, simd.NewOdds(p))
		odds[g.Odds[kind]] = p
	}
	return g
}

// odds are what those of the graphs of this file were made from.
var odds = map[*simd.Odds][]uint64{}

// number is the random integer of a lane and chain of a part.
func number(from Source, lane, chain int) (u uint64) {
	at := 32*lane + chain
	words := make([]uint32, 16*64)
	if group := from.Group + uint64(at/512*16); from.ARS {
		simd.ARS(words, from.Seed, from.Chain, group)
	} else {
		simd.Philox(words, from.Seed, from.Chain, group)
	}
	for d := range 64 {
		u |= uint64(words[16*d+at/32%16]>>(at%32)&1) << (63 - d)
	}
	return u
}

// Redraws are those of a plain loop over sites and chains, and so is what they tell.
func TestGraphRedraws(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for _, sites := range []int{1, 5, 40, 700} {
		from := random(r, sites)
		g := NewGraph(from)
		require.Zero(t, g.Lanes()%16)
		const chains = 5
		x := lattice(r, chains*sites)
		c := g.NewChains()
		c.Pack(x)
		y := slices.Clone(x)
		observed := make([]simd.ChainTally, len(from.Odds))
		want := make([][chains]Change, len(from.Odds))
		seen := 0
		for part := range g.Parts() {
			source := Source{ARS: part%2 == 1, Seed: 3, Chain: 4, Group: uint64(1000 * part)}
			c.Redraw(part, observed, source, new(Scratch))
			before := slices.Clone(y)
			p := &g.parts[part]
			require.Equal(t, uint64(whole(p.sites)), g.Groups(part))
			for i := range sites {
				if lane := int(g.place[i]); lane < p.lane || lane >= p.lane+g.PartSites(part) {
					continue
				}
				seen++
				for s := range chains {
					m := 0
					for n := from.Start[i]; n < from.Start[i+1]; n++ {
						v := int(before[s*sites+int(from.Adj[n])])
						if from.Against[n] {
							v = 1 - v
						}
						m += v
					}
					y[s*sites+i] = 0
					if number(source, int(g.place[i])-p.lane, s) < odds[from.Odds[from.Kind[i]]][m] {
						y[s*sites+i] = 1
					}
					switch w := &want[from.Kind[i]][s]; y[s*sites+i] - before[s*sites+i] {
					case 1:
						w.Ones, w.Near = w.Ones+1, w.Near+m
					case -1:
						w.Ones, w.Near = w.Ones-1, w.Near-m
					}
				}
			}
			got := make([]int32, chains*sites)
			c.Spread(got)
			require.Equal(t, y, got, "part %d of %d sites", part, sites)
		}
		assert.Equal(t, sites, seen)
		for kind := range observed {
			for s := range chains {
				var got Change
				got.Add(&observed[kind], s)
				require.Equal(t, want[kind][s], got, "kind %d, chain %d", kind, s)
			}
		}
	}
}

// Lanes that fill up registers stay 0, also where they would be drawn 1.
func TestGraphFillsUpWithZeros(t *testing.T) {
	g := NewGraph(Layout{Start: []int32{0, 0, 0, 0}, Colour: make([]int32, 3), Kind: make([]int32, 3), Odds: []*simd.Odds{simd.NewOdds([]uint64{1<<64 - 1})}})
	c, observed := g.NewChains(), make([]simd.ChainTally, 1)
	c.Redraw(0, observed, Source{}, new(Scratch))
	assert.Equal(t, []uint64{1<<64 - 1, 1<<32 - 1, 0, 0, 0, 0, 0, 0}, c.bits)
	assert.Equal(t, int32(3), observed[0].Up[31])
}

// Large colours are redrawn in parts.
func TestGraphParts(t *testing.T) {
	const sites = 2500
	g := NewGraph(Layout{Start: make([]int32, sites+1), Colour: make([]int32, sites), Kind: make([]int32, sites), Odds: []*simd.Odds{simd.NewOdds([]uint64{5})}})
	assert.Equal(t, []int{3, 1024, 1024, 452, 2512}, []int{g.Parts(), g.PartSites(0), g.PartSites(1), g.PartSites(2), g.Lanes()})
	assert.Equal(t, []int{3, 3}, []int{g.End(0), g.End(2)})
	two := NewGraph(Layout{Start: make([]int32, 6), Colour: []int32{0, 1, 0, 1, 2}, Kind: []int32{0, 0, 1, 1, 1}, Odds: []*simd.Odds{simd.NewOdds([]uint64{5}), simd.NewOdds([]uint64{5})}})
	assert.Equal(t, []int{5, 2, 2, 4, 4, 5}, []int{two.Parts(), two.End(0), two.End(1), two.End(2), two.End(3), two.End(4)})
	assert.PanicsWithValue(t, "spins: NewGraph: site 0 has 8 neighbours, want ≤ 7", func() {
		NewGraph(Layout{Start: []int32{0, 8}, Adj: make([]int32, 8), Colour: []int32{0}, Kind: []int32{0}})
	})
}

// Sweeps of blocks side by side are those of each alone, which count what changed and
// whose tallies say by how much counts of states differ.
func TestJointIsEachAlone(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for _, sites := range []int{1, 25, 700} {
		for _, blocks := range []int{1, 7, 16} {
			from := random(r, sites)
			for i := range sites { // against or not both ways
				for k := from.Start[i]; k < from.Start[i+1]; k++ {
					from.Against[k] = (i+int(from.Adj[k]))%3 == 0
				}
			}
			g := NewGraph(from)
			j := g.NewJoint()
			var one, two []*Chains
			streams, groups, chains := make([]uint64, blocks), make([]uint64, blocks), make([]int, blocks)
			for b := range blocks {
				streams[b], groups[b], chains[b] = uint64(5*b), uint64(100*b), 1+r.IntN(32)
				x := lattice(r, chains[b]*sites)
				one, two = append(one, g.NewChains()), append(two, g.NewChains())
				one[b].Pack(x)
				two[b].Pack(x)
			}
			want, got := make([]int, blocks), make([]int, blocks)
			var source simd.Joint
			source.Begin(true, 9, streams, groups, chains)
			for sweep := range 3 {
				for b, c := range one {
					j.Take(b, two[b])
					at := Source{ARS: true, Seed: 9, Chain: streams[b], Group: groups[b] + uint64(sweep)*g.SweepGroups()}
					for part := range g.Parts() {
						want[b] += c.Draw(part, chains[b], at, new(Scratch))
						at.Group += g.Groups(part)
					}
				}
				j.Sweep(&source, uint64(sweep)*g.SweepGroups())
				for b, c := range two {
					j.Give(b, c)
					require.Equal(t, one[b].bits, c.bits, "%d sites, block %d of %d", sites, b, blocks)
				}
			}
			source.Moved(got)
			assert.Equal(t, want, got)

			c, observed := two[0], make([]simd.ChainTally, len(from.Odds))
			before := slices.Clone(c.bits)
			moved := c.Draw(0, 32, Source{Seed: 1}, new(Scratch))
			changed := 0
			for i, v := range c.bits {
				changed += bits.OnesCount64(v ^ before[i])
			}
			assert.Equal(t, changed, moved)
			copy(c.bits, before)
			c.Redraw(0, observed, Source{Seed: 1}, new(Scratch))
			then, now := make([]simd.ChainTally, len(observed)), make([]simd.ChainTally, len(observed))
			c.Count(now, new(Scratch))
			copy(c.bits, before)
			c.Count(then, new(Scratch))
			for s := range simd.ChainBits { // pairs and what turns one of them, twice
				a, b, ones := 0, 0, 0
				for kind := range observed {
					var d Change
					d.Add(&observed[kind], s)
					a += 2 * d.Near
					ones += d.Ones
					b += int(now[kind].Sum[s] - then[kind].Sum[s])
					ones -= int(now[kind].Up[s] - then[kind].Up[s])
				}
				b += turned(c, from, s, before)
				assert.Equal(t, a, b)
				assert.Zero(t, ones)
			}
		}
	}
}

// turned returns by how much the sites in state 1, each times its neighbours against, have
// grown from the given states to what the last redraw of part 0 makes of them.
func turned(c *Chains, from Layout, chain int, before []uint64) (sum int) {
	c.Redraw(0, make([]simd.ChainTally, len(from.Odds)), Source{Seed: 1}, new(Scratch))
	for i, p := range c.place {
		n := 0
		for k := from.Start[i]; k < from.Start[i+1]; k++ {
			if from.Against[k] {
				n++
			}
		}
		at := 32*int(p) + chain
		sum += n * (int(c.bits[at/64]>>(at%64)&1) - int(before[at/64]>>(at%64)&1))
	}
	copy(c.bits, before)
	return sum
}
