package scored

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/resample"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

const (
	exactCompletions = 128
	defaultTuning    = 512
	defaultExcess    = 0.002
	defaultPaths     = 100_000
	tuningDoubles    = 4
	tuningChains     = 1 << 63 // streams of the tuning run have numbers from 2⁶³
)

// ExactConfig holds the settings of [Exact], which draws feasible samples by rejection. It adds the
// fields below to those of [Config].
type ExactConfig struct {
	Config

	// Tuning is the initial number of paths of the tuning run; 0 means 512. This run determines the
	// cap c on the weights of paths (see [Exact]). If all paths fail, the number is doubled, up to
	// four times.
	Tuning int

	// Excess determines the cap c (see [Exact]). It is the largest allowed value of Σ(W−c)₊/ΣW over
	// the weights W of the tuning run's paths, in (0, 1); 0 means 0.002. A smaller value is more
	// accurate and more expensive.
	Excess float64

	// Paths is the largest number of paths proposed for one sample; 0 means 100,000.
	Paths int
}

// Exact draws samples by rejection from a distribution p, conditioned on feasibility,
//
//	p(x)·1[g(x) ≤ 0] / P,  P = Σ_x p(x)·1[g(x) ≤ 0].
//
// Here p is the distribution of samples of the diffusion without a judge, and g ≤ 0 means that
// Config.Judge accepts.
//
// # Method
//
// Exact proposes paths. A path is a sequence of steps from all masks to a complete state. A step
// reveals one site i by a token v drawn from q ∝ p_i·ψ, where p_i is the prediction and ψ comes
// from looking ahead, as in [Runner]. Each candidate v is completed several times, and the judge
// gives the completions scores S. Let
//
//	φ_v = mean over the completions of v of e^{−max(0, S)/Θ},  Θ = ½·sd·(masks left)/sites,
//
// where sd is the standard deviation of S, pooled over candidates. Then ψ_v = 0.9·φ_v + 0.1·φ̄,
// where φ̄ is the mean of φ over candidates. The weight of a path is W = ∏ p_i(v)/q(v), or 0 if its
// end is not feasible.
//
// A path is accepted with probability min(1, W/c). The cap c is the smallest number such that
// Σ(W−c)₊ ≤ ExactConfig.Excess·ΣW, summed over the paths of a tuning run. Because c is fitted to
// these paths, they give too low an estimate of E(W−c)₊/E(W). [Exact.Excess] therefore estimates it
// from other paths.
//
// # Properties
//
// Given the cap, samples are independent. Their total variation distance from the target is at most
// E(W−c)₊/E(W). [Exact.LogProb] estimates P without bias.
//
// If predictions do not depend on time, a path of L tokens takes L − 2 predictions. Sample i draws
// only from stream (Seed, i), and path j of the tuning run from stream (Seed, 2⁶³ + j). Results do
// not depend on Workers or Batch. Methods must not be called concurrently with each other.
type Exact struct {
	e      *engine
	cfg    ExactConfig
	made   int
	logCap float64 // log of the cap; NaN before the tuning run

	// estimate of E(W) from the tuning run and the first path of every sample
	evidence slots.Estimate
	above    ratio // ratio of (W−c)₊ to W over the paths of samples, in units of c
}

// NewExact returns a sampler that draws from the model by the given process, conditioned on
// feasibility. The steps of the process must be diffusion.Joint, that is, they must not choose
// sites by their tokens. The steps of Masked are Joint. The tuning run is part of the first call of
// Sample.
//
// NewExact returns the same errors as [New]. It also returns an error if the steps of the process
// are not Joint, or if a field is out of range.
func NewExact(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], cfg ExactConfig) (*Exact, error) {
	cfg.Excess = cmp.Or(cfg.Excess, defaultExcess)
	if err := cmp.Or(
		check.Defaults("scored: ExactConfig.", check.Number("Tuning", &cfg.Tuning, 0, defaultTuning), check.Number("Paths", &cfg.Paths, 0, defaultPaths)),
		check.If(!(cfg.Excess > 0 && cfg.Excess < 1), "scored: ExactConfig.Excess = %v, want in (0, 1)", cfg.Excess),
	); err != nil {
		return nil, err
	}
	e, err := newEngine(ctx, model, process, cfg.Config, exactCompletions)
	if err != nil {
		return nil, err
	}
	if _, err := slots.Joints("scored", process, []any{e.paths[0].steps}); err != nil {
		return nil, err
	}
	e.exact = true
	return &Exact{e: e, cfg: cfg, made: e.cfg.First, logCap: math.NaN()}, nil
}

// Len returns the index of the next sample, which is Config.First in a new sampler.
func (x *Exact) Len() int { return x.made }

// LogProb returns the logarithm of an estimate of P and the relative standard error of that
// estimate. P is the probability under p of a feasible sample (see [Exact]). The estimate is the
// mean weight of all paths of the tuning run and of the first path of every sample. Later paths of
// a sample would bias it, because they exist only if earlier paths were rejected. The result logP
// is NaN before the first call of Sample, and −Inf if no path was feasible.
func (x *Exact) LogProb() (logP, stderr float64) { return x.evidence.Mean() }

