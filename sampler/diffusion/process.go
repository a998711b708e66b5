package diffusion

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/corruption"
	"github.com/gibbsite-go/gibbsite/internal/slots"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// checkShape returns an error unless a process can be bound to a shape.
func checkShape(process string, sites, levels int) error {
	if sites < 1 || levels < 1 {
		return fmt.Errorf("diffusion: %s: Bind: sites = %d, levels = %d, want both ≥ 1", process, sites, levels)
	}
	return check.Entries("diffusion: "+process+": Bind", "sites × levels", sites, levels)
}

// Process is the recipe of a corruption x_0 → x_t, t ∈ [0,1], and its reverse:
// [Masked], [Uniform], [Remask] and [Ordered] on tokens, [Gaussian] and
// [Penalised] on reals. Package diffusiontest holds the laws of a process.
type Process[S energy.Site] interface {
	// Bind returns the steps of one sample at a time, for samples of the given
	// shape. Runners call it once for every sample that they hold at a time. It
	// may be long. The error names the setting that is wrong.
	Bind(ctx context.Context, sites, levels int) (Steps[S], error)
}

// Steps moves one sample at a time from noise to data. It may keep what belongs
// to that sample and is used by one goroutine at a time; Alpha is safe for
// concurrent use.
//
// Runners look for what more it can do: [Renoiser], [Joint], [Factorised],
// [Absorbing], [Clocked].
type Steps[S energy.Site] interface {
	// Alpha returns the signal level at time t (see [noise.Schedule]).
	Alpha(t float64) float64

	// Prior stores a draw of x_1, pure noise, in x: a sample begins.
	Prior(x []S, r *sampler.Stream)

	// Next returns the time s that follows t for the sample x, s < t or, for
	// processes that linger, s ≤ t. step counts from 0; steps is the number of
	// steps asked for. The run of the sample ends with s = 0.
	Next(x []S, t float64, step, steps int, r *sampler.Stream) (s float64)

	// Reverse replaces x = x_t by a draw of x_s given the predictions of x_0:
	// raw is what the denoiser said, v the same after a projection, or raw
	// itself. Tokens are drawn from v site by site. Reverse may write to v what
	// is implied by x (a mask has no weight). The error is a *[PredictionError].
	Reverse(x []S, raw, v []float32, t, s float64, r *sampler.Stream) error
}

// Clocked is [Steps] with a clock of their own.
type Clocked interface {
	// MaxSteps returns how many steps a sample takes at most where the given
	// number is asked for.
	MaxSteps(steps int) int
}

// Absorbing is [Steps] of tokens with a level that stands for a token unknown.
type Absorbing interface {
	// Masks reports whether that level is l, which then cannot be clamped.
	Masks(l int32) bool
}

var (
	_ Absorbing            = (*masked)(nil)
	_ Absorbing            = (*ordered)(nil)
	_ Absorbing            = (*remask)(nil)
	_ corruption.Absorbing = Absorbing(nil)
)

// Renoiser is [Steps] of tokens that can move with a joint draw of the clean
// sample: what projections need. See [IntactSteps] for what spares a projection rows.
type Renoiser interface {
	// Condition turns the prediction v for x = x_t into the full posterior
	// log p(x_0,i = l | x_t), up to a constant per row: tokens that x_t shows
	// to be intact get all weight, a mask gets none, and a leave-one-out
	// prediction is multiplied by q(x_t,i | x_0,i = l). Conditioning a full
	// posterior twice changes nothing.
	Condition(v []float32, x []int32, t float64, leaveOneOut bool)

	// Renoise replaces x = x_t by a draw from q(x_s | x_t, x_0). v is the
	// conditioned prediction that x0 was drawn from.
	Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream)
}

// IntactSteps is a [Renoiser] that knows which tokens are intact and needs no rows for
// these: Condition must treat every site alone, and neither Reverse nor Renoise may read
// v there. A [GivenDrawer] is then spared them.
type IntactSteps interface {
	Renoiser

	// Intact stores in x0 the tokens that x shows to be intact, and −1 elsewhere.
	Intact(x0, x []int32)
}

var (
	_ IntactSteps = (*masked)(nil)
	_ IntactSteps = (*ordered)(nil)
	_ IntactSteps = (*remask)(nil)
)

// Joint is [Steps] that can be weighed: what [Particles] need.
type Joint interface {
	Renoiser

	// Reweight adds log q(x_s | x_t, x_0,i = l) to the conditioned prediction
	// v, up to a constant per row.
	Reweight(v []float32, xt, xs []int32, t, s float64)
}

// Factorised is [Steps] of tokens that can say what they do site by site: what
// guidance at the posterior needs.
type Factorised interface {
	// Posterior stores log p(x_s,i = l | x_t), normalised, for every site and
	// level, given the full posterior v of x_0 (see [Renoiser]). dst has the
	// length of v.
	Posterior(dst, v []float32, x []int32, t, s float64)
}

// gridTime returns the time after the given step of an even grid: exactly 0
// after the last.
func gridTime(step, steps int) float64 {
	if step+1 >= steps {
		return 0
	}
	return float64(steps-step-1) / float64(steps)
}

// maxSteps returns how many steps a sample takes at most where steps are asked
// for.
func maxSteps[S energy.Site](p Steps[S], steps int) int {
	if c, ok := p.(Clocked); ok {
		return c.MaxSteps(steps)
	}
	return steps
}

// PredictionError says that a row of a prediction cannot be drawn from. An
// empty row wraps [constraint.ErrInfeasible].
type PredictionError struct {
	Site  int
	Empty bool // every level has weight zero; otherwise the row has a NaN or +Inf
}

func (e *PredictionError) Error() string {
	if e.Empty {
		return fmt.Sprintf("the prediction for site %d gives every level weight zero (a mask counts for nothing: is Mask the denoiser's?)", e.Site)
	}
	return fmt.Sprintf("the prediction for site %d has a weight that is NaN or +Inf", e.Site)
}

func (e *PredictionError) Unwrap() error {
	if e.Empty {
		return constraint.ErrInfeasible
	}
	return nil
}

// drawRow draws the level of one site from its row of log-weights, by inverse
// CDF with a 53-bit uniform.
func drawRow(v []float32, site, levels int, r *sampler.Stream) (int32, error) {
	l := slots.Draw(v[site*levels:(site+1)*levels], r)
	if l < 0 {
		return 0, badRow(v, site, levels)
	}
	return l, nil
}

// badRow says why the row of a site cannot be drawn from.
func badRow(v []float32, site, levels int) error {
	return &PredictionError{Site: site, Empty: slots.Empty(v[site*levels : (site+1)*levels])}
}
