package diffusion

import (
	"cmp"
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
	return cmp.Or(
		check.If(sites < 1 || levels < 1, "diffusion: %s: Bind: sites = %d, levels = %d, want both ≥ 1", process, sites, levels),
		check.Entries("diffusion: "+process+": Bind", "sites × levels", sites, levels),
	)
}

// Process is the recipe of a corruption x_0 → x_t, t ∈ [0,1], and its reverse:
// [Masked], [Uniform], [Remask] and [Ordered] on tokens, [Gaussian], [ECI] and
// [Penalised] on reals. Package diffusiontest checks a process of your own.
type Process[S energy.Site] interface {
	// Bind returns steps for samples of the given shape, one sample at a time.
	// Runners call it once for every sample that they hold at the same time. It may
	// take long. The error names the setting that is wrong.
	Bind(ctx context.Context, sites, levels int) (Steps[S], error)
}

// Steps moves one sample at a time from noise to data. It may keep state of that
// sample. One goroutine uses it at a time; Alpha is safe for concurrent use.
//
// Runners also look for the optional interfaces [Renoiser], [Joint], [Factorised],
// [Absorbing] and [Clocked].
type Steps[S energy.Site] interface {
	// Alpha returns the signal level at time t (see [noise.Schedule]).
	Alpha(t float64) float64

	// Prior begins a sample: it stores a draw of x_1, pure noise, in x.
	Prior(x []S, r *sampler.Stream)

	// Next returns the time s that follows t for the sample x: s < t, or s = t for a
	// step that stays at its time. step counts from 0; steps is the number of steps
	// asked for, the most that a sample may take unless it is [Clocked]. The sample is
	// finished when s = 0.
	Next(x []S, t float64, step, steps int, r *sampler.Stream) (s float64)

	// Reverse replaces x = x_t by a draw of x_s given a prediction of x_0: raw is
	// the prediction of the denoiser and v the projected one, or raw itself. Tokens
	// are drawn from v site by site. Reverse may write to v what x implies (a mask
	// has no weight). The error is a *[PredictionError].
	Reverse(x []S, raw, v []float32, t, s float64, r *sampler.Stream) error
}

// Clocked is [Steps] with a clock of its own.
type Clocked interface {
	// MaxSteps returns the largest number of steps that a sample takes when the given
	// number is asked for. A sample that has not ended then is given up with an error.
	MaxSteps(steps int) int
}

// Absorbing is [Steps] of tokens with a level that stands for an unknown token.
type Absorbing interface {
	// Masks reports whether l is that level. It cannot be clamped.
	Masks(l int32) bool
}

var (
	_ Absorbing            = (*masked)(nil)
	_ Absorbing            = (*firstHitting)(nil)
	_ Absorbing            = (*ordered)(nil)
	_ Absorbing            = (*remask)(nil)
	_ corruption.Absorbing = Absorbing(nil)
)

// Renoiser is [Steps] of tokens that can move with a given clean sample, such as a
// joint draw. Projections need it. [IntactSteps] lets a projection skip rows.
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
// them: Condition must treat every site by itself, and neither Reverse nor Renoise may
// read v at intact sites. A [GivenDrawer] then does without these rows.
type IntactSteps interface {
	Renoiser

	// Intact stores in x0 the tokens that x shows to be intact, and −1 elsewhere.
	Intact(x0, x []int32)
}

var (
	_ IntactSteps = (*masked)(nil)
	_ IntactSteps = (*firstHitting)(nil)
	_ IntactSteps = (*ordered)(nil)
	_ IntactSteps = (*remask)(nil)
)

// Joint is a [Renoiser] whose steps can be given weights. [Particles] need it.
type Joint interface {
	Renoiser

	// Reweight adds log q(x_s | x_t, x_0,i = l) to the conditioned prediction
	// v, up to a constant per row.
	Reweight(v []float32, xt, xs []int32, t, s float64)
}

// Factorised is [Steps] of tokens whose reverse step is independent by site. Guidance
// at the posterior needs it, except for [Masked] with FirstHitting.
type Factorised interface {
	// Posterior stores log p(x_s,i = l | x_t), normalised, for every site and
	// level, given the full posterior v of x_0 (see [Renoiser]). dst has the
	// length of v.
	Posterior(dst, v []float32, x []int32, t, s float64)
}

// revealing is [Steps] of tokens whose reverse step, without a projection or guidance, is
// one of those that [energy.Reveals] names.
type revealing interface{ Reveals() energy.Reveals }

// jumping is [Absorbing] steps that reveal one mask each, at the rates of a process in
// continuous time. Guidance at the posterior multiplies these rates.
type jumping interface {
	Absorbing

	// rates stores, for every site and level, the logarithm of the rate at which the site
	// becomes that level, up to one constant, given the full posterior v of x_0.
	rates(dst, v []float32, x []int32)
}

var _ jumping = (*firstHitting)(nil)

// gridTime returns the time after the given step of an even grid: exactly 0
// after the last.
func gridTime(step, steps int) float64 {
	if step+1 >= steps {
		return 0
	}
	return float64(steps-step-1) / float64(steps)
}

// PredictionError is the error of a prediction with a row that cannot be drawn from.
// It wraps [constraint.ErrInfeasible] if the row is empty.
type PredictionError struct {
	Site  int
	Empty bool // every level has weight zero; otherwise the row has a NaN or +Inf, or a real is not finite
}

func (e *PredictionError) Error() string {
	if e.Empty {
		return fmt.Sprintf("the prediction for site %d gives every level weight zero (a mask counts for nothing: is Mask the denoiser's?)", e.Site)
	}
	return fmt.Sprintf("the prediction for site %d has a value that is NaN or +Inf (or -Inf, for reals)", e.Site)
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

// badRow returns why the row of a site cannot be drawn from.
func badRow(v []float32, site, levels int) error {
	return &PredictionError{Site: site, Empty: slots.Empty(v[site*levels : (site+1)*levels])}
}
