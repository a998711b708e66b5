package diffusion

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/resample"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
)

const (
	defaultParticles = 64
	defaultThreshold = 0.5 // default of Threshold, the usual fraction of the particles

	// particleTables is the largest size in bytes of the predictions for the particles of one
	// sample. Larger predictions are made in parts.
	particleTables = 1 << 29
)

// ParticlesConfig holds the settings of [Particles], which sample under a constraint by sequential
// Monte Carlo. It adds the fields below to the settings of a [Runner].
type ParticlesConfig struct {
	// Config holds the settings of the diffusion. The projection of its Projector must be a
	// [Drawer] and not a [Committer]. Projector may be nil if Potential is set. Batch counts
	// samples. ProjectStart, ProjectEvery and Decode must be zero.
	Config

	// Particles is the number of particles per sample; 0 means 64.
	Particles int

	// Threshold determines when particles are resampled; 0 means ½. Let w be their weights. They
	// are resampled if their effective number (Σw)²/Σw² falls below Threshold·Particles.
	Threshold float64

	// Potential, if not nil, weights states by a function G_t(x_t). Use it for a score that should
	// be low or must not exceed a bound, with or without a projection. The distribution of the
	// samples then tends to p(x)·1[x ∈ C]·G_0(x), up to normalisation; see [Particles] for p and C.
	//
	// Potential is called from one goroutine, once per step for all states. The argument x holds
	// the states, states × sites tokens, and t holds their times. For each state it stores log
	// G_t(x_t) in logG, or −Inf for weight zero.
	//
	// At times t > 0, G_t only steers the particles and cancels in the end. The closer G_t is to
	// the mean of G_0 given x_t, the fewer particles are wasted.
	Potential func(logG []float64, x []int32, t []float64)

	// Weighed, if not nil, receives the weights of the particles of a sample. It is called in every
	// step, before any resampling, and again at the end of the sample. Calls for one sample are in
	// the order of its steps; calls for different samples may be concurrent. Weighed is not called
	// when all particles of a sample have weight zero.
	Weighed func(Weights)
}

// Weights describes the weights w that the particles of one sample have gained since they were last
// resampled.
type Weights struct {
	Sample, Step int
	Effective    float64 // effective number of particles, (Σw)²/Σw² for the weights w
	Largest      float64 // largest share of the total weight in one particle
	// Resampled reports whether the particles are resampled next. At the end of a sample, it
	// reports whether the sample is drawn from them.
	Resampled bool
}

// Particles draws samples from p(x_0 | C) by sequential Monte Carlo. Here C is the feasible set of
// the projector, and p is the distribution of the samples of a [Runner] without a projector. For
// Masked{FirstHitting: true}, and in the limit of many steps, p is the denoiser's distribution.
//
// A [Runner] with the projector always ends in C, but draws the members of C with wrong
// probabilities. Particles uses weights to correct this. A particle moves from x_t to x_s by the
// conditioned step, and its weight is multiplied by
//
//	Z_C(p(·|x_s)) / Z_C(ρ),  ρ_i(v) ∝ p_i(v|x_t)·q(x_s,i | x_t,i, v),
//
// where p_i(·|x) is the prediction for site i from the state x, and q is the reverse step given the
// clean token v. Z_C(r) is the probability of C if the sites are independent with distributions
// r_i. With ParticlesConfig.Potential = G, the weight is also multiplied by G_s(x_s)/G_t(x_t).
//
// Let w be the weights of the particles of a sample. If their effective number (Σw)²/Σw² falls
// below the threshold, particles are resampled in proportion to w (systematic resampling). In the
// end one particle, drawn by weight, becomes the sample. [Particles.Effective] and
// ParticlesConfig.Weighed report low effective numbers. If all particles of a sample have weight
// zero, the sample fails with an error that wraps constraint.ErrInfeasible.
//
// As the number of particles grows, the distribution of the samples tends to p(x_0 | C).
// [Particles.LogProb] estimates P(C) without bias, for every number of particles. With a potential,
// the samples tend to a distribution ∝ p·1[C]·G_0, and LogProb estimates E_p[1[C]·G_0].
//
// A prediction may exclude tokens that the next prediction allows, for instance if it is limited to
// the K likeliest tokens. Until the last step, the excluded tokens of a site together get
// probability 1/16. The weights correct for this.
//
// Particle j of sample i draws from stream (Seed, i·Particles + j). Results do not depend on
// Workers or Batch.
//
// If the predictions for a sample's particles exceed 512 MiB, the denoiser receives smaller
// batches, and the variance is slightly larger.
type Particles struct {
	run       *Runner[int32]
	paths     *slots.Paths
	n         int  // number of particles per sample
	parts     bool // whether the predictions of a sample are made in parts
	threshold float64
	groups    int // number of samples in the batch
	// potential of the states; nil means none
	potential func(logG []float64, x []int32, t []float64)

	copies []int     // for each slot: number of copies to make when resampling
	logG   []float64 // for each slot: log potential of the present state; 0 at time 1
	moved  []bool    // for each slot: whether it has moved since its potential was computed

	evidence []float64        // for each sample of the batch: log estimate of P(C) so far
	least    []float64        // for each sample of the batch: smallest effective number so far
	choice   []sampler.Stream // for each sample of the batch: stream for resampling

	move  func(w, i int) error
	renew func(w, g int)

	asked   []int     // slots whose potential is computed
	x       []int32   // states for the potential
	t, next []float64 // times for the potential, and its results

	weight  []float64 // log Ẑ of every sample, including those of joined parts
	mean    slots.Estimate
	lowest  float64       // smallest effective number of particles over all samples
	weighed func(Weights) // callback of the configuration; nil means none
}

