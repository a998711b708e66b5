package unmask

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/resample"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// RejectionConfig holds the settings of [Rejection], which draws samples within a language by
// rejection. It adds the fields below to those of [Config].
type RejectionConfig struct {
	Config

	// Steps is the number of steps of a path; 0 means 128. A diffusion.Clocked process ignores it.
	Steps int

	// Tuning is the initial number of paths of the tuning run; 0 means 512. This run determines the
	// cap c on the weights of paths (see [Rejection]). Its paths give no samples.
	Tuning int

	// Excess is the largest allowed excess of the paths over the cap c (see [Rejection]). It is in
	// (0, 1); 0 means 0.002. If the excess is larger, the error is an [*ExcessError].
	Excess float64

	// Trials is the largest number of paths for one sample, and for the tuning run; 0 means
	// 100,000.
	Trials int
}

const (
	defaultSteps  = 128
	defaultTuning = 512
	defaultExcess = 0.002
	defaultTrials = 100_000
)

// Rejection draws independent samples from p(x_0 | C). Here C is the language of the projector, and
// p is the distribution of the samples of a diffusion.Runner without a projector. The predictions
// need not be exact.
//
// Rejection proposes paths of steps conditioned on C. A path ends in a random state X and has a
// weight W with E(W·1[X=x]) = p(x)·1[x∈C] for every x (see diffusion.Particles). The path is
// accepted with probability min(1, W/c), where c is the same cap for all samples. The samples are
// therefore independent. Their distribution q satisfies
//
//	q(x) ∝ E(min(W, c)·1[X=x]),  TV(q, p(·|C)) ≤ E(W−c)₊/E(W),
//
// where TV is the total variation distance, and a₊ means max(a, 0). A sample takes 1/E(min(1, W/c))
// paths on average. Results do not depend on Batch.
//
// # Cap
//
// The excess of a set of paths is Σ(W−c)₊/ΣW. Let ε be RejectionConfig.Excess. A tuning run takes
// the smallest cap for which the first half of its paths has an excess of at most ε/4. The second
// half tests this cap. It passes if it has enough paths and an excess of at most ε/2. Otherwise the
// tuning run doubles the number of paths and repeats the test with a new cap. Finally the cap is
// raised, if necessary, until the excess of all paths of the run is at most ε/8. [Rejection.Excess]
// estimates the bound on TV from the paths after the tuning run.
type Rejection struct {
	paths *slots.Paths
	cfg   RejectionConfig
	tuned bool // whether the tuning run is done

	logCap float64
	first  int // index of the first path in the current batch
	next   int // index of the next path
	made   int
	since  int       // number of paths since the last sample
	queue  [][]int32 // accepted states that have not been returned yet

	mean   slots.Estimate // estimate of E W from the paths after the tuning run
	excess float64        // log Σ(W−c)₊ over the paths after the tuning run
}

// ExcessError is the error of a [Rejection] if the weights of its paths are too unequal. The paths
// then have a larger excess over the cap c than the configuration allows (see [Rejection]).
type ExcessError struct {
	Excess float64 // share of the total weight of paths above the cap c (see [Rejection])
	Want   float64 // RejectionConfig.Excess; the tuning run allows half of this share
	Paths  int     // number of paths from which Excess is computed
	Made   bool    // whether samples were made nevertheless; Excess then bounds their error
}

func (e *ExcessError) Error() string {
	if e.Made {
		return fmt.Sprintf("unmask: Rejection: the share of the weight above the cap is %.3g of %d paths, want ≤ %v: samples are wrong by at most that in total variation; a larger Tuning finds a higher cap", e.Excess, e.Paths, e.Want)
	}
	return fmt.Sprintf("unmask: Rejection: the share of the weight above the cap is %.3g of %d new paths after a tuning run of as many, want ≤ %v; weights are heavy: raise Trials or Excess, or use a process of more steps", e.Excess, e.Paths, e.Want/2)
}

