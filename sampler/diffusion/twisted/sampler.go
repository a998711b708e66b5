package twisted

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/resample"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Sampler draws samples from the distribution of a denoiser of reals, conditioned on a [Set]. It
// uses clouds of weighted particles. The results depend on the model, the set and the
// configuration. They do not depend on Workers or on the division of clouds among samplers
// (Config.First).
//
// Equations and inequalities hold to the rounding of float32. The distribution is approximate: see
// the package doc. Methods must not be called concurrently with each other.
//
// # Accuracy
//
// The table lists energy distances to the conditional distribution. The unit is the mean distance
// of exact draws. The data are mixtures of five Gaussians in eight dimensions, conditioned on two
// equations:
//
//	closed form       1.9 ± .7   exact draws
//	ancestral          .8 ± .5   diffusion with the exact conditional distribution
//	particles         1.5 ± .1   Sampler
//	cps               13         constrained posterior sampling
//	pdm               31         projected diffusion models, see diffusion.Config.ProjectState
//	prodigy           31         PRODIGY, likewise
//	cop-ft            37         COP-FT, likewise
//	cps-metric        33         Gaussian.Recompute, projecting in the posterior's metric
//	noise-corrected   34         Gaussian.Recompute, projecting in the Euclidean metric
//
// The command go test -run Table -table 8 -samples 2000 -seeds 2 -v prints this table. The closed
// form is exact, so its distance differs from 1 only by chance. For 10,000 samples in 2, 8 and 16
// dimensions, with up to two inequalities (flag -inequalities), particles are as close as the
// closed form, up to chance. The weights of modes are within .011 in total variation.
type Sampler struct {
	*rows
	cfg       Config
	e         *slots.Engine[float32]
	view      view
	movers    []*mover
	particles []*particle // one particle per slot
	spare     []*particle // second set of particles, exchanged with the first when resampling
	choice    sampler.Stream
	logw      []float64
	count     []int
	evidence  slots.Estimate // mean over the clouds so far of Ẑ, the estimated probability of the set

	on           step    // next step of the current cloud
	alpha        float64 // signal level of the current cloud
	more         float64 // log Ẑ of the cloud up to the last resampling
	report       func(step int)
	move, finish func(w, i int) error
}

// begun provides the initial state of a particle, pure noise.
type begun struct{ noise.Schedule }

func (begun) Prior(x []float32, r *sampler.Stream) { normal.Fill(x, r) }

// New returns a sampler that draws from the model, conditioned on the set. If the model is a
// [Posterior] (see energy.As), the sampler uses its moments. If it is a denoise.Differentiable, the
// sampler uses its derivatives. For any other model it uses differences of predictions.
//
// New returns an error in these cases:
//
//   - the model or the set is nil, or a field of the configuration is out of range;
//   - the set has nonlinear (curved) rows or rows of a wrong length, or no row has a bound;
//   - the equations contradict each other; the error wraps constraint.ErrInfeasible.
func New(ctx context.Context, model energy.Denoiser[float32], set Set, cfg Config) (*Sampler, error) {
	n, levels, err := slots.Model("twisted: New", model)
	if err = cmp.Or(
		check.If(ctx == nil, "twisted: New: ctx = nil"),
		check.If(check.Nil(set), "twisted: New: set = nil"),
		err,
		check.If(levels != 1, "twisted: New: the model has %d levels, want 1: it is for reals", levels),
		cfg.fill(),
	); err != nil {
		return nil, err
	}
	if err := poll.Err(ctx); err != nil {
		return nil, fmt.Errorf("twisted: New: %w", err)
	}
	r, err := newRows(set, n, cfg.Width, cfg.Full)
	if err != nil {
		return nil, err
	}
	if err := check.Entries("twisted: New", "particles × rows × sites", cfg.Particles, r.q+1, n); err != nil {
		return nil, err
	}
	s := &Sampler{rows: r, cfg: cfg, logw: make([]float64, cfg.Particles), count: make([]int, cfg.Particles)}
	h := slots.Shape{Sites: n, Levels: 1, Batch: cfg.Particles, Workers: cfg.Workers}
	steps := func(int) slots.Steps[float32] { return begun{cfg.Schedule} }
	if m, ok := energy.As[Posterior](model); ok {
		s.view, s.e = known{m, r}, slots.New(nil, h, steps)
	} else {
		if cfg.Schedule.Alpha(1) == 0 {
			return nil, fmt.Errorf("twisted: New: Config.Schedule.Alpha(1) = 0, want > 0 for a model that is no Posterior: a prediction at pure noise says nothing by differences")
		}
		var d *directions
		d, h.Per = newDirections(model, r, cfg)
		s.view, s.e = d, slots.New(model, h, steps)
		s.e.Ask, s.e.Meta, d.pool = d.ask, cfg.Meta, s.e.Pool
	}
	s.e.Policy = slots.Policy{Next: s.weighOne, Judge: s.judge, Retry: s.retry, Fault: s.atStep}
	s.move, s.finish = s.moveOne, s.finishOne
	for range cfg.Workers {
		s.movers = append(s.movers, newMover(r))
	}
	for i := range s.e.Slots {
		p := newParticle(r, s.e.Slots[i].X)
		p.stream = &s.e.Slots[i].Stream
		s.particles = append(s.particles, p)
		s.spare = append(s.spare, newParticle(r, make([]float32, n)))
	}
	return s, nil
}

