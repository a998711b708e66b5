package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
)

// Method tries several sampling methods (the candidates) during warm-up and keeps one of them. The
// zero value chooses among the methods of packages mcmc, cluster and momentum that fit the model.
// [Reports] lists the results. Checkpoints save the choice.
//
// # Warm-up
//
// The first three tenths of warm-up are tuning. Each candidate moves the chains in turn, and tunes
// itself on its own steps. The next six tenths are three rounds of trials on the same chains.
// Candidates far behind drop out. The second round has at most half of the candidates, or three if
// that is more. The third round has at most two. The winner moves the chains from then on, with the
// step size that it found.
//
// A candidate needs at least sixty steps of warm-up. If warm-up is too short for all candidates,
// the last ones are not tried. If fewer than two could be tried, the first candidate moves the
// chains, and the Warnings of the chains report this.
//
// Each block of chains (see sampler.Config.Block) makes its own choice. The choice is more reliable
// if a block has many chains.
//
// # Criterion
//
// The winner has the smallest τ·cost, where cost is the cost of a step (see the package doc) and τ
// is the number of steps per effective draw. This τ is the largest of the following: the τ of the
// energy, the τ of the number of sites at each level, and the mean τ of eight fixed random
// projections of the state. For a function of the state,
//
//	τ = 1 + 2 Σ_t ρ_t,  ρ_t = 1 − V_t/(2σ²).
//
// Here V_t is the mean square of the function's change over t steps, and σ² is the variance of the
// function over all chains and candidates. The sum is computed up to the first negligible ρ_t or
// the longest recorded t. An exponential function of t extrapolates the rest.
//
// # Limits
//
// Let n be the number of draws in the trials, a few hundred per block. Trials do not find a mode
// whose probability is below 1/n. In a weak field below the critical temperature, a heat bath may
// win although only SwendsenWang moves between the modes. Then make SwendsenWang the only
// candidate.
//
// Candidates must reach all states; trials cannot check this.
type Method struct {
	// Candidates are the methods to try, in order of preference. A candidate is tried if it fits
	// the model and its kernel is sampler.Costed, as all kernels of the library are. Otherwise
	// [Reports] gives the reason. If no candidate remains, Kernel returns the errors of all
	// candidates.
	//
	// If Candidates and Within are nil, the candidates are, in this order,
	//
	//   - mcmc.Gibbs and DMALA,
	//   - mcmc.BlockGibbs (models of two layers),
	//   - mcmc.Subgraph (sparse graphs),
	//   - mcmc.Tempering of Gibbs (two-level pair models with couplings of both signs),
	//   - cluster.SwendsenWang and Wolff,
	//   - mcmc.LocallyBalanced, Paths and DLMC,
	//   - momentum.DHAMS and PDHAMS,
	//   - mcmc.Metropolis.
	Candidates []sampler.Method

	// Within is a language (package constraint) of the allowed states; nil means that all states
	// are allowed. If it is set, Candidates must be nil. The candidates are then, in this order,
	//
	//   - mcmc.DMALA,
	//   - mcmc.PairGibbs, if Within is a constraint.Count,
	//   - mcmc.Swap, if Within is a constraint.Count that fixes the count on two levels, without a
	//     constraint.Mask.
	Within constraint.Automaton
}

// Name returns "auto"; it implements [sampler.Named].
func (Method) Name() string { return "auto" }

