package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The shape of the states of dual loops.
const (
	dualSites  = 4
	dualLevels = 3
)

// baseEntry is a base model of a Lagrangian.
type baseEntry struct {
	name string
	base energy.Model
}

func baseEntries() []baseEntry {
	rugged := exact.NewRugged(dualSites, dualLevels, 1, 0, 3)
	return []baseEntry{
		{"arbitrary energies", rugged},
		{"arbitrary energies with holes", exact.NewRugged(dualSites, dualLevels, 1, 0.5, 5).Holed()},
		{"Potts ring", exact.Must(model.NewPotts(model.Lattice{dualSites}, dualLevels, 0.4, []float64{0, .1, .3}))},
		{"clamped", exact.Must(energy.Clamp(rugged, map[int]int32{1: 0}))},
	}
}

// setEntry is what states have to meet on average.
type setEntry struct {
	name string
	sets joinedSets
}

// joinedSets is the rows of all sets, one after the other.
type joinedSets []constraint.Set

func (j joinedSets) Len() int {
	n := 0
	for _, s := range j {
		n += s.Len()
	}
	return n
}

func (j joinedSets) Violation(g []float64, x []int32) {
	for _, s := range j {
		s.Violation(g[:s.Len()], x)
		g = g[s.Len():]
	}
}

// equal reports which rows are equalities.
func (j joinedSets) equal() []bool {
	var equal []bool
	for _, s := range j {
		c, ok := s.(dual.Constraint[int32])
		for range s.Len() {
			equal = append(equal, ok && c.Low == c.High)
		}
	}
	return equal
}

func setEntries() []setEntry {
	other := exact.NewRugged(dualSites, dualLevels, 1, 0, 4)
	ones := exact.Must(model.NewIndependent(slices.Repeat([]float64{0, -1, 0}, dualSites), dualLevels)) // minus the log-weights: the number of ones
	type limit = dual.Constraint[int32]
	of := func(models ...dual.Energetic[int32]) []dual.Energetic[int32] { return models }
	return []setEntry{
		{"constraint.Count", joinedSets{counted(1, 1, 2)}},
		{"constraint.Count that holds anyway", joinedSets{counted(1, 0, 4)}},
		{"Count and Score", joinedSets{counted(1, 0, 1), weighed()}},
		{"an equality", joinedSets{limit{Of: of(other), Coef: []float64{2}, Low: 0.5, High: 0.5}}},
		{"an equality and a bound", joinedSets{dual.Between[int32](ones, 1.5, 1.5), dual.AtMost[int32](other, 0.2)}},
		{"a range", joinedSets{dual.Between[int32](ones, 1.2, 1.4)}},
		{"two models", joinedSets{limit{Of: of(ones, other), Coef: []float64{1, -0.5}, Low: math.Inf(-1), High: 1}, dual.AtLeast[int32](other, -0.3)}},
		{"only on part of the states", joinedSets{dual.AtMost[int32](ones, 0)}},
		{"nowhere", joinedSets{dual.AtMost[int32](ones, -1)}},
		{"two that exclude each other", joinedSets{dual.AtMost[int32](ones, 1), dual.AtLeast[int32](ones, 2)}},
		{"two equalities that exclude each other", joinedSets{dual.Between[int32](ones, 1, 1), dual.Between[int32](ones, 2, 2)}},
	}
}

// Options of the other factors.
var (
	dualBetas   = []float64{1, 0.5, 2}
	dualPrimals = []string{"Resampler of exact draws", "Gibbs", "DMALA"}
	dualMaxima  = []float64{0, 0.3}
	dualStarts  = []float64{0, 0.2}
)

// allStates is a problem on all states: what dual loops are judged by.
type allStates struct {
	x         [][]int32
	f0        []float64
	g         [][]float64 // by state
	equal     []bool
	beta      float64
	language  constraint.Automaton // nil: every state
	certainly float64              // largest |g|
}

