package sampler

import (
	"fmt"
	"runtime"
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

// fill checks the configuration and replaces zeros by defaults.
func (cfg *Config) fill(name string) error {
	bad := func(field string, v, least int) error {
		return fmt.Errorf("%s: Config.%s = %d, want ≥ %d", name, field, v, least)
	}
	switch {
	case cfg.Chains < 0:
		return bad("Chains", cfg.Chains, 0)
	case cfg.Warmup < -1:
		return bad("Warmup", cfg.Warmup, -1)
	case cfg.Thin < 0:
		return bad("Thin", cfg.Thin, 0)
	case cfg.Workers < 0:
		return bad("Workers", cfg.Workers, 0)
	case cfg.Checkpoint.Every < 0:
		return bad("Checkpoint.Every", cfg.Checkpoint.Every, 0)
	}
	if cfg.Chains == 0 {
		cfg.Chains = defaultChains
	}
	switch cfg.Warmup {
	case 0:
		cfg.Warmup = defaultWarmup
	case -1:
		cfg.Warmup = 0
	}
	cfg.Thin = max(cfg.Thin, 1)
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	return nil
}

const (
	defaultChains = 4    // as Stan: enough for R-hat to compare
	defaultWarmup = 1000 // as Stan
)