// Kernel returns a new kernel that moves the given number of chains. It implements [sampler.Method].
func (a Method) Kernel(ctx context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	const who = "auto: Method"
	sites, levels, err := check.Shape(who, m, chains, sampler.BlockSize)
	if err = cmp.Or(err,
		check.Optional(who, "Within", a.Within),
		check.If(a.Within != nil && a.Candidates != nil, "%s: Within is set, and so are %d Candidates, want one of the two: set Within in each candidate", who, len(a.Candidates)),
		check.If(a.Candidates != nil && len(a.Candidates) == 0, "%s: len(Candidates) = 0, want ≥ 1 (nil for the default)", who),
		check.If(len(a.Candidates) > mostCandidates, "%s: len(Candidates) = %d, want ≤ %d", who, len(a.Candidates), mostCandidates),
	); err != nil {
		return nil, err
	}
	var list []candidate
	switch {
	case a.Within != nil:
		list = confined(a.Within, levels)
	case a.Candidates == nil:
		list = free(m)
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
			if err := k.build(ctx, c); err != nil {
				if poll.Err(ctx) != nil {
					return nil, err
				}
				c.reason = err.Error()
			}
		}
		if c.reason != "" {
			which := c.name
			if a.Candidates != nil {
				which = fmt.Sprintf("Candidates[%d]", i)
			}
			refused = append(refused, fmt.Errorf("%s: %s", which, c.reason))
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

// mostCandidates is the maximum number of candidates. No warm-up can distinguish more.
const mostCandidates = 64

// mostFactored is the maximum number of sites for which PDHAMS is a candidate. Its Cholesky
// factor takes sites³ operations.
const mostFactored = 512

// Subgraph is a candidate if forests contain most of the sites. This requires at most
// sparseDegree neighbours per site on average and at least sparseSites sites.
const (
	sparseDegree = 3.5 // maximum mean number of neighbours for which Subgraph is a candidate
	sparseSites  = 64  // minimum number of sites for which Subgraph is a candidate
)

// sparse reports whether m is large and sparse enough for Subgraph.
func sparse(m energy.Model) bool {
	sites, _ := m.Shape()
	g, ok := energy.As[energy.Graphical](m)
	if !ok || sites < sparseSites {
		return false
	}
	_, adj := g.Graph()
	return float64(len(adj)) <= float64(sparseDegree*float64(sites))
}

// frustrated reports whether m is a two-level model of pairs with couplings of both signs. Such
// models can have many modes with barriers between them.
func frustrated(m energy.Model) bool {
	p, ok := energy.As[energy.Pairwise](m)
	if _, levels := m.Shape(); !ok || levels != 2 {
		return false
	}
	_, _, weight, _, ok := p.Pairs()
	return ok && len(weight) > 0 && slices.Min(weight) < 0 && slices.Max(weight) > 0
}

// free returns the default candidates for a model whose states are not confined to a language. A
// candidate that does not suit the model gets a reason.
func free(m energy.Model) []candidate {
	tempering := candidate{method: mcmc.Tempering{Base: mcmc.Gibbs{}}}
	if !frustrated(m) {
		tempering.reason = "its ladder is for barriers between many modes; want a model of pairs of two levels with couplings of both signs"
	}
	subgraph := candidate{method: mcmc.Subgraph{}}
	if !sparse(m) {
		subgraph.reason = "its sets have most of the sites of sparse graphs only; want a graph of at least 64 sites with at most 3.5 neighbours on average"
	}
	wolff, factored := candidate{method: cluster.Wolff{}}, candidate{method: momentum.PDHAMS{}}
	if g, ok := energy.As[energy.Matching](m); ok {
		if _, field, ok := g.Matching(); ok && len(field) > 0 && slices.Min(field) != slices.Max(field) {
			wolff.reason = "a field rejects its clusters; SwendsenWang draws them by it"
		}
	}
	if sites, _ := m.Shape(); sites > mostFactored {
		factored.reason = "the factor of its curvature takes sites³ operations; want at most 512 sites"
	}
	return []candidate{
		{method: mcmc.Gibbs{}},
		{method: mcmc.DMALA{}},
		{method: mcmc.BlockGibbs{}},
		subgraph,
		tempering,
		{method: cluster.SwendsenWang{}},
		wolff,
		{method: mcmc.LocallyBalanced{}},
		{method: mcmc.Paths{}},
		{method: mcmc.DLMC{}},
		{method: momentum.DHAMS{}},
		factored,
		{method: mcmc.Metropolis{}},
	}
}

// confined returns the candidates for states confined to language a. A candidate that does not
// suit the language gets a reason.
func confined(a constraint.Automaton, levels int) []candidate {
	list := []candidate{
		{method: mcmc.DMALA{Within: a}},
		{method: mcmc.PairGibbs{Within: a}},
		{method: mcmc.Swap{Within: a}},
	}
	rest, mask := constraint.Split(a)
	c, ok := rest.(constraint.Counting)
	if !ok {
		list[1].reason = "changes of two sites may not lead everywhere in a language that is no count"
		list[2].reason = "exchanges may not lead everywhere in a language that is no count"
		return list
	}
	if _, least, most := c.Counts(); levels != 2 || least != most || mask != nil {
		list[2].reason = "exchanges keep how often each level occurs, which the language leaves open, or a mask forbids some"
	}
	return list
}

// Report describes the choice that [Method] made for one block of chains (see
// [sampler.Config.Block]).
type Report struct {
	// Chosen is the index in Candidates of the method that moves the chains, or −1 during the
	// trials.
	Chosen     int
	Candidates []Candidate
}

// String returns a list of the candidates, one per line. An asterisk marks the chosen one.
func (r Report) String() string {
	var b strings.Builder
	for i, c := range r.Candidates {
		mark := ' '
		if i == r.Chosen {
			mark = '*'
		}
		switch {
		case c.Left != "":
			fmt.Fprintf(&b, "%c %s: not tried: %s\n", mark, c.Name, c.Left)
		case c.Rate() > 0:
			fmt.Fprintf(&b, "%c %s: %.3g effective draws per counted second\n", mark, c.Name, c.Rate())
		default:
			fmt.Fprintf(&b, "%c %s: unknown\n", mark, c.Name)
		}
	}
	return b.String()
}

// Candidate is one of the methods in a [Report].
type Candidate struct {
	Method sampler.Method
	Name   string // name of the method, as in checkpoints

	// Left states why the candidate was not tried: the error of its Kernel, or a warm-up that was
	// too short. It is empty if the candidate was tried.
	Left string

	Steps int     // number of steps in trials, from which Cost and Time are computed
	Cost  float64 // cost of a step of one chain, roughly in nanoseconds; estimated from counts, not measured
	Time  float64 // τ, the number of steps per effectively independent draw; 0 if unknown
}

// Rate estimates how many effectively independent draws one core makes per second,
//
//	10⁹/(Cost·Time),
//
// or 0 if the candidate was not tried or Time is unknown. No clock is read: Cost is computed from
// counts of operations.
func (c Candidate) Rate() float64 {
	if c.Steps == 0 || !(c.Cost > 0) || !(c.Time > 0) {
		return 0
	}
	return 1e9 / float64(c.Cost*c.Time)
}

// Reports returns the report of every block of chains (see [sampler.Config.Block]), or nil if the
// chains do not use [Method].
func Reports(c *sampler.Chains) []Report {
	if c == nil {
		return nil
	}
	var l []Report
	for _, made := range c.Kernels() {
		if k, ok := sampler.As[reporter](made); ok {
			l = append(l, k.report())
		}
	}
	return l
}

// reporter is implemented by the kernels of [Method].
type reporter interface{ report() Report }

func (k *kernel) report() Report {
	r := Report{Chosen: -1}
	if k.phase == decided {
		r.Chosen = k.current
	}
	for i := range k.all {
		c := &k.all[i]
		t := Candidate{Method: c.method, Name: c.name, Left: c.reason, Steps: c.steps, Time: c.time}
		if c.steps > 0 {
			t.Cost = c.cost / float64(c.steps)
		}
		r.Candidates = append(r.Candidates, t)
	}
	return r
}
