package mcmc

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Swap exchanges the levels of two sites (Kawasaki 1966). An update draws a pair of sites uniformly
// from the pairs with different levels. If y is the state x with these levels exchanged, the chain
// moves to y with probability
//
//	min(1, exp(E(x) − E(y))) · 1[y ∈ C],
//
// where C is the language Within. Every update is reversible and leaves π ∝ e^{−E} restricted to C
// invariant.
//
// Exchanges conserve the number of sites at each level. The initial state determines these numbers,
// and the chain samples π conditional on them. If C does not fix them, use [PairGibbs] to sample
// all of C.
//
// Exchanges reach every state with these numbers if all such states are in C and have positive
// probability. All are in C if Within is nil, a constraint.Count, or a constraint.Sum with equal
// weights. Other languages may be disconnected.
//
// If no exchange changes the energy, every exchange is accepted, and chains can be periodic.
type Swap struct {
	// Within is the language C (package constraint) of the allowed states; nil means that all
	// states are allowed.
	Within constraint.Automaton

	// Updates is the number of exchanges proposed per step; 0 means as many as there are sites.
	Updates int
}

// Name returns "swap"; it implements [sampler.Named].
func (Swap) Name() string { return "swap" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (w Swap) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	updates, within, err := pairSettings(ctx, "Swap", m, chains, w.Within, w.Updates)
	if err != nil {
		return nil, err
	}
	return padded.New(swap{pairs: newPairs(m, chains, updates, within)}), nil
}

type swap struct {
	*pairs
}

var (
	_ sampler.Costed  = (*swap)(nil)
	_ sampler.Starter = (*swap)(nil)
)

// Step proposes Swap.Updates exchanges; it implements [sampler.Transition].
func (k *swap) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	done = k.Make(ctl, k, info, x, r)
	sweep.MeanAccept(info, done, k.Updates)
	return done
}

// Walk makes n updates of chain s, each of which proposes one exchange. If all sites have the same
// level, no exchange changes anything, and the acceptance probability is 1. It implements
// [sweep.Walker].
func (k *swap) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	pending := &k.At.Info[s]
	if constant(x) {
		pending.Accept = float64(k.Updates)
		return n
	}
	k.begin(x)
	for made < n && !k.At.Stopped {
		i, j := k.pick(&r[s])
		for x[i] == x[j] {
			i, j = k.pick(&r[s])
			k.At.Work += pickWork
		}
		e, a, ok := k.judge(s, i, j, x)
		if !ok {
			pending.Invalid++
		}
		pending.Accept += a
		if r[s].Float64() < a {
			pending.Moved += k.settle(s, i, j, x[j], x[i], e, x)
		}
		made++
		k.At.Done(k.work)
	}
	return made
}

// pickWork is the cost of drawing a pair, in units of evaluating one site.
const pickWork = 16

// judge returns the energy after exchanging x_i and x_j and the probability of accepting the
// exchange. It returns ok = false if the probability is not defined.
func (k *swap) judge(s, i, j int, x []int32) (e, a float64, ok bool) {
	if !k.allowed(i, j, x[j], x[i], x) {
		return 0, 0, true
	}
	e = k.energy(s, i, j, x[j], x[i], x)
	a, ok = sweep.Accept(k.E[s]-e, 0, 0)
	return e, a, ok
}

// constant reports whether all sites have the same level.
func constant(x []int32) bool {
	return slices.Max(x) == slices.Min(x)
}

func (k *swap) Cost(info []sampler.Info) float64 {
	return k.Visits(info, k.Updates, 2, sweep.ProposalCost+k.joins())
}
