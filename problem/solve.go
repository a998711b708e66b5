package problem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/projection/junction"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
)

// Config holds the settings of [Problem.Minimise], [Problem.Sample] and [Problem.Count]. The zero
// value is the recommended setting.
type Config struct {
	Seed uint64
	// Workers is the number of goroutines for chains and searches; 0 means GOMAXPROCS. Results do
	// not depend on it.
	Workers int

	// Rows is the largest number of states that Minimise returns, lowest energy first; 0 means 1.
	Rows int

	// Beta is the inverse temperature β of Sample, which draws from p(x) ∝ exp(−β·E(x)); 0 means 1.
	Beta float64

	// Bytes bounds the memory, in bytes, of the exact method that sums out one variable after
	// another (elimination); 0 means 1 GiB.
	Bytes int64

	// Search is the largest number of evaluations of the exact search. The same number limits the
	// local search, which improves states found by annealing or by an unfinished exact search. 0
	// means 2²⁶, and −1 turns both searches off.
	Search int

	// Penalty, if positive, allows required conditions to be violated if no exact method applies.
	// Chains then work on the energy plus Penalty times the violation of each required condition.
	// Every row of the result lists the conditions that it violates.
	Penalty float64

	// Steps is the length of one run of an approximate method. For annealing, it is the number of
	// steps of each run (0 means 1000). For ground.Search, it is the number of rounds (0 means
	// 200). For Markov chains, it is the number of steps between two draws (0 means 10).
	Steps int

	Chains int // number of parallel chains of annealing and of Sample; 0 means 16
}

// InfeasibleError reports that no state satisfies all required conditions.
type InfeasibleError struct{}

func (*InfeasibleError) Error() string {
	return "problem: no state meets all required conditions: loosen one, or make it a preference"
}

// Unwrap returns constraint.ErrInfeasible.
func (*InfeasibleError) Unwrap() error { return constraint.ErrInfeasible }

func (p *Problem) check(caller string, c *Config) error {
	switch {
	case p.err != nil:
		return p.err
	case len(p.vars) == 0:
		return fmt.Errorf("problem: %s: there are no variables", caller)
	case c.Rows < 0, c.Steps < 0, c.Chains < 0, c.Search < -1, c.Bytes < 0, c.Workers < 0:
		return fmt.Errorf("problem: %s: Config: Rows = %d, Steps = %d, Chains = %d, Bytes = %d, Workers = %d, want ≥ 0, and Search = %d ≥ −1", caller, c.Rows, c.Steps, c.Chains, c.Bytes, c.Workers, c.Search)
	case !check.Finite(c.Penalty) || c.Penalty < 0:
		return fmt.Errorf("problem: %s: Config: Penalty = %v, want ≥ 0 and finite", caller, c.Penalty)
	case !check.Finite(c.Beta) || c.Beta < 0:
		return fmt.Errorf("problem: %s: Config: Beta = %v, want ≥ 0 and finite", caller, c.Beta)
	}
	if c.Rows == 0 {
		c.Rows = 1
	}
	if c.Beta == 0 {
		c.Beta = 1
	}
	if c.Search == 0 {
		c.Search = 1 << 26
	}
	if c.Chains == 0 {
		c.Chains = 16
	}
	return nil
}

// distribution returns the exact distribution at the inverse temperature beta. The first of its
// sites are the variables of p, the others are counter variables. If its tables would be too large,
// d is nil and reason says why.
func (p *Problem) distribution(ctx context.Context, beta float64, c *Config) (d *junction.Distribution, sites int, reason, err error) {
	f, err := p.factors(ctx, beta, c.Bytes)
	if err != nil && ctx.Err() != nil {
		return nil, 0, nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, 0, err, nil // the tables of the conditions are too large
	}
	d, err = junction.New(ctx, f, junction.Config{Bytes: c.Bytes})
	var wide *energy.WidthError
	switch {
	case errors.As(err, &wide):
		return nil, 0, err, nil
	case err != nil && ctx.Err() != nil:
		return nil, 0, nil, err
	case err != nil: // the error means that a variable has no level of finite energy
		return nil, 0, nil, &InfeasibleError{}
	}
	return d, len(f.cards), nil, nil
}

