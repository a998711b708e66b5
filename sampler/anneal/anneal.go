package anneal

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Schedule gives the inverse temperature β ≥ 0 at progress t ∈ [0,1] of an
// annealing run.
type Schedule func(t float64) float64

// Geometric returns the schedule β(t) = from·(to/from)^t, the usual choice when
// nothing is known of the landscape; from and to are positive.
func Geometric(from, to float64) Schedule {
	return func(t float64) float64 { return from * simd.Exp(t*simd.Log(to/from)) }
}

// Linear returns the schedule β(t) = from + (to−from)·t.
func Linear(from, to float64) Schedule {
	return func(t float64) float64 { return from + float64((to-from)*t) }
}

// Config says how an annealing run cools. The zero value runs 4 chains
// through 200 stages on a schedule fitted to the model.
type Config struct {
	Chains  int     // number of independent chains; 0 means 4
	Seed    uint64  // chain i draws from stream (Seed, i)
	Workers int     // goroutines; 0 means GOMAXPROCS
	Init    []int32 // as in [sampler.Config]

	// Stages is the number of temperatures; 0 means 200. The kernels are built
	// anew for each.
	Stages int

	// Schedule gives the inverse temperature. Nil means Geometric between the
	// bounds that [Cooling] finds for the model.
	Schedule Schedule

	// Progress, if not nil, is called with the number of steps done and the
	// total of this Run.
	Progress func(done, total int)
}

const defaultStages = 200

// Runner minimises an energy by simulated annealing (Kirkpatrick, Gelatt and
// Vecchi 1983): it samples exp(−β E) by a method while β grows, and keeps the
// best state any chain has been in at the end of a step. Any [sampler.Method] serves;
// mcmc.Metropolis and mcmc.Gibbs are the usual ones.
type Runner struct {
	model   energy.Model
	cfg     Config
	chains  *sampler.Chains
	beta    float64
	sites   int
	e       []float64 // best energy of each chain
	x       []int32   // best state of each chain
	scratch []float64
}

// New returns a run that is ready to start. It checks what [sampler.NewChains]
// checks.
func New(m energy.Model, method sampler.Method, cfg Config) (*Runner, error) {
	if cfg.Stages < 0 {
		return nil, fmt.Errorf("anneal: Config.Stages = %d, want ≥ 0", cfg.Stages)
	}
	if cfg.Stages == 0 {
		cfg.Stages = defaultStages
	}
	a := &Runner{model: m, cfg: cfg}
	var err error
	a.chains, err = sampler.NewChains(m, method, sampler.Config{
		Chains: cfg.Chains, Seed: cfg.Seed, Workers: cfg.Workers, Init: cfg.Init, Warmup: -1, Observe: a.observe,
	})
	if err != nil {
		return nil, err
	}
	if a.cfg.Schedule == nil {
		from, to, err := Cooling(m, cfg.Seed)
		if err != nil {
			return nil, err
		}
		a.cfg.Schedule = Geometric(from, to)
	}
	a.sites, _ = m.Shape()
	a.x = slices.Clone(a.chains.States())
	a.e = make([]float64, len(a.x)/a.sites)
	a.scratch = make([]float64, len(a.e))
	m.Energy(a.e, a.x)
	return a, sampler.CheckStart(a.e)
}

// Run goes once through the schedule in n steps, from the current states. On an
// error, or when the context ends, the best state so far remains.
func (a *Runner) Run(ctx context.Context, n int) error {
	if n < 0 {
		return fmt.Errorf("anneal: Run: n = %d, want ≥ 0", n)
	}
	stages := min(a.cfg.Stages, max(n, 1))
	for k := range stages {
		t := 1.0
		if stages > 1 {
			t = float64(k) / float64(stages-1)
		}
		done := n * k / stages
		if err := a.stage(ctx, a.cfg.Schedule(t), n*(k+1)/stages-done); err != nil {
			return err
		}
		if a.cfg.Progress != nil {
			a.cfg.Progress(n*(k+1)/stages, n)
		}
	}
	return nil
}

func (a *Runner) stage(ctx context.Context, beta float64, steps int) error {
	m, err := energy.Scale(a.model, beta)
	if err != nil {
		return fmt.Errorf("anneal: Run: schedule: %w", err)
	}
	a.beta = beta
	if err := sampler.Retarget(ctx, a.chains, m); err != nil {
		return err
	}
	return a.chains.Run(ctx, steps)
}

// observe keeps the best state of a chain.
func (a *Runner) observe(chain, _ int, x []int32, info *sampler.Info) {
	// The kernel's energy is β·E with some rounding: it tells whether an exact
	// evaluation is worth while.
	if e := info.Energy / a.beta; e > a.e[chain]+float64(1e-9*math.Abs(a.e[chain])) {
		return
	}
	a.model.Energy(a.scratch[chain:chain+1], x)
	if e := a.scratch[chain]; e < a.e[chain] {
		a.e[chain] = e
		copy(a.x[chain*a.sites:(chain+1)*a.sites], x)
	}
}

// Best returns a copy of the best state found and its energy.
func (a *Runner) Best() (x []int32, e float64) {
	best := 0
	for i, v := range a.e {
		if v < a.e[best] {
			best = i
		}
	}
	return slices.Clone(a.x[best*a.sites : (best+1)*a.sites]), a.e[best]
}

// Energies returns the best energy of each chain. The slice is the run's own.
func (a *Runner) Energies() []float64 { return a.e }

const (
	coolingStates = 16   // random states whose differences Cooling looks at
	coolingHot    = 0.5  // acceptance of the steepest rise at the start
	coolingCold   = 0.01 // acceptance of a small rise at the end
	coolingSmall  = 0.05 // quantile of the differences that counts as small
)

// Cooling returns inverse temperatures between which annealing a model makes
// sense, from the single-site differences at a few random states: at from the
// steepest rise met is accepted with probability ½, at to a rise at the 5 %
// quantile of the non-zero differences with probability 1 %. (The rule of
// D-Wave's simulated-annealing sampler, with the quantile in place of the
// smallest difference.) A model without differences gets from = to = 1.
func Cooling(m energy.Model, seed uint64) (from, to float64, err error) {
	sites, levels, err := check.Shape("anneal: Cooling", m, 1, sampler.BlockSize)
	if err != nil {
		return 0, 0, err
	}
	c := energy.Conditionals(m)
	repair, repairs := energy.As[energy.Supported](m)
	r := sampler.NewStream(seed, math.MaxUint64) // a chain that no run reaches
	x, d := make([]int32, sites), make([]float64, levels)
	var rises []float64
	for range coolingStates {
		for i := range x {
			x[i] = int32(r.IntN(levels))
		}
		if repairs {
			repair.Repair(x)
		}
		for i := range sites {
			c.Conditional(d, i, x)
			for _, v := range d {
				if v = math.Abs(v); v > 0 && !math.IsInf(v, 0) {
					rises = append(rises, v)
				}
			}
		}
	}
	if len(rises) == 0 {
		return 1, 1, nil
	}
	slices.Sort(rises)
	from = -simd.Log(coolingHot) / rises[len(rises)-1]
	to = -simd.Log(coolingCold) / rises[int(coolingSmall*float64(len(rises)))]
	return from, max(from, to), nil
}
