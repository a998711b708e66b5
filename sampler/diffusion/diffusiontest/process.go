// Package diffusiontest tests processes, denoisers and projectors, including your own, against the
// requirements of their interfaces:
//
//	func TestMine(t *testing.T) {
//		if err := diffusiontest.TestProcess(ctx, mine.Process{}, diffusiontest.ProcessOptions{}); err != nil {
//			t.Fatal(err)
//		}
//	}
//
// Like the functions of testing/fstest, a function returns nil if all requirements hold. Otherwise
// the error names the violated requirement and a case that shows the violation. Distributions are
// compared with enumeration on three sites that depend on each other, so correct marginals alone do
// not pass. Seeds are fixed. If they were drawn anew, the probability of a false alarm would be
// 1e-6 per call.
package diffusiontest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Claim is what a process promises about the distribution of its samples if predictions are exact.
type Claim uint8

const (
	// Converges claims that each site moves independently of the others in every step, as given by
	// ProcessOptions.Step. It also claims that the distribution of samples tends to that of the
	// denoiser as the number of steps grows.
	Converges Claim = iota

	// Steps claims only that each site moves independently of the others in every step, as given by
	// ProcessOptions.Step.
	Steps

	// Exact claims that samples have the distribution of the denoiser for every number of steps.
	Exact

	// Heuristic claims nothing, and the distribution of samples is not tested.
	Heuristic
)

// String returns "converges", "steps", "exact" or "heuristic".
func (c Claim) String() string {
	return check.Name("Claim", c, "converges", "steps", "exact", "heuristic")
}

// MarshalText returns the name that String returns.
func (c Claim) MarshalText() ([]byte, error) {
	return check.MarshalName("claim", c, Heuristic)
}

// UnmarshalText sets c to the claim of the given name. It lets flags and files hold a Claim.
func (c *Claim) UnmarshalText(name []byte) error {
	return check.UnmarshalName("claim", c, Heuristic, name)
}

// ProcessOptions states what the documentation of a process promises; [TestProcess] checks it.
type ProcessOptions struct {
	Claim Claim

	// Step returns the documented step of one site from time t to time s. The signal levels at
	// these two times are alphaT and alphaS. The step maps the level of the site and the
	// distribution p of its clean token to the distribution of its next level.
	//
	// If Step is nil and the prior is all masks, the step is [MaskedStep] without remasking. If
	// Step is nil otherwise, the step is that of uniform noise.
	Step func(t, s, alphaT, alphaS float64) func(level int32, p []float64) []float64

	// Counts lists the numbers of steps to try; nil means 1, 3 and 8.
	Counts []int

	// Samples is the number of samples drawn for each number of steps in Counts; 0 means 20,000.
	Samples int
}

// distance is the largest allowed total variation distance from the denoiser's distribution,
// after 256 steps of a process that converges.
const distance = 0.03

const (
	sites  = 3
	levels = 3
)

// TestProcess checks a process on tokens of three levels against the requirements of
// [diffusion.Process] and of the optional interfaces of its steps:
//
//   - bind: Shapes without sites or levels are rejected.
//   - schedule: Alpha lies in 0…1, does not rise with time, and is near 1 at time 0 and near 0 at
//     time 1.
//   - prior: x_1 is all masks, or each token is uniform.
//   - clock: Times do not rise, and end at exactly 0 within the promised number of steps.
//   - distribution: Samples follow ProcessOptions.Claim, given the exact denoiser of a joint
//     distribution. A leave-one-out denoiser, which predicts each site from the others, is tested
//     too.
//   - condition, renoise, reweight, posterior: These methods of [diffusion.Renoiser],
//     [diffusion.Joint] and [diffusion.Factorised] agree with enumeration.
//   - workers, parts, resume, wrapper: Samples do not depend on the number of workers, the batch
//     size, or the division of a run into calls and parts. They are the same after Save and Load,
//     and for a wrapped process.
//   - context: A run whose ctx ends returns the error of ctx.
func TestProcess(ctx context.Context, p diffusion.Process[int32], o ProcessOptions) error {
	part, err := laws.Given("diffusiontest", "p", p)
	if err != nil {
		return err
	}
	if o.Counts == nil {
		o.Counts = []int{1, 3, 8}
	}
	if o.Samples == 0 {
		o.Samples = 20_000
	}
	c := &processChecker{form: form[int32]{Part: part, p: p, levels: levels}, o: o}
	return inOrder(
		ctx, part, law{"bind", c.bind}, law{"schedule", c.schedule}, law{"prior", c.prior}, law{"clock", c.clock},
		law{"distribution", c.distribution}, law{"condition", c.condition}, law{"renoise", c.renoise}, law{"reweight", c.reweight},
		law{"posterior", c.posterior}, law{"workers", c.same}, law{"context", c.ends},
	)
}