// way says whether the search runs before or after elimination.
type way bool

const (
	before way = true // the search runs before elimination because there are few states
	after  way = false
)

// search reports whether to run the search at the point w: before elimination if there are few
// states, after it otherwise. It returns false if the search is turned off. It also returns false
// for very many states without required conditions, which would narrow the search.
func (p *Problem) search(c *Config, w way) bool {
	states := 1.0
	for i := range p.vars {
		states *= float64(len(p.vars[i].values))
	}
	if few := states <= 1<<14; c.Search < 0 || few != bool(w) {
		return false
	}
	return len(p.required) > 0 || states <= 1<<22
}

// Count returns the number of feasible states. The result is exact up to 2⁴⁰; a larger number has a
// relative error of about 10⁻¹². Count returns the error stored in the problem, if any (see
// [Problem.Err]). If neither elimination nor search can count the states, it returns an error that
// wraps the reasons.
func (p *Problem) Count(ctx context.Context, c Config) (float64, error) {
	if err := p.check("Count", &c); err != nil {
		return 0, err
	}
	if p.search(&c, before) {
		if n, err := p.list(ctx, &c); !errors.Is(err, errEffort) {
			return n, err
		}
	}
	d, _, reason, err := p.distribution(ctx, 0, &c)
	if errors.Is(err, constraint.ErrInfeasible) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if reason == nil {
		n, infeasible, err := p.count(ctx, d)
		if infeasible {
			return 0, nil
		}
		return n, err
	}
	if p.search(&c, after) {
		n, err := p.list(ctx, &c)
		if !errors.Is(err, errEffort) {
			return n, err
		}
		reason = fmt.Errorf("%w; %w after %g states", reason, err, n)
	}
	return 0, fmt.Errorf("problem: Count: no exact way: %w", reason)
}

// list counts the feasible states by enumerating them.
func (p *Problem) list(ctx context.Context, c *Config) (n float64, err error) {
	err = p.newSearch(ctx, c.Search).run(func([]int32) bool { n++; return true })
	return n, err
}

func (p *Problem) count(ctx context.Context, d *junction.Distribution) (n float64, infeasible bool, err error) {
	logZ, err := d.LogZ(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return 0, false, err
		}
		return 0, true, nil
	}
	if n = math.Exp(logZ); n < 1<<40 {
		n = math.Round(n)
	}
	return n, false, nil
}

// Minimise returns the feasible states of lowest energy: Config.Rows of them, or all if there are
// fewer. If no exact method applies, it finds states by annealing or by an unfinished search, and
// improves them by local search. The field Exact of the set is then false, unless Config.Rows is 1
// and a bound (see [ground.Bound]) proves the row optimal.
//
// Minimise returns an *[InfeasibleError] if no state is feasible. A problem with required
// conditions can be annealed only if Config.Penalty > 0. With Penalty = 0, Minimise returns an
// error if no exact method applies and the search finds no feasible state. The error wraps the
// reasons why no exact method applies.
func (p *Problem) Minimise(ctx context.Context, c Config) (*SampleSet, error) {
	if err := p.check("Minimise", &c); err != nil {
		return nil, err
	}
	s := p.set()
	if p.search(&c, before) {
		if done, err := p.searchBest(ctx, &c, s); err != nil || done {
			return answer(s, err)
		}
	}
	d, sites, reason, err := p.distribution(ctx, 1, &c)
	if err != nil {
		return nil, err
	}
	if reason == nil {
		s.Rows = nil // discard the rows of an unfinished search
		if _, infeasible, err := p.count(ctx, d); err != nil || infeasible {
			return nil, cmp.Or(err, error(&InfeasibleError{}))
		}
		x, e, err := d.Best(ctx, c.Rows)
		if err != nil {
			return nil, err
		}
		for k := range e {
			s.add(x[k*sites:k*sites+len(p.vars)], 1)
		}
		s.Exact, s.Method = true, "elimination"
		return s, nil
	}
	if p.search(&c, after) {
		done, err := p.searchBest(ctx, &c, s)
		if err != nil || done {
			return answer(s, err)
		}
		reason = fmt.Errorf("%w; %w", reason, errEffort)
	}
	if len(p.required) > 0 && c.Penalty == 0 {
		if len(s.Rows) > 0 { // rows that the unfinished search has found
			s.Method = "search, not finished, and neighbourhoods"
			return answer(s, p.neighbourhoods(ctx, &c, s))
		}
		return nil, fmt.Errorf("problem: Minimise: no exact way, and no Config.Penalty, which is what a violation costs in annealing: %w", reason)
	}
	if err := p.anneal(ctx, &c, s); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.Rows, func(a, b Row) int { // sort feasible states first
		return cmp.Compare(s.broken(a), s.broken(b))
	})
	s.Rows = s.Rows[:min(len(s.Rows), c.Rows)]
	if c.Search > 0 && !s.Exact && s.Rows[0].feasible {
		s.Method += " and neighbourhoods"
		return answer(s, p.neighbourhoods(ctx, &c, s))
	}
	return s, nil
}

