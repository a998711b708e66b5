package junction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
)

// Factored is a model whose energy is a sum of tables over a few variables each. It is the part of
// energy.Factored that this package needs.
//
// Variable i has cards[i] levels. The first variables are the sites, and any others are hidden.
// Table k holds energies in nats, possibly +Inf, for the variables scopes[k]; the last variable of
// a scope varies fastest. The weight exp(−E(x)) of a state x is
//
//	Σ_h exp(−Σ_k tables[k][…]),
//
// where h runs over the values of the hidden variables, and tables[k] is taken at the values of the
// variables scopes[k] in (x, h). The result ok is false if the model has no factors.
type Factored interface {
	Shape() (sites, levels int)
	Factors() (cards []int32, scopes [][]int32, tables [][]float64, ok bool)
}

// Config holds the settings of [New]. The zero value is the recommended setting.
type Config struct {
	// Bytes is the largest amount of memory for stored tables, in bytes; 0 means 1 GiB. Marginals
	// need up to the same amount again. Tables beyond the limit are not stored. They are computed
	// again whenever they are needed.
	Bytes int64

	// Within restricts the states to a language; nil allows all states. The language reads the
	// sites in the order of their numbers, so the state of its automaton between two sites becomes
	// an additional variable. Number neighbouring sites of the graph consecutively where possible.
	// The size of the largest table is then multiplied only by about the square of the number of
	// automaton states in use at a site.
	Within constraint.Language
}

// Distribution is the distribution p(x) = exp(−E(x))/Z of a model, restricted to the language
// Config.Within if that is set. It is safe for concurrent use; concurrent calls run one after
// another.
type Distribution struct {
	sites, levels int
	hidden        int // number of hidden units, numbered from sites on; states of a language follow
	bytes         int64
	cards         []int32 // numbers of levels of the model's variables
	scopes        [][]int32
	reduced       *elimination.Reduced
	plan          *elimination.Plan

	mu    sync.Mutex
	run   *elimination.Run
	ready bool // whether run is prepared for draws
	best  *elimination.Run
}

// New returns the distribution of a model. It searches for an order of summation and does not
// compute any tables yet.
//
// New returns an error in these cases:
//
//   - m is nil or has no factors, or c.Bytes < 0;
//   - a site has no level of finite energy;
//   - the language Config.Within contains no state of the model (the error wraps
//     constraint.ErrInfeasible) or is too large (a constraint.LimitError);
//   - the tables would not fit (a *[energy.WidthError]);
//   - ctx ends (the error of ctx).
func New(ctx context.Context, m Factored, c Config) (*Distribution, error) {
	if check.Nil(m) {
		return nil, errors.New("junction: New: m is nil")
	}
	if c.Bytes < 0 {
		return nil, fmt.Errorf("junction: New: Config: Bytes = %d, want ≥ 0", c.Bytes)
	}
	cards, scopes, tables, ok := m.Factors()
	if !ok {
		return nil, fmt.Errorf("junction: New: %T has no factors, want some: a sum has them if every part has them and none changes, a multiple if no part has hidden units", m)
	}
	d := &Distribution{bytes: c.Bytes, cards: cards, scopes: scopes}
	d.sites, d.levels = m.Shape()
	d.hidden = len(cards) - d.sites
	var err error
	if !check.Nil(c.Within) {
		if tables, err = d.within(ctx, c.Within, tables); err != nil {
			return nil, err
		}
	}
	if d.reduced, err = elimination.Reduce(d.cards, d.scopes, tables); err != nil {
		return nil, fmt.Errorf("junction: New: %w", err)
	}
	if d.plan, err = d.compile(ctx, d.reduced.Scopes, nil); err != nil {
		return nil, fmt.Errorf("junction: New: %w", err)
	}
	d.run = d.plan.NewRun()
	return d, nil
}

