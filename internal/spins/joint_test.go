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
