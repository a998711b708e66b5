package scored

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/corruption"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// engine moves samples side by side: whenever some of them need predictions, the
// denoiser makes them in one call.
type engine struct {
	cfg           Config
	ctx           context.Context // of the present run
	exact         bool
	model         energy.Denoiser[int32]
	sites, levels int
	timeFree      bool
	leaveOneOut   bool
	within        *language // nil if there is none

	slots []slot
	work  []scratch
	pool  *pool.Pool
	clean []bool // clamped sites
	free  []int  // the others

	blank []float32 // the prediction for all masks, once it is known
	ones  ones      // those for one token that shows

	// What the denoiser sees.
	q     energy.Noised[int32]
	ask   []int // slots that it is asked about
	table []float32

	// What runners do: begin a job in a slot, and at the end of a path say
	// whether the job is done or put the slot at the start of another path.
	begin func(s *slot)
	ended func(w *scratch, s *slot) (done bool)

	reports []Report // of the last call
}

// newEngine binds everything for a configuration whose zeros have been replaced.
func newEngine(ctx context.Context, model energy.Denoiser[int32], process diffusion.Process[int32], cfg Config, completions int) (*engine, error) {
	if model == nil || check.Nil(model) {
		return nil, fmt.Errorf("scored: model = nil")
	}
	if process == nil || check.Nil(process) {
		return nil, fmt.Errorf("scored: process = nil")
	}
	if c, ok := energy.As[noise.Checked](model); ok {
		if err := c.Check(); err != nil {
			return nil, err
		}
	}
	if g, ok := energy.As[diffusion.Guide](model); ok {
		if _, other, by := g.Guidance(); other != nil || by != nil {
			return nil, fmt.Errorf("scored: the model is guided at the posterior, want at the prediction")
		}
	}
	sites, levels := model.Shape()
	if sites < 1 || levels < 1 {
		return nil, fmt.Errorf("scored: the model has %d sites and %d levels, want both ≥ 1", sites, levels)
	}
	if err := cfg.fill(sites, levels, completions); err != nil {
		return nil, err
	}
	e := &engine{cfg: cfg, model: model, sites: sites, levels: levels, leaveOneOut: energy.LeaveOneOut(model)}
	e.timeFree = energy.TimeFree(model) && !e.leaveOneOut
	e.slots = make([]slot, cfg.Batch)
	for i := range e.slots {
		if err := e.bind(ctx, &e.slots[i], process); err != nil {
			return nil, err
		}
	}
	e.clean = make([]bool, sites)
	for i := range sites {
		if cfg.Clamp == nil || cfg.Clamp[i] < 0 {
			e.free = append(e.free, i)
			continue
		}
		e.clean[i] = true
		if e.slots[0].absorb.Masks(cfg.Clamp[i]) {
			return nil, fmt.Errorf("scored: Config.Clamp[%d] = %d, which is the mask", i, cfg.Clamp[i])
		}
	}
	if cfg.Within != nil {
		var err error
		if e.within, err = bindLanguage(ctx, cfg.Within, sites, levels, cfg.Batch); err != nil {
			return nil, err
		}
	}
	for range cfg.Workers {
		e.work = append(e.work, newScratch(&e.cfg, sites, levels))
	}
	e.pool = pool.New(cfg.Workers)
	n := cfg.Batch
	e.q = energy.Noised[int32]{
		X: make([]int32, n*sites), Time: make([]float64, n), Alpha: make([]float64, n),
		Sample: make([]int, n), Src: make([]rand.Source, n), Meta: cfg.Meta, Clean: make([]bool, n*sites),
	}
	e.table = make([]float32, n*sites*levels)
	if e.timeFree {
		e.ones = newOnes(len(e.free), sites, levels)
	}
	return e, nil
}

// bind makes the steps of a slot.
func (e *engine) bind(ctx context.Context, s *slot, process diffusion.Process[int32]) error {
	steps, err := process.Bind(ctx, e.sites, e.levels)
	if err != nil {
		return err
	}
	if err := corruption.Check(e.model, steps); err != nil {
		return fmt.Errorf("scored: %w", err)
	}
	var renoises, absorbs bool
	s.steps = steps
	s.renoise, renoises = steps.(diffusion.Renoiser)
	s.absorb, absorbs = steps.(diffusion.Absorbing)
	if !renoises || !absorbs {
		return fmt.Errorf("scored: %T has no masks, want a diffusion.Absorbing diffusion.Renoiser such as those of Masked; for uniform noise use projection/lagrange", process)
	}
	s.mask = -1
	for l := range int32(e.levels) {
		if s.absorb.Masks(l) {
			s.mask = l
			break
		}
	}
	if s.mask < 0 {
		return fmt.Errorf("scored: no level of %T is a mask", process)
	}
	s.x, s.y, s.best = make([]int32, e.sites), make([]int32, e.sites), make([]int32, e.sites)
	s.v = make([]float32, e.sites*e.levels)
	return nil
}

// fill checks the configuration and replaces zeros by defaults.
func (c *Config) fill(sites, levels, completions int) error {
	bad := func(name string, v any, want string) error {
		return fmt.Errorf("scored: Config.%s = %v, want %s", name, v, want)
	}
	if absent(c.Judge) {
		return bad("Judge", c.Judge, "a set")
	}
	for _, f := range []struct {
		name  string
		value *int
		least int
		def   int
	}{
		{"Candidates", &c.Candidates, 0, defaultCandidates},
		{"Completions", &c.Completions, 0, completions},
		{"Rounds", &c.Rounds, -1, defaultRounds},
		{"Steps", &c.Steps, 0, defaultSteps},
		{"Batch", &c.Batch, 0, min(max(1, defaultTables/4/(sites*levels)), defaultBatch)},
		{"Workers", &c.Workers, 0, runtime.GOMAXPROCS(0)},
		{"First", &c.First, 0, 0},
	} {
		if *f.value < f.least {
			return bad(f.name, *f.value, fmt.Sprintf("≥ %d", f.least))
		}
		if *f.value == 0 {
			*f.value = f.def
		}
	}
	c.Rounds = max(c.Rounds, 0)
	c.Workers = min(c.Workers, c.Batch)
	for _, s := range []struct {
		name string
		set  constraint.Set
	}{{"Config.Judge", c.Judge}, {"Config.Guide", c.Guide}} {
		if err := checkSet(s.name, s.set); err != nil {
			return err
		}
	}
	if c.Clamp != nil && len(c.Clamp) != sites {
		return bad("Clamp", fmt.Sprintf("(%d entries)", len(c.Clamp)), fmt.Sprintf("%d entries", sites))
	}
	for i, l := range c.Clamp {
		if l < -1 || int(l) >= levels {
			return bad(fmt.Sprintf("Clamp[%d]", i), l, fmt.Sprintf("-1 … %d", levels-1))
		}
	}
	return nil
}