// Sample fills x with samples, each with one entry per site. The length of x determines the number
// of samples. A call begins with a new cloud (a set of particles that are weighted together). It
// takes Config.PerCloud samples from each cloud. If the model fails or ctx ends, the error names
// the cloud and the step. If no particle of a cloud ends in the [Set], the error wraps
// constraint.ErrInfeasible.
func (s *Sampler) Sample(ctx context.Context, x []float32) error {
	if ctx == nil {
		return fmt.Errorf("twisted: Sample: ctx = nil")
	}
	samples := check.Rows("twisted", "x", len(x), s.n)
	s.e.Pool.Start()
	defer s.e.Pool.Stop()
	clouds := (samples + s.cfg.PerCloud - 1) / s.cfg.PerCloud
	for c := range clouds {
		s.report = func(step int) {
			if s.cfg.Progress != nil {
				s.cfg.Progress(c*s.cfg.Steps+step, clouds*s.cfg.Steps)
			}
		}
		if err := s.cloud(ctx); err != nil {
			return fmt.Errorf("twisted: cloud %d: %w", s.cfg.First+s.evidence.N, err)
		}
		first := c * s.cfg.PerCloud
		s.harvest(x[first*s.n : min(samples, first+s.cfg.PerCloud)*s.n])
	}
	return nil
}

// LogProb returns an estimate of the log-probability of the set under the model, in nats, and its
// standard error. If the set has equations, the log-probability is a log-density. Each cloud (set
// of particles) gives an estimate of the probability that is unbiased for the discretised reverse
// diffusion. LogProb returns the logarithm of the mean of these estimates. Before the first cloud
// both results are NaN. Before the second cloud the standard error is NaN.
func (s *Sampler) LogProb() (logp, stderr float64) {
	logp, stderr = s.evidence.Mean()
	return logp - s.logVolume, stderr
}

// cloud runs one cloud of particles from noise to samples.
func (s *Sampler) cloud(ctx context.Context) error {
	number := s.cfg.First + s.evidence.N
	s.choice.Seed(s.cfg.Seed, 1<<63|uint64(number))
	for i, p := range s.particles {
		p.logw = 0
		k := number*s.cfg.Particles + i
		s.e.Start(i, k, s.cfg.Seed, uint64(k))
	}
	s.more, s.alpha = 0, s.cfg.Schedule.Alpha(1)
	if err := s.e.Run(ctx, 0, len(s.particles)); err != nil {
		return err
	}
	top, sum, _, err := s.weigh()
	if err != nil {
		return err
	}
	s.evidence.Add(s.more + top + simd.Log(sum/float64(len(s.particles))))
	return nil
}

// weighOne multiplies the weight of particle i by the estimated probability of the constraint
// given its state.
func (s *Sampler) weighOne(w, i int) error {
	p := s.particles[i]
	if err := s.view.look(i, p, s.e.Slots[i].V, s.alpha); err != nil {
		return err
	}
	s.movers[w].absorb(p)
	s.movers[w].judge(p)
	p.logw += p.logp
	return nil
}

// judge resamples the particles if necessary, and then moves them.
func (s *Sampler) judge() error {
	if err := s.renew(); err != nil {
		return s.atStep(err)
	}
	part := s.finish
	if left := s.cfg.Steps - s.e.Step - 1; left > 0 {
		to := s.cfg.Schedule.Alpha(float64(left) / float64(s.cfg.Steps))
		s.on, s.alpha, part = newStep(s.alpha, to), to, s.move
	}
	if err := s.e.Each(part); err != nil {
		return err
	}
	s.report(s.e.Step + 1)
	return nil
}

