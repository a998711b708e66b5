package twisted

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/resample"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Sampler draws from the distribution of a denoiser of reals given a [Set], by
// clouds of weighted particles. A run is a function of (model, set, configuration):
// the numbers of a cloud come from its own streams, and Workers changes no bit, nor
// does how clouds are divided among samplers (Config.First).
//
// Equations hold to the rounding of float32, and so do inequalities. What is
// approximate is the distribution: see the package doc.
//
// Methods must not be called concurrently with each other.
type Sampler struct {
	*rows
	cfg       Config
	view      view
	pool      *pool.Pool
	movers    []*mover
	particles []*particle
	spare     []*particle // two sets in turn, for resampling
	choice    sampler.Stream
	logw      []float64
	count     []int
	evidence  []float64 // log Ẑ of every cloud so far

	on                                  step           // under way
	begin, weighOne, moveOne, finishOne func(w, i int) // methods of slots
}

// New returns a sampler. The model is asked whether it is a [Posterior] or an
// denoise.Differentiable (see energy.As); any other is differentiated by
// differences of predictions. The error says that the model or the
// set is nil, that the set has curved rows, rows that do not fit or none with
// bounds, what is wrong with the configuration, or, wrapping
// constraint.ErrInfeasible, that equations exclude each other.
func New(ctx context.Context, model energy.Denoiser[float32], set Set, cfg Config) (*Sampler, error) {
	switch {
	case ctx == nil:
		return nil, fmt.Errorf("twisted: New: ctx = nil")
	case check.Nil(model):
		return nil, fmt.Errorf("twisted: New: model = nil")
	case check.Nil(set):
		return nil, fmt.Errorf("twisted: New: set = nil")
	}
	if c, ok := energy.As[noise.Checked](model); ok {
		if err := c.Check(); err != nil {
			return nil, err
		}
	}
	n, levels := model.Shape()
	if n < 1 || levels != 1 {
		return nil, fmt.Errorf("twisted: New: the model has %d sites and %d levels, want ≥ 1 site and 1 level: it is for reals", n, levels)
	}
	if err := cfg.fill(); err != nil {
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
	s := &Sampler{rows: r, cfg: cfg, pool: pool.New(cfg.Workers), logw: make([]float64, cfg.Particles), count: make([]int, cfg.Particles)}
	if m, ok := energy.As[Posterior](model); ok {
		s.view = newKnown(m, r, s.pool)
	} else {
		if cfg.Schedule.Alpha(1) == 0 {
			return nil, fmt.Errorf("twisted: New: Config.Schedule.Alpha(1) = 0, want > 0 for a model that is no Posterior: a prediction at pure noise says nothing by differences")
		}
		if m, ok := energy.As[denoise.Differentiable](model); ok {
			s.view = newPullbacks(m, r, cfg, s.pool)
		} else {
			s.view = newDifferences(model, r, cfg, s.pool)
		}
	}
	s.begin, s.weighOne, s.moveOne, s.finishOne = s.beginSlot, s.weighSlot, s.moveSlot, s.finishSlot
	for range cfg.Workers {
		s.movers = append(s.movers, newMover(r))
	}
	for range cfg.Particles {
		s.particles = append(s.particles, newParticle(r, new(sampler.Stream)))
		s.spare = append(s.spare, newParticle(r, nil))
	}
	return s, nil
}

// Sample fills x, any number of samples × sites. A call begins with a new cloud and
// takes Config.PerCloud samples of each. The error names the cloud and the step:
// that of the model, of ctx, or, wrapping constraint.ErrInfeasible, that no particle
// ended in the set.
func (s *Sampler) Sample(ctx context.Context, x []float32) error {
	if ctx == nil {
		return fmt.Errorf("twisted: Sample: ctx = nil")
	}
	if len(x)%s.n != 0 {
		panic(fmt.Sprintf("twisted: len(x) = %d, want a multiple of %d", len(x), s.n))
	}
	s.pool.Start()
	defer s.pool.Stop()
	samples := len(x) / s.n
	clouds := (samples + s.cfg.PerCloud - 1) / s.cfg.PerCloud
	for c := range clouds {
		report := func(step int) {
			if s.cfg.Progress != nil {
				s.cfg.Progress(c*s.cfg.Steps+step, clouds*s.cfg.Steps)
			}
		}
		if err := s.cloud(ctx, report); err != nil {
			return fmt.Errorf("twisted: cloud %d: %w", s.cfg.First+len(s.evidence), err)
		}
		first := c * s.cfg.PerCloud
		s.harvest(x[first*s.n : min(samples, first+s.cfg.PerCloud)*s.n])
	}
	return nil
}

// LogProb returns an estimate of the log of the probability of the set under the
// model, in nats, and its standard error; with equations it is that of their
// density. The estimate is log mean Ẑ of all clouds, each Ẑ unbiased for the
// discretised reverse diffusion. Both are NaN before the first cloud, the error
// before the second.
func (s *Sampler) LogProb() (logp, stderr float64) {
	n := float64(len(s.evidence))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	top, sum, squares := resample.Moments(s.evidence)
	ratio := float64(squares*n) / float64(sum*sum)
	return top + simd.Log(sum/n) - s.logVolume, math.Sqrt(max(0, ratio-1) / (n - 1))
}

// cloud brings particles from noise to samples.
func (s *Sampler) cloud(ctx context.Context, report func(step int)) error {
	number := s.cfg.First + len(s.evidence)
	s.choice.Seed(s.cfg.Seed, 1<<63|uint64(number))
	for i, p := range s.particles {
		p.number, p.logw = number*s.cfg.Particles+i, 0
		p.stream.Seed(s.cfg.Seed, uint64(p.number))
	}
	s.pool.Each(0, len(s.particles), s.begin)
	evidence, alpha := 0.0, s.cfg.Schedule.Alpha(1)
	for step := range s.cfg.Steps {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		t := float64(s.cfg.Steps-step) / float64(s.cfg.Steps)
		if err := s.view.look(ctx, s.particles, t, alpha); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		s.pool.Each(0, len(s.particles), s.weighOne)
		more, err := s.renew()
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		evidence += more
		if step == s.cfg.Steps-1 {
			s.pool.Each(0, len(s.particles), s.finishOne)
		} else {
			to := s.cfg.Schedule.Alpha(float64(s.cfg.Steps-step-1) / float64(s.cfg.Steps))
			s.on = newStep(alpha, to)
			s.pool.Each(0, len(s.particles), s.moveOne)
			alpha = to
		}
		report(step + 1)
	}
	top, sum, err := s.weigh()
	if err != nil {
		return err
	}
	s.evidence = append(s.evidence, evidence+top+simd.Log(sum/float64(len(s.particles))))
	return nil
}

// beginSlot draws the noise that particle i begins with.
func (s *Sampler) beginSlot(_, i int) { normal.Fill(s.particles[i].z, s.particles[i].stream) }

// weighSlot takes what is likely from where particle i is into its weight.
func (s *Sampler) weighSlot(w, i int) {
	p := s.particles[i]
	s.movers[w].absorb(p)
	s.movers[w].judge(p, s.cfg.Sweeps)
	p.logw += p.logp
}

func (s *Sampler) moveSlot(w, i int) { s.movers[w].move(s.particles[i], s.on) }

func (s *Sampler) finishSlot(w, i int) { s.movers[w].finish(s.particles[i]) }

// missed is the error of a cloud of so many particles that are all outside the set.
type missed int

// Error names the cure.
func (m missed) Error() string {
	return fmt.Sprintf("none of %d particles is in the set: if it is not empty, it takes more Particles or Steps, or fewer inequalities", int(m))
}

// Unwrap makes it constraint.ErrInfeasible.
func (missed) Unwrap() error { return constraint.ErrInfeasible }

// weigh reads the weights and returns their sum as e^top·sum.
func (s *Sampler) weigh() (top, sum float64, err error) {
	some := false
	for i, p := range s.particles {
		s.logw[i] = p.logw
		if math.IsNaN(p.logw) || math.IsInf(p.logw, 1) {
			return 0, 0, fmt.Errorf("particle %d has the log-weight %v, want finite", i, p.logw)
		}
		some = some || !math.IsInf(p.logw, -1)
	}
	if !some {
		return 0, 0, missed(len(s.particles))
	}
	top, sum, _ = resample.Moments(s.logw)
	return top, sum, nil
}

// renew resamples if few particles carry the weight, and returns the log of the
// mean weight that is then in none of them any more.
func (s *Sampler) renew() (evidence float64, err error) {
	if _, _, err := s.weigh(); err != nil {
		return 0, err
	}
	top, sum, squares := resample.Moments(s.logw)
	k := float64(len(s.particles))
	if float64(sum*sum) >= float64(s.cfg.Threshold*k)*squares {
		return 0, nil
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
		p.number, p.stream, p.logw = s.particles[i].number, s.particles[i].stream, 0
	}
	s.particles, s.spare = s.spare, s.particles
	return top + simd.Log(sum/k), nil
}

// harvest stores samples, equally spaced in the weights; one alone is drawn by
// weight.
func (s *Sampler) harvest(x []float32) {
	for i, p := range s.particles {
		s.logw[i] = p.logw
	}
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
