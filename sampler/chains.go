package sampler

import (
	"context"
	"fmt"
	"iter"
	"runtime"

	"github.com/gibbsite-go/gibbsite/energy"
)

const (
	defaultChains = 4    // as Stan: enough for R-hat to compare
	defaultWarmup = 1000 // as Stan
)

// Config says how many chains run, from where and who watches. The zero value
// runs 4 chains of seed 0 from uniform random states, with a warm-up of 1000
// steps.
type Config struct {
	Chains  int    // number of chains; 0 means 4
	Seed    uint64 // chain i draws from stream (Seed, i)
	Warmup  int    // steps of the first Run that adapt and are not kept; 0 means 1000, −1 none
	Thin    int    // steps per draw; 0 means 1
	Workers int    // goroutines; 0 means GOMAXPROCS; never changes results

	// Init holds the initial states: one per chain, or one for all chains. If
	// nil, every level is drawn uniformly and models that leave states without
	// probability (energy.Supported) repair the result; other models with such
	// states want an Init.
	Init []int32

	// Observe, if not nil, is told of every draw.
	Observe Observer

	// Progress, if not nil, is called from the goroutine of Run with the number
	// of steps done and the total of this Run, warm-up included, every few
	// milliseconds at most.
	Progress func(done, total int)
}

// Chains runs Markov chains of one method on one model. Its methods must not be
// called concurrently with each other.
type Chains struct {
	cfg           Config
	model         energy.Model
	method        Method
	sites, levels int
	x             []int32 // chains × sites
	streams       []Stream
	info          []Info
	blocks        []block
	kept          int  // draws made
	ready         bool // kernels have seen the states
	err           error
}

// block is what one worker moves: up to BlockSize consecutive chains.
type block struct {
	first, chains int
	kernel        Kernel
	steps         int // warm-up included
	stats         Stats
	err           error
}

// NewChains returns chains of the method on the model, ready to run.
//
// Errors: a nil model or method, a Config field out of range, a method that does
// not fit the model. An initial state without probability is reported by the
// first Run.
func NewChains(m energy.Model, method Method, cfg Config) (*Chains, error) {
	if method == nil {
		return nil, fmt.Errorf("sampler: NewChains: method = nil")
	}
	sites, levels, err := checkShape("NewChains", m, 1)
	if err != nil {
		return nil, err
	}
	if err := cfg.fill(sites, levels); err != nil {
		return nil, err
	}
	c := &Chains{
		cfg: cfg, model: m, method: method, sites: sites, levels: levels,
		x:       make([]int32, cfg.Chains*sites),
		streams: make([]Stream, cfg.Chains),
		info:    make([]Info, cfg.Chains),
	}
	if c.blocks, err = c.newBlocks(); err != nil {
		return nil, err
	}
	for i := range c.streams {
		c.streams[i] = Stream{seed: cfg.Seed, chain: uint64(i)}
	}
	if err := c.initStates(); err != nil {
		return nil, err
	}
	return c, nil
}

// fill checks the configuration and replaces zeros by defaults.
func (cfg *Config) fill(sites, levels int) error {
	bad := func(name string, v, min int) error {
		return fmt.Errorf("sampler: Config.%s = %d, want ≥ %d", name, v, min)
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
	if n := len(cfg.Init); n != 0 && n != sites && n != cfg.Chains*sites {
		return fmt.Errorf("sampler: len(Config.Init) = %d, want %d (one state) or %d (one per chain)", n, sites, cfg.Chains*sites)
	}
	for i, l := range cfg.Init {
		if l < 0 || int(l) >= levels {
			return fmt.Errorf("sampler: Config.Init[%d] = %d, want 0 … %d", i, l, levels-1)
		}
	}
	return nil
}

func (c *Chains) newBlocks() ([]block, error) {
	blocks := make([]block, 0, (c.cfg.Chains+BlockSize-1)/BlockSize)
	for first := 0; first < c.cfg.Chains; first += BlockSize {
		n := min(BlockSize, c.cfg.Chains-first)
		k, err := c.method.Kernel(c.model, n)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block{first: first, chains: n, kernel: k})
	}
	return blocks, nil
}

