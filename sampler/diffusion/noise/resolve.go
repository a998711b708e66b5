package noise

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

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
