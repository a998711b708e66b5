package cluster

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Wolff changes one cluster C of an Ising or Potts model at a time (Wolff 1989). It grows the
// cluster from a random site. Let a be the level of this site. Neighbours at level a join the
// cluster, each with probability 1 − e^{−J}, where J is the coupling (see [SwendsenWang]). Wolff
// proposes another level b, drawn uniformly, for the whole cluster and accepts with probability
//
//	min(1, exp(|C|·(h_b − h_a))),
//
// where |C| is the number of sites in C, and h_a and h_b are the fields of the two levels.
//
// If J < 0, the cluster grows alternately between sites of levels a and b, and the proposal swaps
// the two levels in the cluster. Two-level models may have individual couplings and fields, as with
// SwendsenWang.
//
// Near a transition Wolff is several times more efficient than SwendsenWang, because large clusters
// are drawn more often. The cost of a step is proportional to the size of its clusters. Each update
// is reversible.
type Wolff struct {
	// Updates is the number of clusters per step; 0 means 1.
	Updates int
}

// Name returns "wolff"; it implements [sampler.Named].
func (Wolff) Name() string { return "wolff" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (w Wolff) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if w.Updates < 0 {
		return nil, fmt.Errorf("cluster: Wolff: Updates = %d, want ≥ 0", w.Updates)
	}
	b, err := newBonds("Wolff", m, chains, max(1, w.Updates))
	if err != nil {
		return nil, err
	}
	return padded.New(wolff{bonds: b, in: padded.Make[bool](b.Sites), cluster: make([]int32, 0, b.Sites)}), nil
}

type wolff struct {
	*bonds
	in      []bool  // per site: it is in the cluster
	cluster []int32 // sites of the cluster, in the order in which they joined
}

var _ sampler.Costed = (*wolff)(nil)

// Step updates Wolff.Updates clusters of each chain, and calls ctl.Stop between clusters. It
// implements [sampler.Transition].
func (k *wolff) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	done = k.Make(ctl, k, info, x, r)
	sweep.MeanAccept(info, done, k.Updates)
	return done
}

// Walk makes n updates of chain s, each of which grows one cluster and proposes to change it. It
// implements [sweep.Walker].
func (k *wolff) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	pending := &k.At.Info[s]
	for made < n && !k.At.Stopped {
		moved, a := k.advance(x, &r[s])
		pending.Moved += moved
		pending.Accept += a
		made++
		k.At.Done(sweep.SiteWork * (len(k.cluster) + 64))
	}
	k.Model.Energy(k.E[s:s+1], x)
	return made
}

// advance grows one cluster of x and proposes to change its levels. It returns the number of
// sites that changed and the acceptance probability.
func (k *wolff) advance(x []int32, r *sampler.Stream) (moved int, accept float64) {
	if k.Levels < 2 {
		return 0, 1
	}
	seed := int32(r.IntN(k.Sites))
	a, b := other(x[seed], k.Levels, r)
	k.grow(seed, a, b, x, r)
	accept = k.accepts(a, b, x)
	if r.Float64() < accept {
		moved = len(k.cluster)
		for _, i := range k.cluster {
			x[i] = a + b - x[i]
		}
	}
	for _, i := range k.cluster {
		k.in[i] = false
	}
	return moved, accept
}

// grow stores in k.cluster the cluster grown from the site seed at level a. With J < 0, b is the
// level that alternates with a.
func (k *wolff) grow(seed, a, b int32, x []int32, r *sampler.Stream) {
	k.cluster = append(k.cluster[:0], seed)
	k.in[seed] = true
	for n := 0; n < len(k.cluster); n++ {
		i := k.cluster[n]
		if k.pairs != nil {
			k.growPairs(i, x, r)
			continue
		}
		partner := a
		if k.unequal {
			partner = a + b - x[i]
		}
		for _, j := range k.adj[k.start[i]:k.start[i+1]] {
			if x[j] == partner && !k.in[j] && r.Float64() < k.chance {
				k.in[j] = true
				k.cluster = append(k.cluster, j)
			}
		}
	}
}

// growPairs adds neighbours of site i to the cluster at random, for individual couplings.
func (k *wolff) growPairs(i int32, x []int32, r *sampler.Stream) {
	for n := k.start[i]; n < k.start[i+1]; n++ {
		if j := k.adj[n]; x[i]^x[j] == k.pairs.unequal[n] && !k.in[j] && r.Float64() < k.pairs.chance[n] {
			k.in[j] = true
			k.cluster = append(k.cluster, j)
		}
	}
}

// accepts returns the probability of accepting the proposal that swaps levels a and b in the
// cluster.
func (k *wolff) accepts(a, b int32, x []int32) float64 {
	if k.pairs != nil {
		gain := 0.0
		for _, i := range k.cluster {
			gain += k.pairs.gain(i, x[i])
		}
		return min(1, simd.Exp(gain))
	}
	n := 0
	for _, i := range k.cluster {
		if x[i] == a {
			n++
		} else {
			n--
		}
	}
	return min(1, simd.Exp(float64(n)*(k.field[b]-k.field[a])))
}