// answer returns s and nil, or nil and err if err is not nil.
func answer(s *SampleSet, err error) (*SampleSet, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// searchBest fills s with the best states that the search finds. done reports whether the search
// was complete, so that they are the best of all.
func (p *Problem) searchBest(ctx context.Context, c *Config, s *SampleSet) (done bool, err error) {
	best := newLeaders(c.Rows)
	search := p.newSearch(ctx, c.Search)
	search.bounded(best.limit)
	err = search.run(func(x []int32) bool {
		best.offer(x, p.energy(x))
		return true
	})
	if err != nil && !errors.Is(err, errEffort) {
		return false, err
	}
	best.rows(s)
	if err != nil {
		return false, nil
	}
	if len(best.heap) == 0 {
		return true, &InfeasibleError{}
	}
	s.Exact, s.Method = true, "search"
	return true, nil
}

// mostProven is the largest number of products of two variables for which a bound is computed.
// Beyond it a bound takes seconds.
const mostProven = 1 << 13

// without returns the problem in which the variables with fixed[i] ≥ 0 have that level. at maps the
// variables of the remaining problem to those of p. The conditions of p are omitted.
func (p *Problem) without(fixed []int32) (rest *Problem, at []int) {
	rest = New()
	of := make([]int, len(p.vars))
	for i, l := range fixed {
		if l < 0 {
			of[i] = len(at)
			at = append(at, i)
			rest.variable(p.vars[i])
		}
	}
	for _, t := range p.objective {
		left := term{c: t.c}
		for _, f := range t.f {
			if l := fixed[f.v]; l >= 0 {
				left.c *= f.u[l]
			} else {
				left.f = append(left.f, factor{of[f.v], f.u})
			}
		}
		rest.objective = append(rest.objective, left)
	}
	rest.objective = simplify(rest.objective)
	return rest, at
}

// complete adds to s the state that combines the levels fixed by bound with the best levels of the
// remaining variables. bound fixes levels that every state of lowest energy has. rest and at are
// the remaining problem and its variables, from [Problem.without].
func (p *Problem) complete(ctx context.Context, c *Config, s *SampleSet, rest *Problem, at []int, bound *ground.Certificate) error {
	x := slices.Clone(bound.Fixed)
	s.Exact = true
	if s.Method = "roof duality"; len(at) > 0 {
		best, err := rest.Minimise(ctx, *c)
		if err != nil {
			return err
		}
		for k, i := range at {
			x[i] = best.Rows[0].Levels[k]
		}
		s.Exact = best.Exact || bound.Proves(x)
		s.Method += ", " + best.Method
	}
	s.add(x, 1)
	return nil
}

// anneal adds to s the best state found by ground.Search or, for a model that is not quadratic, by
// annealing independent chains.
func (p *Problem) anneal(ctx context.Context, c *Config, s *SampleSet) error {
	m, err := p.model(ctx, c.Penalty)
	if err != nil {
		return err
	}
	steps := c.Steps
	if q, ok := energy.As[ground.Pairwise](m); ok {
		if _, adj, _, _, ok := q.Pairs(); ok {
			var bound *ground.Certificate
			if c.Rows == 1 && len(adj) <= 2*mostProven {
				if bound, err = ground.Bound(ctx, m); err != nil {
					return err
				}
				if rest, at := p.without(bound.Fixed); len(at) < len(p.vars) {
					return p.complete(ctx, c, s, rest, at, bound)
				}
			}
			g, err := ground.New(m, ground.Config{Seed: c.Seed, Workers: c.Workers})
			if err != nil {
				return err
			}
			if steps == 0 {
				steps = 200
			}
			if err := g.Run(ctx, steps); err != nil {
				return err
			}
			x, _ := g.Best()
			s.add(x, 1)
			s.Method = "ground.Search"
			if bound != nil && bound.Proves(x) {
				s.Exact = true
				s.Method += ", proven by " + bound.Method
			}
			return nil
		}
	}
	if steps == 0 {
		steps = 1000
	}
	cfg := anneal.Config{Chains: c.Chains, Seed: c.Seed, Workers: c.Workers}
	a, err := anneal.New(ctx, m, mcmc.Gibbs{}, cfg)
	if err != nil {
		return err
	}
	if err := a.Run(ctx, steps); err != nil {
		return err
	}
	x, _ := a.Best()
	s.add(x, 1)
	s.Method = "annealing"
	return nil
}

// Sample returns n draws from p(x) ∝ exp(−β·E(x)) on the feasible states, where β is Config.Beta;
// equal draws share one row. If the field Exact of the set is true, the draws are independent.
// Otherwise they come from Markov chains, by a method that package auto chooses. Summary and
// Warnings of the set then show how far the draws can be trusted.
//
// Sample returns an *[InfeasibleError] if no state is feasible. If no exact method applies,
// required conditions need a Config.Penalty. Without it, the error wraps the reasons why no exact
// method applies.
func (p *Problem) Sample(ctx context.Context, n int, c Config) (*SampleSet, error) {
	if err := p.check("Sample", &c); err != nil {
		return nil, err
	}
	if n < 1 || n > math.MaxInt32 {
		return nil, fmt.Errorf("problem: Sample: n = %d, want 1 … %d", n, math.MaxInt32)
	}
	s := p.set()
	if p.search(&c, before) {
		if done, err := p.drawListed(ctx, n, &c, s); err != nil || done {
			return answer(s, err)
		}
	}
	d, sites, reason, err := p.distribution(ctx, c.Beta, &c)
	if err != nil {
		return nil, err
	}
	if reason == nil {
		return answer(s, p.draw(ctx, d, sites, n, &c, s))
	}
	if p.search(&c, after) {
		done, err := p.drawListed(ctx, n, &c, s)
		if err != nil || done {
			return answer(s, err)
		}
		reason = fmt.Errorf("%w; %w", reason, errEffort)
	}
	if len(p.required) > 0 && c.Penalty == 0 {
		return nil, fmt.Errorf("problem: Sample: no exact way, and no Config.Penalty, which is what a violation costs in chains: %w", reason)
	}
	return answer(s, p.chains(ctx, n, &c, s))
}

// draw fills s with n independent draws from the exact distribution d, which elimination computed.
// d has the given number of sites, of which the first are the variables of p.
func (p *Problem) draw(ctx context.Context, d *junction.Distribution, sites, n int, c *Config, s *SampleSet) error {
	if _, infeasible, err := p.count(ctx, d); err != nil || infeasible {
		return cmp.Or(err, error(&InfeasibleError{}))
	}
	const batch = 1 << 10
	distinct := batch
	for from := 0; from < n; from += batch {
		if ctx.Err() != nil { // Sample polls after more work than that of a batch
			return context.Cause(ctx)
		}
		if len(s.Rows) > 2*distinct { // merge equal draws
			s.aggregate()
			distinct = max(batch, len(s.Rows))
		}
		src := make([]rand.Source, min(batch, n-from))
		for i := range src {
			src[i] = sampler.NewStream(c.Seed, uint64(from+i))
		}
		x := make([]int32, len(src)*sites)
		if err := d.Sample(ctx, x, src); err != nil {
			return err
		}
		for i := range src {
			s.add(x[i*sites:i*sites+len(p.vars)], 1)
		}
	}
	s.Exact, s.Method = true, "elimination"
	s.aggregate()
	return nil
}

// maxListed is the largest number of feasible states that drawListed enumerates, and
// maxListedLevels the largest number of levels in them.
const (
	maxListed       = 1 << 20
	maxListedLevels = 1 << 26
)

// drawListed enumerates the feasible states and fills s with n independent draws from them. done is
// false if there are too many states.
func (p *Problem) drawListed(ctx context.Context, n int, c *Config, s *SampleSet) (done bool, err error) {
	var states []int32
	var w []float64
	many := false
	err = p.newSearch(ctx, c.Search).run(func(x []int32) bool {
		if many = len(w) == maxListed || len(states)+len(x) > maxListedLevels; many {
			return false
		}
		states, w = append(states, x...), append(w, p.energy(x))
		return true
	})
	switch {
	case errors.Is(err, errEffort) || many:
		return false, nil
	case err != nil:
		return false, err
	case len(w) == 0:
		return true, &InfeasibleError{}
	}
	least := slices.Min(w)
	total := 0.0
	for i, e := range w {
		total += math.Exp(-float64(c.Beta * (e - least)))
		w[i] = total
	}
	sites := len(p.vars)
	occurrences := make([]int, len(w))
	for i := range n {
		if i%1024 == 0 && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		r := sampler.NewStream(c.Seed, uint64(i))
		k, _ := slices.BinarySearch(w, r.Float64()*total)
		for k > 0 && k < len(w) && w[k] == w[k-1] {
			k-- // skip states of weight 0
		}
		occurrences[min(k, len(w)-1)]++
	}
	for k, n := range occurrences {
		if n > 0 {
			s.add(states[k*sites:(k+1)*sites], n)
		}
	}
	s.Exact, s.Method = true, "search"
	s.aggregate()
	return true, nil
}

// chains fills s with n draws of Markov chains and adds their diagnostics.
func (p *Problem) chains(ctx context.Context, n int, c *Config, s *SampleSet) error {
	m, err := p.model(ctx, c.Penalty)
	if err != nil {
		return err
	}
	target, err := energy.Scale(m, c.Beta)
	if err != nil {
		return err
	}
	thin := c.Steps
	if thin == 0 {
		thin = 10
	}
	chains := min(c.Chains, n)
	trace := diagnose.NewTrace()
	made := make([][]int32, chains)
	cfg := sampler.Config{Chains: chains, Seed: c.Seed, Workers: c.Workers, Thin: thin}
	cfg.Observe = func(chain, draw int, x []int32, info *sampler.Info) {
		trace.Observe(chain, draw, x, info)
		made[chain] = append(made[chain], x...)
	}
	ch, err := sampler.NewChains(ctx, target, auto.Method{}, cfg)
	if err != nil {
		return err
	}
	each := (n + chains - 1) / chains
	if err := ch.Run(ctx, each); err != nil {
		return err
	}
	sites, left := len(p.vars), n
	for k := range each {
		for i := range made {
			if left > 0 {
				s.add(made[i][k*sites:(k+1)*sites], 1)
				left--
			}
		}
	}
	summary := trace.Summary()
	s.Summary, s.Method = &summary, "chains"
	s.Warnings = append(summary.Warnings(), ch.Warnings()...)
	s.aggregate()
	return nil
}
