package sampler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/session"
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
	size    int // chains of a block
	x       []S // chains × sites
	streams []Stream
	info    []Info
	blocks  []block[S]
	draws   *drawfile.Writer
	pages   sync.Pool // of drawfile.Page
	kept    int       // draws made
	ready   bool      // kernels have seen the states
	warm    int       // steps of the warm-up that Warm has begun; 0: none
	life    session.Session
	err     error
}

// NewRunner returns chains of a system, ready to run. They start from init, one state per chain or
// one for all chains; if init is empty, Start of the system makes the states. observe may be nil.
// The fields Init and Observe of cfg are not used. It returns an error if a Config field or an
// initial state is out of range, or if the system returns one.
func NewRunner[S energy.Site](ctx context.Context, system System[S], cfg Config, init []S, observe func(chain, draw int, x []S, info *Info)) (*Runner[S], error) {
	if check.Nil(system) {
		return nil, fmt.Errorf("sampler: NewRunner: system = nil")
	}
	name, sites := system.Name(), system.Sites()
	if err := cmp.Or(
		cfg.fill(name),
		check.If(ctx == nil, "%s: ctx = nil", name),
		check.If(sites < 1, "%s: sites = %d, want ≥ 1", name, sites),
	); err != nil {
		return nil, err
	}
	size := cfg.Block()
	var err error
	if cfg.Count, err = session.Count(name+": Config", cfg.Chains, size, cfg.First, cfg.Count); err != nil {
		return nil, err
	}
	if most := maxEntries / sites; cfg.Count > most {
		field := "Chains"
		if cfg.Count < cfg.Chains {
			field = "Count"
		}
		return nil, fmt.Errorf("%s: Config.%s = %d of %d sites, want ≤ %d", name, field, cfg.Count, sites, most)
	}
	if n := len(init); n != 0 && n != sites && n != cfg.Count*sites {
		return nil, fmt.Errorf("%s: len(Config.Init) = %d, want %d (one state) or %d (one per chain)", name, n, sites, cfg.Count*sites)
	}
	c := &Runner[S]{
		cfg: cfg, observe: observe, system: system, sites: sites,
		size: size,
	}
	c.cfg.Init, c.cfg.Observe = nil, nil
	c.life = session.Session{Who: name, Checkpoint: cfg.Checkpoint, Len: c.Len, Write: c.write, Read: c.read}
	if err := c.make(ctx); err != nil {
		return nil, err
	}
	if len(init) == 0 {
		return c, c.start()
	}
	for at := 0; at < len(c.x); at += len(init) {
		copy(c.x[at:], init)
	}
	return c, nil
}

// make makes states, streams and kernels.
func (c *Runner[S]) make(ctx context.Context) error {
	n := c.cfg.Count
	c.x, c.streams, c.info = make([]S, n*c.sites), make([]Stream, n), make([]Info, n)
	for i := range c.streams {
		c.streams[i].generator = c.cfg.Generator
		c.streams[i].Seed(c.cfg.Seed, uint64(c.cfg.First+i))
	}
	return c.newKernels(ctx, c.system)
}

// newKernels makes blocks with new kernels.
func (c *Runner[S]) newKernels(ctx context.Context, system System[S]) error {
	blocks := make([]block[S], 0, (c.cfg.Count-1)/c.size+1)
	for first := 0; first < c.cfg.Count; first += c.size {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		b := block[S]{first: first, chains: min(c.size, c.cfg.Count-first)}
		var err error
		if b.kernel, err = system.Kernel(ctx, b.chains); err != nil {
			return err
		}
		blocks = append(blocks, b)
	}
	c.blocks = blocks
	return nil
}

// start sets every chain to its initial state from the system.
func (c *Runner[S]) start() error {
	for i := range c.blocks {
		b := &c.blocks[i]
		if err := c.system.Start(c.states(b), c.streams[b.first:b.first+b.chains], b.kernel); err != nil {
			return err
		}
	}
	return nil
}

