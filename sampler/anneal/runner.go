// Package anneal samples a model at a range of temperatures. A [Runner] finds a state of least
// energy by simulated annealing. [AIS] and [SteppingStone] estimate log Z, where Z is the
// normaliser.
//
// All three sample exp(−β·E) with any sampler.Method, while the inverse temperature β follows a
// [Schedule]:
//
//	a, err := anneal.New(ctx, m, mcmc.Metropolis{}, anneal.Config{Seed: 1})
//	err = a.Run(ctx, 10000)
//	x, e := a.Best()
//
// To minimise a two-level model of pairs (Ising models, cuts, QUBOs), use package ground. For log
// Z, stepping stones are more precise at the same cost if chains mix at every temperature. AIS is
// unbiased even if chains mix badly, and a low effective sample size then reveals the bad mixing.
//
// All three can stop and resume, in place or from a checkpoint file: see [Runner], [AISRunner] and
// [SteppingStoneRunner]. Each run can be divided into parts (fields First and Count) on any number
// of machines. The results have the same bits as those of an undivided run without a stop. The
// exception is the StdErr of stepping stones, whose last digits may differ between processors.
package anneal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Config holds the settings of a simulated-annealing [Runner]. The zero value runs 4 chains through
// 200 temperatures that are fitted to the model.
type Config struct {
	Chains  int    // number of independent chains of the whole run; 0 means 4
	Seed    uint64 // seed of the random streams; chain i draws from stream (Seed, i)
	Workers int    // number of goroutines; 0 means GOMAXPROCS; does not change results
	// Init holds the initial states: one per chain, or one for all chains. If it is nil, they are
	// random; see [sampler.Config].
	Init []int32

	// First and Count select the chains of a part of a run, as in [sampler.Config]. These chains
	// find the same states as in the whole run.
	First, Count int

	// Stages is the number of different temperatures; 0 means 200. New kernels are built for each
	// temperature.
	Stages int

	// Schedule(t) is the inverse temperature β after the fraction t of the run, 0 ≤ t ≤ 1. Nil
	// means a [Geometric] schedule between the bounds that [Cooling] computes for the model.
	Schedule Schedule

	// Checkpoint makes Run save the run to the file Path, as SaveFile does. An empty Path means no
	// checkpoints. Run saves when it ends, even if the context ended. If Every is k > 0, it also
	// saves after every k steps. If saving fails, Run returns the error.
	Checkpoint struct {
		Path  string
		Every int
	}

	// Progress, if not nil, is called during a Run. It receives the number of steps done so far and
	// the total for this Run.
	Progress func(done, total int)
}

const (
	defaultChains = 4 // default number of chains, as in sampler.Config
	defaultStages = 200
)

// untargeted is the inverse temperature of chains before their first stage.
const untargeted = -1

// Part returns cfg with First and Count set to part k of n nearly equal parts of the run; see
// [sampler.Config.Part].
func (cfg Config) Part(k, n int) (Config, error) {
	err := session.Cut("anneal: Config", &cfg.Chains, &cfg.First, &cfg.Count, defaultChains, 0, k, n)
	return cfg, err
}

// Runner minimises an energy by simulated annealing (Kirkpatrick, Gelatt and Vecchi 1983). It
// samples exp(−β E) while β grows, and keeps the best state that any chain had at the end of a
// step. It works with any [sampler.Method]; mcmc.Metropolis and mcmc.Gibbs are the usual ones.
// Create it with [New]. Its methods must not be called concurrently with each other.
type Runner struct {
	saved
	model   energy.Model
	method  sampler.Method
	cfg     Config
	chains  *sampler.Chains
	beta    float64
	sites   int
	e       []float64 // best energy of each chain
	x       []int32   // best state of each chain
	scratch []float64

	way way
}

// way is the progress of one pass through the schedule.
type way struct {
	open  bool
	n     int // number of steps of the pass
	from  int // number of steps that the chains had made before the pass
	stage int // index of the current stage
	begun bool
}

