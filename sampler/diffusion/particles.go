package diffusion

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

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
// A ParticlesConfig.Potential multiplies weights by G_s(x_s)/G_t(x_t).
//
// As the number of particles grows, the distribution of the samples tends to
// p(x_0 | C), or ∝ p·1[C]·G_0; [Particles.LogProb] estimates P(C), or E_p[1[C]·G_0],
// without bias for every number of particles. Both speak of the unconstrained
// sampler at this number of steps; that is the denoiser's for
// Masked{FirstHitting: true} and in the limit of many steps.
//
// A particle from which C cannot be reached has weight zero. Only if all die is
// that an error of the sample, which wraps constraint.ErrInfeasible; its estimate of
// P(C) is 0.
//
// Particle j of sample i draws from stream (Seed, i·Particles + j). Neither
// Workers nor Batch changes a bit.
//
// The predictions of a sample's particles are held together if they fit in 512
// MiB. Otherwise the denoiser sees as many states at a time as fit, at least
// one, and a particle moves while its prediction is there, before resampling
// instead of after: copies of a particle then part one step later, which costs a
// little variance and changes neither the limit nor what is unbiased. No
// prediction is kept for the next step.
type Particles struct {
	cloud
	run *Runner[int32]

	weight      []float64 // log Ẑ of every sample, those of joined parts too
	weighed     int       // samples that have one
	sum, square float64   // over samples: log Σ Ẑ and log Σ Ẑ²
}

// NewParticles returns particles that sample from the model with the process,
// under the constraint of cfg.Projector, which it binds under ctx, or weighed by
// cfg.Potential.
//
// Errors: as of [New]; a process whose steps are no [Joint], such as [Remask]
// and [Ordered]; neither a projector nor a potential, or a projector whose
// projection cannot draw or keeps a memory.
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
	case check.Nil(cfg.Projector) && cfg.Potential == nil:
		return bad("Projector = %v, want one that can draw, or a Potential", nil)
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
	fit := 0
	if sites > 0 && levels > 0 {
		fit = max(1, particleTables/4/sites/levels)
	}
	if cfg.Particles > fit && cfg.tables == 0 {
		cfg.tables = fit
	}
	cfg.Config.Batch *= cfg.Particles
	d, err := New(ctx, model, process, cfg.Config)
	if err != nil {
		return nil, err
	}
	switch {
	case d.drawer == nil && d.projection != nil:
		return bad("the projection is a %T, want a Drawer", d.projection)
	case d.committer != nil:
		return bad("the projection %T has a memory, which weights do not know", d.projection)
	}
	d.keep = cfg.tables == 0
	d.spared = nil // weights are of whole tables
	d.timeFree = d.timeFree && d.keep
	p := &Particles{run: d, cloud: cloud{d: &d.batch, chunk: cfg.tables, n: cfg.Particles, threshold: cfg.Threshold, joint: make([]Joint, len(d.process))}}
	for i, q := range d.process {
		var ok bool
		if p.joint[i], ok = q.(Joint); !ok {
			return bad("%T cannot be weighed: it is no Joint", process)
		}
	}
	if most := math.MaxInt/p.n - cfg.Count; cfg.First > most {
		return bad(fmt.Sprintf("First = %%d of %d particles each, want ≤ %d", p.n, most), cfg.First)
	}
	p.allocate(samples)
	p.value = newPotential(cfg.Potential, len(p.logW), sites)
	p.sum, p.square = math.Inf(-1), math.Inf(-1)
	if d.kept.settings != nil {
		p.addSettings(d.kept.settings)
	}
	return p, nil
}

// addSettings adds what particles have beside a diffusion.
func (p *Particles) addSettings(l *fingerprint.List) {
	l.Add("ParticlesConfig.Particles", p.n)
	l.Add("ParticlesConfig.Threshold", p.threshold)
	if p.value.of != nil {
		l.Add("ParticlesConfig.Potential", true)
	}
}

// Len returns the number of samples made or given up.
func (p *Particles) Len() int { return p.d.made }

// LogProb returns the logarithm of an estimate of P(C) and the relative standard
// error of that estimate. The estimate is the mean over all samples made of
// their unbiased estimates, 0 for one whose particles have all died; a sample that an
// error ended has none. NaN if there is no estimate; the error is NaN for fewer than
// two. Both have the same bits on every processor.
func (p *Particles) LogProb() (logP, stderr float64) {
	n := float64(p.weighed)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	logP = p.sum - simd.Log(n)
	// Var/mean² = n·ΣẐ²/(ΣẐ)² − 1, times n/(n−1) and over n for the mean.
	ratio := float64(simd.Exp(p.square-float64(2*p.sum)) * n)
	return logP, math.Sqrt(max(0, ratio-1) / (n - 1))
}

