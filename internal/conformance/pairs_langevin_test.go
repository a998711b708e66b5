package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
)

// realTarget is a density of two reals, and the mixture of normal densities that it is.
type realTarget struct {
	name   string
	target energy.Scored
	law    normals
	half   bool // x_0 is the absolute value of that of the mixture
}

func realTargets() []realTarget {
	// N(mean, cov) as ½xᵀAx + bᵀx.
	cov := []float64{1, 0.4, 0.4, 0.5}
	det := cov[0]*cov[3] - cov[1]*cov[2]
	a := []float64{cov[3] / det, -cov[1] / det, -cov[1] / det, cov[0] / det}
	mean := []float64{0.5, -1}
	b := []float64{-(a[0]*mean[0] + a[1]*mean[1]), -(a[2]*mean[0] + a[3]*mean[1])}
	two := normals{[]float64{0.3, 0.7}, [][]float64{{-1, 0}, {1, 0.5}}, [][]float64{{0.3, 0.1, 0.1, 0.4}, {0.2, 0, 0, 0.5}}}
	quadratic := exact.Must(continuous.NewQuadratic(a, b, 0))
	l := exact.Must(dual.NewRealLagrangian(exact.Must(continuous.NewQuadratic([]float64{1, 0, 0, 2}, nil, 0)), 0.5, dual.AtMost[float32](exact.Must(continuous.NewQuadratic([]float64{1, 0, 0, 0}, nil, 0)), 1)))
	if err := l.SetLambda([]float64{0.5}); err != nil {
		panic(err)
	}
	return []realTarget{
		{"continuous.Quadratic", quadratic, normals{[]float64{1}, [][]float64{mean}, [][]float64{cov}}, false},
		{"continuous.Mixture", exact.Must(continuous.NewMixture(two.weight, two.means, two.covs)), two, false},
		{"dual.RealLagrangian", l, normals{[]float64{1}, [][]float64{{0, 0}}, [][]float64{{1 / 3.0, 0, 0, 0.25}}}, false},
		{"half of a normal density", halfNormal{}, normals{[]float64{1}, [][]float64{{0, 0}}, [][]float64{{1, 0, 0, 1}}}, true},
	}
}

// halfNormal is a standard normal density at x_0 ≥ 0.
type halfNormal struct{}

func (halfNormal) Sites() int { return 2 }

func (halfNormal) Energy(e []float64, x []float32) {
	for s := range e {
		a, b := float64(x[2*s]), float64(x[2*s+1])
		if e[s] = (a*a + b*b) / 2; a < 0 {
			e[s] = math.Inf(1)
		}
	}
}

func (halfNormal) Score(v, x []float32) {
	for i := range v {
		v[i] = -x[i]
	}
}

// draw stores a draw.
func (t *realTarget) draw(x []float32, r *rand.Rand) {
	u, k := r.Float64(), 0
	for k < len(t.law.weight)-1 && u >= t.law.weight[k] {
		u -= t.law.weight[k]
		k++
	}
	c, a, b := t.law.covs[k], r.NormFloat64(), r.NormFloat64()
	l := c[1] / math.Sqrt(c[0])
	x[0] = float32(t.law.means[k][0] + math.Sqrt(c[0])*a)
	x[1] = float32(t.law.means[k][1] + l*a + math.Sqrt(c[3]-l*l)*b)
	if t.half && x[0] < 0 {
		x[0] = -x[0]
	}
}

// below returns P(u·x ≤ z), of densities that are not halved.
func (t *realTarget) below(u [2]float64, z float64) (p float64) {
	for k, w := range t.law.weight {
		m, c := t.law.means[k], t.law.covs[k]
		v := u[0]*u[0]*c[0] + 2*u[0]*u[1]*c[1] + u[1]*u[1]*c[3]
		p += w * 0.5 * math.Erfc(-(z-u[0]*m[0]-u[1]*m[1])/math.Sqrt(2*v))
	}
	return p
}

// Options of the factors.
var (
	langevinKinds  = []string{"adjusted, tuned", "adjusted", "adjusted, large steps", "unadjusted", "unadjusted in a box"}
	langevinStarts = []string{"from Init", "by SetStates", "by Load"}
)

// langevinCase is a combination for chains on reals.
type langevinCase struct {
	target realTarget
	kind   string
	start  string
	cfg    langevin.Config
}