func listAll(base energy.Model, set joinedSets, beta float64, language constraint.Automaton) *allStates {
	l := &allStates{beta: beta, language: language, certainly: 1}
	e := exact.Energies(base)
	for k, x := range exact.States(dualSites, dualLevels) {
		if math.IsInf(e[k], 1) || language != nil && !constraint.Accepts(language, x) {
			continue
		}
		g := make([]float64, set.Len())
		set.Violation(g, x)
		for _, v := range g {
			l.certainly = max(l.certainly, math.Abs(v))
		}
		l.x, l.f0, l.g = append(l.x, slices.Clone(x)), append(l.f0, e[k]), append(l.g, g)
	}
	l.equal = set.equal()
	return l
}

// at returns the distribution of multipliers, the means and variances of g, and D(λ).
func (l *allStates) at(lambda []float64) (p, mean, variance []float64, value float64) {
	p = make([]float64, len(l.x))
	for k := range p {
		p[k] = -l.f0[k]
		for j, v := range lambda {
			p[k] -= v * l.g[k][j]
		}
		p[k] /= l.beta
	}
	value = -l.beta * exact.Normalize(p)
	mean, variance = make([]float64, len(lambda)), make([]float64, len(lambda))
	for k, w := range p {
		for j, v := range l.g[k] {
			mean[j] += w * v
		}
	}
	for k, w := range p {
		for j, v := range l.g[k] {
			variance[j] += w * (v - mean[j]) * (v - mean[j])
		}
	}
	return p, mean, variance, value
}

// diverges judges a proof that nothing meets the constraints.
func (l *allStates) diverges(err *dual.DivergedError) error {
	if !err.Proven && err.Margin > 0 {
		return nil // of the samples of a run
	}
	total := 0.0
	for j, u := range err.Direction {
		if total += math.Abs(u); u < -1e-12 && !l.equal[j] {
			return fmt.Errorf("the direction %v of a proof has a negative part at an inequality", err.Direction)
		}
	}
	least := math.Inf(1)
	for _, g := range l.g {
		sum := 0.0
		for j, u := range err.Direction {
			sum += u * g[j]
		}
		least = min(least, sum)
	}
	if math.Abs(total-1) > 1e-9 || least < err.Margin-1e-9*l.certainly || err.Proven && !(err.Margin > 0) {
		return fmt.Errorf("proven: %v, every state violates %v by %v or more; the least is %v", err.Proven, err.Direction, err.Margin, least)
	}
	return nil
}

// dualCase is a combination for loops of multipliers.
type dualCase struct {
	base    baseEntry
	set     setEntry
	rule    dual.Rule
	primal  string
	within  constraint.Automaton
	cfg     dual.Config
	beta    float64
	certify bool

	all *allStates
	l   *dual.Lagrangian
}

// dualSteps and dualStates are those of a loop.
const (
	dualSteps  = 40
	dualStates = 64
)

func (c *dualCase) judge(ctx context.Context, scale int, seed uint64) error {
	var err error
	if c.l, err = dual.NewLagrangian(c.base.base, c.set.sets...); err != nil {
		return refusal{err}
	}
	if c.l, err = c.l.AtTemperature(c.beta); err != nil {
		return refusal{err}
	}
	if c.within != nil {
		if err := c.l.Within(ctx, c.within); err != nil {
			return refusal{err}
		}
	}
	c.all = listAll(c.base.base, c.set.sets, c.beta, c.within)
	solved := c.solve(ctx)
	if _, refused := errors.AsType[refusal](solved); solved != nil && !refused {
		return solved
	}
	if err := c.loop(ctx, scale, seed); err != nil {
		return err
	}
	return solved
}

// solve judges dual.Solve and dual.SolveStates.
func (c *dualCase) solve(ctx context.Context) error {
	optimum, err := dual.Solve(ctx, c.l)
	judged := c.optimum("dual.Solve", optimum, err)
	if len(c.all.x) == 0 {
		return judged
	}
	rows := make([]dual.Row, len(c.all.equal))
	for j, equal := range c.all.equal {
		rows[j].Equal = equal
	}
	optimum, err = dual.SolveStates(ctx, c.all.f0, slices.Concat(c.all.g...), c.beta, rows)
	again := c.optimum("dual.SolveStates", optimum, err)
	_, refused := errors.AsType[refusal](judged)
	if _, too := errors.AsType[refusal](again); again != nil && !too || refused != too {
		return fmt.Errorf("dual.SolveStates: %w, and dual.Solve: %v", again, judged)
	}
	return judged
}

