package mcmc

import (
	"cmp"
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/padded"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// PairGibbs redraws two sites at a time. An update picks a pair of sites i and j uniformly. It
// draws their levels a and b from the exact joint conditional distribution, restricted to a set C
// of states (the field Within),
//
//	p(x_i = a, x_j = b | rest) ∝ exp(−E(x with x_i = a, x_j = b)) · 1[x ∈ C].
//
// Each update is reversible and leaves π ∝ e^{−E} restricted to C invariant. Use PairGibbs where no
// site can change alone but two sites can change together, as under a fixed count.
//
// # Irreducibility
//
// Chains reach all of C if π is positive there and changes of at most two sites connect all states.
// This holds for
//
//   - Every constraint.Count, with or without a constraint.Mask.
//   - Every language in which any site may be set to level 0, such as constraint.Avoids of words
//     without a 0 (independent sets).
//   - Independent sets of a fixed size on a path.
//
// Other languages can be disconnected, such as {000, 111}. Chains then stay in the part of C in
// which they start. [DMALA] with Within does not have this problem.
//
// # Cost
//
// An update takes levels² energies. If the model is energy.Local, finite energies are read from its
// table. For a language other than a count or a mask, an update also follows levels² paths through
// the automaton.
type PairGibbs struct {
	// Within is the language C (package constraint) of the allowed states; nil means that all
	// states are allowed.
	Within constraint.Automaton

	// Updates is the number of pairs redrawn per step; 0 means as many as there are sites.
	Updates int
}

// Name returns "pair-gibbs"; it implements [sampler.Named].
func (PairGibbs) Name() string { return "pair-gibbs" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (p PairGibbs) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	updates, within, err := pairSettings(ctx, "PairGibbs", m, chains, p.Within, p.Updates)
	if err != nil {
		return nil, err
	}
	k := padded.New(pairGibbs{pairs: newPairs(m, chains, updates, within)})
	k.w = make([]float64, len(k.d))
	return k, nil
}

// pairSettings checks the settings shared by PairGibbs and Swap. It returns the number of updates
// per step and the compiled language, nil if a is nil.
func pairSettings(ctx context.Context, method string, m energy.Model, chains int, a constraint.Automaton, updates int) (int, *support, error) {
	sites, levels, err := check.Shape("mcmc: "+method, m, chains, sampler.BlockSize)
	if err = cmp.Or(err,
		check.If(sites < 2, "mcmc: %s: sites = %d, want ≥ 2", method, sites),
		check.If(updates < 0, "mcmc: %s: Updates = %d, want ≥ 0", method, updates),
	); err != nil {
		return 0, nil, err
	}
	within, err := newSupport(ctx, method, a, sites, levels)
	return cmp.Or(updates, sites), within, err
}

type pairGibbs struct {
	*pairs
	w []float64
}

var (
	_ sampler.Costed  = (*pairGibbs)(nil)
	_ sampler.Starter = (*pairGibbs)(nil)
)

// Step redraws PairGibbs.Updates pairs of sites. An update that was stopped starts over in the next
// call and is not stopped again. It implements [sampler.Transition].
func (k *pairGibbs) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	return k.Make(ctl, k, info, x, r)
}

// Walk makes n updates of chain s, each of which redraws one pair of sites. It implements
// [sweep.Walker].
func (k *pairGibbs) Walk(n, s int, x []int32, r []sampler.Stream) (made int) {
	k.begin(x)
	pending := &k.At.Info[s]
	pending.Accept = 1
	for made < n && pending.Err == nil && !k.At.Stopped {
		if k.long {
			k.At.Before = r[s]
		}
		i, j := k.pick(&r[s])
		d := k.joint(s, i, j, x)
		if k.At.Stopped && k.At.Part == 0 {
			r[s], k.At.Part = k.At.Before, 1
			break
		}
		k.At.Part = 0
		if c := sweep.HeatBath(k.w, d, r[s].Float64()); c >= 0 {
			pending.Moved += k.settle(s, i, j, int32(c/k.Levels), int32(c%k.Levels), d[c], x)
		} else {
			pending.Err = fmt.Errorf("sites %d and %d: %w", i, j, sampler.ErrNaN)
		}
		made++
		k.At.Done(sweep.Times(k.work, k.Levels))
	}
	return made
}

func (k *pairGibbs) Cost(info []sampler.Info) float64 {
	l := float64(k.Levels)
	return k.Visits(info, k.Updates, k.Levels, sweep.ProposalCost+float64(l*(k.joins()+float64(sweep.LevelCost*l))))
}
