package sampler

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

const (
	defaultChains = 4    // as Stan: enough for R-hat to compare
	defaultWarmup = 1000 // as Stan
)

// maxEntries bounds chains × sites, so that the sizes of all slices are ints.
const maxEntries = min(math.MaxInt/16, 1<<40)

// Runner runs Markov chains: [Chains] on tokens, langevin.Chains on reals. Its
// methods must not be called concurrently with each other.
type Runner[S energy.Site] struct {
	cfg     Config // without Init and Observe, which depend on S
	observe func(chain, draw int, x []S, info *Info)
	system  System[S]
	sites   int
	x       []S // chains × sites
	streams []Stream
	info    []Info
	blocks  []block[S]
	kept    int    // draws made
	filed   int    // of these, those that the last checkpoint file has
	ready   bool   // kernels have seen the states
	busy    uint32 // 1 while a Run is under way
	err     error
}

// block is what one worker moves: up to BlockSize consecutive chains.
type block[S energy.Site] struct {
	first, chains int
	kernel        Transition[S]
	steps         int // warm-up included
	stats         Stats
	torn          bool // a panic stopped the kernel in the middle of a step
	err           error
}

// NewRunner returns chains of a system, ready to run: from init, one state per
// chain or one for all, or, if that is empty, from where the system starts.
// observe may be nil; Init and Observe of cfg are not used. Errors: a Config
// field or an init out of range, and those of the system.
func NewRunner[S energy.Site](ctx context.Context, system System[S], cfg Config, init []S, observe func(chain, draw int, x []S, info *Info)) (*Runner[S], error) {
	if check.Nil(system) {
		return nil, fmt.Errorf("sampler: NewRunner: system = nil")
	}
	name, sites := system.Name(), system.Sites()
	if err := cfg.fill(name); err != nil {
		return nil, err
	}
	if sites < 1 {
		return nil, fmt.Errorf("%s: sites = %d, want ≥ 1", name, sites)
	}
	if most := maxEntries / sites; cfg.Chains > most {
		return nil, fmt.Errorf("%s: Config.Chains = %d of %d sites, want ≤ %d", name, cfg.Chains, sites, most)
	}
	if n := len(init); n != 0 && n != sites && n != cfg.Chains*sites {
		return nil, fmt.Errorf("%s: len(Config.Init) = %d, want %d (one state) or %d (one per chain)", name, n, sites, cfg.Chains*sites)
	}
	c := &Runner[S]{
		cfg: cfg, observe: observe, system: system, sites: sites,
		x: make([]S, cfg.Chains*sites), streams: make([]Stream, cfg.Chains), info: make([]Info, cfg.Chains),
	}
	c.cfg.Init, c.cfg.Observe = nil, nil
	var err error
	if c.blocks, err = newBlocks(ctx, system, cfg.Chains); err != nil {
		return nil, err
	}
	for i := range c.streams {
		c.streams[i].Seed(cfg.Seed, uint64(i))
	}
	if len(init) == 0 {
		return c, system.Start(c.x, c.streams, c.Kernels())
	}
	for at := 0; at < len(c.x); at += len(init) {
		copy(c.x[at:], init)
	}
	return c, nil
}

// fill checks the configuration and replaces zeros by defaults.
func (cfg *Config) fill(name string) error {
	bad := func(field string, v, least int) error {
		return fmt.Errorf("%s: Config.%s = %d, want ≥ %d", name, field, v, least)
	}
	switch {
	case cfg.Chains < 0:
		return bad("Chains", cfg.Chains, 0)
	case cfg.Warmup < -1:
		return bad("Warmup", cfg.Warmup, -1)
	case cfg.Thin < 0:
		return bad("Thin", cfg.Thin, 0)
	case cfg.Workers < 0:
		return bad("Workers", cfg.Workers, 0)
	case cfg.Checkpoint.Every < 0:
		return bad("Checkpoint.Every", cfg.Checkpoint.Every, 0)
	}
	if cfg.Chains == 0 {
		cfg.Chains = defaultChains
	}
	switch cfg.Warmup {
	case 0:
		cfg.Warmup = defaultWarmup
	case -1:
		cfg.Warmup = 0
	}
	cfg.Thin = max(cfg.Thin, 1)
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	return nil
}