// Excess returns an estimate of E(W−c)₊/E(W), where W is the weight of a path and c the cap on
// weights. This ratio bounds the total variation distance between the samples' distribution and the
// target (see [Exact]). The first result is an estimate from the paths of the samples. The second
// result is the first plus three standard errors, but at least ExactConfig.Excess. Quote the
// second. Both are NaN if no sample has been made.
func (x *Exact) Excess() (share, bound float64) {
	share, stderr := x.above.share()
	return share, max(x.cfg.Excess, share+float64(3*stderr))
}

// Sample fills dst with samples, each with one entry per site. The length of dst determines the
// number of samples. If no path was accepted for a sample, Sample stores the best of its paths.
//
// The error is a [diffusion.SampleErrors] if some samples are not feasible. Its entry for such a
// sample is a *[NotConverged], or an error of the language, the denoiser or the judge. If no path
// of the tuning run is feasible, every sample gets the error of that run.
//
// If ctx ends, Sample returns the error of ctx. The entries of unfinished samples are then −1, and
// the next call begins again with the first sample of this call.
func (x *Exact) Sample(ctx context.Context, dst []int32) error {
	e := x.e
	errs := e.open(dst)
	n := len(errs)
	if n == 0 {
		return nil
	}
	if x.logCap != x.logCap {
		fault, err := x.findCap(ctx)
		if err != nil {
			return err
		}
		if fault != nil {
			for i := range errs {
				errs[i] = fault
			}
			x.made += n
			return errs
		}
	}
	first, above := make([]float64, n), make([]ratio, n)
	e.ended = func(_ *scratch, p *path) (done bool, err error) {
		p.paths++
		w := simd.Exp(p.logW - x.logCap)
		if p.paths == 1 {
			first[p.job] = p.logW
		}
		above[p.job].add(max(0, w-1), w)
		if p.Stream.Float64() < w {
			p.keep()
			return true, nil
		}
		if p.paths >= x.cfg.Paths {
			return true, &NotConverged{Violation: p.worst, Tries: p.paths}
		}
		e.restart(p)
		return false, nil
	}
	if err := e.sample(ctx, dst, errs, x.made); err != nil {
		return err
	}
	for i, v := range e.reports { // in order, so that sums do not depend on the batch
		if v.Paths > 0 {
			x.evidence.Add(first[i])
			x.above.join(above[i])
		}
	}
	x.made += n
	return errs.Err()
}

// Reports returns a report for every sample of the last call of Sample, or nil before the first
// call. Every call of Sample makes a new slice.
func (x *Exact) Reports() []Report { return x.e.reports }

// findCap makes the tuning run and sets the cap. The result fault, unless nil, is the error to
// return for all samples.
func (x *Exact) findCap(ctx context.Context) (fault, err error) {
	e := x.e
	var logW []float64
	for n := x.cfg.Tuning; ; n *= 2 {
		from := len(logW)
		logW = append(logW, make([]float64, n-from)...)
		e.ended = func(*scratch, *path) (done bool, err error) { return true, nil }
		worst := math.Inf(1)
		fault = nil
		e.done = func(p *path) {
			logW[from+p.job] = p.logW
			if p.err != nil {
				logW[from+p.job] = math.Inf(-1)
				fault = p.err
			} else if p.finite {
				worst = min(worst, p.worst)
			}
		}
		if err := e.run(ctx, n-from, from, tuningChains); err != nil {
			return nil, err
		}
		if slices.Max(logW) > math.Inf(-1) {
			break
		}
		if n >= x.cfg.Tuning<<tuningDoubles {
			x.took(logW)
			if fault == nil {
				fault = &NotConverged{Violation: worst, Tries: n}
			}
			return fmt.Errorf("scored: Exact: no path of the tuning run is feasible: %w", fault), nil
		}
	}
	x.took(logW)
	x.logCap = resample.LeastCap(logW, x.cfg.Excess)
	return nil, nil
}

// took restarts the evidence with the weights of a tuning run.
func (x *Exact) took(logW []float64) {
	x.evidence = slots.Estimate{}
	for _, l := range logW {
		x.evidence.Add(l)
	}
}

// ratio estimates E[a]/E[b] from pairs (a, b).
type ratio struct{ a, b, aa, ab, bb float64 }

func (r *ratio) add(a, b float64) {
	r.join(ratio{a, b, float64(a * a), float64(a * b), float64(b * b)})
}

func (r *ratio) join(o ratio) {
	r.a += o.a
	r.b += o.b
	r.aa += o.aa
	r.ab += o.ab
	r.bb += o.bb
}

// share returns Σa/Σb and its standard error. Both are NaN if Σb is 0.
func (r *ratio) share() (share, stderr float64) {
	share = r.a / r.b
	squares := r.aa - float64(2*share*r.ab) + float64(float64(share*share)*r.bb)
	return share, math.Sqrt(max(0, squares)) / r.b
}