// states returns the states of a block.
func (c *Runner[S]) states(b *block[S]) []S { return c.x[b.first*c.sites : (b.first+b.chains)*c.sites] }

// share returns the number of goroutines that each block may use in a step.
func (c *Runner[S]) share() int { return max(1, c.cfg.Workers/len(c.blocks)) }

// SetStates replaces the states of all chains (chains × sites) by a copy of x and notifies the
// kernels, as Reset does. If x has the wrong length or a value out of range, or while another call
// is under way, it returns an error and changes nothing; other errors are those of Reset.
func (c *Runner[S]) SetStates(x []S) error {
	if len(x) != len(c.x) {
		return fmt.Errorf("%s: SetStates: len(x) = %d, want %d (%d chains of %d sites)", c.system.Name(), len(x), len(c.x), c.cfg.Count, c.sites)
	}
	if err := c.system.Check(x, c.cfg.First); err != nil {
		return fmt.Errorf("%s: SetStates: %w", c.system.Name(), err)
	}
	return c.change("SetStates", func() error {
		copy(c.x, x)
		c.forget()
		return c.reset()
	})
}

// Reset notifies the kernels that the target or the states have changed. States, random streams and
// step sizes stay. An earlier failure is forgotten, and draws that some chains missed because of
// the failure count as made. If a level is not one of the model's, or a real is not finite, the
// error names its site and chain; if a state has probability zero, it is a *[StartError]. Run
// refuses to begin until such states are replaced. While another call is under way Reset returns an
// error and changes nothing.
func (c *Runner[S]) Reset() error { return c.change("Reset", c.restart) }

// change runs a call that changes the states or the target from which the chains continue.
func (c *Runner[S]) change(call string, do func() error) error {
	if err := c.life.Begin(context.Background(), call, 0); err != nil {
		return err
	}
	defer c.life.End()
	return do()
}

// restart is Reset for use within a call.
func (c *Runner[S]) restart() error {
	c.ready = false
	c.forget()
	if err := c.system.Check(c.x, c.cfg.First); err != nil {
		c.err = fmt.Errorf("%s: Reset: %w", c.system.Name(), err)
		return c.err
	}
	return c.reset()
}

// forget discards a Reset that was stopped.
func (c *Runner[S]) forget() {
	for i := range c.blocks {
		c.blocks[i].reset = false
	}
}

// reset is Reset without a check of the states; it resets only kernels that prepare has not already
// Reset.
func (c *Runner[S]) reset() error {
	c.ready, c.err = false, nil
	failed := c.failed()
	_, last := c.span()
	for i := range c.blocks {
		b := &c.blocks[i]
		if failed && b.steps < last {
			b.steps, b.missed = last, true
		}
		fresh := b.reset
		b.err, b.torn, b.reset = nil, false, false
		if fresh {
			continue
		}
		if c.err = c.resetBlock(b, nil); c.err != nil {
			return c.err
		}
	}
	c.kept = max(c.kept, c.drawsMade())
	c.ready = true
	return nil
}

// prepare is Reset at the beginning of a run. If stop returns true, the chains are not ready, and
// the next run continues the Reset.
func (c *Runner[S]) prepare(stop func() bool) error {
	for i := range c.blocks {
		b := &c.blocks[i]
		if b.reset || b.err != nil {
			continue
		}
		if err := c.system.Check(c.states(b), c.cfg.First+b.first); err != nil {
			c.err = fmt.Errorf("%s: Reset: %w", c.system.Name(), err)
			return c.err
		}
		err := c.resetBlock(b, stop)
		if errors.Is(err, ErrStopped) && stop() {
			return nil
		}
		if err != nil {
			c.err = err
			return err
		}
		b.reset = true
		if i+1 < len(c.blocks) && stop() {
			return nil
		}
	}
	return c.reset()
}

// resetBlock resets a kernel to the states of its chains.
func (c *Runner[S]) resetBlock(b *block[S], stop func() bool) error {
	return named(b.kernel.Reset(Control{Stop: stop, Workers: c.share()}, c.states(b)), c.cfg.First+b.first)
}