func newBlocks[S energy.Site](ctx context.Context, system System[S], chains int) ([]block[S], error) {
	blocks := make([]block[S], 0, (chains+BlockSize-1)/BlockSize)
	for first := 0; first < chains; first += BlockSize {
		n := min(BlockSize, chains-first)
		k, err := system.Kernel(ctx, n)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block[S]{first: first, chains: n, kernel: k})
	}
	return blocks, nil
}

// Run makes n draws per chain, Config.Thin steps apart, and tells the observer
// of each; the first Run warms up before that.
//
// If the context ends, Run returns its error with every chain at the same step:
// the states are valid and a later Run goes on from there. Where bringing them
// together would take more than some tens of milliseconds, chains stay up to one
// round of steps apart, and the later Run begins with those behind. The number of
// steps has no bound: math.MaxInt draws go on until the context ends.
//
// If a chain cannot go on, Run returns an error that names chain and step; the
// chains then are stuck until Reset. A panic in the code of a model, method or
// observer goes on in the goroutine of Run, whatever Workers, as an error whose
// text has the value and the stack of where it happened and which wraps the value
// if that is an error; a later Run goes on from the states as they are. A Run
// while another is under way is an error.
func (c *Runner[S]) Run(ctx context.Context, n int) error {
	if n < 0 {
		return fmt.Errorf("%s: Run: n = %d, want ≥ 0", c.system.Name(), n)
	}
	if err := c.begin(ctx, "Run"); err != nil {
		return err
	}
	defer c.end()
	err := c.advance(ctx, c.stepsAfter(n))
	if err == nil || ctx.Err() != nil && !c.failed() && c.ready {
		if file := c.keepNow(); file != nil {
			err = errors.Join(err, file)
			c.err = err
		}
	}
	return err
}

// Draws returns an iterator that makes n draws, as Run does, and yields the
// states of all chains (chains × sites) after each. The slice is the runner's
// own: it is overwritten by the next draw and must not be modified. The loop
// ends early on an error; ask Err.
func (c *Runner[S]) Draws(ctx context.Context, n int) iter.Seq[[]S] {
	return func(yield func([]S) bool) {
		for range n {
			if c.draw(ctx) != nil || !yield(c.x) {
				break
			}
		}
		if c.ready && !c.failed() {
			if file := c.keepNow(); file != nil {
				c.err = errors.Join(c.err, file)
			}
		}
	}
}

// draw is Run of one draw without a checkpoint at its end.
func (c *Runner[S]) draw(ctx context.Context) error {
	if err := c.begin(ctx, "Draws"); err != nil {
		c.err = err
		return err
	}
	defer c.end()
	return c.advance(ctx, c.stepsAfter(1))
}

// Err returns the error of the last Run or Draws, nil if it ran to its end.
func (c *Runner[S]) Err() error { return c.err }

// States returns the current states, chains × sites. The slice is the runner's
// own: later runs overwrite it. Who writes to it must call Reset.
func (c *Runner[S]) States() []S { return c.x }

// SetStates replaces the states of all chains (chains × sites) by a copy of x
// and tells the kernels, as Reset does. On an error of length or range nothing
// changes; other errors are those of Reset.
func (c *Runner[S]) SetStates(x []S) error {
	if len(x) != len(c.x) {
		return fmt.Errorf("%s: SetStates: len(x) = %d, want %d (%d chains of %d sites)", c.system.Name(), len(x), len(c.x), c.cfg.Chains, c.sites)
	}
	if err := c.system.Check(x); err != nil {
		return fmt.Errorf("%s: SetStates: %w", c.system.Name(), err)
	}
	copy(c.x, x)
	return c.Reset()
}

// Info returns what the kernels reported of each chain's last step. The slice is
// the runner's own.
func (c *Runner[S]) Info() []Info { return c.info }

