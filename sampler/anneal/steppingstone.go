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
//	log Z = sites·log(levels) + Σ_k log E_{k−1}[ exp(−(β_k − β_{k−1}) E(x)) ],
//
// where E_k is the mean over draws of Chains of the method on β_k·E, and over
// independent uniform draws for k = 0. The chains of a stage start from the ends
// of the one before and may adapt in its warm-up.
//
// Unlike [AIS], it needs chains that mix at every temperature, and tells less
// when they do not; where they do it is the more precise for its cost. StdErr
// takes the autocorrelation of the draws into account, by [diagnose.MCSEMean].
//
// Errors: settings out of range, whatever [sampler.Chains.Run] returns, and
// [sampler.ErrZero] if no uniform draw has a probability.
func SteppingStone(ctx context.Context, m energy.Model, method sampler.Method, cfg SteppingStoneConfig) (LogZ, error) {
	sites, levels, err := check.Shape("anneal: SteppingStone", m, 1, sampler.BlockSize)
	if err != nil {
		return LogZ{}, err
	}
	betas, err := cfg.fill()
	if err != nil {
		return LogZ{}, err
	}
	z := LogZ{Value: float64(sites) * math.Log(float64(levels))}
	x, logs, err := uniformDraws(ctx, m, cfg, betas[1])
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
		if logs, err = stoneDraws(ctx, m, method, cfg, k, betas, x); err != nil {
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

// uniformDraws returns −β·E of independent uniform states, per chain, and a
// state with probability for every chain.
func uniformDraws(ctx context.Context, m energy.Model, cfg SteppingStoneConfig, beta float64) (x []int32, logs [][]float64, err error) {
	sites, levels := m.Shape()
	x = make([]int32, cfg.Chains*sites)
	y, e := make([]int32, sites), make([]float64, 1)
	alive := -1
	var dead []int
	for s := range cfg.Chains {
		r := sampler.NewStream(cfg.Seed, uint64(s))
		own := false
		row := make([]float64, cfg.Draws)
		for d := range row {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			for i := range y {
				y[i] = int32(r.IntN(levels))
			}
			m.Energy(e, y)
			if math.IsNaN(e[0]) || math.IsInf(e[0], -1) {
				return nil, nil, fmt.Errorf("anneal: SteppingStone: energy of a uniform draw = %v: %w", e[0], sampler.ErrNaN)
			}
			row[d] = -beta * e[0]
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
		return nil, nil, fmt.Errorf("anneal: SteppingStone: all %d uniform draws are states of probability zero: %w", cfg.Chains*cfg.Draws, sampler.ErrZero)
	}
	for _, s := range dead {
		copy(x[s*sites:(s+1)*sites], x[alive*sites:])
	}
	return x, logs, nil
}

// stoneDraws runs stage k from the states x, which it moves on, and returns the
// logarithms whose mean stage k+1 needs.
func stoneDraws(ctx context.Context, m energy.Model, method sampler.Method, cfg SteppingStoneConfig, k int, betas []float64, x []int32) ([][]float64, error) {
	scaled, err := energy.Scale(m, betas[k])
	if err != nil {
		return nil, fmt.Errorf("anneal: SteppingStone: %w", err)
	}
	logs := make([][]float64, cfg.Chains)
	e := make([]float64, cfg.Chains)
	for s := range logs {
		logs[s] = make([]float64, cfg.Draws)
	}
	seed := sampler.NewStream(cfg.Seed, math.MaxUint64-uint64(k)) // streams that no chain draws from
	ch, err := sampler.NewChains(scaled, method, sampler.Config{
		Chains: cfg.Chains, Seed: seed.Uint64(), Warmup: cfg.Warmup, Workers: cfg.Workers, Init: x,
		Observe: func(chain, draw int, x []int32, _ *sampler.Info) {
			m.Energy(e[chain:chain+1], x)
			logs[chain][draw] = -(betas[k+1] - betas[k]) * e[chain]
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
