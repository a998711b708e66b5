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

// Process is the recipe of a corruption x_0 → x_t, t ∈ [0,1], and its reverse: [Masked], [Uniform],
// [Remask] and [Ordered] on tokens, [Gaussian], [ECI] and [Penalised] on reals. Package
// diffusiontest checks processes that you write.
type Process[S energy.Site] interface {
	// Bind returns steps for samples of the given shape, one sample at a time. Runners call Bind
	// once for every sample that they process at the same time. It may take long. The error names
	// the setting that is wrong.
	Bind(ctx context.Context, sites, levels int) (Steps[S], error)
}

// Steps moves one sample at a time from noise to data and may keep state of that sample. It must be
// used by one goroutine at a time, except for Alpha, which must be safe for concurrent use.
//
// Runners also look for the optional interfaces [Renoiser], [Joint], [Factorised], [Absorbing] and
// [Clocked].
type Steps[S energy.Site] interface {
	// Alpha returns the signal level at time t (see [noise.Schedule]).
	Alpha(t float64) float64

	// Prior begins a sample: it stores a draw of x_1, pure noise, in x.
	Prior(x []S, r *sampler.Stream)

	// Next returns the time s that follows t for the sample x: s < t, or s = t for a step that
	// stays at its time. step counts from 0. steps is the requested number of steps, which is the
	// maximum for a sample unless Steps is [Clocked]. The sample is finished when s = 0.
	Next(x []S, t float64, step, steps int, r *sampler.Stream) (s float64)

	// Reverse replaces x = x_t by a draw of x_s given a prediction of x_0: raw is the prediction of
	// the denoiser, and v is the projected prediction, or raw itself. Tokens are drawn from v site
	// by site. Reverse may write to v what x implies (a mask has no weight). The error is a
	// *[PredictionError].
	Reverse(x []S, raw, v []float32, t, s float64, r *sampler.Stream) error
}

// Clocked is [Steps] that determine their own number of steps.
type Clocked interface {
	// MaxSteps returns the maximum number of steps of a sample for the given requested number. A
	// sample that is not finished by then is abandoned with an error.
	MaxSteps(steps int) int
}

// Absorbing is [Steps] of tokens with a level that represents an unknown token.
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

// Renoiser is [Steps] of tokens that can move given a clean sample, such as a joint draw.
// Projections need a Renoiser. [IntactSteps] lets a projection skip rows.
type Renoiser interface {
	// Condition turns the prediction v for x = x_t into the full posterior log p(x_0,i = l | x_t),
	// up to a constant per row: tokens that x_t shows to be intact get all weight, a mask gets
	// none, and a leave-one-out prediction is multiplied by q(x_t,i | x_0,i = l). Conditioning a
	// full posterior again changes nothing.
	Condition(v []float32, x []int32, t float64, leaveOneOut bool)

	// Renoise replaces x = x_t by a draw from q(x_s | x_t, x_0). v is the conditioned prediction
	// from which x0 was drawn.
	Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream)
}

// IntactSteps is a [Renoiser] that knows which tokens are intact and needs no rows for them:
// Condition must treat every site by itself, and neither Reverse nor Renoise may read v at intact
// sites. A [GivenDrawer] can then skip these rows.
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

// Joint is a [Renoiser] whose steps can be weighted. [Particles] need a Joint.
type Joint interface {
	Renoiser

	// Reweight adds log q(x_s | x_t, x_0,i = l) to the conditioned prediction
	// v, up to a constant per row.
	Reweight(v []float32, xt, xs []int32, t, s float64)
}

// Factorised is [Steps] of tokens whose reverse step is independent across sites. Guidance at the
// posterior needs a Factorised, except for [Masked] with FirstHitting.
type Factorised interface {
	// Posterior stores log p(x_s,i = l | x_t), normalised, for every site and
	// level, given the full posterior v of x_0 (see [Renoiser]). dst has the
	// length of v.
	Posterior(dst, v []float32, x []int32, t, s float64)
}

// revealing is [Steps] of tokens whose reverse step, without a projection or guidance, is one that
// [energy.Reveals] names.
type revealing interface{ Reveals() energy.Reveals }

// jumping is [Absorbing] steps that reveal one mask each, at the rates of a continuous-time
// process. Guidance at the posterior multiplies these rates.
type jumping interface {
	Absorbing

	// rates stores, for every site and level, the logarithm of the rate at which the site becomes
	// that level, given the full posterior v of x_0. All entries may be shifted by the same
	// constant.
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

// PredictionError is the error of a prediction with a row from which nothing can be drawn. It wraps
// [constraint.ErrInfeasible] if the row is empty.
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

// badRow returns the error that explains why nothing can be drawn from the row of a site.
func badRow(v []float32, site, levels int) error {
	return &PredictionError{Site: site, Empty: slots.Empty(v[site*levels : (site+1)*levels])}
}
