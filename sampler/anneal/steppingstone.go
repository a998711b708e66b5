package anneal

import (
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// SteppingStoneConfig says how stepping-stone sampling runs. The zero value runs
// 8 chains through 30 stages of 200 + 1000 steps.
type SteppingStoneConfig struct {
	Chains  int    // of the whole run; 0 means 8
	Seed    uint64 // every stage has a seed of its own that follows from this one
	Workers int    // goroutines; 0 means GOMAXPROCS; never changes results

	// First and Count are the chains of this part of a run, as in [AISConfig];
	// see [SteppingStoneRunner.Join].
	First, Count int

	Stages int // stones; 0 means 30
	Warmup int // steps of every stage that adapt and are not kept; 0 means 200, −1 none
	Draws  int // draws per chain and stage; 0 means 1000, at least 6

	// Schedule gives β, ascending from Schedule(0) = 0 to Schedule(1) = 1; nil
	// means Power(1/0.3), quantiles of the Beta(0.3, 1) distribution (Xie et
	// al. 2011).
	Schedule Schedule

	Base energy.Model // as in [AISConfig]

	// Checkpoint, if it has a Path, saves the run there as SaveFile does: at the
	// end of every Run, also of one that its context ends, and within it each
	// time that Every more draws per chain have been made (0: at the end only). A
	// failure to save ends the Run.
	Checkpoint struct {
		Path  string
		Every int
	}
}

const (
	defaultStones      = 30
	defaultStoneChains = 8
	defaultStoneWarmup = 200
	defaultStoneDraws  = 1000
	stoneShape         = 0.3
)

// Part returns cfg with First and Count set to part k of n, see
// [sampler.Config.Part].
func (cfg SteppingStoneConfig) Part(k, n int) (SteppingStoneConfig, error) {
	if cfg.Chains == 0 {
		cfg.Chains = defaultStoneChains
	}
	var err error
	cfg.First, cfg.Count, err = session.Cut("anneal: SteppingStoneConfig", cfg.Chains, cfg.First, cfg.Count, k, n)
	return cfg, err
}

// fill checks the configuration, replaces zeros by defaults and returns the
// temperatures. Chains checks the rest.
func (cfg *SteppingStoneConfig) fill() ([]float64, error) {
	switch {
	case cfg.Warmup < -1:
		return nil, fmt.Errorf("anneal: SteppingStoneConfig.Warmup = %d, want ≥ -1", cfg.Warmup)
	case cfg.Draws < 0 || cfg.Draws > 0 && cfg.Draws < diagnose.MinDraws:
		return nil, fmt.Errorf("anneal: SteppingStoneConfig.Draws = %d, want ≥ %d (0 for the default)", cfg.Draws, diagnose.MinDraws)
	}
	if err := session.Checkpoint(cfg.Checkpoint).Check("anneal: SteppingStoneConfig", "Chains Stages Workers", cfg.Chains, cfg.Stages, cfg.Workers); err != nil {
		return nil, err
	}
	if cfg.Chains == 0 {
		cfg.Chains = defaultStoneChains
	}
	var err error
	if cfg.Count, err = session.Count("anneal: SteppingStoneConfig", cfg.Chains, cfg.First, cfg.Count); err != nil {
		return nil, err
	}
	if cfg.Stages == 0 {
		cfg.Stages = defaultStones
	}
	if cfg.Warmup == 0 {
		cfg.Warmup = defaultStoneWarmup
	}
	if cfg.Draws == 0 {
		cfg.Draws = defaultStoneDraws
	}
	if most := check.MaxEntries / cfg.Count; cfg.Draws > most {
		return nil, fmt.Errorf("anneal: SteppingStoneConfig.Draws = %d of %d chains, want ≤ %d", cfg.Draws, cfg.Count, most)
	}
	if cfg.Schedule == nil {
		cfg.Schedule = Power(1 / stoneShape)
	}
	return stages("SteppingStone", cfg.Schedule, cfg.Stages)
}

// stone returns the logarithm of the mean of exp(logs) and its standard error,
// that of a Markov chain or of independent draws.
func stone(logs [][]float64, markov bool) (value, relative float64, err error) {
	var flat []float64
	for _, l := range logs {
		flat = append(flat, l...)
	}
	value, relative = logMeanExp(flat)
	if !markov || relative == 0 {
		return value, relative, nil
	}
	w := make([][]float64, len(logs))
	for s, l := range logs {
		for _, v := range l {
			w[s] = append(w[s], simd.Exp(v-value))
		}
	}
	relative, err = diagnose.MCSEMean(w)
	if errors.Is(err, diagnose.ErrConstant) {
		return value, 0, nil
	}
	return value, relative, err
}
