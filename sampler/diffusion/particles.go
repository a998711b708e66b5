package diffusion

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

const (
	defaultParticles = 64
	defaultThreshold = 0.5 // of the particles, the usual choice
)

// ParticlesConfig says how [Particles] run.
type ParticlesConfig struct {
	// Config as for a diffusion, with a Projector whose projection is a
	// [Drawer] without a memory. Batch counts samples; ProjectStart,
	// ProjectEvery and Decode must be zero.
	Config

	// Particles is the number of particles per sample; 0 means 64.
	Particles int

	// Threshold is the effective number of particles, as a share of all, below
	// which they are resampled; 0 means ½.
	Threshold float64
}

// Particles draws samples from p(x_0 | C), p being that of the unconstrained
// diffusion with the same process and steps, by sequential Monte Carlo.
//
// A diffusion that is conditioned on C in every step always ends in C, but
// weighs its members wrongly: a factorised prediction does not know how likely C
// is from here. Particles correct that. A particle moves from x_t by the
// conditioned step and its weight grows by
//
//	Z_C(p(·|x_s)) / Z_C(ρ),  ρ_i(v) ∝ p_i(v|x_t)·q(x_s,i | x_t,i, v),
//
// where Z_C(r) is the probability of C under the factorised distribution r: the
// first is how likely C is from x_s, the second how likely the draw of x_s took
// it to be.
// When the weights' effective number (Σw)²/Σw² falls below the threshold,
// particles are drawn anew in proportion to their weights (systematic
// resampling). The result is one particle by weight.
//
// As the number of particles grows, the distribution of the samples tends to
// p(x_0 | C); [Particles.LogProb] estimates P(C), without bias for every number
// of particles. Both speak of the unconstrained sampler at this number of steps;
// that is the denoiser's for Masked{FirstHitting: true} and in the limit of
// many steps.
//
// A particle from which C cannot be reached has weight zero. Only if all die is
// that an error, which wraps constraint.ErrInfeasible.
//
// Particle j of sample i draws from stream (Seed, i·Particles + j). Neither
// Workers nor Batch changes a bit.
type Particles struct {
	d         *Runner[int32]
	n         int // particles per sample
	threshold float64
	joint     []Joint

	// By slot.
	logZ   []float64 // of the prediction
	logRho []float64 // of ρ of the last step
	logW   []float64 // log-weight since the last resampling
	count  []int     // copies to make
	v      [][]float32
	lse    [][]float64

	// By sample of the batch.
	evidence []float64 // log estimate of P(C) so far
	choice   []sampler.Stream
	errs     []error

	weigh, move, renew func(w, i int)

	sum, square float64 // over samples: log Σ Ẑ and log Σ Ẑ²
}

// NewParticles returns particles that sample from the model with the process,
// under the constraint of cfg.Projector, which it binds under ctx.
//
// Errors: as of [New]; a process whose steps are no [Joint], such as [Remask]
// and [Ordered]; no projector, or one whose projection cannot draw or keeps a
// memory.
func NewParticles(ctx context.Context, model energy.Denoiser[int32], process Process[int32], cfg ParticlesConfig) (*Particles, error) {
	bad := func(format string, v any) (*Particles, error) {
		return nil, fmt.Errorf("diffusion: NewParticles: "+format, v)
	}
	if cfg.Particles == 0 {
		cfg.Particles = defaultParticles
	}
	if cfg.Threshold == 0 {
		cfg.Threshold = defaultThreshold
	}
	switch {
	case cfg.Particles < 1:
		return bad("Particles = %d, want ≥ 0", cfg.Particles)
	case !(cfg.Threshold > 0 && cfg.Threshold <= 1):
		return bad("Threshold = %v, want in (0, 1]", cfg.Threshold)
	case check.Nil(cfg.Projector):
		return bad("Projector = %v, want one that can draw", nil)
	case cfg.ProjectStart != 0 || cfg.ProjectEvery != 0 || cfg.Decode != DecodeLast:
		return bad("ProjectStart, ProjectEvery and Decode must be zero: weights need every step%v", "")
	case check.Nil(model):
		return bad("model = %v", nil)
	}
	sites, levels := model.Shape()
	if cfg.Batch == 0 && sites > 0 && levels > 0 {
		cfg.Batch = min(max(1, defaultTables/4/(sites*levels*cfg.Particles)), defaultBatch)
	}
	samples := cfg.Batch
	cfg.Config.Batch *= cfg.Particles
	d, err := New(ctx, model, process, cfg.Config)
	if err != nil {
		return nil, err
	}
	switch {
	case d.drawer == nil:
		return bad("the projection is a %T, want a Drawer", d.projection)
	case d.committer != nil:
		return bad("the projection %T has a memory, which weights do not know", d.projection)
	}
	d.keep = true
	p := &Particles{d: d, n: cfg.Particles, threshold: cfg.Threshold, joint: make([]Joint, len(d.process))}
	for i, q := range d.process {
		var ok bool
		if p.joint[i], ok = q.(Joint); !ok {
			return bad("%T cannot be weighed: it is no Joint", process)
		}
	}
	p.allocate(samples)
	return p, nil
}

