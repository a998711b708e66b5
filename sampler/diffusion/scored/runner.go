package scored

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Runner draws samples of masked diffusion that a judge accepts, by looking ahead
// and taking back.
//
// The process decides which sites are shown when. For a site that is to be shown,
// every level is a candidate (or 8 draws from its row, where more than 16 levels
// have weight), the other masks are filled in M times from their rows, and the
// judge scores all of that in one call: S_vm for candidate v. The token is drawn
// from row·ψ,
//
//	ψ_v = max(1e-9, (#{m: S_vm ≤ 0} + Φ(−mean_v/sd))/(M+1)),
//
// sd the deviation pooled over candidates; for the last mask ψ is 1 where the judge
// accepts and 0 elsewhere. Where it accepts nothing, tokens are taken back: of the
// best sample so far 2 + r/2 random sites (all of them in every sixteenth round) are
// masked again and shown in the same way, for rounds r = 0, 1, … up to Config.Rounds.
// Then the sample is given up, with a *[NotConverged].
//
// It makes about half as many predictions more than a run without a score, and
// needs no derivatives. Samples are feasible, but their distribution is not quite
// that of the denoiser given the set: see [Exact].
//
// A process that masks tokens again (diffusion.Remask, by any rule but
// RemaskConfidence) or orders them by confidence (diffusion.Ordered) decides by
// draws of its own, which the look ahead then replaces.
//
// Sample i draws from stream (Seed, i) only, and neither Workers nor, for denoisers
// and judges that treat states alone, Batch changes a bit of it. Methods must not
// be called concurrently with each other.
type Runner struct {
	e    *engine
	made int
}

// afresh is after how many rounds a sample begins anew: what has not come near by
// then is seldom near (TestScoresUnderMasksConverge, 512 levels, 1 %: 3 of 200 do not
// converge without that).
const afresh = 16

// New returns a runner that samples from the model with the process, whose steps
// must be diffusion.Absorbing and diffusion.Renoiser, such as those of Masked. It
// binds the process and the language under ctx.
//
// Errors: a nil model or process, what a noise.Checked model says, a model that is
// guided at the posterior, a process without masks, a field of the configuration out
// of range, and whatever the projector says.
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

// Sample fills x, any number of samples × sites, with samples. One that is not
// feasible is the best there was, −1 where no token was chosen.
//
// The error is a [diffusion.SampleErrors] if some samples are not feasible: an entry
// is a *[NotConverged] where none was found, or what the language, the denoiser or the
// judge returned. If ctx ends, it is the error of ctx, samples that were not finished
// are −1, and the next call begins with the samples of this one.
func (r *Runner) Sample(ctx context.Context, x []int32) error {
	errs := r.e.open(x)
	if err := r.e.sample(ctx, x, errs, r.made); err != nil {
		return err
	}
	r.made += len(errs)
	return errs.Err()
}

// Reports returns a report of every sample of the last call of Sample, nil before the
// first. The next call returns another slice.
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

// Report is what a sample took.
type Report struct {
	// Violation is max_j g_j of what is in the sample's place, by the judge:
	// ≤ 0 for feasible samples, NaN where nothing was finished.
	Violation float64

	Rounds int // how often tokens were taken back, by a [Runner]
	Paths  int // proposals made, by [Exact]
	Judged int // states that the judge or the guide saw for this sample

	// Predictions counts those for this sample, without those that samples share if
	// the denoiser is time-free: for the state without tokens and, where they fit in
	// 64 MiB together, for states with one.
	Predictions int
}

// NotConverged is the error of a sample that is not feasible: none was found. The best there was is in
// its place.
type NotConverged struct {
	Violation float64 // of the best
	Tries     int     // rounds of taking back, or proposals
}

// Error implements error.
func (e *NotConverged) Error() string {
	return fmt.Sprintf("scored: violation = %.4g after %d tries, want ≤ 0", e.Violation, e.Tries)
}
