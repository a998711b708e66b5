package sampler

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
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
	reset         bool // done, of a Reset that was stopped in other blocks
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

// Err returns the error of the last Run or Draws, nil if it ran to its end.
func (c *Runner[S]) Err() error { return c.err }

// States returns the current states, chains × sites. The slice is the runner's
// own: later runs overwrite it. After writing to it, call Reset.
func (c *Runner[S]) States() []S { return c.x }

// Energy stores the energies of the states x, as the chains' target has them now:
// e has one entry per state.
func (c *Runner[S]) Energy(e []float64, x []S) { c.system.Energy(e, x) }

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
	for i := range c.blocks {
		c.blocks[i].reset = false
	}
	return c.reset(nil)
}

// reset is Reset of the blocks that have not seen their states yet, until stop
// says so: the chains are then not ready.
func (c *Runner[S]) reset(stop func() bool) error {
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
	}
	for i := range c.blocks {
		b := &c.blocks[i]
		if b.reset {
			continue
		}
		if stop != nil && stop() {
			return nil
		}
		var err error
		if b.reset, err = c.resetBlock(b, stop); err != nil {
			c.err = err
			return err
		}
		if !b.reset {
			return nil
		}
	}
	for i := range c.blocks {
		c.blocks[i].reset = false
	}
	c.kept = max(c.kept, c.drawsMade())
	c.ready, c.err = true, nil
	return nil
}

// resetBlock resets the kernel of a block, until stop says so if that is not nil.
func (c *Runner[S]) resetBlock(b *block[S], stop func() bool) (done bool, err error) {
	x := c.x[b.first*c.sites : (b.first+b.chains)*c.sites]
	if k, ok := b.kernel.(resetter[S]); ok && stop != nil {
		done, err = k.ResetUntil(stop, x)
	} else {
		done, err = true, b.kernel.Reset(x)
	}
	if start, ok := err.(*StartError); ok {
		err = &StartError{Chain: b.first + start.Chain, Energy: start.Energy, Constraint: start.Constraint}
	}
	return done && err == nil, err
}

// mend resets the kernels of blocks that a panic left in the middle of a step.
func (c *Runner[S]) mend() error {
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.torn {
			continue
		}
		if _, err := c.resetBlock(b, nil); err != nil {
			c.err = err
			return err
		}
		b.torn = false
	}
	return nil
}

// span returns the smallest and the largest number of steps of a block.
func (c *Runner[S]) span() (least, most int) {
	least = c.blocks[0].steps
	for i := range c.blocks {
		least, most = min(least, c.blocks[i].steps), max(most, c.blocks[i].steps)
	}
	return least, most
}

// failure returns the error of the earliest step, the lowest chain first.
func (c *Runner[S]) failure() error {
	var first *block[S]
	for i := range c.blocks {
		if b := &c.blocks[i]; b.err != nil && (first == nil || b.steps < first.steps) {
			first = b
		}
	}
	if first == nil {
		return nil
	}
	return first.err
}

// failed reports whether some chain cannot go on.
func (c *Runner[S]) failed() bool { return c.failure() != nil }

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