// within adds one variable per site, for the state of the language after that site. It also adds
// tables that encode the language's transitions.
func (d *Distribution) within(ctx context.Context, a constraint.Language, tables [][]float64) ([][]float64, error) {
	g, err := trellis.Unroll(ctx, "junction: New: Within", a, d.sites, d.levels)
	if err != nil {
		return nil, err
	}
	d.cards, d.scopes, tables = slices.Clone(d.cards), slices.Clone(d.scopes), slices.Clone(tables)
	from := []int{g.Start()}
	first := int32(len(d.cards))
	for i := range d.sites {
		card := int(d.cards[i])
		number, to := map[int]int{}, []int(nil) // of the states after the site
		for _, q := range from {
			for l := range card {
				if next := g.Next(q, int32(l)); next >= 0 {
					if _, met := number[next]; !met {
						number[next] = len(to)
						to = append(to, next)
					}
				}
			}
		}
		if len(to) == 0 {
			return nil, fmt.Errorf("junction: New: Within: no level of site %d that the model has is allowed: %w", i, constraint.ErrInfeasible)
		}
		if size := float64(len(from)) * float64(card) * float64(len(to)); size > 1<<26 {
			return nil, fmt.Errorf("junction: New: Within: the language has %d states before site %d and %d after it, want ≤ 2^26 moves", len(from), i, len(to))
		}
		table := slices.Repeat([]float64{math.Inf(1)}, len(from)*card*len(to))
		for k, q := range from {
			for l := range card {
				if next := g.Next(q, int32(l)); next >= 0 {
					table[(k*card+l)*len(to)+number[next]] = 0
				}
			}
		}
		scope := []int32{int32(i), first + int32(i)}
		if i > 0 {
			scope = append([]int32{first + int32(i) - 1}, scope...)
		}
		d.cards, d.scopes, tables = append(d.cards, int32(len(to))), append(d.scopes, scope), append(tables, table)
		from = to
	}
	return tables, nil
}

func (d *Distribution) compile(ctx context.Context, scopes [][]int32, late []bool) (*elimination.Plan, error) {
	return elimination.New(ctx, d.reduced.Cards, scopes, elimination.Options{Bytes: d.bytes, Late: late})
}

// Width returns log₂ of the number of entries of the largest table that the summation needs.
func (d *Distribution) Width() float64 { return d.plan.Width }

// Bytes returns the memory, in bytes, that the tables need for marginals and draws.
func (d *Distribution) Bytes() int64 { return d.plan.Bytes() }

// LogZ returns log Z = log Σ_x exp(−E(x)). It returns an error if every state has energy +Inf, or
// the error of ctx.
func (d *Distribution) LogZ(ctx context.Context) (float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = false
	logZ, err := d.run.Sum(ctx, d.reduced.Tables)
	return logZ, wrap("LogZ", err)
}

func wrap(caller string, err error) error {
	if err != nil {
		return fmt.Errorf("junction: %s: %w", caller, err)
	}
	return nil
}

// Marginals returns log Z and, in p (sites × levels), the probabilities of the levels of each site.
// It returns the same errors as [Distribution.LogZ].
func (d *Distribution) Marginals(ctx context.Context) (p []float64, logZ float64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = false
	p = make([]float64, d.sites*d.levels)
	for i := range d.sites {
		if l := d.reduced.Levels[i]; len(l) == 1 {
			p[i*d.levels+int(l[0])] = 1
		}
	}
	logZ, err = d.run.Marginals(ctx, d.reduced.Tables, nil, func(v int32, q []float64) {
		if i := int(d.reduced.Var[v]); i < d.sites {
			for k, l := range d.reduced.Levels[i] {
				p[i*d.levels+int(l)] = q[k]
			}
		}
	})
	return p, logZ, wrap("Marginals", err)
}

