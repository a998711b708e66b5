package auto

import "github.com/gibbsite-go/gibbsite/sampler"

// Report is the result of the choice of [Method] for a block of chains.
type Report struct {
	// Chosen is the index in Candidates of the method that moves the chains; −1
	// while the trials last.
	Chosen     int
	Candidates []Candidate
}

// Candidate is one of the methods of a [Report].
type Candidate struct {
	Method sampler.Method
	Name   string // as checkpoints call it

	// Left is the reason why the candidate was not tried: the error of its Kernel, or
	// that warm-up was too short. It is empty if the candidate was tried.
	Left string

	Steps int     // steps in trials, from which Cost and Time come
	Cost  float64 // counted cost of a step of one chain, roughly in nanoseconds
	Time  float64 // τ: steps per effective draw; 0 if unknown
}

// Rate returns the effective draws per counted second of one core, 10⁹/(Cost·Time), 0 if
// there was no trial.
func (c Candidate) Rate() float64 {
	if c.Steps == 0 || !(c.Cost > 0) || !(c.Time > 0) {
		return 0
	}
	return 1e9 / float64(c.Cost*c.Time)
}

// Reports returns the report of every block of chains, see [sampler.Config.Block]; nil if
// their method is not [Method].
func Reports(c *sampler.Chains) []Report {
	if c == nil {
		return nil
	}
	var l []Report
	for _, made := range c.Kernels() {
		if k, ok := sampler.As[reporter](made); ok {
			l = append(l, k.report())
		}
	}
	return l
}

// reporter is the kernel of a Method.
type reporter interface{ report() Report }

func (k *kernel) report() Report {
	r := Report{Chosen: -1}
	if k.phase == decided {
		r.Chosen = k.current
	}
	for i := range k.all {
		c := &k.all[i]
		t := Candidate{Method: c.method, Name: c.name, Left: c.reason, Steps: c.steps, Time: c.time}
		if c.steps > 0 {
			t.Cost = c.cost / float64(c.steps)
		}
		r.Candidates = append(r.Candidates, t)
	}
	return r
}
