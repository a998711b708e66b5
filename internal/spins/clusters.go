package spins

import (
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// ClusterPairs is the maximum number of pairs of [Chains] in a [Clusters].
const ClusterPairs = 64 * clusterWords / simd.ChainBits

const clusterWords = 8

// clusterBits holds a bit per pair and chain. Chain s of pair p is bit 32·(p mod 2) + s of word p/2.
type clusterBits [clusterWords]uint64

// Clusters is a workspace for the exchange of clusters of sites between pairs of [Chains] on one
// graph. A cluster is a connected component of the sites at which the two states of a chain differ.
type Clusters struct {
	start, adj []int32
	differ, in []clusterBits // per site: whether the states differ there; whether the site is exchanged
}

// NewClusters returns a workspace for chains on g.
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

// Compare stores, as the given pair, the sites at which the states of a and b differ in each chain.
func (w *Clusters) Compare(pair int, a, b *Chains) {
	word, shift := pair/2, 32*uint(pair%2)
	for i, p := range a.place {
		w.differ[i][word] |= (a.bits[p>>1] ^ b.bits[p>>1]) >> (32 * uint(p&1)) & (1<<32 - 1) << shift
	}
}

// Seed marks a site for the exchange in one chain of a pair, if the two states of the chain differ
// at this site. It reports whether they differ.
func (w *Clusters) Seed(pair, chain, site int) bool {
	word, bit := pair/2, uint64(1)<<(32*(pair%2)+chain)
	w.in[site][word] |= w.differ[site][word] & bit
	return w.differ[site][word]&bit != 0
}

// Grow marks all sites of the clusters to which the marked sites belong. If the marked sites are
// then more than half of the sites of a chain, it marks the other differing sites instead. The
// exchange then gives the same two states in swapped order.
func (w *Clusters) Grow() {
	for changed := true; changed; {
		changed = false
		for i := range w.in {
			changed = w.join(i) || changed
		}
		if changed {
			changed = false
			for i := len(w.in) - 1; i >= 0; i-- {
				changed = w.join(i) || changed
			}
		}
	}
	most := w.most()
	for i := range w.in {
		in, differ := &w.in[i], &w.differ[i]
		for k := range in {
			in[k] ^= most[k] & differ[k]
		}
	}
}

// join marks site i in the chains in which a neighbour is marked and the states differ at i. It
// reports whether a mark is new.
func (w *Clusters) join(i int) bool {
	in, differ := &w.in[i], &w.differ[i]
	v := *in
	for _, j := range w.adj[w.start[i]:w.start[i+1]] {
		near := &w.in[j]
		v[0] |= near[0]
		v[1] |= near[1]
		v[2] |= near[2]
		v[3] |= near[3]
		v[4] |= near[4]
		v[5] |= near[5]
		v[6] |= near[6]
		v[7] |= near[7]
	}
	added := uint64(0)
	for k := range v {
		v[k] &= differ[k]
		added |= v[k] ^ in[k]
	}
	*in = v
	return added != 0
}

// most returns the chains of which more than half of the sites are marked.
func (w *Clusters) most() (chains clusterBits) {
	half := uint64(len(w.in) / 2)
	for k := range chains {
		var count [32]uint64 // bit planes of the numbers of marked sites
		for i := range w.in {
			v := w.in[i][k]
			for n := 0; v != 0; n++ {
				count[n], v = count[n]^v, count[n]&v
			}
		}
		equal := ^uint64(0)
		for n := bits.Len(uint(len(w.in))) - 1; n >= 0; n-- {
			if half>>n&1 == 0 {
				chains[k] |= equal & count[n]
				equal &^= count[n]
			} else {
				equal &= count[n]
			}
		}
	}
	return chains
}

// Exchange exchanges the states of a and b, which are the given pair, at the marked sites.
func (w *Clusters) Exchange(pair int, a, b *Chains) {
	word, shift := pair/2, 32*uint(pair%2)
	for i, p := range a.place {
		v := w.in[i][word] >> shift & (1<<32 - 1) << (32 * uint(p&1))
		a.bits[p>>1] ^= v
		b.bits[p>>1] ^= v
	}
}