// optimum judges a result by the conditions of Karush, Kuhn and Tucker, which are
// sufficient.
func (c *dualCase) optimum(who string, s *dual.Solution, err error) error {
	if diverged, ok := errors.AsType[*dual.DivergedError](err); ok {
		if wrong := c.all.diverges(diverged); wrong != nil {
			return fmt.Errorf("%s: %w", who, wrong)
		}
		return refusal{err}
	}
	if err != nil {
		return refusal{err}
	}
	_, mean, _, value := c.all.at(s.Lambda)
	const slack = 1e-7
	if math.Abs(value-s.Dual) > 1e-9*(1+math.Abs(value)) {
		return fmt.Errorf("%s: D(λ*) = %v, want %v at %v", who, s.Dual, value, s.Lambda)
	}
	for j, v := range s.Lambda {
		switch size := c.all.certainly; {
		case math.Abs(mean[j]-s.Violation[j]) > slack*size:
			return fmt.Errorf("%s: E[g_%d] = %v, want %v at λ = %v", who, j, s.Violation[j], mean[j], s.Lambda)
		case v < 0 && !c.all.equal[j], mean[j] > slack*size, c.all.equal[j] && mean[j] < -slack*size, math.Abs(v*mean[j]) > slack*size*(1+math.Abs(v)):
			return fmt.Errorf("%s: λ = %v with E[g] = %v is not the optimum", who, s.Lambda, mean)
		}
	}
	return nil
}

// watchedPrimal keeps what a primal came to.
type watchedPrimal struct {
	dual.Primal[int32]
	l      *dual.Lagrangian
	states [][]int32
	lambda [][]float64
}

func (w *watchedPrimal) Run(ctx context.Context, n int) error {
	err := w.Primal.Run(ctx, n)
	if err == nil && n > 0 {
		w.states, w.lambda = append(w.states, slices.Clone(w.States())), append(w.lambda, w.l.Lambda())
	}
	return err
}

// primalOf returns the primal of the case.
func (c *dualCase) primalOf(ctx context.Context, seed uint64) (dual.Primal[int32], error) {
	r := rand.New(rand.NewPCG(seed, 3))
	if len(c.all.x) == 0 {
		return nil, fmt.Errorf("dual: pairs: no state has a probability")
	}
	if c.primal == "Resampler of exact draws" {
		return dual.NewResampler(dualSites, dualStates, func(_ context.Context, x []int32) error {
			p, _, _, _ := c.all.at(c.l.Lambda())
			for ; len(x) > 0; x = x[dualSites:] {
				u, k := r.Float64(), 0
				for k < len(p)-1 && u >= p[k] {
					u -= p[k]
					k++
				}
				copy(x, c.all.x[k])
			}
			return nil
		})
	}
	var init []int32
	for range dualStates {
		init = append(init, c.all.x[r.IntN(len(c.all.x))]...)
	}
	var method sampler.Method = mcmc.Gibbs{}
	if c.within != nil {
		method = mcmc.BlockGibbs{Blocks: [][]int{{0, 1, 2, 3}}, Within: c.within}
	}
	if c.primal == "DMALA" {
		method = mcmc.DMALA{StepSize: 1, Within: c.within}
	}
	return sampler.NewChains(ctx, c.l, method, sampler.Config{Chains: dualStates, Seed: seed, Warmup: -1, Init: init})
}

// loop judges the loop of multipliers by its steps.
func (c *dualCase) loop(ctx context.Context, scale int, seed uint64) error {
	inner, err := c.primalOf(ctx, seed)
	if err != nil {
		return refusal{err}
	}
	w := &watchedPrimal{Primal: inner, l: c.l}
	cfg := c.cfg
	cfg.Rule = c.rule
	var lambdas, means [][]float64
	cfg.Observe = func(step int, lambda, mean []float64) {
		lambdas, means = append(lambdas, slices.Clone(lambda)), append(means, slices.Clone(mean))
	}
	i, err := dual.NewInference(ctx, dual.Target[int32](c.l), dual.Primal[int32](w), cfg)
	if err != nil {
		return refusal{err}
	}
	for _, n := range []int{7, dualSteps - 7} {
		if err := c.run(ctx, i, n); err != nil {
			diverged, ok := errors.AsType[*dual.DivergedError](err)
			if !ok {
				return fmt.Errorf("i.Run: %w", err)
			}
			if wrong := c.all.diverges(diverged); wrong != nil {
				return fmt.Errorf("i.Run: %w", wrong)
			}
			break
		}
	}
	if err := c.replay(ctx, i, w, lambdas, means); err != nil {
		return err
	}
	if !c.certify {
		return c.trajectory(i, lambdas, means)
	}
	return c.frozen(ctx, i, w, 30*scale)
}

