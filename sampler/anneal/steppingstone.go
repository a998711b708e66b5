package anneal

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// SteppingStoneConfig says how stepping-stone sampling runs. The zero value runs
// 8 chains through 30 stages of 200 + 1000 steps.
type SteppingStoneConfig struct {
	Chains  int    // 0 means 8
	Seed    uint64 // every stage has a seed of its own that follows from this one
	Workers int    // goroutines; 0 means GOMAXPROCS; never changes results

	Stages int // stones; 0 means 30
	Warmup int // steps of every stage that adapt and are not kept; 0 means 200, −1 none
	Draws  int // draws per chain and stage; 0 means 1000, at least 6

	// Schedule gives β, ascending from Schedule(0) = 0 to Schedule(1) = 1; nil
	// means Power(1/0.3), quantiles of the Beta(0.3, 1) distribution (Xie et
	// al. 2011).
	Schedule Schedule

	Base energy.Model // as in [AISConfig]
}

const (
	defaultStones      = 30
	defaultStoneChains = 8
	defaultStoneWarmup = 200
	defaultStoneDraws  = 1000
	stoneShape         = 0.3
)

// SteppingStone estimates log Z by stepping-stone sampling (Xie, Lewis, Fan, Kuo
// and Chen 2011): with 0 = β_0 < … < β_K = 1,
//
//	log Z = log Z_0 + Σ_k log ⟨exp(E_{k−1}(x) − E_k(x))⟩_{k−1},
//
// where ⟨·⟩_k is the mean over draws of Chains of the method on the energy E_k of
// [AIS], and over independent draws from the base for k = 0. The chains of a stage start from the ends
// of the one before and may adapt in its warm-up.
//
// Unlike [AIS], it needs chains that mix at every temperature, and tells less
// when they do not; where they do it is the more precise for its cost. StdErr
// takes the autocorrelation of the draws into account, by [diagnose.MCSEMean].
//
// Errors: settings out of range, whatever [sampler.Chains.Run] returns, and
// [sampler.ErrZero] if no uniform draw has a probability.
func SteppingStone(ctx context.Context, m energy.Model, method sampler.Method, cfg SteppingStoneConfig) (LogZ, error) {
	_, _, err := check.Shape("anneal: SteppingStone", m, 1, sampler.BlockSize)
	if err != nil {
		return LogZ{}, err
	}
	betas, err := cfg.fill()
	if err != nil {
		return LogZ{}, err
	}
	way, err := newPath("SteppingStone", m, cfg.Base, betas)
	if err != nil {
		return LogZ{}, err
	}
	z := LogZ{Value: way.logZ}
	x, logs, err := way.draws(cfg)
	if err != nil {
		return LogZ{}, err
	}
	variance := 0.0
	for k := 1; ; k++ {
		value, relative, err := stone(logs, k > 1)
		if err != nil {
			return LogZ{}, fmt.Errorf("anneal: SteppingStone: stage %d: %w", k-1, err)
		}
		z.Value += value
		variance += relative * relative
		if k == len(betas)-1 {
			break
		}
		if logs, err = stoneDraws(ctx, way, method, cfg, k, x); err != nil {
			return LogZ{}, err
		}
	}
	z.StdErr = math.Sqrt(variance)
	return z, nil
}

// fill checks the configuration, replaces zeros by defaults and returns the
// temperatures. Chains checks the rest.
func (cfg *SteppingStoneConfig) fill() ([]float64, error) {
	switch {
	case cfg.Chains < 0:
		return nil, fmt.Errorf("anneal: SteppingStoneConfig.Chains = %d, want ≥ 0", cfg.Chains)
	case cfg.Stages < 0:
		return nil, fmt.Errorf("anneal: SteppingStoneConfig.Stages = %d, want ≥ 0", cfg.Stages)
	case cfg.Draws < 0 || cfg.Draws > 0 && cfg.Draws < diagnose.MinDraws:
		return nil, fmt.Errorf("anneal: SteppingStoneConfig.Draws = %d, want ≥ %d (0 for the default)", cfg.Draws, diagnose.MinDraws)
	}
	if cfg.Chains == 0 {
		cfg.Chains = defaultStoneChains
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
	if cfg.Schedule == nil {
		cfg.Schedule = Power(1 / stoneShape)
	}
	return stages("SteppingStone", cfg.Schedule, cfg.Stages)
}

// draws returns E_0 − E_1 of independent states of the base, per chain, and a
// state with probability for every chain.
func (p *path) draws(cfg SteppingStoneConfig) (x []int32, logs [][]float64, err error) {
	sites := p.sites
	x = make([]int32, cfg.Chains*sites)
	increments, err := p.increments(1)
	if err != nil {
		return nil, nil, err
	}
	y, e := make([]int32, sites), make([]float64, 1)
	alive := -1
	var dead []int
	for s := range cfg.Chains {
		r := sampler.NewStream(cfg.Seed, uint64(s))
		own := false
		row := make([]float64, cfg.Draws)
		for d := range row {
			p.draw(y, r)
			if err := increments(e, y); err != nil {
				return nil, nil, fmt.Errorf("anneal: SteppingStone: a draw from the base: %w", err)
			}
			row[d] = -e[0]
			if !math.IsInf(e[0], 1) {
				copy(x[s*sites:(s+1)*sites], y)
				own, alive = true, s
			}
		}
		if !own {
			dead = append(dead, s)
		}
		logs = append(logs, row)
	}
	if alive < 0 {
		return nil, nil, fmt.Errorf("anneal: SteppingStone: all %d draws from the base are states of probability zero: %w", cfg.Chains*cfg.Draws, sampler.ErrZero)
	}
	for _, s := range dead {
		copy(x[s*sites:(s+1)*sites], x[alive*sites:])
	}
	return x, logs, nil
}

// stoneDraws runs stage k from the states x, which it moves on, and returns the
// logarithms whose mean stage k+1 needs.
func stoneDraws(ctx context.Context, way *path, method sampler.Method, cfg SteppingStoneConfig, k int, x []int32) ([][]float64, error) {
	m, err := way.at(k)
	if err != nil {
		return nil, err
	}
	increments, err := way.increments(k + 1)
	if err != nil {
		return nil, err
	}
	logs := make([][]float64, cfg.Chains)
	e := make([]float64, cfg.Chains)
	for s := range logs {
		logs[s] = make([]float64, cfg.Draws)
	}
	seed := sampler.NewStream(cfg.Seed, math.MaxUint64-uint64(k)) // streams that no chain draws from
	ch, err := sampler.NewChains(m, method, sampler.Config{
		Chains: cfg.Chains, Seed: seed.Uint64(), Warmup: cfg.Warmup, Workers: cfg.Workers, Init: x,
		Observe: func(chain, draw int, x []int32, _ *sampler.Info) {
			if increments(e[chain:chain+1], x) != nil {
				e[chain] = math.NaN()
			}
			logs[chain][draw] = -e[chain]
		},
	})
	if err != nil {
		return nil, err
	}
	if err := ch.Run(ctx, cfg.Draws); err != nil {
		return nil, err
	}
	copy(x, ch.States())
	return logs, nil
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
			w[s] = append(w[s], math.Exp(v-value))
		}
	}
	relative, err = diagnose.MCSEMean(w)
	if errors.Is(err, diagnose.ErrConstant) {
		return value, 0, nil
	}
	return value, relative, err
}