var _ crowd = (*Particles)(nil)

// NewParticles returns particles that sample from the model by the given process. The field
// cfg.Projector constrains them, and cfg.Potential weights them. NewParticles calls the projector's
// Bind method, which can take a long time but stops when ctx ends.
//
// NewParticles returns the errors of [New], and an error in these cases:
//
//   - cfg has neither a projector nor a potential;
//   - the projection is not a [Drawer], or is a [Committer];
//   - the steps of the process are not [Joint] (the steps of [Remask] and [Ordered], for example).
func NewParticles(ctx context.Context, model energy.Denoiser[int32], process Process[int32], cfg ParticlesConfig) (*Particles, error) {
	const who = "diffusion: NewParticles"
	cfg.Threshold = cmp.Or(cfg.Threshold, defaultThreshold)
	sites, levels, unfit := slots.Model(who, model)
	if err := cmp.Or(check.Defaults(who+": ", check.Number("Particles", &cfg.Particles, 0, defaultParticles)), check.Refuse(who+": ",
		check.Rule(!(cfg.Threshold > 0 && cfg.Threshold <= 1), "Threshold", cfg.Threshold, "in (0, 1]"),
		check.Rule(check.Nil(cfg.Projector) && cfg.Potential == nil, "Projector", "nil", "one whose projection is a diffusion.Drawer, or Potential set"),
		check.Rule(cfg.ProjectStart != 0, "ProjectStart", cfg.ProjectStart, "0, because weights need a projection in every step"),
		check.Rule(cfg.ProjectEvery != 0, "ProjectEvery", cfg.ProjectEvery, "0, because weights need a projection in every step"),
		check.Rule(cfg.Decode != DecodeLast, "Decode", cfg.Decode, "DecodeLast (the default), because weights need every token drawn by a step"),
	), unfit); err != nil {
		return nil, err
	}
	cfg.Batch = cmp.Or(cfg.Batch, slots.Batch(sites*levels*cfg.Particles))
	if fit := max(1, particleTables/4/sites/levels); cfg.Particles > fit && cfg.tables == 0 {
		cfg.tables = fit
	}
	samples := cfg.Batch
	cfg.Config.Batch *= cfg.Particles
	d, err := newRunner(ctx, model, process, cfg.Config, cfg.Particles)
	if err != nil {
		return nil, err
	}
	if d.projection != nil {
		if _, err := slots.DrawerOf(who, d.projection); err != nil {
			return nil, err
		}
	}
	joint, err := slots.Joints(who, process, d.process)
	if err != nil {
		return nil, err
	}
	if most := math.MaxInt/cfg.Particles - cfg.Count; cfg.First > most {
		return nil, fmt.Errorf("%s: First = %d of %d particles each, want ≤ %d", who, cfg.First, cfg.Particles, most)
	}
	d.life.Who = "diffusion: Particles"
	d.spared = nil // weights need whole tables
	d.e.Keep = cfg.tables == 0
	d.e.TimeFree = d.e.TimeFree && d.e.Keep
	n := len(d.process)
	p := &Particles{
		run: d, n: cfg.Particles, parts: !d.e.Keep, threshold: cfg.Threshold, potential: cfg.Potential,
		copies: make([]int, n), evidence: make([]float64, samples), least: make([]float64, samples), lowest: math.NaN(), weighed: cfg.Weighed, choice: make([]sampler.Stream, samples),
	}
	p.paths = slots.NewPaths(d.e, d.drawer, joint, d.cfg.Steps, d.leaveOneOut)
	p.bind()
	if d.saved != nil {
		p.addSettings(d.saved)
	}
	return p, nil
}

