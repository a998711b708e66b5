package anneal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Config says how an annealing run cools. The zero value runs 4 chains
// through 200 stages on a schedule fitted to the model.
type Config struct {
	Chains  int     // number of independent chains of the whole run; 0 means 4
	Seed    uint64  // chain i draws from stream (Seed, i)
	Workers int     // goroutines; 0 means GOMAXPROCS; never changes results
	Init    []int32 // as in [sampler.Config]

	// First and Count are the chains of this part of a run, as in
	// [sampler.Config]: what they find is what they find in the whole.
	First, Count int

	// Stages is the number of temperatures; 0 means 200. The kernels are built
	// anew for each.
	Stages int

	// Schedule gives the inverse temperature. Nil means Geometric between the
	// bounds that [Cooling] finds for the model.
	Schedule Schedule

	// Checkpoint, if it has a Path, saves the run there as SaveFile does: at the
	// end of every Run, also of one that its context ends, and within it each
	// time that Every more steps have been made (0: at the end only). A failure to
	// save ends the Run.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called with the number of steps done and the
	// total of this Run.
	Progress func(done, total int)
}

const (
	defaultChains = 4 // as of sampler.Config
	defaultStages = 200
)

// untargeted is the temperature of chains that no stage has given one.
const untargeted = -1

// Part returns cfg with First and Count set to part k of n, see
// [sampler.Config.Part].
func (cfg Config) Part(k, n int) (Config, error) {
	if cfg.Chains == 0 {
		cfg.Chains = defaultChains
	}
	var err error
	cfg.First, cfg.Count, err = cut(cfg.Chains, cfg.First, cfg.Count, k, n)
	return cfg, err
}

// Runner minimises an energy by simulated annealing (Kirkpatrick, Gelatt and
// Vecchi 1983): it samples exp(−β E) by a method while β grows, and keeps the
// best state any chain has been in at the end of a step. Any [sampler.Method] serves;
// mcmc.Metropolis and mcmc.Gibbs are the usual ones. Its methods must not be
// called concurrently with each other.
type Runner struct {
	model   energy.Model
	method  sampler.Method
	cfg     Config
	chains  *sampler.Chains
	beta    float64
	sites   int
	e       []float64 // best energy of each chain
	x       []int32   // best state of each chain
	scratch []float64

	way   way
	filed int // steps made at the last checkpoint file
	busy  busy
}

// way is how far a pass through the schedule has come.
type way struct {
	open  bool
	n     int // steps of the pass
	from  int // steps that the chains had made before it
	stage int // under way
	begun bool
}

