package spins

import (
	"fmt"
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// ClusterPairs is the maximum number of pairs of [Chains] that a [Clusters] handles at once.
const ClusterPairs = 64 * len(simd.Marks{}) / simd.ChainBits

// clusterBits holds a bit per pair and chain. Chain s of pair p is bit 32·(p mod 2) + s of word p/2.
type clusterBits = simd.Marks

// Clusters is a workspace for exchanging clusters of sites between two [Chains] on one graph. It
// handles several such pairs at once. In a pair, each chain has two states, one in either [Chains].
// A cluster is a connected component of the sites at which these two states differ.
type Clusters struct {
	start, adj []int32
	// per site: whether the states differ there; whether the site is exchanged. One more site, at
	// which no states differ, stands for the padding.
	differ, in []clusterBits
	site       []int32 // per lane: its site
	pairs      [][2]*Chains
}

// NewClusters returns a workspace for pairs of [Chains] on g.
func (g *Graph) NewClusters() *Clusters {
	w := padded.New(Clusters{start: g.start, adj: g.adj, pairs: make([][2]*Chains, 0, ClusterPairs)})
	w.differ, w.in = padded.Make[clusterBits](g.sites+1), padded.Make[clusterBits](g.sites+1)
	w.site = make([]int32, g.lanes)
	for p := range w.site {
		w.site[p] = int32(g.sites)
	}
	for i, p := range g.place {
		w.site[p] = int32(i)
	}
	return w
}

// Compare finds, for each chain of the given pairs, the sites at which its two states differ (see
// [Clusters]). It also unmarks all sites (see Seed). It panics unless there are 1 … [ClusterPairs]
// pairs.
func (w *Clusters) Compare(pairs [][2]*Chains) {
	if n := len(pairs); n < 1 || n > ClusterPairs {
		panic(fmt.Sprintf("spins: len(pairs) = %d, want 1 … %d", n, ClusterPairs))
	}
	w.pairs = append(w.pairs[:0], pairs...)
	clear(w.in)
	clear(w.differ)
	for word := range w.words() {
		x, y := w.states(word)
		for h, v := range x[0] {
			v ^= y[0][h]
			u := x[1][h] ^ y[1][h]
			w.differ[w.site[2*h]][word] = v&(1<<32-1) | u<<32
			w.differ[w.site[2*h+1]][word] = v>>32 | u>>32<<32
		}
	}
}

// words returns the number of words that the pairs take.
func (w *Clusters) words() int { return (len(w.pairs) + 1) / 2 }

// states returns the states of the two pairs of a word. Those of pairs that are not there do not
// differ.
func (w *Clusters) states(word int) (x, y [2][]uint64) {
	for i := range x {
		x[i] = w.pairs[0][0].bits
		y[i] = x[i]
		if at := 2*word + i; at < len(w.pairs) {
			x[i] = w.pairs[at][0].bits
			y[i] = w.pairs[at][1].bits[:len(x[i])]
		}
	}
	x[1] = x[1][:len(x[0])]
	return x, y
}

// Seed marks a site of one chain for [Clusters.Exchange], if the two states of the chain differ at
// this site. It reports whether they differ. The argument pair is an index of the pairs passed to
// the last [Clusters.Compare]. Seed panics if it is out of range.
func (w *Clusters) Seed(pair, chain, site int) bool {
	check.Index("spins", "pair", pair, len(w.pairs))
	word, bit := pair/2, uint64(1)<<(32*(pair%2)+chain)
	w.in[site][word] |= w.differ[site][word] & bit
	return w.differ[site][word]&bit != 0
}

// Grow marks, in every chain, all sites of the clusters that contain a marked site. If more than
// half of a chain's sites are then marked, Grow instead marks all other sites at which the chain's
// two states differ. The exchange then gives the same two states in swapped order.
func (w *Clusters) Grow() {
	sites := len(w.in) - 1
	for back := false; simd.Join(w.in[:sites], w.differ[:sites], w.start, w.adj, back); {
		back = !back
	}
	most, words := w.most(), w.words()
	for i := range w.in {
		in, differ := &w.in[i], &w.differ[i]
		for k := range words {
			in[k] ^= most[k] & differ[k]
		}
	}
}

// most returns the chains of which more than half of the sites are marked.
func (w *Clusters) most() (chains clusterBits) {
	// Bit planes of the numbers of marked sites. At every level, two planes wait for a third, and
	// the three make one and a carry.
	var sum, wait [32]clusterBits
	in, words := w.in[:len(w.in)-1], w.words()
	for i, v := range in {
		n := 0
		for ; i>>n&1 == 1; n++ {
			for k, c := range v[:words] {
				a, b := sum[n][k], wait[n][k]
				sum[n][k], v[k] = a^b^c, a&b|(a^b)&c
			}
		}
		wait[n] = v
	}
	top := bits.Len(uint(len(in)))
	for k := range words {
		for n := range top {
			if len(in)>>n&1 == 1 {
				for m, v := n, wait[n][k]; v != 0; m++ {
					sum[m][k], v = sum[m][k]^v, sum[m][k]&v
				}
			}
		}
		equal := ^uint64(0)
		for n := top - 1; n >= 0; n-- {
			if len(in)/2>>n&1 == 0 {
				chains[k] |= equal & sum[n][k]
				equal &^= sum[n][k]
			} else {
				equal &= sum[n][k]
			}
		}
	}
	return chains
}

// Exchange swaps the two states of each chain (see [Clusters]) at the sites that are marked in that
// chain.
func (w *Clusters) Exchange() {
	for word := range w.words() {
		x, y := w.states(word)
		for h := range x[0] {
			v, u := w.in[w.site[2*h]][word], w.in[w.site[2*h+1]][word]
			first, second := v&(1<<32-1)|u<<32, v>>32|u>>32<<32
			x[0][h] ^= first
			y[0][h] ^= first
			x[1][h] ^= second
			y[1][h] ^= second
		}
	}
}
