package mcmc

import (
	"context"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Swap exchanges the levels of two sites (Kawasaki 1966): it draws a pair
// uniformly among those whose levels differ and exchanges them with probability
//
//	min(1, exp(E(x) − E(y))) · 1[y ∈ C].
//
// A state and its exchange have equally many such pairs, so every update is
// reversible and leaves π restricted to C invariant.
//
// Exchanges conserve how often each level occurs: chains stay with the numbers
// they start with, and π is sampled given those. Among the states with these
// numbers exchanges reach every one if C holds all of them (constraint.Count, a
// constraint.Sum of the same weights at every site, no Within at all) and π is
// positive there, because transpositions generate all permutations. For
// independent sets of a fixed size on a path they do, too; see [PairGibbs],
// whose moves on two levels at a fixed count are these. Other languages may fall
// apart.
//
// With a constraint.Count that fixes the count of one of two levels, this is
// all of C. Where the language leaves the numbers open, use PairGibbs.
//
// Where all exchanges cost nothing every one is accepted, and chains may be periodic:
// three sites with a level each are an even and an odd permutation by turns.
type Swap struct {
	// Within is the language C of the whole state; nil means all states.
	Within constraint.Automaton

	// Updates is the number of proposals per step; 0 means one per site.
	Updates int
}

// Name implements [sampler.Named].
func (Swap) Name() string { return "swap" }

// Kernel implements [sampler.Method].
func (w Swap) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	updates, within, err := pairSettings(ctx, "Swap", m, chains, w.Within, w.Updates)
	if err != nil {
		return nil, err
	}
	return apart.New(swap{pairs: newPairs(m, chains, within), updates: updates}), nil
}

type swap struct {
	*pairs
	updates int
}

var (
	_ sampler.Costed  = (*swap)(nil)
	_ sampler.Starter = (*swap)(nil)
)

// Step implements [sampler.Transition].
func (k *swap) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	done = k.Make(ctl, k, info, x, r, k.updates)
	sweep.MeanAccept(info, done, k.updates)
	return done
}

// Walk implements [Walker]. Where all sites have one level an exchange changes nothing, now
// or ever, and all are accepted.
func (k *swap) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	told := &k.At.Info[s]
	if constant(x) {
		told.Accept = float64(k.updates)
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
			told.Invalid++
		}
		told.Accept += a
		if r[s].Float64() < a {
			told.Moved += k.settle(s, i, j, x[j], x[i], e, x)
		}
		made++
		k.At.Done(k.work)
	}
	return made
}

// pickWork is what a draw of a pair costs, in sites evaluated.
const pickWork = 16

func (k *swap) UnmarshalBinary(b []byte) error { return k.Restore(b, k.updates) }

// judge returns the energy after exchanging x_i and x_j and the probability of
// accepting it; ok is false if it cannot be evaluated.
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
	for _, l := range x {
		if l != x[0] {
			return false
		}
	}
	return true
}