// bind makes the engine of p.run move particles.
func (p *Particles) bind() {
	d, n := p.run, len(p.copies)
	if p.potential != nil {
		p.logG, p.moved, p.asked = make([]float64, n), make([]bool, n), make([]int, 0, n)
		p.x, p.t, p.next = make([]int32, n*d.sites), make([]float64, n), make([]float64, n)
	}
	weigh, move, pass := p.paths.Weigh, p.paths.Move, p.paths.Pass
	if d.drawer == nil {
		weigh, move, pass = func(_, _ int) error { return nil }, d.e.Next, d.e.Next
	}
	p.move, d.e.Next = p.noted(move), weigh
	if p.parts { // particles move when they are weighted
		d.e.Next = p.noted(pass)
	}
	d.e.Judge, d.e.Retry, d.crowd = p.judge, p.retry, p
	p.paths.Saw = func(w, i int, _, next, logZ float64) {
		d.work[w].snap = Snapshot{Projected: true, LogZ: logZ}
		d.observe(w, i, d.e.Slots[i].V, next)
	}
	p.renew = func(_, g int) {
		if d.fault[g] == nil && !p.resample(g) {
			p.die(g, fmt.Errorf("diffusion: Particles: sample %d, step %d: %w", d.number(g), d.e.Step, constraint.ErrInfeasible))
		}
	}
}

// noted wraps a function that moves a slot, so that weigh applies the potential to the slot
// afterwards.
func (p *Particles) noted(move func(w, i int) error) func(w, i int) error {
	if p.potential == nil {
		return move
	}
	return func(w, i int) error {
		p.moved[i] = true
		return move(w, i)
	}
}

// addSettings adds the settings of particles to those of a diffusion.
func (p *Particles) addSettings(l *fingerprint.List) {
	l.Add("ParticlesConfig.Particles", p.n)
	l.Add("ParticlesConfig.Threshold", p.threshold)
	if p.potential != nil {
		l.Add("ParticlesConfig.Potential", true)
	}
}

// Len returns the number of samples made so far, including failed ones.
func (p *Particles) Len() int { return p.run.made }

// LogProb returns the logarithm of an estimate of P(C) (see [Particles]) and the relative standard
// error of that estimate. The estimate is the mean of the unbiased estimates of all samples made. A
// sample whose particles all reached weight zero counts as 0. A sample that failed with another
// error does not count. If no sample counts, both results are NaN. If one counts, the standard
// error is NaN. Both results have the same bits on every processor.
func (p *Particles) LogProb() (logP, stderr float64) { return p.mean.Mean() }

// Effective returns two numbers that warn of unequal weights. Without samples, both are NaN.
//
// The first result is the smallest effective number of particles at any resampling or final draw.
// It covers the samples that p itself has made. If it is near 1, one particle had most of the
// weight.
//
// The second result is (ΣẐ)²/ΣẐ², where Ẑ are the estimates that [Particles.LogProb] averages. If
// it is near 1, one sample dominates the average, and neither the average nor its standard error
// can be trusted.
func (p *Particles) Effective() (particles, samples float64) { return p.lowest, p.mean.Effective() }