// Joint returns joint probabilities for each scope, which is a list of sites. The result for a
// scope has levels^len(scope) entries, and the last site of the scope varies fastest. A scope may
// contain any sites. If no table of the model contains all sites of a scope, the scope may enlarge
// the tables (see [Distribution.Width]).
//
// Joint returns an error if a site is out of range or occurs twice in a scope. It also returns the
// errors of [New] and [Distribution.LogZ].
func (d *Distribution) Joint(ctx context.Context, scopes ...[]int32) ([][]float64, error) {
	for k, scope := range scopes {
		for j, i := range scope {
			if i < 0 || int(i) >= d.sites || slices.Contains(scope[:j], i) {
				return nil, fmt.Errorf("junction: Joint: scopes[%d] = %v, want distinct sites 0 … %d", k, scope, d.sites-1)
			}
		}
		if math.Pow(float64(d.levels), float64(len(scope))) > 1<<28 {
			return nil, fmt.Errorf("junction: Joint: scopes[%d] has %d sites of %d levels, want ≤ 2^28 states", k, len(scope), d.levels)
		}
	}
	p := make([][]float64, len(scopes))
	every := slices.Repeat([]int32{int32(d.levels)}, d.sites)
	_, err := d.tables(ctx, scopes, func(k int, q []float64) {
		if k >= 0 {
			p[k] = d.reduced.Spread(every, scopes[k], q)
		}
	})
	return p, wrap("Joint", err)
}

// tables calls f with the joint probabilities of the remaining levels of each scope, and returns
// log Z.
func (d *Distribution) tables(ctx context.Context, scopes [][]int32, f func(k int, q []float64)) (logZ float64, err error) {
	all, tables := slices.Clone(d.reduced.Scopes), slices.Clone(d.reduced.Tables)
	for _, scope := range scopes {
		left := d.reduced.Scope(scope)
		size := 1
		for _, v := range left {
			size *= int(d.reduced.Cards[v])
		}
		all, tables = append(all, left), append(tables, make([]float64, size))
	}
	plan := d.plan
	if len(scopes) > 0 {
		if plan, err = d.compile(ctx, all, nil); err != nil {
			return 0, err
		}
	}
	own := len(d.scopes)
	return plan.NewRun().Marginals(ctx, tables, func(k int, q []float64) {
		if k >= own {
			f(k-own, q)
		}
	}, nil)
}

// Mean returns the mean of each statistic under the distribution. A statistic is a sum of terms
// over a few sites each, given as the energy of a model with factors. The mean is +Inf if a state
// of positive probability has energy +Inf.
//
// Mean returns an error if a statistic is nil, has no factors, has hidden units or has another
// shape. It also returns the errors of [New] and [Distribution.LogZ].
func (d *Distribution) Mean(ctx context.Context, statistics ...Factored) ([]float64, error) {
	type term struct {
		of    int
		table []float64
	}
	var scopes [][]int32
	var terms []term
	mean := make([]float64, len(statistics))
	for k, m := range statistics {
		if check.Nil(m) {
			return nil, fmt.Errorf("junction: Mean: statistics[%d] is nil", k)
		}
		sites, levels := m.Shape()
		cards, own, tables, ok := m.Factors()
		if err := cmp.Or(
			check.If(!ok, "junction: Mean: statistics[%d] = %T has no factors, want some", k, m),
			check.If(sites != d.sites || levels != d.levels, "junction: Mean: statistics[%d] has %d sites of %d levels, want %d of %d", k, sites, levels, d.sites, d.levels),
			check.If(len(cards) != sites, "junction: Mean: statistics[%d] has %d hidden units, want none", k, len(cards)-sites),
		); err != nil {
			return nil, err
		}
		for i, c := range cards {
			if last := d.reduced.Levels[i][len(d.reduced.Levels[i])-1]; last >= c {
				return nil, fmt.Errorf("junction: Mean: statistics[%d] forbids level %d of site %d, which has probability", k, last, i)
			}
		}
		for j, scope := range own {
			scopes, terms = append(scopes, scope), append(terms, term{k, d.reduced.Table(cards, scope, tables[j])})
		}
	}
	_, err := d.tables(ctx, scopes, func(k int, q []float64) {
		t := terms[k]
		for i, p := range q {
			if p > 0 {
				mean[t.of] += float64(p * t.table[i])
			}
		}
	})
	return mean, wrap("Mean", err)
}

