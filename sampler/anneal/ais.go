package anneal

import (
	"fmt"
	"math"
	"runtime"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// AISConfig says how annealed importance sampling runs. The zero value runs 64
// chains through 200 stages.
type AISConfig struct {
	Chains  int    // independent weights of the whole run; 0 means 64, at least 2
	Seed    uint64 // chain i draws from stream (Seed, i)
	Workers int    // goroutines; 0 means GOMAXPROCS; never changes results

	// First and Count are the chains of this part of a run: First a multiple of
	// the block of chains, Count too unless the part ends with the run; 0 means
	// all that follow. The weights and states of a part are those of the whole
	// run, to the bit; see [AISResult.Join].
	First, Count int

	Stages int // steps of the schedule; 0 means 200
	Moves  int // steps of the method per stage; 0 means 1

	// Schedule gives β, ascending from Schedule(0) = 0 to Schedule(1) = 1; nil
	// means Linear(0, 1).
	Schedule Schedule

	// Base is where the chains start: a model of independent sites, such as a
	// model.Independent fitted to data, with probability wherever the model has
	// some; nil means uniform states. The nearer it is to the model, the fewer
	// stages it takes.
	Base energy.Model

	// Exact, if not nil, holds independent exact draws of the model, one per chain
	// of the part. AIS then goes backwards from them, and log Z errs upwards: with
	// the other direction it brackets log Z.
	Exact []int32

	// Checkpoint, if it has a Path, saves the run there as SaveFile does: at the
	// end of every Run, also of one that its context ends, and within it each
	// time that all chains are Every stages further (0: at the end only). A
	// failure to save ends the Run.
	Checkpoint struct {
		Path  string
		Every int
	}
}

const defaultAISChains = 64

// AISResult is what [AIS] returns.
type AISResult struct {
	LogZ

	// LogWeights holds, per chain, log w with E[w] = Z exactly; −Inf for a chain
	// that began at a state of probability zero. Backwards, E[w] = 1/Z.
	LogWeights []float64

	// ESS is (Σw)²/Σw², the number of chains that count; 0 if no chain of a part
	// does. Below some tens neither Value nor StdErr means much: use more stages.
	ESS float64

	// States are the ends of the chains, chains × sites: weighted by w they
	// follow p.
	States []int32

	run  part // what the result is a part of
	back bool // from exact draws
}

// Part returns cfg with First and Count set to part k of n, see
// [sampler.Config.Part].
func (cfg AISConfig) Part(k, n int) (AISConfig, error) {
	if cfg.Chains == 0 {
		cfg.Chains = defaultAISChains
	}
	var err error
	cfg.First, cfg.Count, err = session.Cut("anneal: AISConfig", cfg.Chains, cfg.First, cfg.Count, k, n)
	return cfg, err
}

// fill checks the configuration, replaces zeros by defaults and returns the
// temperatures.
func (cfg *AISConfig) fill() ([]float64, error) {
	if cfg.Chains < 0 || cfg.Chains == 1 {
		return nil, fmt.Errorf("anneal: AISConfig.Chains = %d, want ≥ 2 (0 for the default)", cfg.Chains)
	}
	if err := session.Checkpoint(cfg.Checkpoint).Check("anneal: AISConfig", "Workers Stages Moves", cfg.Workers, cfg.Stages, cfg.Moves); err != nil {
		return nil, err
	}
	if cfg.Chains == 0 {
		cfg.Chains = defaultAISChains
	}
	var err error
	if cfg.Count, err = session.Count("anneal: AISConfig", cfg.Chains, cfg.First, cfg.Count); err != nil {
		return nil, err
	}
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Stages == 0 {
		cfg.Stages = defaultStages
	}
	cfg.Moves = max(cfg.Moves, 1)
	if cfg.Schedule == nil {
		cfg.Schedule = Linear(0, 1)
	}
	return stages("AIS", cfg.Schedule, cfg.Stages)
}

// sum turns the weights into the estimate. Only for a whole run is it an error
// that none is positive.
func (r *AISResult) sum() error {
	r.Value, r.StdErr = logMeanExp(r.LogWeights)
	if math.IsInf(r.Value, -1) {
		if !r.run.whole() {
			return nil
		}
		return fmt.Errorf("anneal: AIS: all %d chains began at states of probability zero: %w", len(r.LogWeights), sampler.ErrZero)
	}
	// (Σw)²/Σw² = n/(1 + Σ(w/w̄−1)²/n).
	n := float64(len(r.LogWeights))
	r.ESS = n / (1 + float64(float64(r.StdErr*r.StdErr)*(n-1)))
	if r.back {
		r.Value = -r.Value
	}
	return nil
}

// Join returns the result of a whole run from its parts: r begins with chain 0
// and every part where the one before it ends. The bits are those of the run in
// one piece. Errors: parts of other runs, the setting that differs by name, a gap
// or an overlap, an end before that of the run, and [sampler.ErrZero] as of AIS.
func (r *AISResult) Join(parts ...*AISResult) (*AISResult, error) {
	all := &AISResult{run: r.run, back: r.back}
	all.run.count = 0
	if all.run.first != 0 {
		return nil, fmt.Errorf("anneal: Join: part 0 begins with chain %d, want 0", all.run.first)
	}
	for i, p := range append([]*AISResult{r}, parts...) {
		if p == nil {
			return nil, fmt.Errorf("anneal: Join: part %d = nil", i)
		}
		if err := all.run.append(i, p.run); err != nil {
			return nil, fmt.Errorf("anneal: Join: %w", err)
		}
		all.LogWeights = append(all.LogWeights, p.LogWeights...)
		all.States = append(all.States, p.States...)
	}
	if err := all.run.end(); err != nil {
		return nil, fmt.Errorf("anneal: Join: %w", err)
	}
	return all, all.sum()
}
