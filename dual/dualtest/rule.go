package dualtest

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// Options describes the behaviour that a rule promises. The zero value is for rules that converge
// to the optimum.
type Options struct {
	// Rest, unless nil, measures how far a multiplier λ < Max is from a point at which the rule
	// leaves λ unchanged. The measure is zero at such a point. The arguments are λ and the mean
	// violation of its constraint. Set Rest for a rule that does not converge to the optimum. If
	// Rest is nil, the measure is |λ − clip(λ + ḡ)|, where ḡ is the mean violation and clip limits
	// its argument to the bounds.
	Rest func(lambda, mean float64) float64
}

// TestRule checks a rule against the requirements of [dual.Rule] and [dual.Updater]:
//
//   - bind: Bind returns an error for n < 1.
//   - bounds: Multipliers of inequalities stay within 0…Max, and multipliers of equalities within
//     ±Max.
//   - batch: An update does not modify its batch.
//   - same: Two updaters of one rule give the same bits for the same batches.
//   - error: An update that fails leaves the multipliers unchanged. If a batch has neither G nor
//     Cov, an update may fail, or use only the mean.
//   - resume: An updater restored in mid-run continues bit for bit. Its state is appended to the
//     given slice, and a state of another length is rejected.
//   - allocation: An update allocates nothing.
//   - optimum: With the exact moments of a small problem, the multipliers converge to a point where
//     Options.Rest is zero. The problem has one active and one inactive constraint and one
//     equality.
func TestRule(ctx context.Context, rule dual.Rule, o Options) error {
	part, err := laws.Given("dualtest", "rule", rule)
	if err != nil {
		return err
	}
	r := &ruler{Part: part, rule: rule, o: o}
	for _, l := range []struct {
		name  string
		check func(context.Context) error
	}{
		{"bind", r.bind}, {"bounds", r.bounds}, {"error", r.failure}, {"resume", r.resume}, {"allocation", r.allocation}, {"optimum", r.optimum},
	} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := r.Run(l.name, func() error { return l.check(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

type ruler struct {
	laws.Part
	rule dual.Rule
	o    Options
}

func (r *ruler) bind(ctx context.Context) error {
	for _, n := range []int{0, -1, math.MinInt} {
		if _, err := r.rule.Bind(ctx, n); err == nil {
			return r.Broken("bind", "Bind(%d) returns no error", n)
		}
	}
	for _, n := range []int{1, 7} {
		if u, err := r.rule.Bind(ctx, n); err != nil || u == nil {
			return r.Broken("bind", "Bind(%d) returns %v, %v", n, u, err)
		}
	}
	return nil
}

const (
	rows = 3
	most = 1
)

// updater binds the rule to a new updater for the test problem's number of multipliers.
func (r *ruler) updater(ctx context.Context, law string) (dual.Updater, error) {
	u, err := r.rule.Bind(ctx, rows)
	if err != nil {
		return nil, r.Broken(law, "Bind(%d): %v", rows, err)
	}
	return u, nil
}

// randomBatch returns a batch of eight random states whose last row is an equality. The means
// push multipliers against both of their bounds in turn.
func randomBatch(src *rand.Rand, step int) *dual.Batch {
	const states = 8
	g := make([]float64, states*rows)
	push := 2 - 4*float64(step/12%2)
	shift := [rows]float64{push + src.NormFloat64(), 3 * src.NormFloat64(), push + src.NormFloat64()}
	for i := range g {
		g[i] = shift[i%rows] + src.NormFloat64()
	}
	b := &dual.Batch{Step: step, States: states, Beta: 1, Mean: make([]float64, rows), Max: most, Equal: []bool{false, false, true}}
	for i, v := range g {
		b.Mean[i%rows] += v / states
	}
	b.G = g
	return b
}

func copyBatch(b *dual.Batch) *dual.Batch {
	c := *b
	c.Mean, c.G, c.Cov, c.Equal = slices.Clone(b.Mean), slices.Clone(b.G), slices.Clone(b.Cov), slices.Clone(b.Equal)
	return &c
}

func sameBatch(a, b *dual.Batch) bool {
	return slices.Equal(a.Mean, b.Mean) && slices.Equal(a.G, b.G) && slices.Equal(a.Cov, b.Cov) && slices.Equal(a.Equal, b.Equal) &&
		a.Step == b.Step && a.States == b.States && a.Beta == b.Beta && a.Max == b.Max
}

func (r *ruler) bounds(ctx context.Context) error {
	src := rand.New(rand.NewPCG(39, 2))
	one, err := r.updater(ctx, "bounds")
	if err != nil {
		return err
	}
	two, err := r.updater(ctx, "bounds")
	if err != nil {
		return err
	}
	lambda, other := make([]float64, rows), make([]float64, rows)
	for step := range 60 {
		b := randomBatch(src, step)
		before := copyBatch(b)
		if err := one.Update(lambda, b); err != nil {
			return r.Broken("bounds", "Update at step %d: %v", step, err)
		}
		if !sameBatch(b, before) {
			return r.Broken("batch", "Update changes its batch at step %d", step)
		}
		for j, v := range lambda {
			low := 0.0
			if b.Equal[j] {
				low = -most
			}
			if !(v >= low && v <= most) {
				return r.Broken("bounds", "λ[%d] = %v after step %d, want %v…%v; ḡ = %v", j, v, step, low, most, b.Mean)
			}
		}
		if err := two.Update(other, copyBatch(b)); err != nil || !slices.Equal(lambda, other) {
			return r.Broken("same", "two updaters that see the same batches are at λ = %v and %v (%v) after step %d", lambda, other, err, step)
		}
	}
	return nil
}

func (r *ruler) failure(ctx context.Context) error {
	src := rand.New(rand.NewPCG(39, 3))
	for k, spoil := range []func(b *dual.Batch){
		func(b *dual.Batch) { b.G, b.States = b.G[:rows], 1 },
		func(b *dual.Batch) { b.Mean[1] = math.NaN() },
		func(b *dual.Batch) { b.Mean[2] = math.Inf(1) },
		func(b *dual.Batch) { b.G[4] = math.Inf(1) },
		func(b *dual.Batch) { b.G = nil },
		func(b *dual.Batch) { b.Cov = slices.Repeat([]float64{math.NaN()}, rows*rows) },
	} {
		u, err := r.updater(ctx, "error")
		if err != nil {
			return err
		}
		b := randomBatch(src, 0)
		spoil(b)
		lambda := []float64{1, 0.5, -1}
		if err := u.Update(lambda, b); err != nil && !slices.Equal(lambda, []float64{1, 0.5, -1}) {
			return r.Broken("error", "λ = %v after an update that fails (%v), and [1 0.5 -1] before; case %d", lambda, err, k)
		}
	}
	return nil
}

func (r *ruler) resume(ctx context.Context) error {
	src := rand.New(rand.NewPCG(39, 4))
	whole, err := r.updater(ctx, "resume")
	if err != nil {
		return err
	}
	cut, err := r.updater(ctx, "resume")
	if err != nil {
		return err
	}
	lambda, other := make([]float64, rows), make([]float64, rows)
	for step := range 24 {
		b := randomBatch(src, step)
		if err := whole.Update(lambda, copyBatch(b)); err != nil {
			return r.Broken("resume", "Update at step %d: %v", step, err)
		}
		if err := cut.Update(other, b); err != nil || !slices.Equal(lambda, other) {
			return r.Broken("resume", "an updater that is restored in every step is at λ = %v (%v) after step %d, want %v", other, err, step, lambda)
		}
		const head = "head"
		state, err := cut.AppendBinary([]byte(head))
		if err != nil || !bytes.HasPrefix(state, []byte(head)) {
			return r.Broken("resume", "AppendBinary of %q gives %q, %v", head, state, err)
		}
		state = state[len(head):]
		if cut, err = r.updater(ctx, "resume"); err != nil {
			return err
		}
		if cut.UnmarshalBinary(append(slices.Clone(state), 0)) == nil {
			return r.Broken("resume", "a state with a byte too many is accepted")
		}
		if len(state) > 0 && cut.UnmarshalBinary(state[:len(state)-1]) == nil {
			return r.Broken("resume", "a state with a byte too few is accepted")
		}
		if err := cut.UnmarshalBinary(state); err != nil {
			return r.Broken("resume", "UnmarshalBinary of what AppendBinary wrote: %v", err)
		}
	}
	return nil
}

func (r *ruler) allocation(ctx context.Context) error {
	src := rand.New(rand.NewPCG(39, 5))
	u, err := r.updater(ctx, "allocation")
	if err != nil {
		return err
	}
	lambda, b := make([]float64, rows), randomBatch(src, 1)
	if n := laws.Allocations(func() { _ = u.Update(lambda, b) }); n > 0 {
		return r.Broken("allocation", "an update allocates %v times", n)
	}
	return nil
}

// problem is a distribution on 32 states with three violations. The first mean is positive until
// λ_0 > 0, the second stays negative, and the third belongs to an equality.
type problem struct {
	f, g []float64
}

func newProblem() *problem {
	src := rand.New(rand.NewPCG(39, 6))
	p := &problem{}
	for range 32 {
		u, v := src.NormFloat64(), src.NormFloat64()
		p.f = append(p.f, src.NormFloat64()/2)
		p.g = append(p.g, 0.5+u, -2+0.5*u+v, 0.4-v)
	}
	return p
}

// moments stores the mean and the covariance of g under p(k) ∝ exp(−f_k − λᵀg_k).
func (p *problem) moments(mean, cov, lambda []float64) {
	w := make([]float64, len(p.f))
	for k := range w {
		w[k] = -p.f[k]
		for j, l := range lambda {
			w[k] -= l * p.g[k*rows+j]
		}
	}
	laws.Normalize(w)
	clear(mean)
	clear(cov)
	for k, v := range w {
		for j := range rows {
			mean[j] += v * p.g[k*rows+j]
		}
	}
	for k, v := range w {
		for i := range rows {
			for j := range rows {
				cov[i*rows+j] += v * (p.g[k*rows+i] - mean[i]) * (p.g[k*rows+j] - mean[j])
			}
		}
	}
}

// steps is the number of dual steps on the problem. tolerance is the largest error allowed in the
// optimality conditions after these steps. The violations have standard deviations near 1.
const (
	steps     = 4000
	tolerance = 0.01
)

func (r *ruler) optimum(ctx context.Context) error {
	u, err := r.updater(ctx, "optimum")
	if err != nil {
		return err
	}
	p := newProblem()
	lambda := make([]float64, rows)
	b := &dual.Batch{States: 1000, Beta: 1, Mean: make([]float64, rows), Cov: make([]float64, rows*rows), Max: math.Inf(1), Equal: []bool{false, false, true}}
	for step := range steps {
		b.Step = step
		p.moments(b.Mean, b.Cov, lambda)
		if err := u.Update(lambda, b); err != nil {
			return r.Broken("optimum", "Update at step %d: %v", step, err)
		}
	}
	p.moments(b.Mean, b.Cov, lambda)
	for j, v := range lambda {
		left := v + b.Mean[j]
		if !b.Equal[j] {
			left = max(left, 0)
		}
		left -= v
		if r.o.Rest != nil {
			left = r.o.Rest(v, b.Mean[j])
			if !b.Equal[j] && v == 0 {
				left = max(b.Mean[j], 0)
			}
		}
		if !(math.Abs(left) <= tolerance) {
			return r.Broken("optimum", "after %d steps with exact moments λ = %v and ḡ = %v: row %d is %v from rest, want ≤ %v", steps, lambda, b.Mean, j, left, tolerance)
		}
	}
	return nil
}