func (c *Chains) initStates() error {
	if init := c.cfg.Init; len(init) > 0 {
		for at := 0; at < len(c.x); at += len(init) {
			copy(c.x[at:], init)
		}
		return nil
	}
	for i := range c.streams {
		for j := range c.sites {
			c.x[i*c.sites+j] = int32(c.streams[i].IntN(c.levels))
		}
	}
	if s, ok := energy.As[energy.Supported](c.model); ok {
		s.Repair(c.x)
	}
	for i := range c.streams {
		if k, ok := c.blocks[i/BlockSize].kernel.(Starter); ok {
			if err := k.Start(c.x[i*c.sites:(i+1)*c.sites], &c.streams[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Run makes n draws per chain, Config.Thin steps apart, and tells the observer
// of each; the first Run warms up before that.
//
// If the context ends, Run returns its error with every chain at the same step:
// the states are valid and a later Run goes on from there. If a chain cannot go
// on, Run returns an error that names chain and step; the chains then are stuck
// until Reset.
func (c *Chains) Run(ctx context.Context, n int) error {
	if n < 0 {
		return fmt.Errorf("sampler: Run: n = %d, want ≥ 0", n)
	}
	return c.advance(ctx, c.cfg.Warmup+(c.kept+n)*c.cfg.Thin)
}

// Draws returns an iterator that makes n draws, as Run does, and yields the
// states of all chains (chains × sites) after each. The slice is the runner's
// own: it is overwritten by the next draw and must not be modified. The loop
// ends early on an error; ask Err.
func (c *Chains) Draws(ctx context.Context, n int) iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		for range n {
			if c.Run(ctx, 1) != nil || !yield(c.x) {
				return
			}
		}
	}
}

// Err returns the error of the last Run or Draws, nil if it ran to its end.
func (c *Chains) Err() error { return c.err }

// States returns the current states, chains × sites. The slice is the runner's
// own: later runs overwrite it. Who writes to it must call Reset.
func (c *Chains) States() []int32 { return c.x }

// Info returns what the kernels reported of each chain's last step. The slice is
// the runner's own.
func (c *Chains) Info() []Info { return c.info }

// Len returns the number of draws made.
func (c *Chains) Len() int { return c.kept }

// Reset tells the kernels that the target or the states changed. States, random
// streams and step sizes stay; an earlier failure is forgotten, and draws that
// some chains missed by it count as made.
func (c *Chains) Reset() error {
	last := 0
	for i := range c.blocks {
		last = max(last, c.blocks[i].steps)
	}
	for i := range c.blocks {
		b := &c.blocks[i]
		b.steps, b.err = last, nil
		if err := c.resetBlock(b); err != nil {
			c.err = err
			return err
		}
	}
	c.kept = max(c.kept, (last-c.cfg.Warmup)/c.cfg.Thin)
	c.ready, c.err = true, nil
	return nil
}

func (c *Chains) resetBlock(b *block) error {
	err := b.kernel.Reset(c.x[b.first*c.sites : (b.first+b.chains)*c.sites])
	if start, ok := err.(*StartError); ok {
		return &StartError{Chain: b.first + start.Chain, Energy: start.Energy, Constraint: start.Constraint}
	}
	return err
}

// StepSizes returns the step size of each block's kernel, nil if it has none.
func (c *Chains) StepSizes() []float64 {
	var sizes []float64
	for i := range c.blocks {
		if s, ok := c.blocks[i].kernel.(Sized); ok {
			sizes = append(sizes, s.StepSize())
		}
	}
	return sizes
}

// Stats sums up the steps after warm-up.
type Stats struct {
	Steps   int     // chain steps: steps times chains
	Accept  float64 // mean acceptance probability
	Moved   float64 // mean number of sites changed per chain step
	Invalid int     // proposals rejected because their energy was NaN or −Inf
}

// Stats returns the statistics of all chains since warm-up.
func (c *Chains) Stats() Stats {
	var t Stats
	for i := range c.blocks {
		s := &c.blocks[i].stats
		t.Steps += s.Steps
		t.Accept += s.Accept
		t.Moved += s.Moved
		t.Invalid += s.Invalid
	}
	if t.Steps > 0 {
		t.Accept /= float64(t.Steps)
		t.Moved /= float64(t.Steps)
	}
	return t
}