// New returns a simulated-annealing runner that is ready to Run. It returns the same errors as
// [sampler.NewChains], and an error if a setting is out of range.
func New(ctx context.Context, m energy.Model, method sampler.Method, cfg Config) (*Runner, error) {
	if err := check.Defaults("anneal: Config.",
		check.Number("Stages", &cfg.Stages, 0, defaultStages), check.Number("Checkpoint.Every", &cfg.Checkpoint.Every, 0, 0),
	); err != nil {
		return nil, err
	}
	cfg.Chains = cmp.Or(cfg.Chains, defaultChains)
	a := &Runner{model: m, method: method, cfg: cfg, beta: untargeted}
	a.life = session.Session{Who: "anneal: Runner", Checkpoint: cfg.Checkpoint, Len: a.Len, Progress: cfg.Progress, Write: a.write, Read: a.read}
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

// Run makes n steps of one pass through the schedule, starting from the current states. It is an
// error to ask for more steps than remain, or to call Run while another call is under way.
//
// If ctx ends, Run stops, keeps the best state so far and returns the error of ctx. If it stopped
// after k steps, Run(ctx, n−k) continues with the same bits as without the stop. To abandon the
// pass instead, call Reset.
func (a *Runner) Run(ctx context.Context, n int) error {
	if err := a.life.BeginSaving(ctx, "Run", n); err != nil {
		return err
	}
	defer a.life.End()
	w := &a.way
	if left := w.from + w.n - a.Len(); w.open && n > left {
		return fmt.Errorf("anneal: Runner: Run: n = %d, want ≤ %d, what is left of a pass of %d steps that has stopped at stage %d (Reset gives it up)", n, left, w.n, w.stage)
	}
	if !w.open && n > 0 {
		*w = way{open: true, n: min(n, math.MaxInt-a.Len()), from: a.Len()}
	}
	return a.life.Finish(ctx, a.life.Advance(ctx, n, func(to int) error { return a.advance(ctx, to) }))
}

// Reset abandons a pass through the schedule that was stopped midway. The next Run starts the
// schedule again, from the current states. The best states are kept.
func (a *Runner) Reset() { a.way = way{} }

// advance continues to the end of the current stage or to the given number of steps, whichever is
// first.
func (a *Runner) advance(ctx context.Context, to int) error {
	w := &a.way
	stages := min(a.cfg.Stages, w.n)
	if !w.begun {
		if err := a.enter(ctx, stages); err != nil {
			return err
		}
		w.begun = true
	}
	end := w.from + share(w.n, w.stage+1, stages)
	if err := a.chains.Run(ctx, max(0, min(end, to)-a.Len())); err != nil {
		return err
	}
	if a.Len() < end {
		return nil
	}
	if w.begun, w.stage = false, w.stage+1; w.stage == stages {
		*w = way{}
	}
	return nil
}

// share returns the quotient n·k/of, rounded down, without overflow. The divisor of must be
// positive and at least k.
func share(n, k, of int) int {
	hi, lo := bits.Mul64(uint64(n), uint64(k))
	q, _ := bits.Div64(hi, lo, uint64(of))
	return int(q)
}

// enter sets the chains to the temperature of the current stage.
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

// If the state x is better than the best state of its chain so far, observe stores x as the best
// state.
func (a *Runner) observe(chain, _ int, x []int32, info *sampler.Info) {
	chain -= a.cfg.First
	// The kernel's energy is β·E with a rounding error. It decides whether an exact evaluation is
	// worthwhile.
	if e := info.Energy / a.beta; e > a.e[chain]+float64(1e-9*math.Abs(a.e[chain])) {
		return
	}
	a.model.Energy(a.scratch[chain:chain+1], x)
	if e := a.scratch[chain]; e < a.e[chain] {
		a.e[chain] = e
		copy(a.x[chain*a.sites:(chain+1)*a.sites], x)
	}
}

// Best returns a copy of the state of lowest energy that any chain has found, and its energy.
func (a *Runner) Best() (x []int32, e float64) {
	best := slices.Index(a.e, slices.Min(a.e))
	return slices.Clone(a.x[best*a.sites : (best+1)*a.sites]), a.e[best]
}

// Energies returns the lowest energy that each chain has found. Do not modify the slice.
func (a *Runner) Energies() []float64 { return a.e }

// Len returns the number of steps that each chain has made.
func (a *Runner) Len() int { return a.chains.Len() }

// annealMagic begins a checkpoint of annealing. A checkpoint consists of a frame of settings, a
// frame with the position and the best states, and the checkpoint of the chains; see
// [session.Frames].
const annealMagic = "gibbsite anneal 1\n"

// scheduleParts is the number of points at which a checkpoint compares schedules.
const scheduleParts = 1 << 10

func (a *Runner) settings() *fingerprint.List {
	l := newSettings(a.model, a.method)
	l.Add("Config.Chains", a.cfg.Chains)
	l.Add("Config.First", a.cfg.First)
	l.Add("Config.Count", len(a.e))
	l.Add("Config.Stages", a.cfg.Stages)
	betas := make([]float64, scheduleParts+1)
	for i := range betas {
		betas[i] = a.cfg.Schedule(float64(i) / scheduleParts)
	}
	l.Add("Config.Schedule", digest(betas))
	return l
}

func (a *Runner) frames() *session.Frames {
	return &session.Frames{Magic: annealMagic, Settings: a.settings(), Count: 1, Limit: 4*len(a.x) + 8*len(a.e) + 64, Frame: a.frame}
}

func (a *Runner) frame(f *wire.Fields, _ int) {
	w, flags := &a.way, 0
	if w.open {
		flags |= 1
	}
	if w.begun {
		flags |= 2
	}
	f.Int("flags of a pass", &flags, 0, 3)
	w.open, w.begun = flags&1 != 0, flags&2 != 0
	f.Counts("a count of steps", &w.n, &w.from)
	f.Int("stage", &w.stage, 0, a.cfg.Stages-1)
	f.Float64(&a.beta)
	f.Float64s(a.e)
	_, levels := a.model.Shape()
	f.Tokens(a.x, levels)
	if !f.Reading() {
		return
	}
	if w.n > math.MaxInt-w.from || w.open && w.stage >= min(a.cfg.Stages, max(w.n, 1)) {
		f.Fail(fmt.Errorf("stage %d of a pass of %d steps after %d", w.stage, w.n, w.from))
	}
	if a.beta != untargeted && !(a.beta >= 0) {
		f.Fail(fmt.Errorf("β = %v, want ≥ 0", a.beta))
	}
	energies := make([]float64, len(a.e))
	a.model.Energy(energies, a.x)
	f.Fail(fingerprint.Energies("energies of the best states", a.e, energies, 1))
	f.Fail(sampler.CheckStart(a.e))
}

func (a *Runner) write(w io.Writer) error { return a.frames().Write(w, a.chains.Save) }

func (a *Runner) read(ctx context.Context, r io.Reader) error {
	n := &Runner{model: a.model, method: a.method, cfg: a.cfg, sites: a.sites, x: make([]int32, len(a.x)), e: make([]float64, len(a.e))}
	err := n.frames().Read(ctx, r, func(r io.Reader) (err error) {
		if n.chains, err = a.newChains(ctx); err != nil {
			return err
		}
		if n.beta != untargeted {
			if err := n.retarget(ctx, n.chains, n.beta); err != nil {
				return err
			}
		}
		return n.chains.Load(ctx, r)
	})
	if err == nil {
		a.x, a.e, a.beta, a.way, a.chains = n.x, n.e, n.beta, n.way, n.chains
	}
	return err
}