// run is i.Run, whose steps are made even if a multiplier then stands at its bound, which
// has to be so.
func (c *dualCase) run(ctx context.Context, i *dual.Inference[int32], n int) error {
	err := i.Run(ctx, n)
	short, ok := errors.AsType[*dual.NotConverged](err)
	if !ok {
		return err
	}
	atBound := func(l float64) bool { return math.Abs(l) > 0.9**c.cfg.Max }
	if c.cfg.Max == nil || short.Tolerance != 0 || !slices.ContainsFunc(c.l.Lambda(), atBound) {
		return fmt.Errorf("at λ = %v, none at its bound: %w", c.l.Lambda(), err)
	}
	return nil
}

// replay compares the steps with what the rule does with the states that were drawn.
func (c *dualCase) replay(ctx context.Context, i *dual.Inference[int32], w *watchedPrimal, lambdas, means [][]float64) error {
	rule, n := c.rule, c.l.Len()
	if rule == nil {
		rule = dual.Auto{}
	}
	u, err := rule.Bind(ctx, n)
	if err != nil {
		return refusal{err}
	}
	lambda := make([]float64, n)
	copy(lambda, c.cfg.Start)
	batch := dual.Batch{States: dualStates, Beta: c.beta, Mean: make([]float64, n), Max: math.Inf(1), Equal: c.all.equal}
	if c.cfg.Max != nil {
		batch.Max = *c.cfg.Max
	}
	if len(w.states) != len(means) {
		return fmt.Errorf("%d draws of the primal in %d steps", len(w.states), len(means))
	}
	for t, x := range w.states {
		g := make([]float64, dualStates*n)
		for s := range dualStates {
			y := x[s*dualSites : (s+1)*dualSites]
			c.set.sets.Violation(g[s*n:(s+1)*n], y)
			if !slices.ContainsFunc(c.all.x, func(z []int32) bool { return slices.Equal(y, z) }) {
				return fmt.Errorf("step %d: state %v has probability zero", t, y)
			}
		}
		batch.Step = t
		if err := batch.Measure(g); err != nil {
			return err
		}
		for j := range lambda {
			low := 0.0
			if batch.Equal != nil && batch.Equal[j] {
				low = -batch.Max
			}
			if !(lambda[j] >= low && lambda[j] <= batch.Max) {
				return fmt.Errorf("step %d: λ_%d = %v, want %v … %v", t, j, lambda[j], low, batch.Max)
			}
			if v := 1e-7 * (1 + math.Abs(lambda[j])); math.Abs(lambdas[t][j]-lambda[j]) > v || w.lambda[t][j] != lambdas[t][j] || math.Abs(means[t][j]-batch.Mean[j]) > 1e-9*c.all.certainly {
				return fmt.Errorf("step %d: λ_%d = %v (drawn at %v) and mean violation %v, want %v and %v", t, j, lambdas[t][j], w.lambda[t][j], means[t][j], lambda[j], batch.Mean[j])
			}
		}
		if err := u.Update(lambda, &batch); err != nil {
			return fmt.Errorf("the rule at step %d: %w", t, err)
		}
	}
	if got := i.Lambda(); !slices.EqualFunc(got, lambda, func(a, b float64) bool { return math.Abs(a-b) <= 1e-7*(1+math.Abs(b)) }) {
		return fmt.Errorf("after %d steps λ = %v, want %v", len(means), got, lambda)
	}
	return nil
}