func (c *langevinCase) judge(ctx context.Context, scale int, seed uint64) error {
	cfg := c.cfg
	cfg.Seed, cfg.Chains = seed, 256*scale
	switch c.kind {
	case "adjusted":
		cfg.StepSize = 0.3
	case "adjusted, large steps":
		cfg.StepSize = 2
	case "unadjusted":
		cfg.StepSize, cfg.Unadjusted = 0.1, true
	case "unadjusted in a box":
		cfg.StepSize, cfg.Unadjusted, cfg.Project = 0.1, true, pdi.Box(0, 1)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, 2*cfg.Chains)
	for i := 0; i < len(x); i += 2 {
		c.target.draw(x[i:i+2], r)
	}
	cfg.Init = x
	if err := c.lives(ctx, cfg); err != nil {
		return err
	}
	ch, err := langevin.New(ctx, c.target.target, cfg)
	if err != nil {
		return refusal{err}
	}
	if c.start != "from Init" || cfg.Warmup > 0 {
		if err := ch.Run(ctx, 1); err != nil {
			return c.understood(err)
		}
		if err := ch.SetStates(x); err != nil {
			return fmt.Errorf("ch.SetStates: %w", err)
		}
	}
	if c.start == "by Load" {
		var file bytes.Buffer
		if err := ch.Save(&file); err != nil {
			return fmt.Errorf("ch.Save: %w", err)
		}
		if ch, err = langevin.New(ctx, c.target.target, cfg); err != nil {
			return fmt.Errorf("langevin.New again: %w", err)
		}
		if err := ch.Load(ctx, &file); err != nil {
			return fmt.Errorf("ch.Load: %w", err)
		}
	}
	noise := realCase{signs: map[string]*[2]int{}}
	for range 3 {
		before := slices.Clone(ch.States())
		if err := ch.Run(ctx, 1); err != nil {
			return c.understood(err)
		}
		if err := c.step(ch, before, &noise, cfg); err != nil {
			return err
		}
	}
	if cfg.Unadjusted {
		return noise.noise()
	}
	return c.stationary(ch.States())
}

// understood makes a refusal of an error that the documentation states.
func (c *langevinCase) understood(err error) error {
	if c.cfg.Unadjusted || c.target.half && (c.kind == "unadjusted" || c.kind == "unadjusted in a box") {
		return refusal{err} // a proposal outside ends the run
	}
	return fmt.Errorf("ch.Run: %w", err)
}

// step judges a draw of every chain: energies, and of unadjusted chains the noise.
func (c *langevinCase) step(ch *langevin.Chains, before []float32, noise *realCase, cfg langevin.Config) error {
	x := ch.States()
	e, score := make([]float64, cfg.Chains), make([]float32, len(x))
	c.target.target.Energy(e, x)
	c.target.target.Score(score, before)
	for i, info := range ch.Info() {
		y := x[2*i : 2*i+2]
		switch {
		case math.Abs(info.Energy-e[i]) > 1e-6*(1+math.Abs(e[i])):
			return fmt.Errorf("chain %d at %v reports the energy %v, want %v", i, y, info.Energy, e[i])
		case math.IsInf(e[i], 1) || !(info.Accept >= 0 && info.Accept <= 1):
			return fmt.Errorf("chain %d is at %v with energy %v, acceptance %v", i, y, e[i], info.Accept)
		case cfg.Project != nil && (min(y[0], y[1]) < 0 || max(y[0], y[1]) > 1):
			return fmt.Errorf("chain %d is at %v, outside the box", i, y)
		case !cfg.Unadjusted || cfg.Project != nil || cfg.Thin > 1:
			continue
		}
		for j, v := range y {
			mean := float64(before[2*i+j]) + cfg.StepSize*float64(score[2*i+j])
			z := (float64(v) - mean) / math.Sqrt(2*cfg.StepSize)
			noise.spread("noise", i, j, z)
			noise.sign("noise and state", z*float64(before[2*i+j]))
		}
	}
	return nil
}

