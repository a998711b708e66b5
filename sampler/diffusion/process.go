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

// checkShape returns an error if a process cannot be bound to a shape.
func checkShape(process string, sites, levels int) error {
	return cmp.Or(
		check.If(sites < 1 || levels < 1, "diffusion: %s: Bind: sites = %d, levels = %d, want both ≥ 1", process, sites, levels),
		check.Entries("diffusion: "+process+": Bind", "sites × levels", sites, levels),
	)
}

// Process defines how a sample x_0 is corrupted to a state x_t at time t ∈ [0,1], and how this is
// reversed. [Masked], [Uniform], [Remask] and [Ordered] are processes on tokens; [Gaussian], [ECI],
// [Penalised] and [Corrected] are processes on reals. Package diffusiontest tests processes that
// you write yourself.
type Process[S energy.Site] interface {
	// Bind returns the [Steps] for samples of the given shape. Steps handle one sample at a time,
	// so a runner calls Bind once for each simultaneous sample. Bind may take a long time. If a
	// setting is wrong, the error names it.
	Bind(ctx context.Context, sites, levels int) (Steps[S], error)
}

// Steps moves one sample at a time from noise to data, and may keep data about that sample. It must
// be used by one goroutine at a time, except that Alpha must be safe for concurrent use.
//
// Steps may also implement the optional interfaces [Renoiser], [Joint], [Factorised], [Absorbing]
// and [Clocked], which runners look for.
type Steps[S energy.Site] interface {
	// Alpha returns the signal level at time t (see [noise.Schedule]).
	Alpha(t float64) float64

	// Prior begins a sample. It stores in x a draw of pure noise, which is the state x_1.
	Prior(x []S, r *sampler.Stream)

	// Next returns the time s ≤ t to which the next step moves the state x from time t. A step may
	// stay at its time, s = t. The sample is finished when s = 0. The argument step is the number
	// of steps that the sample has made, and the argument steps is the requested number. A sample
	// takes at most the requested number of steps unless its Steps are [Clocked].
	Next(x []S, t float64, step, steps int, r *sampler.Stream) (s float64)

	// Reverse replaces the state x at time t by a draw of the state at time s, given a prediction
	// of x_0. The argument raw is the prediction of the denoiser. The argument v is the projected
	// prediction, or raw itself without a projection. Tokens are drawn from v independently for
	// each site. Reverse may change v, for instance to remove the weight of a mask. If no value can
	// be drawn at a site, the error is a *[PredictionError].
	Reverse(x []S, raw, v []float32, t, s float64, r *sampler.Stream) error
}

// Clocked is implemented by [Steps] that determine the number of steps of a sample themselves.
type Clocked interface {
	// MaxSteps returns the largest number of steps that a sample can take if the given number is
	// requested. A sample that is not finished after MaxSteps steps fails with an error.
	MaxSteps(steps int) int
}

// Absorbing is implemented by [Steps] of tokens with a mask. The mask is a level that stands for an
// unknown token.
type Absorbing interface {
	// Masks reports whether the level l is the mask. A site cannot be clamped to the mask.
	Masks(l int32) bool
}

var (
	_ Absorbing            = (*masked)(nil)
	_ Absorbing            = (*firstHitting)(nil)
	_ Absorbing            = (*ordered)(nil)
	_ Absorbing            = (*remask)(nil)
	_ corruption.Absorbing = Absorbing(nil)
)

// Renoiser is implemented by [Steps] of tokens that can step towards a given clean sample, such as
// the draw of a [Drawer]. Projections of tokens need a Renoiser. With an [IntactSteps], a
// projection can skip sites whose tokens are known.
type Renoiser interface {
	// Condition turns the prediction v for the state x = x_t into the full posterior, up to a
	// constant per site i:
	//
	//	log p(x_0,i = l | x_t).
	//
	// It gives the mask no weight. A token known to be intact (not corrupted) gets all the weight.
	// If leaveOneOut is true, v was predicted from the other sites only, and Condition multiplies
	// it by q(x_t,i | x_0,i = l). A second call changes nothing.
	Condition(v []float32, x []int32, t float64, leaveOneOut bool)

	// Renoise replaces the state x = x_t by a draw from q(x_s | x_t, x_0). The argument v is the
	// result of Condition from which x0 was drawn.
	Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream)
}

