package scored

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Runner draws samples of masked diffusion that a judge accepts. It looks ahead before
// it shows a token, and takes tokens back.
//
// The process decides which sites are shown when. For a site that is to be shown,
// every level is a candidate (or 8 draws from its row, if more than 16 levels have
// weight). The other masks are filled in M times from their rows, and the judge scores
// all of these states in one call: S_vm for candidate v. The token is drawn from row·ψ,
//
//	ψ_v = max(1e-9, (#{m: S_vm ≤ 0} + Φ(−mean_v/sd))/(M+1)),
//
// with sd the deviation pooled over candidates. For the last mask ψ is 1 if the judge
// accepts and 0 otherwise. If it accepts no token, tokens are taken back: in round r,
// counted from 0, 2 + r/2 random sites of the best sample so far are masked again and
// shown in the same way; in every sixteenth round all sites are. After Config.Rounds
// rounds the sample is given up, with a *[NotConverged].
//
// A Runner makes about 1.5 times as many predictions as a run without a score, and
// needs no derivatives. Samples are feasible, but their distribution is not quite that
// of the denoiser given the set: see [Exact].
//
// A process that masks tokens again (diffusion.Remask, by any rule but
// RemaskConfidence) or orders them by confidence (diffusion.Ordered) decides by draws
// of its own. The look ahead then replaces these draws.
//
// Sample i draws from stream (Seed, i) only. Workers never changes a bit of it, nor
// does Batch if the denoiser and the judge treat every state by itself. Methods must
// not be called concurrently with each other.
type Runner struct {
	e    *engine
	made int
}

// afresh is the number of rounds after which a sample begins again from masks. Without it
// 3 of 200 samples do not converge in TestScoresUnderMasksConverge (512 levels, 1 %).
const afresh = 16

// New returns a runner that samples from the model with the process. The steps of the
// process must be diffusion.Absorbing and diffusion.Renoiser, such as those of Masked.
// New binds the process and the language under ctx.
//
// Errors: a nil model or process, the error of a noise.Checked model, a model that is
// guided at the posterior, a process without masks, a field of the configuration out
// of range, and the errors of the projector.
func New(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], cfg Config) (*Runner, error) {
	e, err := newEngine(ctx, model, process, cfg, defaultCompletions)
	if err != nil {
		return nil, err
	}
	r := &Runner{e: e, made: e.cfg.First}
	e.ended = r.takeBack
	return r, nil
}

// Len returns the number of the next sample.
func (r *Runner) Len() int { return r.made }

// Sample fills x, any number of samples × sites, with samples. A sample that is not
// feasible is the best that was found, with −1 where no token was chosen.
//
// The error is a [diffusion.SampleErrors] if some samples are not feasible. An entry is
// a *[NotConverged] if no feasible sample was found, or an error of the language, the
// denoiser or the judge. If ctx ends, it is the error of ctx, unfinished samples are −1,
// and the next call begins with the samples of this one.
func (r *Runner) Sample(ctx context.Context, x []int32) error {
	errs := r.e.open(x)
	if err := r.e.sample(ctx, x, errs, r.made); err != nil {
		return err
	}
	r.made += len(errs)
	return errs.Err()
}

// Reports returns a report of every sample of the last call of Sample, nil before the
// first call. The next call of Sample makes a new slice.
func (r *Runner) Reports() []Report { return r.e.reports }

// takeBack ends a path: the job is done if it is feasible or rounds are used up;
// otherwise sites of the best sample, or of a dead path, are masked again.
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

// Report holds the violation and the cost of a sample.
type Report struct {
	// Violation is max_j g_j of the tokens returned for the sample, by the judge:
	// ≤ 0 for feasible samples, NaN if none was finished.
	Violation float64

	Rounds int // rounds in which a [Runner] took tokens back
	Paths  int // proposals made, by [Exact]
	Judged int // states that the judge or the guide saw for this sample

	// Predictions counts the predictions for this sample. It leaves out those that
	// samples share if the denoiser is time-free: for the state without tokens and, if
	// they fit in 64 MiB together, for states with one token.
	Predictions int
}

// NotConverged is the error of a sample for which no feasible state was found. The best
// state found is returned in its place.
type NotConverged struct {
	Violation float64 // of the best
	Tries     int     // rounds of taking back, or proposals
}

// Error returns the violation and the number of tries.
func (e *NotConverged) Error() string {
	return fmt.Sprintf("scored: violation = %.4g after %d tries, want ≤ 0", e.Violation, e.Tries)
}