// stationary compares states that were draws with the distribution.
func (c *langevinCase) stationary(x []float32) error {
	directions := [][2]float64{{1, 0}, {0, 1}, {0.8, 0.6}, {0.6, -0.8}}
	if c.target.half {
		directions = directions[:2]
	}
	for _, u := range directions {
		counts := make([]int, realCells)
		for i := 0; i < len(x); i += 2 {
			z := u[0]*float64(x[i]) + u[1]*float64(x[i+1])
			p := c.target.below(u, z)
			if c.target.half && u[0] == 1 {
				p = 2*p - 1
			}
			counts[max(0, min(int(p*realCells), realCells-1))]++
		}
		if v := exact.PValue(counts, slices.Repeat([]float64{1.0 / realCells}, realCells)); v < exact.Rate/4 {
			return fmt.Errorf("states along %v fall into equally likely cells %v times (p-value %.2g)", u, counts, v)
		}
	}
	return nil
}

// lives compares a run with one of other workers that stops, is saved and goes on.
func (c *langevinCase) lives(ctx context.Context, cfg langevin.Config) error {
	cfg.Chains, cfg.Init, cfg.Workers = 9, cfg.Init[:18], 1
	run := func(cfg langevin.Config, n int, from *bytes.Buffer) (*langevin.Chains, error) {
		ch, err := langevin.New(ctx, c.target.target, cfg)
		if err != nil {
			return nil, refusal{err}
		}
		if from != nil {
			if err := ch.Load(ctx, from); err != nil {
				return nil, fmt.Errorf("ch.Load: %w", err)
			}
		}
		if err := ch.Run(ctx, n); err != nil {
			return nil, c.understood(err)
		}
		return ch, nil
	}
	whole, err := run(cfg, 5, nil)
	if err != nil {
		return err
	}
	cfg.Workers = 3
	var file bytes.Buffer
	first, err := run(cfg, 2, nil)
	if err == nil {
		err = first.Save(&file)
	}
	if err != nil {
		return err
	}
	second, err := run(cfg, 3, &file)
	if err != nil {
		return err
	}
	if !slices.Equal(whole.States(), second.States()) {
		return fmt.Errorf("three workers, saved after two draws and loaded: %v, want %v", second.States(), whole.States())
	}
	return nil
}

