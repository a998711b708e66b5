package prior

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Path is a hidden Markov model restricted to a language. A Path is written as a struct literal.
// Compile makes a [Conditional] for direct use. Bind makes one for a runner such as package
// sampler/diffusion.
type Path struct {
	HMM HMM

	// Language is the set of allowed sequences. Only sequences of the length given to Compile
	// matter. The language must be a finite automaton.
	Language constraint.Language

	// Name is the name of the language in errors. The default is the name of the language's type.
	Name string

	// Limit bounds the size of the dynamic program, which is sites × hidden states × automaton
	// states. It also bounds sites × the size of the automaton's table. 0 means 2²⁴.
	Limit int
}

const defaultLimit = 1 << 24

// Bind compiles the path for samples with the given numbers of sites and levels. The result is a
// *[Conditional]. Bind returns the errors of [Path.Compile], and an error if samples < 1.
func (p Path) Bind(ctx context.Context, sites, levels, samples int) (projection.Projection, error) {
	if samples < 1 {
		return nil, fmt.Errorf("prior: Path: samples = %d, want ≥ 1", samples)
	}
	c, err := p.Compile(ctx, sites, levels)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Compile compiles the path for sequences of the given number of sites (tokens). Levels beyond the
// tokens of the model, for instance a mask token, have probability zero.
//
// The error wraps [constraint.ErrInfeasible] if no sequence of that length is both in the language
// and possible under the model. It is a *[constraint.LimitError] if the automaton or the dynamic
// program is too large. Other errors name a field that is out of range or wrap the cause of ctx.
func (p Path) Compile(ctx context.Context, sites, levels int) (*Conditional, error) {
	h, k, err := p.check(sites, levels)
	if err != nil {
		return nil, err
	}
	limit := p.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	rest, mask := constraint.Split(p.Language)
	table, err := automata.Explore(ctx, rest, k, func(states, entries int) error {
		if n := max(entries, states*h); n > limit/sites {
			return &constraint.LimitError{What: "prior.Path: numbers per site (at most Limit / sites)", Value: n, Bound: limit / sites}
		}
		return nil
	})
	if err == nil {
		table, err = automata.Minimal(ctx, table)
	}
	name := p.Name
	if name == "" {
		name = automata.Name(p.Language)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("prior: %s: %w", name, err)
	case table == nil:
		return nil, &projection.InfeasibleError{Constraint: name, Site: 0}
	}
	c := &Conditional{program: program{
		name: name, table: table, mask: mask, sites: sites, levels: levels, h: h, k: k, q: table.States(),
	}}
	c.fill(p.HMM)
	_, err = c.LogZ(ctx, nil)
	return c, err
}

// check checks the recipe and returns the numbers of hidden states and of tokens.
func (p Path) check(sites, levels int) (h, k int, err error) {
	h = len(p.HMM.Start)
	switch {
	case p.Language == nil:
		return 0, 0, fmt.Errorf("prior: Path: Language is nil")
	case p.Limit < 0:
		return 0, 0, fmt.Errorf("prior: Path: Limit = %d, want ≥ 0", p.Limit)
	case sites < 1:
		return 0, 0, fmt.Errorf("prior: Path: sites = %d, want ≥ 1", sites)
	case h == 0:
		return 0, 0, fmt.Errorf("prior: Path: len(HMM.Start) = 0, want ≥ 1")
	case len(p.HMM.Trans) != h*h:
		return 0, 0, fmt.Errorf("prior: Path: len(HMM.Trans) = %d, want %d", len(p.HMM.Trans), h*h)
	case len(p.HMM.Emit) == 0 || len(p.HMM.Emit)%h != 0:
		return 0, 0, fmt.Errorf("prior: Path: len(HMM.Emit) = %d, want a positive multiple of %d", len(p.HMM.Emit), h)
	}
	k = len(p.HMM.Emit) / h
	if levels < k {
		return 0, 0, fmt.Errorf("prior: Path: levels = %d, want ≥ %d, the tokens of the model", levels, k)
	}
	for _, t := range []struct {
		name string
		p    []float64
		row  int
	}{{"HMM.Start", p.HMM.Start, h}, {"HMM.Trans", p.HMM.Trans, h}, {"HMM.Emit", p.HMM.Emit, k}} {
		if err := check.Probabilities("prior", "Path", t.name, t.p, t.row); err != nil {
			return 0, 0, err
		}
	}
	return h, k, nil
}

// HMM is a hidden Markov model of tokens 0 … k−1 with h hidden states,
//
//	p(x) = Σ_z start(z_0)·emit(z_0; x_0)·∏_{i≥1} trans(z_{i−1}; z_i)·emit(z_i; x_i),
//
// where z_i is the hidden state at site i. The numbers start, trans and emit are entries of the
// fields Start, Trans and Emit.
type HMM struct {
	Start []float64 // initial probabilities of the h hidden states
	Trans []float64 // transition probabilities, h × h, one row per hidden state
	Emit  []float64 // token probabilities, h × k, one row per hidden state
}

// Markov returns a Markov chain of order 1 as an HMM whose hidden state is the token. The slice
// start holds k probabilities, and trans is a k × k table with one row of probabilities per
// token.
func Markov(start, trans []float64) HMM {
	k := len(start)
	emit := make([]float64, k*k)
	for l := range k {
		emit[l*k+l] = 1
	}
	return HMM{Start: start, Trans: trans, Emit: emit}
}
