package anneal

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// AISConfig says how annealed importance sampling runs. The zero value runs 64
// chains through 200 stages.
type AISConfig struct {
	Chains  int    // independent weights; 0 means 64, at least 2
	Seed    uint64 // chain i draws from stream (Seed, i)
	Workers int    // goroutines; 0 means GOMAXPROCS; never changes results

	Stages int // steps of the schedule; 0 means 200
	Moves  int // steps of the method per stage; 0 means 1

	// Schedule gives β, ascending from Schedule(0) = 0 to Schedule(1) = 1; nil
	// means Linear(0, 1).
	Schedule Schedule
}

const defaultAISChains = 64

// AISResult is what [AIS] returns.
type AISResult struct {
	LogZ

	// LogWeights holds, per chain, log w with E[w] = Z exactly; −Inf for a chain
	// that began at a state of probability zero.
	LogWeights []float64

	// ESS is (Σw)²/Σw², the number of chains that count. Below some tens neither
	// Value nor StdErr means much: use more stages.
	ESS float64

	// States are the ends of the chains, chains × sites: weighted by w they
	// follow p.
	States []int32
}

// AIS estimates log Z by annealed importance sampling (Neal 2001). Every chain
// starts at a uniform draw x_0 from all states and goes through the stages
// 0 = β_0 < … < β_K = 1,
//
//	log w ← log w − (β_k − β_{k−1}) E(x_{k−1}),  x_k ← Moves steps of the method on β_k·E,
//
// from log w = sites·log(levels); after the last weight it stays. The weights are
// unbiased, E[w] = Z, however badly the chains mix, for every method that leaves
// its target invariant (not mcmc.DULA). Their logarithm errs downwards. A method
// does not adapt here, since that would spoil exactness: set its step size.
//
// Chains that begin at a state of probability zero have weight 0. Where almost
// all states are such, so are almost all weights.
//
// Errors: settings out of range, a method that does not fit the model, an
// energy that is NaN or −Inf, a failing step, a context that ends, and
// [sampler.ErrZero] if all chains begin at states of probability zero.
func AIS(ctx context.Context, m energy.Model, method sampler.Method, cfg AISConfig) (*AISResult, error) {
	if check.Nil(method) {
		return nil, fmt.Errorf("anneal: AIS: method = nil")
	}
	sites, levels, err := check.Shape("anneal: AIS", m, 1, sampler.BlockSize)
	if err != nil {
		return nil, err
	}
	betas, err := cfg.fill()
	if err != nil {
		return nil, err
	}
	res := &AISResult{LogWeights: make([]float64, cfg.Chains), States: make([]int32, cfg.Chains*sites)}
	blocks := (cfg.Chains + sampler.BlockSize - 1) / sampler.BlockSize
	errs := make([]error, blocks)
	workers := pool.New(min(cfg.Workers, blocks))
	workers.Start()
	defer workers.Stop()
	workers.Each(0, blocks, func(_, b int) {
		first := b * sampler.BlockSize
		last := min(first+sampler.BlockSize, cfg.Chains)
		run := annealed{
			model: m, method: method, betas: betas, moves: cfg.Moves, sites: sites, levels: levels, first: first,
			x: res.States[first*sites : last*sites], logw: res.LogWeights[first:last],
		}
		errs[b] = run.run(ctx, cfg.Seed)
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return res, res.sum()
}

// fill checks the configuration, replaces zeros by defaults and returns the
// temperatures.
func (cfg *AISConfig) fill() ([]float64, error) {
	switch {
	case cfg.Chains < 0 || cfg.Chains == 1:
		return nil, fmt.Errorf("anneal: AISConfig.Chains = %d, want ≥ 2 (0 for the default)", cfg.Chains)
	case cfg.Workers < 0:
		return nil, fmt.Errorf("anneal: AISConfig.Workers = %d, want ≥ 0", cfg.Workers)
	case cfg.Stages < 0:
		return nil, fmt.Errorf("anneal: AISConfig.Stages = %d, want ≥ 0", cfg.Stages)
	case cfg.Moves < 0:
		return nil, fmt.Errorf("anneal: AISConfig.Moves = %d, want ≥ 0", cfg.Moves)
	}
	if cfg.Chains == 0 {
		cfg.Chains = defaultAISChains
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

// annealed is the run of one block.
type annealed struct {
	model         energy.Model
	method        sampler.Method
	betas         []float64
	moves         int
	sites, levels int
	first         int // index of the first chain
	x             []int32
	logw          []float64
}

// together is the number of sites that are evaluated between two looks at the
// context: about a millisecond.
const together = 1 << 20

func (a *annealed) run(ctx context.Context, seed uint64) error {
	n := len(a.logw)
	streams, info, e := make([]sampler.Stream, n), make([]sampler.Info, n), make([]float64, n)
	for s := range streams {
		streams[s] = *sampler.NewStream(seed, uint64(a.first+s))
		for i := range a.sites {
			a.x[s*a.sites+i] = int32(streams[s].IntN(a.levels))
		}
		a.logw[s] = float64(a.sites) * math.Log(float64(a.levels))
	}
	for k := 1; k < len(a.betas); k++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		for lo, each := 0, max(1, together/a.sites); lo < n; lo += each {
			if err := ctx.Err(); err != nil {
				return err
			}
			hi := min(lo+each, n)
			a.model.Energy(e[lo:hi], a.x[lo*a.sites:hi*a.sites])
		}
		for s, v := range e {
			if math.IsNaN(v) || math.IsInf(v, -1) {
				return fmt.Errorf("anneal: AIS: chain %d, stage %d: energy = %v: %w", a.first+s, k-1, v, sampler.ErrNaN)
			}
			a.logw[s] -= float64((a.betas[k] - a.betas[k-1]) * v)
		}
		if k == 1 && !a.replaceDead() {
			return nil
		}
		if k == len(a.betas)-1 {
			return nil
		}
		if err := a.move(ctx, k, info, streams); err != nil {
			return err
		}
	}
	return nil
}

// replaceDead gives chains without weight the state of one that has some, so
// that kernels can run: their weight remains 0. It returns false if no chain has.
func (a *annealed) replaceDead() bool {
	for s, w := range a.logw {
		if math.IsInf(w, -1) {
			continue
		}
		for d, v := range a.logw {
			if math.IsInf(v, -1) {
				copy(a.x[d*a.sites:(d+1)*a.sites], a.x[s*a.sites:])
			}
		}
		return true
	}
	return false
}

// move makes the steps of stage k.
func (a *annealed) move(ctx context.Context, k int, info []sampler.Info, streams []sampler.Stream) error {
	m, err := energy.Scale(a.model, a.betas[k])
	if err != nil {
		return fmt.Errorf("anneal: AIS: %w", err)
	}
	kernel, err := a.method.Kernel(ctx, m, len(info))
	if err != nil {
		return err
	}
	if err := kernel.Reset(a.x); err != nil {
		return err
	}
	for range a.moves {
		if !step(ctx, kernel, info, a.x, streams) {
			return ctx.Err()
		}
		for s := range info {
			if err := info[s].Err; err != nil {
				return fmt.Errorf("anneal: AIS: %T: chain %d, stage %d: %w", a.method, a.first+s, k, err)
			}
		}
	}
	return nil
}

// step makes a step of the kernel and returns false if the context ends before
// that.
func step(ctx context.Context, k sampler.Kernel, info []sampler.Info, x []int32, r []sampler.Stream) (done bool) {
	if p, ok := k.(interface {
		StepUntil(stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream) bool
	}); ok {
		return p.StepUntil(func() bool { return ctx.Err() != nil }, info, x, r)
	}
	if ctx.Err() != nil {
		return false
	}
	k.Step(info, x, r)
	return true
}

// sum turns the weights into the estimate.
func (r *AISResult) sum() error {
	r.Value, r.StdErr = logMeanExp(r.LogWeights)
	if math.IsInf(r.Value, -1) {
		return fmt.Errorf("anneal: AIS: all %d chains began at states of probability zero: %w", len(r.LogWeights), sampler.ErrZero)
	}
	// (Σw)²/Σw² = n/(1 + Σ(w/w̄−1)²/n).
	n := float64(len(r.LogWeights))
	r.ESS = n / (1 + r.StdErr*r.StdErr*(n-1))
	return nil
}
