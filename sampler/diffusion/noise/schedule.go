// Package noise holds the schedules of diffusions: how much of the signal is left
// at a time. All are recipes whose zero value is the recommended setting.
//
// Products are written float64(a*b) + c: a compiler may fuse them into one
// rounding otherwise, and fused bits differ between processors.
package noise

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Schedule says how much of the signal is left at a diffusion time: for tokens
// the probability α that one is intact, for reals ᾱ.
type Schedule interface {
	// Alpha returns α(t) for t in [0,1]: non-increasing, in [0,1], exactly 1 at
	// t = 0 whatever the formula says there — otherwise masks would survive
	// the last step.
	Alpha(t float64) float64

	// Time returns the t in [0,1] with Alpha(t) = alpha, 0 for an alpha that
	// is reached only there and 1 for one that is not reached.
	Time(alpha float64) float64
}

// Checked recipes have settings that can be wrong: schedules, and the denoisers of
// package diffusion that combine others.
type Checked interface {
	// Check returns an error that names a setting that is wrong, or nil. What
	// runs with the recipe asks before anything else.
	Check() error
}

// Tabulated schedules can do work that all calls of Alpha share.
type Tabulated interface {
	// Tabulate returns the same schedule, bit for bit, that answers faster.
	Tabulate() Schedule
}

// Resolve returns the schedule to run with: LogLinear{} for nil, a table of a
// [Tabulated] one. who, such as "diffusion: Masked", begins the message of the
// error: what a [Checked] schedule says, an α(0) that is not 1, or an α(1)
// outside [0, 1).
func Resolve(who string, c Schedule) (Schedule, error) {
	if c == nil {
		return LogLinear{}, nil
	}
	if err := check.Given(who, "Schedule", c); err != nil {
		return nil, err
	}
	if own, ok := c.(Checked); ok {
		if err := own.Check(); err != nil {
			return nil, err
		}
	}
	if a := c.Alpha(0); a != 1 {
		return nil, fmt.Errorf("%s: Schedule.Alpha(0) = %v, want 1", who, a)
	}
	if a := c.Alpha(1); !(a >= 0 && a < 1) {
		return nil, fmt.Errorf("%s: Schedule.Alpha(1) = %v, want in [0, 1)", who, a)
	}
	if t, ok := c.(Tabulated); ok {
		return t.Tabulate(), nil
	}
	return c, nil
}

// unit clamps t to [0,1]; NaN becomes 0.
func unit(t float64) float64 {
	if !(t > 0) {
		return 0
	}
	return min(t, 1)
}

// invert returns the smallest t in [0,1] with alpha(t) ≤ a, for non-increasing
// alpha; 1 if there is none. Halving ends when no number is left in between.
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