// NewRejection returns a sampler that draws from the model by the given process, conditioned on the
// language of cfg.Projector. It calls the projector's Bind method, which can take a long time but
// stops when ctx ends.
//
// NewRejection returns an error in these cases:
//
//   - the model or the process is nil, or a field is out of range;
//   - the model is guided at the posterior (see diffusion.Guide);
//   - the steps of the process are not diffusion.Joint;
//   - the projection remembers earlier samples or is not a diffusion.Drawer.
func NewRejection(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], cfg RejectionConfig) (*Rejection, error) {
	const who = "unmask: NewRejection"
	cfg.Excess = cmp.Or(cfg.Excess, defaultExcess)
	if err := cmp.Or(
		check.Defaults(who+": ", check.Number("Steps", &cfg.Steps, 0, defaultSteps), check.Number("Tuning", &cfg.Tuning, 0, defaultTuning), check.Number("Trials", &cfg.Trials, 0, defaultTrials)),
		check.If(!(cfg.Excess > 0 && cfg.Excess < 1), "unmask: NewRejection: Excess = %v, want in (0, 1)", cfg.Excess),
	); err != nil {
		return nil, err
	}
	drawer, sites, levels, err := language(ctx, who, model, &cfg.Config, 1)
	if err != nil {
		return nil, err
	}
	steps, err := slots.Bind(ctx, who, model, process, cfg.Batch)
	if err != nil {
		return nil, err
	}
	joint, err := slots.Joints(who, process, steps)
	if err != nil {
		return nil, err
	}
	e := engine(model, cfg.Config, sites, levels, func(i int) slots.Steps[int32] { return steps[i] })
	r := &Rejection{
		paths: slots.NewPaths(e, drawer, joint, cfg.Steps, energy.LeaveOneOut(model)),
		cfg:   cfg, excess: math.Inf(-1),
	}
	e.Policy = slots.Policy{
		Next: r.paths.Pass, Most: slots.MaxSteps(steps[0], cfg.Steps),
		Retry: func(i int, fault error) error {
			if fault != nil {
				fault = fmt.Errorf("unmask: Rejection: path %d, step %d: %w", r.first+i, e.Step, fault)
			}
			return fault
		},
		Fault: func(err error) error { return fmt.Errorf("unmask: Rejection: denoiser at step %d: %w", e.Step, err) },
	}
	return r, nil
}

// Len returns the number of samples made so far.
func (r *Rejection) Len() int { return r.made }

// Predictions returns the number of predictions that the denoiser has made so far, including
// those of the tuning run.
func (r *Rejection) Predictions() int { return r.paths.Asked }

// Excess returns an estimate of E(W−c)₊/E(W), where W is the weight of a path and c the cap on
// weights. This ratio bounds the total variation distance between the samples' distribution and the
// target p(·|C). It is NaN before the first sample.
func (r *Rejection) Excess() float64 {
	if r.mean.N == 0 {
		return math.NaN()
	}
	return simd.Exp(r.excess - r.mean.Sum)
}

// LogProb estimates the probability P(C) of the language. It returns the logarithm of an unbiased
// estimate, and the relative standard error of that estimate. The estimate uses all paths after the
// tuning run. Both results are NaN before the first sample.
func (r *Rejection) LogProb() (logP, stderr float64) { return r.mean.Mean() }

// Sample fills x with samples, each with one entry per site. The length of x determines the number
// of samples. After an error, Len is the number of completed samples, and the next call continues
// after these.
//
// The error is one of the following:
//
//   - It wraps constraint.ErrInfeasible if no path of the tuning run has weight, or if Trials paths
//     gave no sample.
//   - It is an [*ExcessError] if the tuning run finds no cap.
//   - It is also an *ExcessError if the excess of the paths after the tuning run is larger than
//     RejectionConfig.Excess. In this case, x has been filled.
func (r *Rejection) Sample(ctx context.Context, x []int32) error {
	samples(x, r.paths.Sites)
	if !r.tuned {
		if err := r.choose(ctx); err != nil {
			return err
		}
	}
	for len(x) > 0 {
		if len(r.queue) == 0 {
			if r.since >= r.cfg.Trials {
				r.since = 0
				return fmt.Errorf("unmask: Rejection: sample %d: no path of %d accepted: %w", r.made, r.cfg.Trials, constraint.ErrInfeasible)
			}
			if err := r.more(ctx); err != nil {
				return err
			}
			continue
		}
		x = x[copy(x, r.queue[0]):]
		r.queue = r.queue[1:]
		r.made++
	}
	if e := r.Excess(); e > r.cfg.Excess {
		return &ExcessError{Excess: e, Want: r.cfg.Excess, Paths: r.mean.N, Made: true}
	}
	return nil
}

// run runs n paths. The index of the first path is first.
func (r *Rejection) run(ctx context.Context, first, n int) error {
	r.first = first
	for i := range n {
		r.paths.BeginPath(i)
		r.paths.Start(i, first+i, r.cfg.Seed, uint64(first+i))
	}
	return r.paths.Run(ctx, 0, n)
}