// trajectory judges the certificate of the steps: λ̄, and the violations of the samples.
func (c *dualCase) trajectory(i *dual.Inference[int32], lambdas, means [][]float64) error {
	cert := i.Certificate()
	if len(means) == 0 {
		if cert != nil {
			return fmt.Errorf("a certificate before the first step: %v", cert)
		}
		return nil
	}
	for j := range cert.Lambda {
		sum, weight, mean := 0.0, 0.0, 0.0
		for t, v := range lambdas {
			// ∝ t² up to lower powers, as the recursion λ̄ ← λ̄ + 3/(t+3)·(λ_t − λ̄) has them.
			w := float64(t+1) * float64(t+2)
			if c.cfg.Uniform {
				w = 1
			}
			sum, weight = sum+w*v[j], weight+w
		}
		for _, m := range means[len(means)-cert.Steps:] {
			mean += m[j] / float64(cert.Steps)
		}
		switch {
		case c.cfg.Uniform && cert.Steps != len(means), cert.Steps < len(means)*3/5:
			return fmt.Errorf("the certificate is of %d steps of %d", cert.Steps, len(means))
		case math.Abs(sum/weight-cert.Lambda[j]) > 1e-9*(1+math.Abs(sum/weight)):
			return fmt.Errorf("λ̄_%d = %v, want %v", j, cert.Lambda[j], sum/weight)
		}
		if err := c.row(cert, j, mean); err != nil {
			return err
		}
	}
	return nil
}

// row judges the figures of a constraint in a certificate.
func (c *dualCase) row(cert *dual.Certificate, j int, mean float64) error {
	if math.Abs(cert.Violation[j]-mean) > 1e-9*c.all.certainly {
		return fmt.Errorf("certificate: violation %d = %v, want %v", j, cert.Violation[j], mean)
	}
	if want := cert.Lambda[j] * cert.Violation[j]; math.Abs(cert.Slack[j]-want) > 1e-12*(1+math.Abs(want)) {
		return fmt.Errorf("certificate: slack %d = %v, want %v", j, cert.Slack[j], want)
	}
	off := max(mean, 0)
	if c.all.equal[j] {
		off = math.Abs(mean)
	}
	if r := cert.Residual(); r < off-1e-9*c.all.certainly && c.cfg.Max == nil {
		return fmt.Errorf("certificate: residual %v, and violation %d is %v", r, j, mean)
	}
	return nil
}

// frozen judges the certificate of draws at λ̄, and that the loop goes on from its own λ.
func (c *dualCase) frozen(ctx context.Context, i *dual.Inference[int32], w *watchedPrimal, draws int) error {
	next, average := i.Lambda(), i.Average()
	w.states, w.lambda = nil, nil
	cert, err := i.Certify(ctx, nil, 2, draws)
	if err != nil {
		return fmt.Errorf("i.Certify: %w", err)
	}
	n := len(next)
	states := w.states[len(w.states)-draws:]
	_, want, variance, value := c.all.at(average)
	if !cert.HasDual || math.Abs(cert.Dual-value) > 1e-9*(1+math.Abs(value)) {
		return fmt.Errorf("i.Certify: D(λ̄) = %v (%v), want %v", cert.Dual, cert.HasDual, value)
	}
	for j := range n {
		mean := 0.0
		g := make([]float64, n)
		for _, x := range states {
			for s := range dualStates {
				c.set.sets.Violation(g, x[s*dualSites:(s+1)*dualSites])
				mean += g[j] / float64(draws*dualStates)
			}
		}
		if cert.Lambda[j] != average[j] {
			return fmt.Errorf("i.Certify: λ_%d = %v, want λ̄ = %v", j, cert.Lambda[j], average[j])
		}
		if err := c.row(cert, j, mean); err != nil {
			return err
		}
		if c.primal != "Resampler of exact draws" {
			continue
		}
		if se := math.Sqrt(variance[j] / float64(draws*dualStates)); math.Abs(mean-want[j]) > mostErrors*se+1e-9 || cert.ViolationSE[j] > 4*se+1e-9 {
			return fmt.Errorf("i.Certify: violation %d = %v ± %v, want %v ± %v", j, mean, cert.ViolationSE[j], want[j], se)
		}
	}
	w.states, w.lambda = nil, nil
	if err := c.run(ctx, i, 1); err != nil {
		if _, ok := errors.AsType[*dual.DivergedError](err); !ok {
			return fmt.Errorf("i.Run: %w", err)
		}
	}
	if len(w.lambda) != 1 || !slices.Equal(w.lambda[0], next) {
		return fmt.Errorf("after Certify a step draws at λ = %v, want %v", w.lambda, next)
	}
	return nil
}