// New returns a run that is ready to start. It checks what [sampler.NewChains]
// checks.
func New(ctx context.Context, m energy.Model, method sampler.Method, cfg Config) (*Runner, error) {
	if cfg.Stages < 0 {
		return nil, fmt.Errorf("anneal: Config.Stages = %d, want ≥ 0", cfg.Stages)
	}
	if cfg.Checkpoint.Every < 0 {
		return nil, fmt.Errorf("anneal: Config.Checkpoint.Every = %d, want ≥ 0", cfg.Checkpoint.Every)
	}
	if cfg.Chains == 0 {
		cfg.Chains = defaultChains
	}
	if cfg.Stages == 0 {
		cfg.Stages = defaultStages
	}
	a := &Runner{model: m, method: method, cfg: cfg, beta: untargeted}
	var err error
	if a.chains, err = a.newChains(ctx); err != nil {
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

func (a *Runner) newChains(ctx context.Context) (*sampler.Chains, error) {
	return sampler.NewChains(ctx, a.model, a.method, sampler.Config{
		Chains: a.cfg.Chains, First: a.cfg.First, Count: a.cfg.Count, Seed: a.cfg.Seed, Workers: a.cfg.Workers, Init: a.cfg.Init, Warmup: -1, Observe: a.observe,
	})
}

// Run goes once through the schedule in n steps, from the current states. If the
// context ends, the best state so far remains, and a later Run of n steps goes on
// from there; one of another number is an error until Reset. On another error the
// best state so far remains, too, and a later Run begins the schedule anew. A Run
// while another is under way is an error.
func (a *Runner) Run(ctx context.Context, n int) error {
	if n < 0 {
		return fmt.Errorf("anneal: Run: n = %d, want ≥ 0", n)
	}
	if err := a.busy.begin("Runner", ctx); err != nil {
		return err
	}
	defer a.busy.end()
	if a.way.open && a.way.n != n {
		return fmt.Errorf("anneal: Run: n = %d, want %d, the steps of the run that has stopped at stage %d (Reset gives it up)", n, a.way.n, a.way.stage)
	}
	if most := math.MaxInt - a.chains.Len(); n > most {
		return fmt.Errorf("anneal: Run: n = %d after %d steps, want ≤ %d", n, a.chains.Len(), most)
	}
	if !a.way.open {
		a.way = way{open: true, n: n, from: a.chains.Len()}
	}
	err := a.advance(ctx)
	if err == nil || ctx.Err() == nil {
		a.way = way{}
	}
	if err == nil || ctx.Err() != nil {
		if file := a.keep(); file != nil {
			err = errors.Join(err, file)
		}
	}
	return err
}

// Reset gives up a run that its context has ended: the next one begins the
// schedule anew from the current states. The best states remain.
func (a *Runner) Reset() { a.way = way{} }

// advance goes on to the end of the schedule.
func (a *Runner) advance(ctx context.Context) error {
	w := &a.way
	stages := min(a.cfg.Stages, max(w.n, 1))
	for ; w.stage < stages; w.stage++ {
		if !w.begun {
			if err := a.enter(ctx, stages); err != nil {
				return err
			}
			w.begun = true
		}
		end := w.from + share(w.n, w.stage+1, stages)
		for {
			n := end - a.chains.Len()
			if every := a.cfg.Checkpoint.Every; a.cfg.Checkpoint.Path != "" && every > 0 {
				if a.chains.Len()-a.filed >= every {
					if err := a.keep(); err != nil {
						return err
					}
				}
				n = min(n, every-(a.chains.Len()-a.filed))
			}
			if err := a.chains.Run(ctx, n); err != nil {
				return err
			}
			if a.chains.Len() >= end {
				break
			}
		}
		w.begun = false
		if a.cfg.Progress != nil {
			a.cfg.Progress(end-w.from, w.n)
		}
	}
	return nil
}

// share returns n·k/of, of > 0, k ≤ of.
func share(n, k, of int) int {
	hi, lo := bits.Mul64(uint64(n), uint64(k))
	q, _ := bits.Div64(hi, lo, uint64(of))
	return int(q)
}

// enter gives the chains the temperature of the stage.
func (a *Runner) enter(ctx context.Context, stages int) error {
	t := 1.0
	if stages > 1 {
		t = float64(a.way.stage) / float64(stages-1)
	}
	beta := a.cfg.Schedule(t)
	if err := a.retarget(ctx, a.chains, beta); err != nil {
		return err
	}
	a.beta = beta
	return nil
}

func (a *Runner) retarget(ctx context.Context, c *sampler.Chains, beta float64) error {
	m, err := energy.Scale(a.model, beta)
	if err != nil {
		return fmt.Errorf("anneal: Run: schedule: %w", err)
	}
	return sampler.Retarget(ctx, c, m)
}

// observe keeps the best state of a chain.
func (a *Runner) observe(chain, _ int, x []int32, info *sampler.Info) {
	chain -= a.cfg.First
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

// Len returns the number of steps that each chain has made.
func (a *Runner) Len() int { return a.chains.Len() }

// keep saves a checkpoint if Config.Checkpoint asks for any.
func (a *Runner) keep() error {
	if a.cfg.Checkpoint.Path == "" {
		return nil
	}
	if err := durable.SaveFile("anneal: Runner", a.cfg.Checkpoint.Path, a); err != nil {
		return err
	}
	a.filed = a.chains.Len()
	return nil
}
