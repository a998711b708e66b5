package checkpoint

import "time"

// Clock is how far a run of steps is and how long they took. A checkpoint keeps it with
// the run.
type Clock struct {
	Steps   int
	Seconds float64
}

// looks is the number of times that a run looks whether it is time to save.
const looks = 200

// Run calls step with numbers of steps until so many are made in all, saves on the
// way and at the end, and tells progress. After an error the last file is of a whole
// number of calls.
func (c *Clock) Run(steps int, step func(n int) error, saved *File, progress func(done, total int)) error {
	for c.Steps < steps {
		start := time.Now()
		n := min(max(1, steps/looks), steps-c.Steps)
		if err := step(n); err != nil {
			return err
		}
		c.Steps += n
		c.Seconds += time.Since(start).Seconds()
		progress(c.Steps, steps)
		if err := saved.Tick(); err != nil {
			return err
		}
	}
	return saved.Save()
}