// IntactSteps is a [Renoiser] that lists the intact tokens (those known to be uncorrupted). Its
// Condition must treat every site independently. Neither Reverse nor Renoise may read v at intact
// sites. A [GivenDrawer] can then skip these sites.
type IntactSteps interface {
	Renoiser

	// Intact stores in x0 the tokens of x that are known to be intact (not corrupted), and −1 at
	// the other sites.
	Intact(x0, x []int32)
}

var (
	_ IntactSteps = (*masked)(nil)
	_ IntactSteps = (*firstHitting)(nil)
	_ IntactSteps = (*ordered)(nil)
	_ IntactSteps = (*remask)(nil)
)

// Joint is a [Renoiser] that can compute the probability of a step between two given states, for
// each possible clean token at a site. [Particles] need a Joint.
type Joint interface {
	Renoiser

	// Reweight adds log q(x_s | x_t, x_0,i = l) to v for every site i and level l, up to a constant
	// per site. This is the log-probability of the step from x_t to x_s if the clean token at site
	// i is l. The slice v is the result of Condition.
	Reweight(v []float32, xt, xs []int32, t, s float64)
}

// Factorised is implemented by [Steps] of tokens whose reverse step moves every site independently.
// Guidance at the posterior (see [Guide]) needs a Factorised, except for [Masked] with
// FirstHitting.
type Factorised interface {
	// Posterior stores in dst the normalised log p(x_s,i = l | x_t) for every site i and level l.
	// The slice v holds the full posterior of x_0 (see [Renoiser]). The slices dst and v have the
	// same length.
	Posterior(dst, v []float32, x []int32, t, s float64)
}

// revealing is implemented by [Steps] of tokens whose reverse step, without a projection or
// guidance, has a name in [energy.Reveals].
type revealing interface{ Reveals() energy.Reveals }

// jumping is implemented by [Absorbing] steps that reveal one mask at a time, at the rates of a
// continuous-time process. Guidance at the posterior multiplies these rates.
type jumping interface {
	Absorbing

	// rates stores in dst, for every site and level, the log of the rate at which the site
	// becomes that level, given the full posterior v of x_0. All entries may be shifted by the
	// same constant.
	rates(dst, v []float32, x []int32)
}

var _ jumping = (*firstHitting)(nil)

// gridTime returns the time after the given step of an even grid. It is exactly 0 after the last
// step.
func gridTime(step, steps int) float64 {
	if step+1 >= steps {
		return 0
	}
	return float64(steps-step-1) / float64(steps)
}

// PredictionError is the error of a prediction from which no value can be drawn at some site. It
// wraps [constraint.ErrInfeasible] if Empty is true.
type PredictionError struct {
	Site int
	// Empty reports whether every level of the site has weight zero. If Empty is false, a
	// log-weight of the site is NaN or +Inf, or its real number is not finite.
	Empty bool
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

// drawRow draws the level of one site from its row of log-weights, by inverse CDF with a 53-bit
// uniform.
func drawRow(v []float32, site, levels int, r *sampler.Stream) (int32, error) {
	l := slots.Draw(v[site*levels:(site+1)*levels], r)
	if l < 0 {
		return 0, badRow(v, site, levels)
	}
	return l, nil
}

// badRow returns the PredictionError of a site from whose row nothing can be drawn.
func badRow(v []float32, site, levels int) error {
	return &PredictionError{Site: site, Empty: slots.Empty(v[site*levels : (site+1)*levels])}
}