// Sample fills x, any number of samples × sites, with samples. Errors are those
// of [Runner.Sample], and a call after [Particles.Join]; what goes wrong with one
// particle ends its sample, which is left blank where nothing is clamped.
func (p *Particles) Sample(ctx context.Context, x []int32) error {
	d := p.run
	if len(x)%d.sites != 0 {
		panic(fmt.Sprintf("diffusion: len(x) = %d, want a multiple of %d", len(x), d.sites))
	}
	if len(p.weight) != d.made {
		return fmt.Errorf("diffusion: Particles: Sample after Join, want it before")
	}
	if err := d.beginCall(ctx, len(x)/d.sites, p.n); err != nil {
		return err
	}
	defer d.endCall()
	var v outcome
	err := p.draw(ctx, x, &v)
	return v.join(err, d.keepNow())
}

// draw fills x: with samples of a checkpoint, if there are some, then with new
// ones.
func (p *Particles) draw(ctx context.Context, x []int32, v *outcome) error {
	d := p.run
	total := len(x) / d.sites
	if err := d.deliver(x, nil, v); err != nil {
		return err
	}
	if v.done() > 0 && len(d.kept.weight) > 0 {
		for _, w := range d.kept.weight[d.made-v.done() : d.made] {
			p.weigh1(w)
		}
	}
	d.pool.Start()
	defer d.pool.Stop()
	for v.done() < total {
		done := v.done()
		groups := min(len(p.evidence), total-done)
		p.begin(groups)
		if err := p.steps(ctx, groups); err != nil {
			return err
		}
		at := x[done*d.sites : (done+groups)*d.sites]
		for g := range groups {
			d.kept.clamp(g, nil)
			row := at[g*d.sites : (g+1)*d.sites]
			if p.fault[g] == nil {
				copy(row, d.state(p.pick(g)))
			} else {
				p.blank(row)
			}
			p.weigh1(p.evidence[g])
		}
		v.add(p.fault[:groups]...)
		d.made += groups
		d.kept.add(at, p.fault[:groups], p.evidence[:groups]...)
		if d.cfg.Progress != nil {
			d.cfg.Progress(v.done()*d.maxSteps, total*d.maxSteps)
		}
		if err := d.keepDue(); err != nil {
			return err
		}
	}
	return nil
}

// blank leaves in a row what it was clamped to.
func (p *Particles) blank(row []int32) {
	for i := range row {
		row[i] = empty[int32]()
		if c := p.d.cfg.Clamp; c != nil && !blank(c[i]) {
			row[i] = c[i]
		}
	}
}

// weigh1 takes the estimate log Ẑ of one more sample into that of all, NaN for none.
func (p *Particles) weigh1(w float64) {
	p.weight = append(p.weight, w)
	if w != w {
		return
	}
	p.weighed++
	p.sum = simd.LogAdd(p.sum, w)
	p.square = simd.LogAdd(p.square, float64(2*w))
}

// Save writes a checkpoint as [Runner.Save] does, with the estimate of every
// sample.
func (p *Particles) Save(w io.Writer) error { return p.d.write(w) }

// Load reads what Save wrote, as [Runner.Load] does.
func (p *Particles) Load(ctx context.Context, r io.Reader) error {
	if err := p.d.read(ctx, r, true); err != nil {
		return fmt.Errorf("diffusion: Particles: Load: %w", err)
	}
	return nil
}

// SaveFile saves a checkpoint in the file path, as [Runner.SaveFile] does.
func (p *Particles) SaveFile(path string) error {
	return durable.SaveFile("diffusion: Particles", path, p)
}

// LoadFile reads what SaveFile saved, as [Runner.LoadFile] does.
func (p *Particles) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "diffusion: Particles", path, p)
}

// Join takes in the samples of parts that follow: [Particles.LogProb] then speaks
// of all of them, with the bits of one run. p and every part must have made their
// samples, and each begins (Config.First) where the one before ends. The error for
// parts of another run names the setting that differs. p makes no samples after
// that. On an error p is as it was.
func (p *Particles) Join(parts ...*Particles) error {
	end := p.d.cfg.First + len(p.weight)
	var here *fingerprint.List
	for i, q := range parts {
		if q == nil {
			return fmt.Errorf("diffusion: Join: part %d = nil", i)
		}
		if first := q.d.cfg.First; first != end {
			return fmt.Errorf("diffusion: Join: part %d begins with sample %d, want %d", i, first, end)
		}
		if here == nil {
			here = p.runSettings()
		}
		if err := fingerprint.Compare(here, q.runSettings()); err != nil {
			return fmt.Errorf("diffusion: Join: part %d: %w", i, err)
		}
		end += len(q.weight)
	}
	for _, q := range parts {
		for _, w := range q.weight {
			p.weigh1(w)
		}
	}
	return nil
}

// runSettings are those of the whole run.
func (p *Particles) runSettings() *fingerprint.List {
	l := p.d.settings(context.Background())
	p.addSettings(l)
	return l
}
