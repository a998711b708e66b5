// Package langevin runs Langevin chains on densities ∝ exp(−E) over ℝⁿ, given as an energy.Scored,
// which computes E and its gradient. It has two algorithms. The Metropolis-adjusted one (MALA)
// leaves exp(−E) invariant. The unadjusted one (ULA) has an error of O(h) at step size h.
//
//	l, err := langevin.New(ctx, target, langevin.Config{Chains: 32, Seed: 1})
//	err = l.Run(ctx, 1000)
//
// [Chains] work like the chains of package sampler, including checkpoints and reproducibility, but
// their states are real-valued. diagnose.RealTrace records them.
package langevin

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/probe"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tune"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Config holds the settings of Langevin chains. The zero value runs 4 chains of the
// Metropolis-adjusted algorithm with seed 0. They start from standard normal states, and the step
// size h is tuned in a warm-up of 1000 steps.
type Config struct {
	// StepSize is the step size h. A positive value stays fixed. If it is 0, h starts at
	// sites^(−1/3)/2, and warm-up tunes it until the mean acceptance probability is Target. Each
	// block of chains (see [Config.Block]) tunes its own h. Unadjusted chains need a positive
	// value.
	StepSize float64
	// mean acceptance probability to which warm-up tunes h; 0 means 0.574 (Roberts and Rosenthal
	// 1998)
	Target float64

	// Unadjusted omits the acceptance step (ULA). The stationary distribution then has an error of
	// O(h), where h is the step size.
	Unadjusted bool

	// Project, if not nil, replaces the state of an unadjusted chain after each step by its
	// projection onto a domain (projected Langevin; Bubeck, Eldan and Lehec 2018). It must be safe
	// for concurrent use.
	Project func(x []float32)

	// Chains, Seed, Warmup, Thin and Workers are the settings of the same names in
	// [sampler.Config].
	Chains  int
	Seed    uint64
	Warmup  int
	Thin    int
	Workers int

	// First and Count select the chains of a part of a run, as in [sampler.Config].
	First, Count int

	// DrawsFile is the path of a file to which every draw is written, and Generator selects the
	// random number generator; see [sampler.Config].
	DrawsFile string
	Generator sampler.Generator

	// Init holds the initial states: one per chain, or one for all chains. If Init is nil,
	// coordinates are drawn from the standard normal distribution, and the state is then projected
	// if Project is set.
	Init []float32

	// Observe, if not nil, is called after every draw of every chain. Chains of different blocks
	// call it concurrently, see [sampler.Config.Observe].
	Observe sampler.RealObserver

	// Checkpoint makes Run save the chains to the file Path; see [sampler.Config].
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called with the number of steps done and the total number; see
	// [sampler.Config.Progress].
	Progress func(done, total int)
}

// Chains are Markov chains on a real-valued target with energy E. From the state x, a step proposes
//
//	y = x + h·s(x) + √(2h)·ξ,  s = −∇E,  ξ ~ N(0, I),
//
// where h is the step size and s is the score. Let q(y|x) be the density of this proposal. MALA
// accepts y with probability
//
//	min(1, exp(E(x) − E(y) + log q(x|y) − log q(y|x))),
//
// which leaves e^{−E} invariant (Roberts and Tweedie 1996). ULA always accepts.
//
// MALA rejects a proposal whose energy or score is not finite, and counts it in
// [sampler.Info.Invalid] unless the energy is +Inf. ULA ends the run at such a proposal. States are
// rounded to float32.
//
// The draws depend only on the target, the Config (except Workers) and the numbers of steps. In
// Stats, the number of moved sites counts coordinates; a step moves all coordinates of a chain or
// none.
type Chains = sampler.Runner[float32]

// New returns chains on the target, ready to Run. It returns an error if the target is nil or a
// field of cfg is out of range.
func New(ctx context.Context, target energy.Scored, cfg Config) (*Chains, error) {
	if check.Nil(target) {
		return nil, fmt.Errorf("langevin: New: target = nil")
	}
	sites := target.Sites()
	if sites < 1 {
		return nil, fmt.Errorf("langevin: New: sites = %d, want ≥ 1", sites)
	}
	tuned := cfg.StepSize == 0
	if err := cfg.fill(sites); err != nil {
		return nil, err
	}
	s := &system{target: target, sites: sites, tuned: tuned, step: cfg.StepSize, goal: cfg.Target, unadjusted: cfg.Unadjusted, project: cfg.Project}
	return sampler.NewRunner(ctx, sampler.System[float32](s), sampler.Config{
		Chains: cfg.Chains, Seed: cfg.Seed, Warmup: cfg.Warmup, Thin: cfg.Thin, Workers: cfg.Workers, Progress: cfg.Progress, Checkpoint: cfg.Checkpoint,
		First: cfg.First, Count: cfg.Count, DrawsFile: cfg.DrawsFile, Generator: cfg.Generator,
	}, cfg.Init, cfg.Observe)
}

