package spins

import (
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// ClusterPairs is the maximum number of pairs of [Chains] that a [Clusters] handles at once.
const ClusterPairs = 64 * len(simd.Marks{}) / simd.ChainBits

// clusterBits holds a bit per pair and chain. Chain s of pair p is bit 32·(p mod 2) + s of word p/2.
type clusterBits = simd.Marks

// Clusters is a workspace for exchanging clusters of sites between two [Chains] on one graph, for
// several such pairs at once. A cluster is a connected component of the sites at which the states
// of a chain in the two Chains differ.
type Clusters struct {
	start, adj []int32
	differ, in []clusterBits // per site: whether the states differ there; whether the site is exchanged
}

// NewClusters returns a workspace for pairs of [Chains] on g.
func (g *Graph) NewClusters() *Clusters {
	w := padded.New(Clusters{start: g.start, adj: g.adj})
	w.differ, w.in = padded.Make[clusterBits](g.sites), padded.Make[clusterBits](g.sites)
	return w
}

// Clear removes all pairs that [Clusters.Compare] has stored.
func (w *Clusters) Clear() {
	clear(w.differ)
	clear(w.in)
}

// Compare stores the sites at which the states of a and b differ in each chain. They become the
// pair with the given number. Compare, Seed and Exchange panic unless 0 ≤ pair < [ClusterPairs].
func (w *Clusters) Compare(pair int, a, b *Chains) {
	check.Index("spins", "pair", pair, ClusterPairs)
	word, shift := uint(pair/2)%uint(len(clusterBits{})), 32*uint(pair%2)
	place, x, y := a.place[:len(w.differ)], a.bits, b.bits[:len(a.bits)]
	for i := range w.differ {
		p := uint(place[i])
		v := uint32((x[p>>1] ^ y[p>>1]) >> (p & 1 << 5))
		w.differ[i][word] |= uint64(v) << (shift & 63)
	}
}

// Seed marks a site of one chain of a pair for the exchange, if its two states differ there. It
// reports whether they differ.
func (w *Clusters) Seed(pair, chain, site int) bool {
	word, bit := pair/2, uint64(1)<<(32*(pair%2)+chain)
	w.in[site][word] |= w.differ[site][word] & bit
	return w.differ[site][word]&bit != 0
}

// Grow marks, in every chain, all sites of the clusters that contain a marked site. If more than
// half of a chain's sites are then marked, it marks the chain's other differing sites instead. The
// exchange then gives the same two states in swapped order.
func (w *Clusters) Grow() {
	for back := false; simd.Join(w.in, w.differ, w.start, w.adj, back); {
		back = !back
	}
	most := w.most()
	for i := range w.in {
		in, differ := &w.in[i], &w.differ[i]
		for k := range in {
			in[k] ^= most[k] & differ[k]
		}
	}
}

// most returns the chains of which more than half of the sites are marked.
func (w *Clusters) most() (chains clusterBits) {
	// Bit planes of the numbers of marked sites. At every level, two planes wait for a third, and
	// the three make one and a carry.
	var sum, wait [32]clusterBits
	for i := range w.in {
		v, n := w.in[i], 0
		for ; i>>n&1 == 1; n++ {
			for k, c := range v {
				a, b := sum[n][k], wait[n][k]
				sum[n][k], v[k] = a^b^c, a&b|(a^b)&c
			}
		}
		wait[n] = v
	}
	top := bits.Len(uint(len(w.in)))
	for k := range chains {
		for n := range top {
			if len(w.in)>>n&1 == 1 {
				for m, v := n, wait[n][k]; v != 0; m++ {
					sum[m][k], v = sum[m][k]^v, sum[m][k]&v
				}
			}
		}
		equal := ^uint64(0)
		for n := top - 1; n >= 0; n-- {
			if len(w.in)/2>>n&1 == 0 {
				chains[k] |= equal & sum[n][k]
				equal &^= sum[n][k]
			} else {
				equal &= sum[n][k]
			}
		}
	}
	return chains
}

// Exchange exchanges the states of a and b at the marked sites of the given pair, which
// [Clusters.Compare] has stored for a and b.
func (w *Clusters) Exchange(pair int, a, b *Chains) {
	check.Index("spins", "pair", pair, ClusterPairs)
	word, shift := uint(pair/2)%uint(len(clusterBits{})), 32*uint(pair%2)
	place, x, y := a.place[:len(w.in)], a.bits, b.bits[:len(a.bits)]
	for i := range w.in {
		p := uint(place[i])
		v := uint64(uint32(w.in[i][word]>>(shift&63))) << (p & 1 << 5)
		x[p>>1] ^= v
		y[p>>1] ^= v
	}
}
