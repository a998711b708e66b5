package auto

import (
	"context"
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Method tries candidates in warm-up and keeps one. The zero value chooses among the
// methods of packages mcmc, cluster and momentum that fit the model.
//
// Three tenths of warm-up go to tuning: each candidate moves the chains in turn,
// four times where there is time, and tunes itself by its own steps. Six tenths go to
// three rounds of trials, in each of which every candidate that is left makes equally
// many steps on the same chains, and after which those far behind drop out: at most
// half and three of them see the second and the third round. The last tenth, and all
// that follows, is the winner's, with the step size that it found.
//
// What counts is 1/(τ·cost): cost is that of a step, see the package, and τ the steps
// per effective draw, the largest of those of the energy, of the number of sites at
// each level and, on average, of eight fixed random projections of the state. From
// the mean squares V_t of changes over t steps, ρ_t = 1 − V_t/(2σ²) and
//
//	τ = 1 + 2 Σ_t ρ_t,
//
// up to the first ρ_t that is negligible, and beyond it, or beyond the longest lag, as an
// exponential. σ² is the variance over all chains and candidates, which have one target, or
// that of the candidate that comes farthest: one that does not move, or does not leave the
// mode that it found where another does, has ρ_t near 1. A mode so rare that no candidate is
// expected in it during trials, of a probability below one in their draws (some hundreds a
// block), counts for nothing: below the critical temperature in a weak field, heat bath may be
// kept where SwendsenWang alone would pass between the modes. Name it as the only candidate there.
//
// Blocks of chains, see the block of sampler.Config, choose apart, each by its own
// chains, as they tune step sizes: so parts of a run give the bits of the whole. More
// chains choose better. [Reports] tells what was chosen and why; checkpoints keep it.
//
// A candidate takes at least sixty steps of warm-up. Where there are fewer steps than
// that for all, the last candidates are not tried; with fewer than two tried, or
// without warm-up, the first moves the chains, and Warnings of the chains say so.
//
// Candidates must reach all states: a chain that is confined to a part of them mixes
// fast within it, and nobody can see that there is more.
type Method struct {
	// Candidates are tried; the first of them are preferred where warm-up is too
	// short for all. Those that do not fit the model are left out, see [Reports];
	// if none is left, their errors are that of Kernel. Nil means: with Within
	// nil, mcmc.Gibbs, DMALA, BlockGibbs (models of two layers), cluster.SwendsenWang
	// and Wolff, mcmc.LocallyBalanced, Paths, DLMC and Metropolis and
	// momentum.DHAMS and PDHAMS. A candidate whose kernel is not sampler.Costed
	// is left out; those of the library are.
	Candidates []sampler.Method

	// Within is a language that every state belongs to. The candidates are then
	// mcmc.DMALA and, under a count, whose words pairs of changes connect,
	// mcmc.PairGibbs and, where a count of one of two levels is fixed, mcmc.Swap,
	// all Within it; Candidates must be nil.
	Within constraint.Automaton
}

// Name implements [sampler.Named].
func (Method) Name() string { return "auto" }

// Kernel implements [sampler.Method].
func (a Method) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	const who = "auto: Method"
	sites, levels, err := check.Shape(who, m, chains, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	if err := check.Optional(who, "Within", a.Within); err != nil {
		return nil, err
	}
	var list []candidate
	switch {
	case a.Within != nil && a.Candidates != nil:
		return nil, fmt.Errorf("%s: %d Candidates with Within, want one of them: candidates have a Within of their own", who, len(a.Candidates))
	case a.Within != nil:
		list = confined(a.Within, levels)
	case a.Candidates == nil:
		list = free(m)
	case len(a.Candidates) == 0:
		return nil, fmt.Errorf("%s: len(Candidates) = 0, want ≥ 1 (nil for the default)", who)
	case len(a.Candidates) > mostCandidates:
		return nil, fmt.Errorf("%s: len(Candidates) = %d, want ≤ %d", who, len(a.Candidates), mostCandidates)
	default:
		for i, c := range a.Candidates {
			if err := check.Given(who, fmt.Sprintf("Candidates[%d]", i), c); err != nil {
				return nil, err
			}
			list = append(list, candidate{method: c})
		}
	}
	k := &kernel{
		model: m, ctx: ctx,
		choice: choice{sites: sites, levels: levels, chains: chains, all: list, current: -1},
	}
	var refused []error
	for i := range k.all {
		c := &k.all[i]
		c.name = fingerprint.Name(c.method)
		if c.reason == "" {
			if err := k.hire(ctx, c); err != nil {
				if poll.Err(ctx) != nil {
					return nil, err
				}
				c.reason = err.Error()
			}
		}
		if c.reason != "" {
			refused = append(refused, fmt.Errorf("%s: %s", c.name, c.reason))
		} else if k.current < 0 {
			k.current = i
		}
	}
	if k.current < 0 {
		return nil, fmt.Errorf("%s: no candidate fits the model %T: %w", who, m, errors.Join(refused...))
	}
	for i, c := range k.all {
		if _, ok := sampler.As[sampler.Starter](c.kernel); ok {
			return &starting{k, i}, nil
		}
	}
	return k, nil
}

// mostCandidates bounds the number of candidates: more than these no warm-up tells
// apart.
const mostCandidates = 64
