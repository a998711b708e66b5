package scored

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Runner draws samples of masked diffusion that a judge accepts. It looks ahead before it reveals a
// token, and can mask tokens again. It makes about 1.5 times as many predictions as a run without a
// judge, and needs no derivatives. Samples are feasible, but follow the denoiser's conditional
// distribution only roughly; [Exact] draws from it.
//
// # Method
//
// The process decides when each site is revealed. The candidates at a site are all tokens with
// weight in the prediction. If there are more than 16, the candidates are 8 draws from the
// prediction (see Config.Candidates). For each candidate v, the other masks are filled in M times
// by draws from their predictions. Let S_vm be the judge's score of completion m of candidate v.
// The token is drawn with probability ∝ prediction·ψ, where
//
//	ψ_v = max(1e-9, (#{m: S_vm ≤ 0} + Φ(−mean_v/sd))/(M+1)).
//
// Here mean_v is the mean score of candidate v, sd is the standard deviation pooled over
// candidates, and Φ is the normal distribution function. For the last mask, ψ is 1 if the judge
// accepts and 0 otherwise.
//
// If the judge accepts no token, tokens are masked again. Round r = 0, 1, … masks 2 + ⌊r/2⌋ random
// sites of the best state so far and reveals them in the same way. In every sixteenth round all
// sites are masked. After Config.Rounds rounds the sample fails with a *[NotConverged].
//
// With diffusion.Ordered, and with RemaskConfidence as the rule of diffusion.Remask, the choice of
// sites depends on the tokens found by looking ahead.
//
// # Reproducibility
//
// Sample i draws only from stream (Seed, i). Results do not depend on Workers, nor on Batch if the
// denoiser and the judge treat every state independently. Methods must not be called concurrently
// with each other.
type Runner struct {
	e    *engine
	made int
}

// afresh is the number of rounds after which a sample restarts from masks. Without restarts, 3 of
// 200 samples do not converge in TestScoresUnderMasksConverge (512 levels, 1 %).
const afresh = 16

// New returns a runner that samples from the model by the given process. The steps of the process
// must be diffusion.Absorbing and diffusion.Renoiser, such as those of Masked. New calls the Bind
// methods of the process and of the projector. They can take a long time, but stop when ctx ends.
//
// New returns an error in these cases:
//
//   - the model or the process is nil, or a field of the configuration is out of range;
//   - the process has no masks, or the model is guided at the posterior (see diffusion.Guide);
//   - the projector or a noise.Checked model returns an error.
func New(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], cfg Config) (*Runner, error) {
	e, err := newEngine(ctx, model, process, cfg, defaultCompletions)
	if err != nil {
		return nil, err
	}
	r := &Runner{e: e, made: e.cfg.First}
	e.ended = r.takeBack
	return r, nil
}

// Len returns the index of the next sample, which is Config.First in a new runner.
func (r *Runner) Len() int { return r.made }

// Sample fills x with samples, each with one entry per site. The length of x determines the number
// of samples. If no feasible state is found for a sample, Sample stores the completed state with
// the smallest violation. If no state was completed, Sample stores the tokens chosen so far, and −1
// at the other sites.
//
// The error is a [diffusion.SampleErrors] if some samples are not feasible. Its entry for such a
// sample is a *[NotConverged], or an error of the language, the denoiser or the judge.
//
// If ctx ends, Sample returns the error of ctx. The entries of unfinished samples are then −1. The
// next call begins with the same sample as the call that ended early.
func (r *Runner) Sample(ctx context.Context, x []int32) error {
	errs := r.e.open(x)
	if err := r.e.sample(ctx, x, errs, r.made); err != nil {
		return err
	}
	r.made += len(errs)
	return errs.Err()
}

// Reports returns a report for every sample of the last call of Sample, or nil before the first
// call. Every call of Sample makes a new slice.
func (r *Runner) Reports() []Report { return r.e.reports }

// takeBack is called at the end of a path. It returns done = true if the sample is feasible or no
// rounds are left. Otherwise it masks sites of the best state so far again. If there is no best
// state, it masks sites of the dead path.
func (r *Runner) takeBack(w *scratch, p *path) (done bool, err error) {
	e := r.e
	switch {
	case p.finite && p.worst <= 0:
		return true, nil
	case p.rounds < e.cfg.Rounds && len(e.free) > 0:
	case p.finite:
		return true, &NotConverged{Violation: p.worst, Tries: p.rounds}
	default:
		return true, fmt.Errorf("scored: nothing of the language is within reach after %d rounds: %w", p.rounds, constraint.ErrInfeasible)
	}
	if p.finite {
		copy(p.X, p.best)
	}
	w.order = w.order[:0]
	for _, i := range e.free {
		if !p.masked(i) {
			w.order = append(w.order, i)
		}
	}
	n := min(len(w.order), 2+p.rounds/2)
	if p.rounds%afresh == afresh-1 {
		n = len(w.order)
	}
	p.shuffle(w.order, n)
	for _, i := range w.order[:n] {
		p.X[i] = p.mask
	}
	p.recount()
	p.rounds++
	p.mend = true
	p.Time = p.clockFor(1 - float64(p.masks)/float64(len(e.free)))
	return false, nil
}

// Report describes the result and the cost of one sample.
type Report struct {
	// Violation is max_j g_j(x), where x holds the tokens returned for the sample and the g_j are
	// the functions of Config.Judge. It is ≤ 0 for feasible samples, and NaN if no state was
	// completed.
	Violation float64

	Rounds int // number of rounds in which a [Runner] masked tokens again
	Paths  int // number of paths that [Exact] proposed
	Judged int // number of states passed to Config.Judge or Config.Guide for this sample

	// Predictions is the number of predictions made for this sample alone, without shared ones.
	// Samples share predictions only if the denoiser is time-free (its predictions do not depend on
	// time). They then share the prediction for the state without tokens. They also share the
	// predictions for states with one token, if all of these fit in 64 MiB.
	Predictions int
}

// NotConverged is the error of a sample for which no feasible state was found. Sample then stores
// the best state that it found.
type NotConverged struct {
	Violation float64 // violation of the best state
	Tries     int     // number of rounds of masking tokens again ([Runner]), or of paths ([Exact])
}

// Error returns a message with the violation and the number of tries.
func (e *NotConverged) Error() string {
	return fmt.Sprintf("scored: violation = %.4g after %d tries, want ≤ 0", e.Violation, e.Tries)
}