func (p *Particles) allocate(samples int) {
	d := p.d
	slots := samples * p.n
	p.logZ, p.logRho, p.logW = make([]float64, slots), make([]float64, slots), make([]float64, slots)
	p.count = make([]int, slots)
	p.evidence, p.choice, p.errs = make([]float64, samples), make([]sampler.Stream, samples), make([]error, samples)
	for range d.work {
		p.v = append(p.v, make([]float32, d.sites*d.levels))
		p.lse = append(p.lse, make([]float64, d.sites))
	}
	p.weigh = func(w, i int) { d.errs[i] = d.until(p.weighSlot, w, i) }
	p.move = func(w, i int) { d.errs[i] = d.until(p.moveSlot, w, i) }
	p.renew = func(_, g int) { p.errs[g] = p.renewGroup(g) }
	never := math.Inf(-1)
	p.sum, p.square = never, never
}

// Len returns the number of samples made.
func (p *Particles) Len() int { return p.d.made }

// LogProb returns the logarithm of an estimate of P(C) and the relative standard
// error of that estimate. The estimate is the mean over all samples made of
// their unbiased estimates. NaN if there is no sample; the error is NaN for
// fewer than two.
func (p *Particles) LogProb() (logP, stderr float64) {
	n := float64(p.d.made)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	logP = p.sum - simd.Log(n)
	// Var/mean² = n·ΣẐ²/(ΣẐ)² − 1, times n/(n−1) and over n for the mean.
	ratio := simd.Exp(p.square-2*p.sum) * n
	return logP, math.Sqrt(max(0, ratio-1) / (n - 1))
}

// Sample fills x, any number of samples × sites, with samples. Errors are those
// of [Runner.Sample].
func (p *Particles) Sample(ctx context.Context, x []int32) error {
	d := p.d
	if len(x)%d.sites != 0 {
		panic(fmt.Sprintf("diffusion: len(x) = %d, want a multiple of %d", len(x), d.sites))
	}
	total := len(x) / d.sites
	d.pool.Start()
	defer d.pool.Stop()
	for done := 0; done < total; {
		groups := min(len(p.evidence), total-done)
		if err := p.begin(ctx, groups); err != nil {
			return err
		}
		if err := p.steps(ctx, groups); err != nil {
			return err
		}
		for g := range groups {
			best := p.pick(g)
			copy(x[(done+g)*d.sites:], d.state(best))
			p.sum = logAdd(p.sum, p.evidence[g])
			p.square = logAdd(p.square, 2*p.evidence[g])
		}
		done += groups
		d.made += groups
		if d.cfg.Progress != nil {
			d.cfg.Progress(done*d.maxSteps, total*d.maxSteps)
		}
	}
	return nil
}

// begin puts all particles of a batch at time 1.
func (p *Particles) begin(ctx context.Context, groups int) error {
	d := p.d
	for i := range groups * p.n {
		if err := ctx.Err(); err != nil {
			return err
		}
		sample := d.made + i/p.n
		d.sample[i] = sample*p.n + i%p.n
		d.streams[i].Seed(d.cfg.Seed, uint64(d.sample[i]))
		d.clamp(i, nil)
		d.begin(i)
		p.logW[i], p.logRho[i] = 0, 0
	}
	for g := range groups {
		p.evidence[g], p.errs[g] = 0, nil
		// The upper half of the chains belongs to resampling.
		p.choice[g].Seed(d.cfg.Seed, 1<<63|uint64(d.made+g))
	}
	return nil
}

// steps brings all particles to time 0.
func (p *Particles) steps(ctx context.Context, groups int) error {
	d := p.d
	slots := groups * p.n
	d.ctx, d.step = ctx, 0
	for ; ; d.step++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		left, err := d.predict(ctx, 0, slots)
		if err != nil || left == 0 {
			return err
		}
		d.pool.Each(0, slots, p.weigh)
		if err := p.failure(slots); err != nil {
			return err
		}
		d.pool.Each(0, groups, p.renew)
		for g, err := range p.errs[:groups] {
			if err != nil {
				return fmt.Errorf("diffusion: Particles: sample %d, step %d: %w", d.made+g, d.step, err)
			}
		}
		d.pool.Each(0, slots, p.move)
		if err := p.failure(slots); err != nil {
			return err
		}
	}
}