func (s *Sampler) moveOne(w, i int) error {
	s.movers[w].move(s.particles[i], s.on)
	s.e.Moved(i, float64(s.cfg.Steps-s.e.Step-1)/float64(s.cfg.Steps), true)
	return nil
}

func (s *Sampler) finishOne(w, i int) error {
	s.movers[w].finish(s.particles[i])
	s.e.Moved(i, 0, true)
	return nil
}

// retry turns an error of a particle into the error of the run.
func (s *Sampler) retry(i int, fault error) error {
	if fault == nil {
		return nil
	}
	return s.atStep(fmt.Errorf("particle %d: %w", i, fault))
}

func (s *Sampler) atStep(err error) error { return fmt.Errorf("step %d: %w", s.e.Step, err) }

// weigh copies the log-weights of the particles to logw and returns their moments.
func (s *Sampler) weigh() (top, sum, squares float64, err error) {
	for i, p := range s.particles {
		if s.logw[i] = p.logw; math.IsNaN(p.logw) || math.IsInf(p.logw, 1) {
			return 0, 0, 0, fmt.Errorf("particle %d has the log-weight %v, want finite", i, p.logw)
		}
	}
	if top, sum, squares = resample.Moments(s.logw); math.IsInf(top, -1) {
		err = fmt.Errorf("none of %d particles is in the set: if it is not empty, it takes more Particles or Steps, or fewer inequalities: %w", len(s.particles), constraint.ErrInfeasible)
	}
	return top, sum, squares, err
}

// renew resamples if few particles carry most of the weight. It then adds the mean weight to the
// estimate Ẑ and resets the weights of the particles.
func (s *Sampler) renew() error {
	top, sum, squares, err := s.weigh()
	k := float64(len(s.particles))
	if err != nil || float64(sum*sum) >= float64(s.cfg.Threshold*k)*squares {
		return err
	}
	resample.Systematic(s.count, s.logw, s.choice.Float64())
	at := 0
	for j, c := range s.count {
		for range c {
			s.spare[at].copyFrom(s.particles[j])
			at++
		}
	}
	for i, p := range s.spare {
		p.stream, p.logw = &s.e.Slots[i].Stream, 0
		s.e.Slots[i].X = p.z
	}
	s.particles, s.spare = s.spare, s.particles
	s.more += top + simd.Log(sum/k)
	return nil
}

// harvest stores in x samples of a weighted cloud. The samples are equally spaced in the cumulative
// weights, so a single sample is drawn by weight.
func (s *Sampler) harvest(x []float32) {
	top, sum, _ := resample.Moments(s.logw)
	goal := float64(s.choice.Float64())
	share := sum / float64(len(x)/s.n)
	reached, j, last := 0.0, -1, 0
	for k := range len(x) / s.n {
		for next := (float64(k) + goal) * share; reached <= next && j < len(s.particles)-1; {
			j++
			if v := simd.Exp(s.logw[j] - top); v > 0 {
				reached += v
				last = j
			}
		}
		copy(x[k*s.n:], s.particles[last].z)
	}
}

// particle is one state of a cloud and an approximation of its clean state. x_0 is approximated
// by N(mean, C̃) with C̃ = LLᵀ + c·(I − UᵀU). L is n × q and satisfies UL = G, so UC̃Uᵀ = GGᵀ is
// the covariance of the model along U. c accounts for the rest of the trace.
type particle struct {
	stream  *sampler.Stream
	z       []float32
	mean    []float64
	product []float64 // UC, q × n; after absorb, Lᵀ without its part along U
	open    float64   // trace of the covariance C orthogonal to U
	root    []float64 // factor G, q × q
	mu      []float64 // mean in the coordinates u = U·x
	rest    float64   // variance c in the directions orthogonal to U

	precision, centre []float64 // precision and centre of each site
	logp              float64   // log of the estimated probability of the constraint
	logw              float64   // log-weight since the last resampling
}

func newParticle(r *rows, z []float32) *particle {
	n, q, m := r.n, r.q, r.sites()
	return &particle{
		z: z, mean: make([]float64, n), product: make([]float64, q*n), root: make([]float64, q*q),
		mu: make([]float64, q), precision: make([]float64, m), centre: make([]float64, m),
	}
}

// copyFrom copies all fields of the particle o except the stream.
func (p *particle) copyFrom(o *particle) {
	copy(p.z, o.z)
	copy(p.mean, o.mean)
	copy(p.product, o.product)
	copy(p.root, o.root)
	copy(p.mu, o.mu)
	copy(p.precision, o.precision)
	copy(p.centre, o.centre)
	p.rest, p.logp, p.logw = o.rest, o.logp, o.logw
}