// mend resets the kernels of blocks that a panic left in the middle of a step.
func (c *Runner[S]) mend() error {
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.torn {
			continue
		}
		if c.err = c.resetBlock(b, nil); c.err != nil {
			return c.err
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

// failure returns the error with the earliest step and, among these, the lowest chain.
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

// failed reports whether some chain cannot continue.
func (c *Runner[S]) failed() bool { return c.failure() != nil }

// drawsMade returns the number of draws that every chain has made.
func (c *Runner[S]) drawsMade() int {
	steps, _ := c.span()
	return max(0, (steps-c.cfg.Warmup)/c.cfg.Thin)
}

// settings returns the settings on which a checkpoint must agree.
func (c *Runner[S]) settings() *fingerprint.List {
	l := &fingerprint.List{Sites: c.sites}
	if t, ok := any(c.system).(*tokens); ok {
		l.Levels = t.levels
	}
	l.Add("Config.Chains", c.cfg.Chains)
	l.Add("Config.First", c.cfg.First)
	l.Add("Config.Count", c.cfg.Count)
	l.Add("chains of a block", c.size)
	l.Add("Config.Warmup", c.cfg.Warmup)
	l.Add("Config.Thin", c.cfg.Thin)
	l.Add("sites", c.sites)
	if g := c.cfg.Generator; g != Philox4x32 { // which is that of checkpoints that name none
		l.Add("Config.Generator", g.String())
	}
	c.system.Settings(l.Add)
	return l
}

// Err returns the error of the last Run or Draws, or nil if it completed.
func (c *Runner[S]) Err() error { return c.err }

// States returns the current states, chains × sites. The slice is the runner's
// own: later runs overwrite it. After writing to it, call Reset.
func (c *Runner[S]) States() []S { return c.x }

// Energy stores the energies of the states x under the chains' present target: e has one entry per
// state.
func (c *Runner[S]) Energy(e []float64, x []S) { c.system.Energy(e, x) }

// Info returns what the kernels reported about each chain's last step. The slice is the runner's
// own. Checkpoints do not save it: after a Load and until the next step, Info describes the loaded
// states, without moves.
func (c *Runner[S]) Info() []Info { return c.info }

// Len returns the number of draws made.
func (c *Runner[S]) Len() int { return c.kept }

// Kernels returns the kernels, one per block of consecutive chains, see [Config.Block]. The kernels
// are the runner's own: read their settings and reports, but do not move them.
func (c *Runner[S]) Kernels() []Transition[S] {
	kernels := make([]Transition[S], len(c.blocks))
	for i := range c.blocks {
		kernels[i] = c.blocks[i].kernel
	}
	return kernels
}

// StepSizes returns the step size of each block's kernel, or nil if the kernels have none.
func (c *Runner[S]) StepSizes() []float64 {
	var sizes []float64
	for i := range c.blocks {
		if k, ok := As[Tuned](c.blocks[i].kernel); ok && k.StepSize() > 0 {
			sizes = append(sizes, k.StepSize())
		}
	}
	return sizes
}

// Warnings returns the warnings of kernels about their own settings, such as a step size that
// warm-up moved to its bound. Each sentence appears once, with the number of chains it applies to
// and the first of them. The result is nil if there are no warnings.
func (c *Runner[S]) Warnings() []string {
	var sentences []string
	first, chains := map[string]int{}, map[string]int{}
	for i, kernel := range c.Kernels() {
		k, ok := As[Warner](kernel)
		if !ok || k.Warning() == "" {
			continue
		}
		w := k.Warning()
		if chains[w] == 0 {
			first[w] = c.cfg.First + c.blocks[i].first
			sentences = append(sentences, w)
		}
		chains[w] += c.blocks[i].chains
	}
	for i, w := range sentences {
		sentences[i] = fmt.Sprintf("chain %d, %d in all: %s", first[w], chains[w], w)
	}
	return sentences
}

// Stats returns the statistics of all chains since the last warm-up. Retarget does not reset them.
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
