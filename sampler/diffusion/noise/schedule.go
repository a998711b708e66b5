// Package noise provides the noise schedules of diffusions, which determine how much of the signal
// remains at each time. For tokens, [LogLinear] is the usual choice. For reals it is [LinearBeta],
// or [Straight] for flows. The zero value of every schedule is the recommended setting.
package noise

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Schedule gives the signal level as a function of diffusion time. The signal level is the fraction
// of the signal that remains. For tokens it is the probability α that a token is intact. For reals
// it is ᾱ in
//
//	x_t = √ᾱ·x_0 + √(1−ᾱ)·noise.
type Schedule interface {
	// Alpha returns the signal level α(t) for t in [0,1]. It is in [0,1] and does not increase with
	// t. At t = 0 it is exactly 1, whatever the formula gives. Otherwise masks would remain after
	// the last step.
	Alpha(t float64) float64

	// Time returns the time t in [0,1] with Alpha(t) = alpha. It returns 0 if alpha exceeds
	// Alpha(t) for all t > 0, and 1 if alpha is below Alpha(1).
	Time(alpha float64) float64
}

// Checked is a schedule or a denoiser whose settings can be invalid. The denoisers of package
// diffusion that combine other denoisers are Checked.
type Checked interface {
	// Check returns an error that names an invalid setting, or nil if all are valid. Runners call
	// it before anything else.
	Check() error
}

// Tabulated is a schedule that can be replaced by a table for speed.
type Tabulated interface {
	// Tabulate returns a schedule that has the same values, bit for bit, and computes them faster.
	Tabulate() Schedule
}

// Resolve returns the schedule that a process uses if its field Schedule is c. A nil c means
// LogLinear{}. A [Tabulated] c is replaced by its table. Resolve returns an error if a [Checked]
// schedule is invalid, if α(0) ≠ 1, or if α(1) is outside [0, 1). Error messages begin with caller,
// which names the process, such as "diffusion: Masked".
func Resolve(caller string, c Schedule) (Schedule, error) {
	if c == nil {
		return LogLinear{}, nil
	}
	if err := check.Given(caller, "Schedule", c); err != nil {
		return nil, err
	}
	if own, ok := c.(Checked); ok {
		if err := own.Check(); err != nil {
			return nil, err
		}
	}
	if a := c.Alpha(0); a != 1 {
		return nil, fmt.Errorf("%s: Schedule.Alpha(0) = %v, want 1", caller, a)
	}
	if a := c.Alpha(1); !(a >= 0 && a < 1) {
		return nil, fmt.Errorf("%s: Schedule.Alpha(1) = %v, want in [0, 1)", caller, a)
	}
	if t, ok := c.(Tabulated); ok {
		return t.Tabulate(), nil
	}
	return c, nil
}

// unit limits t to [0,1]; NaN becomes 0.
func unit(t float64) float64 {
	if !(t > 0) {
		return 0
	}
	return min(t, 1)
}

// invert returns the smallest t in [0,1] such that alpha(t) is at most the value a, or 1 if there
// is none. The function alpha must be non-increasing. invert makes 64 bisections, after which no
// float64 remains between the bounds.
func invert(alpha func(float64) float64, a float64) float64 {
	if a >= 1 {
		return 0
	}
	lo, hi := 0.0, 1.0
	for range 64 {
		mid := (lo + hi) / 2
		if alpha(mid) > a {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}