// failure returns the error of the first slot that has one.
func (p *Particles) failure(slots int) error {
	if err := p.d.ctx.Err(); err != nil {
		return err
	}
	for i, err := range p.d.errs[:slots] {
		if err != nil {
			return fmt.Errorf("diffusion: Particles: sample %d, particle %d, step %d: %w", p.d.made+i/p.n, i%p.n, p.d.step, err)
		}
	}
	return nil
}

// weighSlot multiplies the weight of slot i by Z_C(p(·|x_t))/Z_C(ρ).
func (p *Particles) weighSlot(w, i int) error {
	d := p.d
	if d.time[i] <= 0 {
		return nil
	}
	if d.fresh[i] {
		v := d.prediction(i)
		conditionTokens(&d.batch, i, v, d.time[i])
		var err error
		p.logZ[i], err = p.logProb(w, v)
		if err != nil {
			return err
		}
	}
	p.logW[i] += p.logZ[i] - p.logRho[i]
	if math.IsInf(p.logW[i], -1) {
		d.time[i], d.known[i] = 0, false
	}
	return nil
}

// logProb returns log Z_C of the normalised rows of v, −Inf if C is out of
// reach.
func (p *Particles) logProb(w int, v []float32) (float64, error) {
	z, err := p.d.drawer.LogZ(v)
	if errors.Is(err, constraint.ErrInfeasible) {
		return math.Inf(-1), nil
	}
	if err != nil {
		return 0, err
	}
	simd.LogSumExp(p.lse[w], v, p.d.levels)
	for _, l := range p.lse[w] {
		z -= l
	}
	return z, nil
}

// moveSlot moves particle i by one conditioned step.
func (p *Particles) moveSlot(w, i int) error {
	d := p.d
	if d.time[i] <= 0 {
		return nil
	}
	x, r, t := d.state(i), &d.streams[i], d.time[i]
	raw, work := d.prediction(i), &d.work[w]
	s := d.process[i].Next(x, t, d.step, d.cfg.Steps, r)
	copy(work.before, x)
	work.snap = Snapshot{Projected: true}
	var err error
	if work.snap.LogZ, err = d.drawer.Draw(work.clean, raw, r); err != nil {
		return err
	}
	p.joint[i].Renoise(x, work.clean, raw, t, s, r)
	d.restore(i)
	p.logRho[i] = 0
	if s > 0 {
		copy(p.v[w], raw)
		p.joint[i].Reweight(p.v[w], work.before, x, t, s)
		if p.logRho[i], err = p.logProb(w, p.v[w]); err != nil {
			return err
		}
	}
	d.moved(i, s, !slices.Equal(work.before, x))
	d.observe(w, i, raw, t, s)
	return nil
}

// renewGroup resamples the particles of a sample if few carry the weight. It
// returns an error if none has any.
func (p *Particles) renewGroup(g int) error {
	w := p.logW[g*p.n : (g+1)*p.n]
	if math.IsInf(slices.Max(w), -1) {
		return constraint.ErrInfeasible
	}
	top, sum, squares := moments(w)
	if float64(sum*sum) >= float64(float64(p.threshold*float64(p.n))*squares) {
		return nil
	}
	systematic(p.count[g*p.n:(g+1)*p.n], w, p.choice[g].Float64())
	p.spread(g)
	p.evidence[g] += top + simd.Log(sum/float64(p.n))
	clear(w)
	return nil
}

// spread copies particles into the places of those that have no copies left.
func (p *Particles) spread(g int) {
	first := g * p.n
	free := first
	for j := first; j < first+p.n; j++ {
		for ; p.count[j] > 1; p.count[j]-- {
			for p.count[free] != 0 {
				free++
			}
			p.copySlot(free, j)
			p.count[free] = 1
		}
	}
}

// copySlot makes slot dst a copy of slot src in all but its stream.
func (p *Particles) copySlot(dst, src int) {
	d := p.d
	copy(d.state(dst), d.state(src))
	copy(d.prediction(dst), d.prediction(src))
	d.time[dst], d.known[dst], d.fresh[dst] = d.time[src], d.known[src], d.fresh[src]
	p.logZ[dst], p.logRho[dst] = p.logZ[src], p.logRho[src]
	if d.warm != nil {
		d.warm.Copy(dst, src)
	}
}

// pick closes the estimate of a sample and returns one of its particles, drawn
// by weight.
func (p *Particles) pick(g int) int {
	w := p.logW[g*p.n : (g+1)*p.n]
	top, sum, _ := moments(w)
	p.evidence[g] += top + simd.Log(sum/float64(p.n))
	return g*p.n + byWeight(w, p.choice[g].Float64())
}