// Sample fills x with samples, each with one entry per site. The length of x determines the number
// of samples. An error of one particle makes its sample fail. The free entries of a failed sample
// are set to −1. Sample returns the same errors as [Runner.Sample]. It also returns an error after
// [Particles.Join].
func (p *Particles) Sample(ctx context.Context, x []int32) error {
	if len(p.weight) != p.run.made {
		return fmt.Errorf("diffusion: Particles: Sample after Join, want it before")
	}
	return p.run.run(ctx, x, nil)
}

// begin resets the particles of sample g of the batch; it implements crowd.
func (p *Particles) begin(g int) {
	for i := g * p.n; i < (g+1)*p.n; i++ {
		p.paths.BeginPath(i)
		if p.potential != nil {
			p.logG[i], p.moved[i] = 0, false
		}
	}
	p.groups, p.evidence[g], p.least[g] = g+1, 0, math.Inf(1)
	// Resampling uses the streams with the upper half of the chain numbers.
	p.choice[g].Seed(p.run.cfg.Seed, 1<<63|uint64(p.run.number(g)))
}

// judge resamples the particles of all samples after a round and moves them.
func (p *Particles) judge() error {
	d := p.run
	if !p.parts {
		d.e.Pool.Each(0, p.groups, p.renew)
		if err := d.e.Each(p.move); err != nil {
			return err
		}
	}
	p.weigh()
	if p.parts {
		d.e.Pool.Each(0, p.groups, p.renew)
	}
	return d.judge()
}

// retry abandons the sample of a particle that has an error.
func (p *Particles) retry(i int, fault error) error {
	if g := i / p.n; fault != nil && p.run.fault[g] == nil {
		p.giveUp(g, math.NaN(), fmt.Errorf("diffusion: Particles: sample %d, particle %d, step %d: %w", p.run.number(g), i%p.n, p.run.e.Step, fault))
	}
	return nil
}

// die abandons a sample whose particles all have weight zero. Its estimate is 0.
func (p *Particles) die(g int, why error) { p.giveUp(g, math.Inf(-1), why) }

// giveUp abandons a sample. It ends the sample's particles, and stores the error and the estimate
// of the sample.
func (p *Particles) giveUp(g int, logZ float64, why error) {
	p.run.giveUp(g, g*p.n, why)
	p.evidence[g] = logZ
	for i := g * p.n; i < (g+1)*p.n; i++ {
		p.run.e.Moved(i, 0, true)
	}
}

// weigh multiplies the weights of the particles that have moved by G_s(x_s)/G_t(x_t).
func (p *Particles) weigh() {
	d, n := p.run, 0
	p.asked = p.asked[:0]
	for i, moved := range p.moved {
		if !moved {
			continue
		}
		if p.moved[i] = false; d.fault[i/p.n] == nil {
			copy(p.x[n*d.sites:], d.e.Slots[i].X)
			p.t[n] = d.e.Slots[i].Time
			p.asked = append(p.asked, i)
			n++
		}
	}
	if n == 0 {
		return
	}
	p.potential(p.next[:n], p.x[:n*d.sites], p.t[:n])
	for k, i := range p.asked {
		g := p.next[k]
		if g != g || math.IsInf(g, 1) {
			_ = p.retry(i, fmt.Errorf("potential = %v, want finite or -Inf", g))
			continue
		}
		p.paths.LogW[i] += g - p.logG[i]
		if p.logG[i] = g; math.IsInf(g, -1) {
			d.e.Moved(i, 0, true)
		}
	}
}

// logW returns the log-weights of a sample's particles since their last resampling.
func (p *Particles) logW(g int) []float64 { return p.paths.LogW[g*p.n : (g+1)*p.n] }

// resample resamples the particles of a sample if few of them carry most of the weight. It
// reports whether any particle has weight.
func (p *Particles) resample(g int) bool {
	w := p.logW(g)
	if math.IsInf(slices.Max(w), -1) {
		return false
	}
	top, sum, squares := resample.Moments(w)
	again := float64(sum*sum) < float64(float64(p.threshold*float64(p.n))*squares)
	p.report(g, sum, squares, again)
	if !again {
		return true
	}
	first := g * p.n
	copies := p.copies[first : first+p.n]
	resample.Systematic(copies, w, p.choice[g].Float64())
	resample.Spread(copies, func(dst, src int) { p.copy(first+dst, first+src) })
	p.evidence[g] += top + simd.Log(sum/float64(p.n))
	clear(w)
	return true
}