// dualPairing is everything that loops of multipliers accept.
func dualPairing() pairing {
	bases, sets, all, withins := baseEntries(), setEntries(), rules(), withinEntries()
	named := append([]string{"none"}, namesOf(all, func(r rule) string { return fmt.Sprintf("%s %v", r.name, r.part) })...)
	p := pairing{name: "dual", share: 2, again: 2, factors: []factor{
		{"base", namesOf(bases, func(e baseEntry) string { return e.name })},
		{"set", namesOf(sets, func(e setEntry) string { return e.name })},
		{"rule", named},
		{"primal", dualPrimals},
		{"Within", namesOf(withins, func(e withinEntry) string { return e.name })},
		{"β", []string{"1", "0.5", "2"}},
		{"Max", []string{"none", "0.3"}},
		{"Start", []string{"0", "0.2"}},
		{"Inner", []string{"1", "3"}},
		{"Uniform", []string{"false", "true"}},
		{"certificate", []string{"of the steps", "at λ̄"}},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := dualCase{
			base: bases[pick[0]], set: sets[pick[1]], primal: dualPrimals[pick[3]], within: withins[pick[4]].a, beta: dualBetas[pick[5]],
			cfg: dual.Config{Inner: 1 + 2*pick[8], Uniform: pick[9] == 1}, certify: pick[10] == 1,
		}
		if pick[2] > 0 {
			c.rule = all[pick[2]-1].part
		}
		if pick[6] > 0 {
			c.cfg.Max = &dualMaxima[1]
		}
		if pick[7] > 0 {
			c.cfg.Start = slices.Repeat([]float64{dualStarts[1]}, c.set.sets.Len())
		}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.define("base", "baseEntries", pick[0])
		l.define("set", "setEntries", pick[1])
		l.add("l := exact.Must(exact.Must(dual.NewLagrangian(base, set)).AtTemperature(%s))", p.factors[5].options[pick[5]])
		if pick[4] > 0 {
			l.define("within", "withinEntries", pick[4])
			l.add("require.NoError(t, l.Within(t.Context(), within))")
		}
		l.add("cfg := dual.Config{Inner: %d, Uniform: %v} // Rule: %s, Max: %s, Start: %s", 1+2*pick[8], pick[9] == 1, named[pick[2]], p.factors[6].options[pick[6]], p.factors[7].options[pick[7]])
		l.add("t.Log(dual.Solve(t.Context(), l))")
		l.add("// %s draws %d states; certificate: %s", dualPrimals[pick[3]], dualStates, p.factors[10].options[pick[10]])
		return l.String()
	}
	return p
}

// A rule that gets other batches than those of the draws, and an optimum that is none, are
// found.
func TestDualPairsFindABrokenLoop(t *testing.T) {
	c := dualCase{base: baseEntries()[0], set: setEntries()[3], primal: dualPrimals[0], beta: 1, cfg: dual.Config{Inner: 1}}
	require.NoError(t, c.judge(t.Context(), 1, 1))
	c.rule = &forgetful{Rule: dual.Ascent{Step: dual.Constant(0.1)}}
	require.ErrorContains(t, c.judge(t.Context(), 1, 1), "step 3: λ_")
	require.ErrorContains(t, c.optimum("x", &dual.Solution{Lambda: []float64{1}, Violation: []float64{0}}, nil), "D(λ*)")
}

// forgetful is a rule that makes updaters of which the first ignores step 2.
type forgetful struct {
	dual.Rule
	made int
}

func (f *forgetful) Bind(ctx context.Context, n int) (dual.Updater, error) {
	u, err := f.Rule.Bind(ctx, n)
	f.made++
	return forgets{u, f.made == 1}, err
}

type forgets struct {
	dual.Updater
	once bool
}

func (f forgets) Update(lambda []float64, b *dual.Batch) error {
	if f.once && b.Step == 2 {
		return nil
	}
	return f.Updater.Update(lambda, b)
}

// unlearnCase is a combination for optima of unlearning.
type unlearnCase struct {
	q      []float64
	away   [][]float64
	form   unlearn.Formulation
	bounds []float64
}

// Options of its factors.
var (
	unlearnPoints = []string{"even", "skewed", "with a zero", "two states"}
	unlearnAways  = []string{"one", "two", "q itself", "with a zero"}
	unlearnForms  = []unlearn.Formulation{unlearn.ReverseKL, unlearn.ForwardKL, unlearn.Likelihood, unlearn.LikelihoodRatio, unlearn.DiscreteSafe}
	unlearnBounds = []float64{-1, 0.01, 0.1, 0.3, 1, 30}
)

func unlearnQ(k int) []float64 {
	return [][]float64{{0.2, 0.2, 0.2, 0.2, 0.2}, {0.5, 0.25, 0.15, 0.09, 0.01}, {0.4, 0, 0.3, 0.2, 0.1}, {0.7, 0.3}}[k]
}

func unlearnAway(k int, q []float64) [][]float64 {
	n := len(q)
	ramp, back := make([]float64, n), make([]float64, n)
	total := float64(n*(n+1)) / 2
	for i := range n {
		ramp[i], back[i] = float64(i+1)/total, float64(n-i)/total
	}
	switch k {
	case 0:
		return [][]float64{ramp}
	case 1:
		return [][]float64{ramp, back}
	case 2:
		return [][]float64{slices.Clone(q)}
	}
	hole := slices.Clone(ramp)
	hole[0], hole[n-1] = 0, hole[n-1]+hole[0]
	return [][]float64{hole}
}

// values returns the bounded quantities of a distribution, positive where they are too
// far, and the objective; by the formulas of the documentation.
func (c *unlearnCase) values(p []float64) (over, value []float64, cost float64) {
	kl := func(p, q []float64) (sum float64) {
		for i, w := range p {
			if w > 0 {
				sum += w * math.Log(w/q[i])
			}
		}
		return sum
	}
	if cost = kl(p, c.q); c.form == unlearn.ForwardKL {
		cost = kl(c.q, p)
	}
	for i, q := range c.away {
		v, sign := 0.0, -1.0
		switch c.form {
		case unlearn.ReverseKL:
			v = kl(p, q)
		case unlearn.ForwardKL:
			v = kl(q, p)
		default:
			for k, w := range p {
				if w == 0 {
					continue
				}
				switch c.form {
				case unlearn.Likelihood:
					v, sign = v+w*q[k], 1
				case unlearn.LikelihoodRatio:
					v, sign = v+w*q[k]/c.q[k], 1
				case unlearn.DiscreteSafe:
					v += w * math.Log(c.q[k]/q[k])
				}
			}
		}
		value, over = append(value, v), append(over, sign*(v-c.bounds[i]))
	}
	return over, value, cost
}

// law returns p_λ by the formula of the documentation.
func (c *unlearnCase) law(lambda []float64) []float64 {
	s := 0.0
	for _, l := range lambda {
		s += l
	}
	p, logs := make([]float64, len(c.q)), make([]float64, len(c.q))
	for k, q := range c.q {
		logs[k] = math.Log(q)
		p[k] = q
		for i, l := range lambda {
			away := c.away[i][k]
			p[k] -= l * away
			if l == 0 {
				continue
			}
			switch c.form {
			case unlearn.ReverseKL:
				logs[k] -= l * math.Log(away)
			case unlearn.Likelihood:
				logs[k] -= l * away
			case unlearn.LikelihoodRatio:
				logs[k] -= l * away / q
			case unlearn.DiscreteSafe:
				logs[k] += l * (math.Log(q) - math.Log(away))
			}
		}
		if p[k] /= 1 - s; c.form == unlearn.ReverseKL {
			logs[k] /= 1 - s
		}
		if q == 0 {
			logs[k] = math.Inf(-1)
		}
	}
	if c.form == unlearn.ForwardKL {
		return p
	}
	return normal(logs)
}

func (c *unlearnCase) judge(ctx context.Context, seed uint64) error {
	u, err := unlearn.New(c.q, c.away...)
	if err != nil {
		return refusal{err}
	}
	s, err := u.Solve(ctx, c.form, c.bounds)
	if err != nil {
		if diverged, ok := errors.AsType[*dual.DivergedError](err); ok && diverged.Proven {
			if err := c.unreachable(seed); err != nil {
				return err
			}
		}
		return refusal{err}
	}
	p := c.law(s.Lambda)
	over, value, cost := c.values(s.P)
	for k := range p {
		if !(math.Abs(p[k]-s.P[k]) <= 1e-7) || s.P[k] < 0 {
			return fmt.Errorf("u.Solve: P = %v, want p_λ = %v at λ = %v", s.P, p, s.Lambda)
		}
	}
	if math.Abs(cost-s.Cost) > 1e-7*(1+cost) {
		return fmt.Errorf("u.Solve: cost %v, want %v of %v", s.Cost, cost, s.P)
	}
	for i, l := range s.Lambda {
		if l < 0 || over[i] > 1e-6 || math.Abs(l*over[i]) > 1e-6*(1+l) || math.Abs(value[i]-s.Value[i]) > 1e-7*(1+math.Abs(value[i])) {
			return fmt.Errorf("u.Solve: λ = %v, values %v (want %v), bounds %v", s.Lambda, s.Value, value, c.bounds)
		}
	}
	if c.form == unlearn.ReverseKL {
		return nil // not convex: a stationary point
	}
	// No distribution that is tried meets the bounds at a lower cost.
	r := rand.New(rand.NewPCG(seed, 8))
	for range 2000 {
		y, sum := make([]float64, len(p)), 0.0
		for k := range y {
			if y[k] = s.P[k] * math.Exp(r.NormFloat64()*r.Float64()); c.q[k] > 0 && s.P[k] == 0 {
				y[k] = r.ExpFloat64() * 1e-3
			}
			sum += y[k]
		}
		for k := range y {
			y[k] /= sum
		}
		if o, _, lower := c.values(y); !slices.ContainsFunc(o, func(v float64) bool { return !(v <= 0) }) && lower < cost-1e-6 {
			return fmt.Errorf("u.Solve: %v costs %v and meets the bounds %v; the result %v costs %v", y, lower, c.bounds, s.P, cost)
		}
	}
	return nil
}

// unreachable looks for a distribution that meets bounds which none meets.
func (c *unlearnCase) unreachable(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 9))
	for range 2000 {
		y, sum := make([]float64, len(c.q)), 0.0
		for k := range y {
			if c.q[k] > 0 {
				y[k] = math.Exp(4 * r.NormFloat64())
			}
			sum += y[k]
		}
		for k := range y {
			y[k] /= sum
		}
		if o, _, cost := c.values(y); !math.IsInf(cost, 1) && !slices.ContainsFunc(o, func(v float64) bool { return !(v <= -1e-9) }) {
			return fmt.Errorf("u.Solve: proven that nothing meets the bounds %v, and %v does", c.bounds, y)
		}
	}
	return nil
}