// choose makes the tuning run and sets the cap.
func (r *Rejection) choose(ctx context.Context) error {
	var w []float64
	for n := r.cfg.Tuning; ; n = len(w) {
		for goal := len(w) + n; len(w) < goal; {
			n := min(r.cfg.Batch, goal-len(w))
			if err := r.run(ctx, len(w), n); err != nil {
				return err
			}
			w = append(w, r.paths.LogW[:n]...)
		}
		if len(w) == r.cfg.Tuning { // no paths to test the cap with yet
			if math.IsInf(slices.Max(w), -1) {
				return fmt.Errorf("unmask: Rejection: %d paths without weight: %w", len(w), constraint.ErrInfeasible)
			}
			continue
		}
		seen, held := w[:len(w)/2], w[len(w)/2:]
		r.logCap = resample.LeastCap(seen, r.cfg.Excess/4)
		e := excess(held, r.logCap)
		// with fewer paths, the small share would not be significant
		if e <= r.cfg.Excess/2 && float64(len(held)) >= min(2/r.cfg.Excess, float64(r.cfg.Trials)/4) {
			r.logCap = max(r.logCap, resample.LeastCap(w, r.cfg.Excess/8))
			r.next, r.tuned = len(w), true
			return nil
		}
		if len(w) > r.cfg.Trials/2 {
			return &ExcessError{Excess: e, Want: r.cfg.Excess, Paths: len(held)}
		}
	}
}

// excess returns Σ(W−c)₊/ΣW, or 1 if all weights are 0.
func excess(logW []float64, logCap float64) float64 {
	above, sum := 0.0, 0.0
	for _, l := range logW {
		w := simd.Exp(l - logCap)
		sum += w
		above += max(0, w-1)
	}
	if sum == 0 {
		return 1
	}
	return above / sum
}

// more runs a batch of paths and queues the accepted ones.
func (r *Rejection) more(ctx context.Context) error {
	n := r.cfg.Batch
	if err := r.run(ctx, r.next, n); err != nil {
		return err
	}
	r.next += n
	for i, l := range r.paths.LogW[:n] {
		r.since++
		r.mean.Add(l)
		if l > r.logCap {
			r.excess = simd.LogAdd(r.excess, l+simd.Log1p(-simd.Exp(r.logCap-l)))
		}
		s := &r.paths.Slots[i]
		if s.Stream.Float64() < simd.Exp(l-r.logCap) {
			r.queue, r.since = append(r.queue, slices.Clone(s.X)), 0
		}
	}
	return nil
}

// Config holds the settings that [Rejection] and [Backtrack] share.
type Config struct {
	Seed uint64 // seed of the random streams; path or walk i draws from stream (Seed, i)
	// Batch is the number of paths or walks advanced together; 0 means as many as fit in 256 MiB,
	// at most 64. It does not affect results.
	Batch int
	Meta  any // conditioning, such as a label or a prompt, that is passed to the denoiser

	// Projector defines the language, the set of allowed samples. Its projection must be a
	// diffusion.Drawer that does not remember earlier samples.
	Projector diffusion.Projector
}

// language checks the arguments of a runner and binds its projector. tables is the number of
// predictions that a path keeps; 0 means one per site.
func language(ctx context.Context, who string, d energy.Denoiser[int32], cfg *Config, tables int) (drawer slots.Drawer, sites, levels int, err error) {
	if sites, levels, err = slots.Model(who, d); err != nil {
		return nil, 0, 0, err
	}
	if err = cmp.Or(
		check.If(slots.Leads[diffusion.Guide, diffusion.Classifier](d), "%s: the model is guided at the posterior, want at the prediction, as the language needs: set AtPosterior = false", who),
		check.If(levels < 2, "%s: the model has %d levels, want ≥ 2", who, levels),
		check.If(check.Nil(cfg.Projector), "%s: Projector = nil, want one that can draw: its projection must be a diffusion.Drawer", who),
		check.If(cfg.Batch < 0, "%s: Batch = %d, want ≥ 0", who, cfg.Batch),
	); err != nil {
		return nil, 0, 0, err
	}
	cfg.Batch = cmp.Or(cfg.Batch, slots.Batch(sites*levels*cmp.Or(tables, sites)))
	p, err := cfg.Projector.Bind(ctx, sites, levels, 1)
	if err != nil {
		return nil, 0, 0, err
	}
	drawer, err = slots.DrawerOf(who, p)
	return drawer, sites, levels, err
}

// engine returns the engine that runs the paths or walks of a runner.
func engine(d energy.Denoiser[int32], cfg Config, sites, levels int, steps func(i int) slots.Steps[int32]) *slots.Engine[int32] {
	e := slots.New(d, slots.Shape{Sites: sites, Levels: levels, Batch: cfg.Batch, Workers: 1}, steps)
	e.Meta = cfg.Meta
	return e
}

// samples returns the number of samples in x. It panics if x does not hold whole samples.
func samples(x []int32, sites int) int { return check.Rows("unmask", "x", len(x), sites) }