// Block returns the number of chains that move together in a block, see [sampler.Config.Block].
func (c Config) Block() int { return sampler.Config{Chains: c.Chains}.Block() }

// Part returns c with First and Count set to part k of n nearly equal parts of the run; see
// [sampler.Config.Part].
func (c Config) Part(k, n int) (Config, error) {
	p, err := sampler.Config{Chains: c.Chains, First: c.First, Count: c.Count}.Part(k, n)
	c.Chains, c.First, c.Count = p.Chains, p.First, p.Count
	return c, err
}

// fill checks the settings that only Langevin chains have, and sets the initial step size.
func (c *Config) fill(sites int) error {
	if err := check.Refuse("langevin: Config.",
		check.Rule(!(c.StepSize >= 0) || c.StepSize > 1e30, "StepSize", c.StepSize, "0 ≤ StepSize ≤ 1e30"), // √(2h) must be a float32
		check.Rule(!(c.Target >= 0 && c.Target < 1), "Target", c.Target, "0 ≤ Target < 1"),
		check.Rule(c.Unadjusted && c.StepSize == 0, "StepSize", 0, "> 0 for unadjusted chains, which have no acceptance to tune by"),
		check.Rule(c.Project != nil && !c.Unadjusted, "Project", "set", "nil unless Unadjusted: the acceptance step does not know of it"),
	); err != nil {
		return err
	}
	if c.StepSize == 0 {
		// The best step of MALA scales as n^(−1/3) with the number n of coordinates (Roberts and
		// Rosenthal 1998).
		c.StepSize = 0.5 * simd.Exp(-simd.Log(float64(sites))/3)
	}
	return nil
}

func (l *system) Kernel(_ context.Context, chains int) (sampler.Transition[float32], error) {
	k := newKernel(l, chains)
	if !l.tuned {
		return k, nil
	}
	var err error
	k.tuner, err = tune.New("langevin", l.step, l.goal)
	return k, err
}

// system is a real-valued target and the method that moves chains on it.
type system struct {
	target     energy.Scored
	sites      int
	tuned      bool
	step, goal float64
	unadjusted bool
	project    func(x []float32)
}

func (l *system) Name() string { return "langevin" }

// String returns the name of the algorithm, "MALA" or "ULA".
func (l *system) String() string {
	if l.unadjusted {
		return "ULA"
	}
	return "MALA"
}

func (l *system) Sites() int { return l.sites }

// Start fills x with standard normal states and projects them if Config.Project is set.
func (l *system) Start(x []float32, r []sampler.Stream, _ sampler.Transition[float32]) error {
	for i := range r {
		own := x[i*l.sites : (i+1)*l.sites]
		normal.Fill(own, &r[i])
		if l.project != nil {
			l.project(own)
		}
	}
	return nil
}

func (l *system) Check(x []float32, first int) error {
	for i, v := range x {
		if v-v != 0 { // true for NaN and ±Inf
			return fmt.Errorf("site %d of chain %d = %v, want a finite number", i%l.sites, first+i/l.sites, v)
		}
	}
	return nil
}

func (l *system) Energy(e []float64, x []float32) { l.target.Energy(e, x) }

// Settings calls add with the configuration, and with the energies, scores and projections of fixed
// test states.
func (l *system) Settings(add func(name string, value any)) {
	add("Config.Unadjusted", l.unadjusted)
	add("Config.StepSize tuned", l.tuned)
	add("Config.StepSize", l.step)
	add("Config.Target", l.goal)
	if n, ok := l.target.(sampler.Named); ok {
		add("target", n.Name())
	}
	x := make([]float32, probes*l.sites)
	r := sampler.NewStream(probes, 0)
	normal.Fill(x, r)
	e := make([]float64, probes)
	l.target.Energy(e, x)
	add("energies of test states", e)
	score := make([]float32, len(x))
	l.target.Score(score, x)
	var slopes []float64
	for k := range probes {
		slopes = probe.Spread(slopes, score[k*l.sites:(k+1)*l.sites], shown)
	}
	add("scores of test states", slopes)
	add("Config.Project set", l.project != nil)
	if l.project == nil {
		return
	}
	var moved []float64
	for _, scale := range []float32{1, 30} { // inside most domains, and outside
		for k := range probes {
			y := make([]float32, l.sites)
			for i := range y {
				y[i] = scale * x[k*l.sites+i]
			}
			l.project(y)
			moved = probe.Spread(moved, y, shown)
		}
	}
	add("Config.Project of test states", moved)
}

// probes is the number of test states that identify targets and projections.
const probes = 4

// shown is the maximum number of coordinates compared per test state.
const shown = 32