// unlearnPairing is everything that optima of unlearning accept.
func unlearnPairing() pairing {
	p := pairing{name: "unlearn", share: 1, again: 1, factors: []factor{
		{"q", unlearnPoints},
		{"away from", unlearnAways},
		{"formulation", namesOf(unlearnForms, unlearn.Formulation.String)},
		{"bound", namesOf(unlearnBounds, func(b float64) string { return fmt.Sprint(b) })},
		{"bound of the second", namesOf(unlearnBounds, func(b float64) string { return fmt.Sprint(b) })},
	}}
	of := func(pick []int) unlearnCase {
		c := unlearnCase{q: unlearnQ(pick[0]), form: unlearnForms[pick[2]]}
		c.away = unlearnAway(pick[1], c.q)
		c.bounds = []float64{unlearnBounds[pick[3]], unlearnBounds[pick[4]]}[:len(c.away)]
		return c
	}
	p.judge = func(ctx context.Context, pick []int, _ int, seed uint64) error {
		c := of(pick)
		return c.judge(ctx, seed)
	}
	p.program = func(pick []int) string {
		c, l := of(pick), &listing{}
		l.add("u := exact.Must(unlearn.New(%#v, %#v...))", c.q, c.away)
		l.add("t.Log(u.Solve(t.Context(), unlearn.Formulation(%d), %#v))", int(c.form), c.bounds)
		return l.String()
	}
	return p
}