// report passes the weights of a sample, scaled so that the largest is 1, to the callback. If
// drawn is true, it also updates the smallest effective number of particles.
func (p *Particles) report(g int, sum, squares float64, drawn bool) {
	effective := float64(sum*sum) / squares
	if drawn {
		p.least[g] = min(p.least[g], effective)
	}
	if p.weighed != nil {
		p.weighed(Weights{Sample: p.run.number(g), Step: p.run.e.Step, Effective: effective, Largest: 1 / sum, Resampled: drawn})
	}
}

// copy copies slot src to slot dst, except for its stream.
func (p *Particles) copy(dst, src int) {
	to, from := &p.run.e.Slots[dst], &p.run.e.Slots[src]
	copy(to.X, from.X)
	if !p.parts {
		copy(to.V, from.V)
	}
	to.Time, to.Known, to.Fresh, to.Row = from.Time, from.Known, from.Fresh, from.Row
	p.paths.CopyPath(dst, src)
	if p.potential != nil {
		p.logG[dst] = p.logG[src]
	}
	if p.run.warm != nil {
		p.run.warm.Copy(dst, src)
	}
}

// choose draws a particle by weight and returns its slot and the estimate of the sample. It
// implements crowd.
func (p *Particles) choose(g int) (slot int, logZ float64) {
	d, w := p.run, p.logW(g)
	if d.fault[g] == nil && math.IsInf(slices.Max(w), -1) {
		p.die(g, fmt.Errorf("diffusion: Particles: sample %d: no particle has any weight at the end: %w", d.number(g), constraint.ErrInfeasible))
	}
	if d.fault[g] != nil {
		return g * p.n, p.evidence[g]
	}
	top, sum, squares := resample.Moments(w)
	p.report(g, sum, squares, true)
	if !(p.lowest <= p.least[g]) {
		p.lowest = p.least[g]
	}
	logZ = p.evidence[g] + (top + simd.Log(sum/float64(p.n)))
	return g*p.n + resample.ByWeight(w, p.choice[g].Float64()), logZ
}

// count adds the estimate log Ẑ of one more sample to the mean over all samples. NaN means no
// estimate. It implements crowd.
func (p *Particles) count(logZ float64) {
	p.weight = append(p.weight, logZ)
	if logZ == logZ {
		p.mean.Add(logZ)
	}
}

// Save writes a checkpoint to w. It contains all samples with their estimates. Save returns the
// same errors as [Runner.Save].
func (p *Particles) Save(w io.Writer) error { return p.run.Save(w) }

// Load restores a checkpoint written by Save, under the rules of [Runner.Load].
func (p *Particles) Load(ctx context.Context, r io.Reader) error { return p.run.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure.
func (p *Particles) SaveFile(path string) error { return p.run.SaveFile(path) }

// LoadFile restores a checkpoint written by [Particles.SaveFile], or path.old if that file is
// missing or damaged.
func (p *Particles) LoadFile(ctx context.Context, path string) error {
	return p.run.LoadFile(ctx, path)
}

// Join adds to p the samples of the following parts of the run, so that [Particles.LogProb] covers
// them all. The estimate has the same bits as in a single run. All parts, including p, must have
// made their samples, and each must begin (Config.First) where the previous one ends. After a
// successful Join, p makes no more samples.
//
// If a part belongs to another run, the error names the setting that differs. If Join returns an
// error, p is unchanged.
func (p *Particles) Join(parts ...*Particles) error {
	end := p.run.cfg.First + len(p.weight)
	var here *fingerprint.List
	for i, q := range parts {
		if q == nil {
			return fmt.Errorf("diffusion: Join: part %d = nil", i)
		}
		if first := q.run.cfg.First; first != end {
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
			p.count(w)
		}
	}
	return nil
}

// runSettings returns the settings that all parts of a run share.
func (p *Particles) runSettings() *fingerprint.List {
	l := p.run.settings(context.Background())
	p.addSettings(l)
	return l
}
