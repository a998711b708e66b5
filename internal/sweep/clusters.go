package sweep

import (
	"github.com/gibbsite-go/gibbsite/internal/spins"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Pair is a pair of kernels A and B for one target distribution. Every chain has one state in A and
// another, independent one in B. Parts of the two states can be exchanged.
type Pair struct {
	A, B sampler.Kernel
	X, Y []int32 // states of A and B, used if the kernels have no private copies of them
	Rung int     // index of the temperature of A and B; differs between the pairs of a call
}

// Coupler exchanges states between the two kernels of a [Pair].
type Coupler interface {
	// Couple exchanges states between the two kernels of every pair. It draws random numbers for
	// chain s from stream r[s].
	Couple(pairs []Pair, r []sampler.Stream)
}

// Laddered is a kernel that consists of several kernels, one for each temperature, as in parallel
// tempering.
type Laddered interface {
	// CoupleRungs lets c exchange states between this kernel and partner, a second Laddered kernel,
	// at the temperatures whose index is first + k·stride for some k ≥ 0. The slices x and y hold
	// the states of this kernel and of partner. CoupleRungs returns the new energies e of x and f
	// of y, valid until the next step. If the temperatures of the two kernels differ, ok is false.
	CoupleRungs(partner sampler.Kernel, x, y []int32, r []sampler.Stream, first, stride int, c Coupler) (e, f []float64, ok bool)

	// SwapRungs swaps states between neighbouring temperatures, like the last part of a step. Call
	// it between two steps, after CoupleRungs. The slices x and r hold the states and the random
	// streams of the chains. SwapRungs adds the numbers of undefined probabilities and of changed
	// sites to info. Of ctl, it uses only the workers. An error comes from the Reset of a kernel,
	// and ends the run of all chains.
	SwapRungs(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) error

	// Rungs returns the number of temperatures.
	Rungs() int

	// Align sets the temperatures of partner, a second kernel, to those of this kernel.
	Align(partner sampler.Kernel)
}

// Paired is a kernel that holds two states of every chain and moves each of the two by its own
// kernel.
type Paired interface {
	// Pair returns the kernels that move the first and the second state of the chains.
	Pair() []sampler.Kernel
}

// Clusters exchanges clusters of sites between kernels that store the states of chains as bits. It
// does the work of the exchange in cluster.Houdayer. The zero value is ready to use.
type Clusters struct {
	work   *spins.Clusters
	first  *wordGibbs      // kernel for whose graph work was made
	alike  [][2]*wordGibbs // by rung: kernels that are known to have the format of first
	batch  [][2]*wordGibbs
	states [][2]*spins.Chains // of the kernels of batch
	left   []Pair
}

// seeds is the maximum number of sites of a chain that are tried until its two states differ at
// one.
const seeds = 8

// Exchange swaps one cluster between the two states of each chain, for every pair. In each chain,
// it draws sites until it finds one at which the two states differ, or gives up after a fixed
// number. The cluster consists of the differing sites that are connected to this site. Exchange
// handles only pairs whose kernels all store states as bits in the same format. It returns the
// other pairs and leaves their states unchanged. The returned slice is valid until the next call.
func (c *Clusters) Exchange(pairs []Pair, r []sampler.Stream) (left []Pair) {
	c.left = c.left[:0]
	for _, p := range pairs {
		if !c.add(p) {
			c.left = append(c.left, p)
		} else if len(c.batch) == spins.ClusterPairs {
			c.exchange(r)
		}
	}
	c.exchange(r)
	return c.left
}

// add adds a pair to the batch. It returns false if the kernels have another format.
func (c *Clusters) add(p Pair) bool {
	a, ok := sampler.As[*wordGibbs](p.A)
	b, also := sampler.As[*wordGibbs](p.B)
	if !ok || !also {
		return false
	}
	for len(c.alike) <= p.Rung {
		c.alike = append(c.alike, [2]*wordGibbs{})
	}
	if c.alike[p.Rung] != [2]*wordGibbs{a, b} {
		if c.first == nil {
			c.first, c.work = a, a.states.NewClusters()
		}
		if !c.first.Exchanges(a, 1) || !c.first.Exchanges(b, 1) {
			return false
		}
		c.alike[p.Rung] = [2]*wordGibbs{a, b}
	}
	a.Hold(p.X)
	b.Hold(p.Y)
	c.batch = append(c.batch, [2]*wordGibbs{a, b})
	return true
}

// exchange exchanges clusters between the kernels of the batch, and empties it.
func (c *Clusters) exchange(r []sampler.Stream) {
	if len(c.batch) == 0 {
		return
	}
	c.states = c.states[:0]
	for _, k := range c.batch {
		c.states = append(c.states, [2]*spins.Chains{k[0].states, k[1].states})
	}
	c.work.Compare(c.states)
	for pair, k := range c.batch {
		for s := range r {
			for n := 0; n < seeds && !c.work.Seed(pair, s, r[s].IntN(k[0].sites)); n++ {
			}
		}
	}
	c.work.Grow()
	for _, k := range c.batch {
		k[0].know()
		k[1].know()
	}
	c.work.Exchange()
	for _, k := range c.batch {
		k[0].recount(k[1])
	}
	c.batch = c.batch[:0]
}

// recount counts again after an exchange with the other kernel. The sum of a count over the two
// states of a chain has not changed.
func (k *wordGibbs) recount(o *wordGibbs) {
	for i, since := range k.since {
		copy(k.more[i], since)
	}
	k.count(0)
	for i, since := range k.since {
		for s, v := range since {
			o.since[i][s] -= v - k.more[i][s]
		}
	}
}