// langevinPairing is everything that chains on reals accept.
func langevinPairing() pairing {
	targets := realTargets()
	p := pairing{name: "langevin", share: 1, again: 1, factors: []factor{
		{"target", namesOf(targets, func(t realTarget) string { return t.name })},
		{"kind", langevinKinds},
		{"start", langevinStarts},
		{"warm-up", []string{"none", "20 steps"}},
		{"Thin", []string{"1", "2"}},
		{"workers", []string{"1", "3"}},
		{"generator", []string{"Philox4x32", "ARS4x32"}},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := langevinCase{target: targets[pick[0]], kind: langevinKinds[pick[1]], start: langevinStarts[pick[2]],
			cfg: langevin.Config{Warmup: []int{-1, 20}[pick[3]], Thin: 1 + pick[4], Workers: 1 + 2*pick[5], Generator: sampler.Generator(pick[6])}}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.add("t := realTargets()[%d].target // %s", pick[0], targets[pick[0]].name)
		l.add("cfg := langevin.Config{Chains: 256, Warmup: %d, Thin: %d, Workers: %d, Generator: sampler.%s} // %s", []int{-1, 20}[pick[3]], 1+pick[4], 1+2*pick[5], p.factors[6].options[pick[6]], langevinKinds[pick[1]])
		l.add("ch := exact.Must(langevin.New(t.Context(), t, cfg)) // %s, at draws of the target", langevinStarts[pick[2]])
		l.add("require.NoError(t, ch.Run(t.Context(), 3))")
		return l.String()
	}
	return p
}

// A target that is not the one that chains are on is found.
func TestLangevinPairsFindAnotherTarget(t *testing.T) {
	c := langevinCase{target: realTargets()[0], kind: "adjusted", start: "from Init", cfg: langevin.Config{Warmup: -1}}
	require.NoError(t, c.judge(t.Context(), 4, 1))
	c.target.law = realTargets()[1].law
	require.ErrorContains(t, c.judge(t.Context(), 4, 1), "p-value")
}

// pdiCase is a combination for multipliers that move within a diffusion.
type pdiCase struct {
	beta    float64
	slopes  [][]float64
	offsets []float64
	rule    dual.Rule
	domain  string
	cfg     pdi.Config
	step    realStep
	steps   int
}

var (
	pdiTerms   = []string{"one", "two", "one that holds anyway", "two that exclude each other"}
	pdiDomains = []string{"none", "box", "simplex"}
	pdiSteps   = []int{1, 4, 9}
)

// pdiBase is the mixture before constraints.
func pdiBase() *normals {
	return &normals{[]float64{2.0 / 3, 1.0 / 3}, [][]float64{{-1, 0}, {1.5, 0.5}}, [][]float64{{0.4, 0, 0, 0.4}, {0.3, 0, 0, 0.3}}}
}

// tilted returns the mixture ∝ base·exp(−λᵀAx/β).
func (c *pdiCase) tilted(lambda []float64) *normals {
	base, t := pdiBase(), make([]float64, 2)
	for j, l := range lambda {
		for i, a := range c.slopes[j] {
			t[i] -= l / c.beta * a
		}
	}
	logs := make([]float64, len(base.means))
	for k, m := range base.means {
		logs[k] = math.Log(base.weight[k])
		for i := range t {
			v := base.covs[k][3*i]
			logs[k] += t[i]*m[i] + t[i]*t[i]*v/2
			m[i] += v * t[i]
		}
	}
	base.weight = normal(logs)
	return base
}

func (c *pdiCase) judge(ctx context.Context, _ int, seed uint64) error {
	base := pdiBase()
	mixture := exact.Must(continuous.NewDiagonal(base.weight, slices.Concat(base.means...), []float64{0.4, 0.3}))
	var terms []dual.Constraint[float32]
	for j, w := range c.slopes {
		terms = append(terms, dual.AtMost[float32](exact.Must(continuous.NewLinear(w, c.offsets[j])), 0))
	}
	p, err := pdi.NewMixture(mixture, c.beta, terms...)
	if err != nil {
		return refusal{err}
	}
	cfg := c.cfg
	cfg.Rule = c.rule
	switch c.domain {
	case "box":
		cfg.Domain = pdi.Box(-0.5, 0.5)
	case "simplex":
		cfg.Domain = pdi.Simplex(1)
	}
	d, err := pdi.New(ctx, p, cfg)
	if err != nil {
		return refusal{err}
	}
	const states = 16
	type call struct {
		x, v  []float32
		alpha float64
	}
	var calls []call
	watched := energy.DenoiserFunc[float32]{Sites: 2, Levels: 1, F: func(ctx context.Context, v []float32, q energy.Noised[float32]) error {
		err := d.Denoise(ctx, v, q)
		calls = append(calls, call{slices.Clone(q.X), slices.Clone(v), q.Alpha[0]})
		return err
	}}
	run, err := diffusion.New(ctx, energy.Denoiser[float32](watched), c.step.process, diffusion.Config{Steps: c.steps, Batch: states, Seed: seed})
	if err != nil {
		return refusal{err}
	}
	x := make([]float32, 2*states)
	if err := run.Sample(ctx, x); err != nil {
		return fmt.Errorf("run.Sample: %w", err)
	}
	if d.Steps() != len(calls) {
		return fmt.Errorf("%d steps, and the denoiser knows of %d", len(calls), d.Steps())
	}
	var u dual.Updater
	if c.rule != nil && !cfg.Fixed {
		if u, err = c.rule.Bind(ctx, len(terms)); err != nil {
			return refusal{err}
		}
	}
	lambda := make([]float64, len(terms))
	copy(lambda, cfg.Start)
	most := math.Inf(1)
	if cfg.Max != nil {
		most = *cfg.Max
	}
	predicted := func(k call, lambda []float64) (v []float32, g []float64) {
		law := c.tilted(lambda)
		for s := range states {
			m := law.mean(k.x[2*s:2*s+2], nil, k.alpha)
			y := []float32{float32(m[0]), float32(m[1])}
			c.project(y)
			v = append(v, y...)
			for j, w := range c.slopes {
				g = append(g, w[0]*float64(y[0])+w[1]*float64(y[1])+c.offsets[j])
			}
		}
		return v, g
	}
	sum, from := make([]float64, len(terms)), len(calls)/4
	for t, k := range calls {
		at, mean := d.At(t)
		if slices.Max(at) > 100 {
			return nil // of rules for the means of samples, which are wrong here as documented
		}
		for j, l := range at {
			if !(l >= 0 && l <= most) || (u != nil || cfg.Fixed) && math.Abs(l-lambda[j]) > 1e-5*(1+math.Abs(l)) {
				return fmt.Errorf("step %d: λ_%d = %v, want %v, at most %v", t, j, l, lambda[j], most)
			}
			if t >= from {
				sum[j] += l / float64(len(calls)-from)
			}
		}
		v, g := predicted(k, at)
		b := dual.Batch{Step: t, States: states, Beta: c.beta, Mean: make([]float64, len(terms)), Max: most}
		if err := b.Measure(g); err != nil {
			return err
		}
		for j, m := range b.Mean {
			if math.Abs(m-mean[j]) > 1e-5*(1+math.Abs(m)) {
				return fmt.Errorf("step %d: mean violation %d = %v, want %v at λ = %v", t, j, mean[j], m, at)
			}
		}
		copy(lambda, at)
		if u != nil {
			if err := u.Update(lambda, &b); err != nil {
				return fmt.Errorf("the rule at step %d: %w", t, err)
			}
			if cfg.Again && slices.Max(lambda) < 100 {
				v, _ = predicted(k, lambda)
			}
		}
		if u == nil && !cfg.Fixed && t == len(calls)-1 {
			continue // the last step of the predictive rule moves λ several times
		}
		if cfg.Again && (u == nil && !cfg.Fixed || u != nil && slices.Max(lambda) >= 100) {
			continue
		}
		for i := range v {
			if math.Abs(float64(v[i]-k.v[i])) > 1e-4*(1+math.Abs(float64(v[i]))) {
				return fmt.Errorf("step %d: the prediction %v, want %v at λ = %v", t, k.v, v, at)
			}
		}
	}
	for j, v := range d.Average() {
		if math.Abs(v-sum[j]) > 1e-9*(1+math.Abs(v)) {
			return fmt.Errorf("d.Average: %v, want %v", v, sum[j])
		}
	}
	return nil
}

// project is the domain of the case.
func (c *pdiCase) project(y []float32) {
	switch c.domain {
	case "box":
		for i, v := range y {
			y[i] = min(max(v, -0.5), 0.5)
		}
	case "simplex": // of two: along (1, −1)
		a := min(max((y[0]-y[1]+1)/2, 0), 1)
		y[0], y[1] = a, 1-a
	}
}

// pdiPairing is everything that primal–dual inference within a diffusion accepts.
func pdiPairing() pairing {
	all, steps := rules(), realSteps()
	named := append([]string{"the predictive one"}, namesOf(all, func(r rule) string { return fmt.Sprintf("%s %v", r.name, r.part) })...)
	p := pairing{name: "pdi", share: 1, again: 1, factors: []factor{
		{"rule", named},
		{"terms", pdiTerms},
		{"domain", pdiDomains},
		{"process", namesOf(steps[:5], func(e realStep) string { return e.name })},
		{"steps", namesOf(pdiSteps, func(n int) string { return fmt.Sprint(n) })},
		{"β", []string{"1", "0.5"}},
		{"Max", []string{"none", "0.3"}},
		{"Start", []string{"0", "0.2"}},
		{"Fixed", []string{"false", "true"}},
		{"Again", []string{"false", "true"}},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := pdiCase{domain: pdiDomains[pick[2]], step: steps[pick[3]], steps: pdiSteps[pick[4]], beta: []float64{1, 0.5}[pick[5]], cfg: pdi.Config{Fixed: pick[8] == 1, Again: pick[9] == 1}}
		switch pick[1] {
		case 0:
			c.slopes, c.offsets = [][]float64{{-1, 0}}, []float64{0.5}
		case 1:
			c.slopes, c.offsets = [][]float64{{-1, 0}, {1, 1}}, []float64{0.2, -0.6}
		case 2:
			c.slopes, c.offsets = [][]float64{{1, 0}}, []float64{-30}
		case 3:
			c.slopes, c.offsets = [][]float64{{1, 0}, {-1, 0}}, []float64{1, 1}
		}
		if pick[0] > 0 {
			c.rule = all[pick[0]-1].part
		}
		if pick[6] == 1 {
			c.cfg.Max = &dualMaxima[1]
		}
		if pick[7] == 1 {
			c.cfg.Start = slices.Repeat([]float64{0.2}, len(c.slopes))
		}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		for f, at := range p.factors {
			l.add("// %s: %s", at.name, at.options[pick[f]])
		}
		l.add("d := exact.Must(pdi.New(t.Context(), exact.Must(pdi.NewMixture(mixture, beta, terms...)), cfg)) // of pdiCase")
		return l.String()
	}
	return p
}