// law is a named check.
type law struct {
	name  string
	check func(context.Context) error
}

// inOrder runs checks until one fails.
func inOrder(ctx context.Context, p laws.Part, all ...law) error {
	for _, l := range all {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := p.Run(l.name, func() error { return l.check(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// form holds the checks that processes of tokens and of reals share.
type form[S energy.Site] struct {
	laws.Part
	p      diffusion.Process[S]
	levels int
	s      diffusion.Steps[S]
	model  energy.Denoiser[S]
}

type processChecker struct {
	form[int32]
	o ProcessOptions
	m *joint // exact model with which the process is tested
}

func (f *form[S]) bind(ctx context.Context) (err error) {
	for _, shape := range [][2]int{{0, f.levels}, {-1, f.levels}, {sites, 0}, {sites, -1}, {math.MaxInt32, 1 << 30}} {
		if _, err := f.p.Bind(ctx, shape[0], shape[1]); err == nil {
			return f.Broken("bind", "Bind(%d, %d) returns no error", shape[0], shape[1])
		}
	}
	if f.s, err = f.p.Bind(ctx, sites, f.levels); err != nil || f.s == nil {
		return f.Broken("bind", "Bind(%d, %d) returns %v, %v", sites, f.levels, f.s, err)
	}
	return nil
}

func (f *form[S]) schedule(context.Context) error {
	before := math.Inf(1)
	for k := range 101 {
		t := float64(k) / 100
		a := f.s.Alpha(t)
		if !(a >= 0 && a <= 1 && a <= before) {
			return f.Broken("schedule", "Alpha(%v) = %v after %v, want 0…1 and not to rise", t, a, before)
		}
		before = a
	}
	if a, z := f.s.Alpha(0), f.s.Alpha(1); a < 0.9 || z > 0.1 {
		return f.Broken("schedule", "Alpha(0) = %v, Alpha(1) = %v, want near 1 and 0", a, z)
	}
	return nil
}

func (c *processChecker) prior(context.Context) error {
	r := sampler.NewStream(39, 1)
	counts := make([]int, laws.Size(sites, levels))
	x := make([]int32, sites)
	for range 4000 {
		c.s.Prior(x, r)
		for i, l := range x {
			if l < 0 || l >= levels {
				return c.Broken("prior", "x_1[%d] = %d, want 0…%d", i, l, levels-1)
			}
		}
		laws.Tally(counts, x, sites, levels)
	}
	c.m = newJoint(sites, levels, -1, 6)
	if counts[laws.Index(x, levels)] == 4000 {
		if x[0] != x[1] || x[1] != x[2] {
			return c.Broken("prior", "x_1 = %v always, want masks", x)
		}
		c.m = newJoint(sites, levels, x[0], 5)
	}
	c.model = c.m
	if v := laws.PValue(counts, c.m.prior()); v < laws.Rate {
		k, tail := laws.WorstCell(counts, c.m.prior())
		return c.Broken("prior", "x_1 is not uniform: p-value %.2g, worst state %v, %d of 4000 draws (tail %.2g)", v, c.m.all()[k], counts[k], tail)
	}
	return nil
}

// clock checks the times of whole runs, in which Next receives the states that occur.
func (f *form[S]) clock(ctx context.Context) error {
	for _, steps := range []int{1, 2, 7, 64} {
		b, err := f.p.Bind(ctx, sites, f.levels)
		if err != nil {
			return f.Broken("bind", "%v", err)
		}
		most := steps
		if clocked, ok := b.(diffusion.Clocked); ok {
			most = clocked.MaxSteps(steps)
		}
		n, last := 0, 1.0
		var wrong error
		d, err := diffusion.New(ctx, f.model, f.p, diffusion.Config{Steps: steps, Seed: 5, Workers: 1, Batch: 1, Observe: func(s *diffusion.Snapshot) {
			n++
			if wrong == nil && (s.From != last || s.To > s.From || s.To < 0) {
				wrong = f.Broken("clock", "step %d of %d goes from time %v to %v, and the last ended at %v", n, steps, s.From, s.To, last)
			}
			last = s.To
		}})
		if err != nil {
			return f.Broken("bind", "%v", err)
		}
		if err := d.Sample(ctx, make([]S, sites)); err != nil {
			return f.Broken("clock", "%d steps: %v", steps, err)
		}
		if wrong != nil {
			return wrong
		}
		if last != 0 || n > most {
			return f.Broken("clock", "%d steps end at time %v after %d, want 0 after at most %d", steps, last, n, most)
		}
	}
	return nil
}

// step returns the documented step between two times.
func (c *processChecker) step(t, s float64) func(level int32, p []float64) []float64 {
	at, as := c.s.Alpha(t), c.s.Alpha(s)
	switch {
	case c.o.Step != nil:
		return c.o.Step(t, s, at, as)
	case c.m.mask >= 0:
		return MaskedStep(c.m.mask, at, as, 0)
	}
	return uniformStep(at, as)
}

// expected returns the distribution of x_0 after the given number of steps.
func (c *processChecker) expected(steps int) []float64 {
	if c.o.Claim == Exact {
		return c.m.p
	}
	p, t := c.m.prior(), 1.0
	for k := range steps {
		s := c.s.Next(make([]int32, sites), t, k, steps, sampler.NewStream(1, 1))
		p = c.m.evolve(p, c.s.Alpha(t), c.step(t, s))
		t = s
	}
	return p
}

func (c *processChecker) distribution(ctx context.Context) error {
	predictions := []bool{false}
	if c.m.mask < 0 {
		predictions = append(predictions, true)
	}
	defer func() { c.m.loo = false }()
	for _, c.m.loo = range predictions {
		for _, steps := range c.o.Counts {
			d, err := diffusion.New(ctx, c.model, c.p, diffusion.Config{Steps: steps, Seed: uint64(steps)})
			if err != nil {
				return c.Broken("bind", "%v", err)
			}
			x := make([]int32, c.o.Samples*sites)
			if err := d.Sample(ctx, x); err != nil {
				return c.Broken("distribution", "%d steps: %v", steps, err)
			}
			counts := make([]int, len(c.m.p))
			for k := range c.o.Samples {
				y := x[k*sites : (k+1)*sites]
				if c.m.masks(y) {
					return c.Broken("distribution", "sample %v of %d steps still has a mask", y, steps)
				}
				laws.Tally(counts, y, sites, levels)
			}
			if c.o.Claim == Heuristic {
				continue
			}
			want := c.expected(steps)
			if v := laws.PValue(counts, want); v < laws.Rate/float64(len(predictions)*len(c.o.Counts)) {
				k, _ := laws.WorstCell(counts, want)
				return c.Broken("distribution", "%d samples of %d steps, leave-one-out: %v: p-value %.2g; worst state %v, %d samples, want about %.1f",
					c.o.Samples, steps, c.m.loo, v, c.m.all()[k], counts[k], want[k]*float64(c.o.Samples))
			}
		}
	}
	if c.o.Claim != Converges {
		return nil
	}
	few, many := variation(c.expected(16), c.m.p), variation(c.expected(256), c.m.p)
	if many > distance || many > few/3 {
		return c.Broken("distribution", "the distribution is %.3g from the denoiser's after 16 steps and %.3g after 256, want ≤ %v and a third", few, many, distance)
	}
	return nil
}

// times lists the pairs of times between which single steps are checked.
var times = [][2]float64{{0.9, 0.6}, {0.5, 0.45}, {0.3, 0}}

// corrupted draws a clean state x_0, and a corruption x_t of it at time t.
func (c *processChecker) corrupted(r *rand.Rand, t float64) (x0, xt []int32) {
	u, k := r.Float64(), 0
	for ; k < len(c.m.p)-1 && u >= c.m.p[k]; k++ {
		u -= c.m.p[k]
	}
	x0 = slices.Clone(c.m.all()[k])
	xt = slices.Clone(x0)
	for i := range xt {
		if r.Float64() >= c.s.Alpha(t) {
			if xt[i] = c.m.mask; xt[i] < 0 {
				xt[i] = r.Int32N(levels)
			}
		}
	}
	return x0, xt
}

// predicted returns the full posterior at x_t as log-weights.
func (c *processChecker) predicted(xt []int32, t float64, loo bool) []float32 {
	c.m.loo = loo
	defer func() { c.m.loo = false }()
	return slices.Clone(c.m.logs(xt, c.s.Alpha(t)))
}

// each calls check with several states x_t and their predictions, until there is an error. The
// first argument of check is a pair of times, and x_t is a corruption of x_0 at the first time.
func (c *processChecker) each(seed uint64, n int, check func(at [2]float64, x0, xt []int32, v []float32) error) error {
	r := rand.New(rand.NewPCG(39, seed))
	for range n {
		for _, at := range times {
			x0, xt := c.corrupted(r, at[0])
			if err := check(at, x0, xt, c.predicted(xt, at[0], false)); err != nil {
				return err
			}
		}
	}
	return nil
}

// documented reports whether the single steps of the process are documented.
func (c *processChecker) documented() bool { return c.o.Claim != Exact && c.o.Claim != Heuristic }

func (c *processChecker) condition(context.Context) error {
	s, ok := c.s.(diffusion.Renoiser)
	if !ok {
		return nil
	}
	return c.each(8, 30, func(at [2]float64, _, xt []int32, _ []float32) error {
		want := c.m.posterior(xt, c.s.Alpha(at[0]), nil, false)
		for _, loo := range []bool{false, true} {
			if loo && c.m.mask >= 0 {
				continue
			}
			v := c.predicted(xt, at[0], loo)
			for _, again := range []bool{false, true} {
				s.Condition(v, xt, at[0], loo && !again)
				if err := c.compare("condition", v, want, xt, at[0]); err != nil {
					return err
				}
			}
		}
		if c.m.mask < 0 {
			return nil
		}
		// a denoiser that ignores the corruption
		v := make([]float32, sites*levels)
		s.Condition(v, xt, at[0], false)
		for i, l := range xt {
			p := softmax(v[i*levels : (i+1)*levels])
			if l != c.m.mask && p[l] != 1 || p[c.m.mask] != 0 {
				return c.Broken("condition", "row %d of zeros at x_t = %v becomes %v", i, xt, p)
			}
		}
		return nil
	})
}

// compare checks rows of log-weights against probabilities, within 2⁻¹⁶ for float32 rows.
func (c *processChecker) compare(law string, v []float32, want []float64, xt []int32, t float64) error {
	for i := range sites {
		for l, p := range softmax(v[i*levels : (i+1)*levels]) {
			if !(math.Abs(p-want[i*levels+l]) <= 0x1p-16) {
				return c.Broken(law, "at x_t = %v, t = %v site %d has level %d with probability %v, want %v", xt, t, i, l, p, want[i*levels+l])
			}
		}
	}
	return nil
}

// oneHot returns a row with all weight on one level.
func oneHot(l int32) []float64 {
	p := make([]float64, levels)
	p[l] = 1
	return p
}

func (c *processChecker) renoise(context.Context) error {
	s, ok := c.s.(diffusion.Renoiser)
	if !ok || !c.documented() {
		return nil
	}
	const pairs, draws = 12, 1500
	stream := sampler.NewStream(39, 2)
	return c.each(9, pairs, func(at [2]float64, x0, xt []int32, v []float32) error {
		s.Condition(v, xt, at[0], false)
		step := c.step(at[0], at[1])
		want := product(1, sites, func(i int) []float64 { return step(xt[i], oneHot(x0[i])) })
		counts := make([]int, len(want))
		for range draws {
			x := slices.Clone(xt)
			s.Renoise(x, x0, slices.Clone(v), at[0], at[1], stream)
			laws.Tally(counts, x, sites, levels)
		}
		if p := laws.PValue(counts, want); p < laws.Rate/pairs/float64(len(times)) {
			k, _ := laws.WorstCell(counts, want)
			return c.Broken("renoise", "x_s given x_t = %v, x_0 = %v from t = %v to %v: p-value %.2g; worst state %v, %d of %d draws, want about %.1f",
				xt, x0, at[0], at[1], p, c.m.all()[k], counts[k], draws, want[k]*draws)
		}
		return nil
	})
}

func (c *processChecker) reweight(context.Context) error {
	s, ok := c.s.(diffusion.Joint)
	if !ok || !c.documented() {
		return nil
	}
	stream := sampler.NewStream(39, 3)
	return c.each(10, 40, func(at [2]float64, x0, xt []int32, v []float32) error {
		s.Condition(v, xt, at[0], false)
		xs := slices.Clone(xt)
		s.Renoise(xs, x0, slices.Clone(v), at[0], at[1], stream)
		want := make([]float64, len(v))
		step := c.step(at[0], at[1])
		for i := range sites {
			prior, sum := softmax(v[i*levels:(i+1)*levels]), 0.0
			for l, p := range prior {
				if int32(l) != c.m.mask {
					want[i*levels+l] = p * step(xt[i], oneHot(int32(l)))[xs[i]]
				}
				sum += want[i*levels+l]
			}
			for l := range levels {
				want[i*levels+l] /= sum
			}
		}
		s.Reweight(v, xt, xs, at[0], at[1])
		if err := c.compare("reweight", v, want, xt, at[0]); err != nil {
			return fmt.Errorf("%w, given x_s = %v at %v", err, xs, at[1])
		}
		return nil
	})
}

func (c *processChecker) posterior(context.Context) error {
	s, ok := c.s.(diffusion.Factorised)
	if !ok || !c.documented() {
		return nil
	}
	return c.each(11, 40, func(at [2]float64, _, xt []int32, v []float32) error {
		dst := make([]float32, len(v))
		s.Posterior(dst, v, xt, at[0], at[1])
		var want []float64
		step := c.step(at[0], at[1])
		for i, l := range xt {
			want = append(want, step(l, softmax(v[i*levels:(i+1)*levels]))...)
		}
		for i, w := range dst {
			if p := math.Exp(float64(w)); !(math.Abs(p-want[i]) <= 0x1p-16) {
				return c.Broken("posterior", "at x_t = %v from t = %v to %v site %d has level %d with probability %v, want %v", xt, at[0], at[1], i/levels, i%levels, p, want[i])
			}
		}
		return nil
	})
}

// wrapped hides all methods of a process except Bind.
type wrapped[S energy.Site] struct{ diffusion.Process[S] }

// same draws samples in several ways that must give the same result.
func (f *form[S]) same(ctx context.Context) error {
	const samples = 20
	draw := func(p diffusion.Process[S], cfg diffusion.Config, cuts ...int) ([]S, error) {
		cfg.Steps, cfg.Seed = 5, 11
		d, err := diffusion.New(ctx, f.model, p, cfg)
		if err != nil {
			return nil, err
		}
		var all []S
		for _, n := range cuts {
			x := make([]S, n*sites)
			if err := d.Sample(ctx, x); err != nil {
				return nil, err
			}
			all = append(all, x...)
		}
		return all, nil
	}
	want, err := draw(f.p, diffusion.Config{Workers: 1, Batch: 1}, samples)
	if err != nil {
		return f.Broken("workers", "%v", err)
	}
	for _, w := range []struct {
		law, what string
		p         diffusion.Process[S]
		cfg       diffusion.Config
		cuts      []int
		from      int
	}{
		{"workers", "3 workers and batches of 7", f.p, diffusion.Config{Workers: 3, Batch: 7}, []int{samples}, 0},
		{"workers", "2 workers", f.p, diffusion.Config{Workers: 2}, []int{samples}, 0},
		{"parts", "three calls", f.p, diffusion.Config{}, []int{7, 1, samples - 8}, 0},
		{"parts", "samples from number 6 on", f.p, diffusion.Config{First: 6}, []int{samples - 6}, 6},
		{"wrapper", "a process that wraps it", wrapped[S]{f.p}, diffusion.Config{}, []int{samples}, 0},
		{"wrapper", "a pointer to one that wraps it", &wrapped[S]{f.p}, diffusion.Config{}, []int{samples}, 0},
	} {
		got, err := draw(w.p, w.cfg, w.cuts...)
		if err != nil || !slices.Equal(got, want[w.from*sites:]) {
			return f.Broken(w.law, "%s: %v (%v), want %v", w.what, got, err, want[w.from*sites:])
		}
	}
	return f.resume(ctx, want)
}

// resume checks a run that is interrupted and continued from a checkpoint.
func (f *form[S]) resume(ctx context.Context, want []S) error {
	dir, err := os.MkdirTemp("", "diffusiontest")
	if err != nil {
		return fmt.Errorf("diffusiontest: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := diffusion.Config{Steps: 5, Seed: 11}
	cfg.Checkpoint.Path = filepath.Join(dir, "run")
	var file bytes.Buffer
	first, err := diffusion.New(ctx, f.model, f.p, cfg)
	if err == nil {
		err = first.Sample(ctx, make([]S, 9*sites))
	}
	if err == nil {
		err = first.Save(&file)
	}
	if err != nil {
		return f.Broken("resume", "%v", err)
	}
	x := make([]S, len(want))
	second, err := diffusion.New(ctx, f.model, f.p, cfg)
	if err == nil {
		err = second.Load(ctx, &file)
	}
	if err == nil {
		err = second.Sample(ctx, x)
	}
	if err != nil || !slices.Equal(x, want) {
		return f.Broken("resume", "9 samples, Save, Load and the others: %v (%v), want %v", x, err, want)
	}
	return nil
}

// ends checks runs whose contexts end in the middle.
func (f *form[S]) ends(ctx context.Context) error {
	for _, look := range []int{1, 2, 3, 5, 9} {
		polled := laws.NewPolled(ctx, look)
		d, err := diffusion.New(polled, f.model, f.p, diffusion.Config{Steps: 4})
		if err == nil {
			err = d.Sample(polled, make([]S, 2*sites))
		}
		if err == nil && look > 3 {
			continue // the run may be over by then
		}
		if !errors.Is(err, context.Canceled) {
			return f.Broken("context", "a context that ends at look %d: %v, want its error", look, err)
		}
	}
	return nil
}