// Len returns the number of draws made.
func (c *Runner[S]) Len() int { return c.kept }

// Kernels returns the kernels, one per block of [BlockSize] consecutive chains,
// to ask them what they know. They are the runner's own.
func (c *Runner[S]) Kernels() []Transition[S] {
	kernels := make([]Transition[S], len(c.blocks))
	for i := range c.blocks {
		kernels[i] = c.blocks[i].kernel
	}
	return kernels
}

// Reset tells the kernels that the target or the states changed. States, random
// streams and step sizes stay; an earlier failure is forgotten, and draws that
// some chains missed by it count as made. A level that the model does not have,
// or a real that is not finite, is an error that names its site and chain, and a
// state without probability is a *[StartError]; no Run begins before they are
// mended.
func (c *Runner[S]) Reset() error {
	c.ready = false
	if err := c.system.Check(c.x); err != nil {
		c.err = fmt.Errorf("%s: Reset: %w", c.system.Name(), err)
		return c.err
	}
	failed := c.failed()
	_, last := c.span()
	for i := range c.blocks {
		b := &c.blocks[i]
		if failed {
			b.steps = last
		}
		b.err, b.torn = nil, false
		if err := c.resetBlock(b); err != nil {
			c.err = err
			return err
		}
	}
	c.kept = max(c.kept, c.drawsMade())
	c.ready, c.err = true, nil
	return nil
}

func (c *Runner[S]) resetBlock(b *block[S]) error {
	err := b.kernel.Reset(c.x[b.first*c.sites : (b.first+b.chains)*c.sites])
	if start, ok := err.(*StartError); ok {
		return &StartError{Chain: b.first + start.Chain, Energy: start.Energy, Constraint: start.Constraint}
	}
	return err
}

// Retarget gives chains of tokens another target of the same shape: new kernels
// of the method, which have nothing tuned. States, random streams and counts
// stay. On an error nothing changes but the error of a start, as by Reset.
func Retarget(ctx context.Context, c *Chains, m energy.Model) error {
	if c == nil {
		return fmt.Errorf("sampler: Retarget: chains = nil")
	}
	old, ok := c.system.(*tokens)
	if !ok {
		return fmt.Errorf("sampler: Retarget: the chains are not those of NewChains")
	}
	if _, _, err := check.Shape("sampler: Retarget", m, 1, BlockSize); err != nil {
		return err
	}
	if sites, levels := m.Shape(); sites != old.sites || levels != old.levels {
		return fmt.Errorf("sampler: Retarget: the model has %d sites × %d levels, want %d × %d", sites, levels, old.sites, old.levels)
	}
	t := *old
	t.model = m
	blocks, err := newBlocks(ctx, System[int32](&t), c.cfg.Chains)
	if err != nil {
		return err
	}
	for i := range blocks {
		blocks[i].steps, blocks[i].stats = c.blocks[i].steps, c.blocks[i].stats
	}
	c.system, c.blocks = &t, blocks
	return c.Reset()
}

// StepSizes returns the step size of each block's kernel, nil if it has none.
func (c *Runner[S]) StepSizes() []float64 {
	var sizes []float64
	for i := range c.blocks {
		if s, ok := c.blocks[i].kernel.(Sized); ok {
			sizes = append(sizes, s.StepSize())
		}
	}
	return sizes
}

// drawsMade returns the number of draws that every chain has made.
func (c *Runner[S]) drawsMade() int {
	steps, _ := c.span()
	return max(0, (steps-c.cfg.Warmup)/c.cfg.Thin)
}

// Stats returns the statistics of all chains since warm-up.
func (c *Runner[S]) Stats() Stats {
	var t Stats
	for i := range c.blocks {
		s := &c.blocks[i].stats
		t.Steps = plus(t.Steps, s.Steps)
		t.Accept += s.Accept
		t.Moved += s.Moved
		t.Invalid = plus(t.Invalid, s.Invalid)
	}
	if t.Steps > 0 {
		t.Accept /= float64(t.Steps)
		t.Moved /= float64(t.Steps)
	}
	return t
}