// Entropy returns −Σ_x p(x) log p(x) in nats. It returns an error if the model has hidden units,
// because its energies are then not sums of tables. It also returns the errors of
// [Distribution.LogZ].
func (d *Distribution) Entropy(ctx context.Context) (float64, error) {
	if d.hidden > 0 {
		return 0, fmt.Errorf("junction: Entropy: the model has %d hidden units, want none: its energies are no sums of tables", d.hidden)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ready = false
	mean := 0.0
	logZ, err := d.run.Marginals(ctx, d.reduced.Tables, func(k int, q []float64) {
		for i, p := range q {
			if p > 0 {
				mean += float64(p * d.reduced.Tables[k][i])
			}
		}
	}, nil)
	return max(0, logZ+mean), wrap("Entropy", err)
}

// Sample stores len(src) independent draws in x, one state per row. Draw s depends only on src[s],
// so draws do not depend on how they are divided into calls. Use one counter-based stream per draw
// (sampler.Stream). Larger calls take less time per draw.
//
// Sample panics unless len(x) = len(src)·sites. It returns the same errors as [Distribution.LogZ].
func (d *Distribution) Sample(ctx context.Context, x []int32, src []rand.Source) error {
	check.Len("junction", "x", len(x), len(src)*d.sites)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.ready {
		if _, err := d.run.Prepare(ctx, d.reduced.Tables); err != nil {
			return wrap("Sample", err)
		}
		d.ready = true
	}
	for len(src) > 0 {
		n := min(len(src), max(batch, min(most, together/max(1, len(d.reduced.Cards)))))
		y := make([]int32, n*len(d.reduced.Cards))
		if err := d.run.Draw(ctx, y, src[:n]); err != nil {
			d.ready = false
			return wrap("Sample", err)
		}
		d.reduced.States(x[:n*d.sites], y, n)
		x, src = x[n*d.sites:], src[n:]
	}
	return nil
}

// Limits on the number of states drawn together. A draw spends time waiting for memory. States that
// are drawn together share this wait, unless the states themselves take much memory.
const (
	batch    = 1 << 10 // number of states of large models
	most     = 1 << 12 // number of states of small models
	together = 1 << 20 // number of levels of the states between
)

// Best returns in x the k states of lowest energy, lowest first, and in e the energies of these
// states. The slice x has one row per state. Best returns fewer than k if fewer states have finite
// energy. The first state is the mode (MAP). The order of states of equal energy depends on the
// graph.
//
// Best returns an error if k < 1. It also returns the errors of [Distribution.LogZ] and, if the
// model has hidden units, the errors of [New].
func (d *Distribution) Best(ctx context.Context, k int) (x []int32, e []float64, err error) {
	if k < 1 {
		return nil, nil, fmt.Errorf("junction: Best: k = %d, want ≥ 1", k)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.best == nil {
		plan := d.plan
		if d.hidden > 0 {
			late := make([]bool, len(d.reduced.Var))
			for v, i := range d.reduced.Var {
				late[v] = int(i) < d.sites || int(i) >= d.sites+d.hidden
			}
			if plan, err = d.compile(ctx, d.reduced.Scopes, late); err != nil {
				return nil, nil, wrap("Best", err)
			}
		}
		d.best = plan.NewRun()
	}
	y, e, err := d.best.Best(ctx, d.reduced.Tables, k)
	if err != nil {
		return nil, nil, wrap("Best", err)
	}
	n := len(d.reduced.Var)
	x = make([]int32, len(e)*d.sites)
	for s := range e {
		d.reduced.States(x[s*d.sites:(s+1)*d.sites], y[s*n:], 1)
	}
	return x, e, nil
}
