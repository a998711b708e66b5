package sampler

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Config says how many chains run, from where and who watches. The zero value
// runs 4 chains of seed 0 from uniform random states, with a warm-up of 1000
// steps.
type Config struct {
	Chains  int    // number of chains; 0 means 4
	Seed    uint64 // chain i draws from stream (Seed, i)
	Warmup  int    // steps of the first Run that adapt and are not kept; 0 means 1000, −1 none
	Thin    int    // steps per draw; 0 means 1
	Workers int    // goroutines; 0 means GOMAXPROCS; never changes results

	// Init holds the initial states: one per chain, or one for all chains. If
	// nil, every level is drawn uniformly and models that leave states without
	// probability (energy.Supported) repair the result; other models with such
	// states want an Init.
	Init []int32

	// Observe, if not nil, is told of every draw.
	Observe Observer

	// Checkpoint, if it has a Path, saves the chains there as SaveFile does: at
	// the end of every Run, also of one that its context ends, and within it
	// each time that Every more draws have been made (0: at the end only). A
	// failure to save ends the Run.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called from the goroutine of Run with the number
	// of steps done and the total of this Run, warm-up included, every few
	// milliseconds at most.
	Progress func(done, total int)
}

// Chains runs Markov chains of one method on one model.
type Chains = Runner[int32]

// NewChains returns chains of the method on the model, ready to run.
//
// Errors: a nil model or method, a Config field out of range, a method that does
// not fit the model. An initial state without probability is reported by the
// first Run.
func NewChains(m energy.Model, method Method, cfg Config) (*Chains, error) {
	t, err := newTokens(m, method)
	if err != nil {
		return nil, err
	}
	for i, l := range cfg.Init {
		if l < 0 || int(l) >= t.levels {
			return nil, fmt.Errorf("sampler: Config.Init[%d] = %d, want 0 … %d", i, l, t.levels-1)
		}
	}
	return NewRunner(context.Background(), System[int32](t), cfg, cfg.Init, cfg.Observe)
}
