package sampler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// maxEntries is the maximum of chains × sites; it keeps the sizes of all slices within an int.
const maxEntries = min(math.MaxInt/16, 1<<40)

// Runner runs Markov chains. [Chains] is a Runner for states of integer levels, and langevin.Chains
// is one for states of real numbers. The methods of a Runner must not be called concurrently with
// each other.
type Runner[S energy.Site] struct {
	cfg     Config // settings of the run; Init and Observe are nil, because their types depend on S
	observe func(chain, draw int, x []S, info *Info)
	system  System[S]
	sites   int
	size    int // number of chains per block
	x       []S // states, chains × sites
	streams []Stream
	info    []Info
	blocks  []block[S]
	draws   *drawfile.Writer
	pages   sync.Pool // holds *drawfile.Page values for reuse
	kept    int       // number of draws made
	ready   bool      // all kernels have been Reset to the current states
	warm    int       // length of the unfinished warm-up begun by Warm; 0 means none
	life    session.Session
	err     error
}

// NewRunner returns a runner for the chains of the given system. The argument init holds one
// initial state per chain, or one for all chains. If it is empty, the Start method of the system
// draws them. The function observe is called after every draw, unless it is nil. The fields Init
// and Observe of cfg are ignored.
//
// NewRunner returns an error if a Config field or an initial state is out of range. It also returns
// the errors of the system's methods.
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

// make allocates states and streams, seeds the streams, and builds the kernels.
func (c *Runner[S]) make(ctx context.Context) error {
	n := c.cfg.Count
	c.x, c.streams, c.info = make([]S, n*c.sites), make([]Stream, n), make([]Info, n)
	for i := range c.streams {
		c.streams[i].generator = c.cfg.Generator
		c.streams[i].Seed(c.cfg.Seed, uint64(c.cfg.First+i))
	}
	return c.newKernels(ctx, c.system)
}

// newKernels replaces the blocks by blocks with new kernels.
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

// start draws the initial state of every chain with the Start method of the system.
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

// SetStates replaces the states of all chains by a copy of x (chains × sites) and resets the
// kernels. It returns an error and changes nothing if x has the wrong length or a value out of
// range, or if another call is under way. It can also return the errors of Reset.
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

// Reset makes the kernels read the target and the states again. Call it after changing either.
// States, random streams and step sizes are kept. Reset also clears an earlier failure. Draws that
// a chain missed because of the failure are counted as made.
//
// If a level is out of range, or a real is not finite, the error names the site and the chain. If a
// state has probability zero, the error is a *[StartError], and Run fails until the state is
// replaced. While another call is under way, Reset returns an error and changes nothing.
func (c *Runner[S]) Reset() error { return c.change("Reset", c.restart) }

// change runs do, a call that changes the states or the target, unless another call is under way.
func (c *Runner[S]) change(call string, do func() error) error {
	if err := c.life.Begin(context.Background(), call, 0); err != nil {
		return err
	}
	defer c.life.End()
	return do()
}

// restart does the work of Reset within a call that already excludes others.
func (c *Runner[S]) restart() error {
	c.ready = false
	c.forget()
	if err := c.system.Check(c.x, c.cfg.First); err != nil {
		c.err = fmt.Errorf("%s: Reset: %w", c.system.Name(), err)
		return c.err
	}
	return c.reset()
}

// forget clears the marks of kernels that an interrupted prepare has already Reset.
func (c *Runner[S]) forget() {
	for i := range c.blocks {
		c.blocks[i].reset = false
	}
}

// reset resets the kernels without checking the states. It skips kernels that prepare has already
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
	c.count()
	c.ready = true
	return nil
}

// prepare resets the kernels at the beginning of a run. If stop returns true, prepare returns nil
// with c.ready false, and the next run continues where it stopped.
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

// span returns the smallest and the largest number of steps that a block has made.
func (c *Runner[S]) span() (least, most int) {
	least = c.blocks[0].steps
	for i := range c.blocks {
		least, most = min(least, c.blocks[i].steps), max(most, c.blocks[i].steps)
	}
	return least, most
}

// failure returns the error of the failed block that has made the fewest steps, or nil. Ties go
// to the lowest chain.
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

// settings returns the settings that must equal those of a checkpoint.
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
	// checkpoints without this setting are from Philox4x32
	if g := c.cfg.Generator; g != Philox4x32 {
		l.Add("Config.Generator", g.String())
	}
	c.system.Settings(l.Add)
	return l
}

// Err returns the error of the last Run or Draws, or nil if it succeeded.
func (c *Runner[S]) Err() error { return c.err }

// States returns the current states, chains × sites. The slice is shared with the runner, and later
// runs overwrite it. If you write to it, call Reset afterwards.
func (c *Runner[S]) States() []S { return c.x }

// Energy stores in e the energies of the given states x under the current target, one per state.
func (c *Runner[S]) Energy(e []float64, x []S) { c.system.Energy(e, x) }

// Info returns, for each chain, the kernel's report on the last step. The slice is shared with the
// runner; do not modify it. Checkpoints do not save the reports: after a Load and until the next
// step, they hold the energies of the loaded states and report no moves.
func (c *Runner[S]) Info() []Info { return c.info }

// Len returns the number of draws that each chain has made.
func (c *Runner[S]) Len() int { return c.kept }

// Kernels returns the kernels, one per block of consecutive chains (see [Config.Block]). They are
// shared with the runner: read their settings and reports, but do not call Step or Reset.
func (c *Runner[S]) Kernels() []Transition[S] {
	kernels := make([]Transition[S], len(c.blocks))
	for i := range c.blocks {
		kernels[i] = c.blocks[i].kernel
	}
	return kernels
}

// StepSizes returns the current step size of each block's kernel, or nil if the kernels have no
// step size.
func (c *Runner[S]) StepSizes() []float64 {
	var sizes []float64
	for i := range c.blocks {
		if k, ok := As[Tuned](c.blocks[i].kernel); ok && k.StepSize() > 0 {
			sizes = append(sizes, k.StepSize())
		}
	}
	return sizes
}

// Warnings returns the kernels' warnings about their own settings, such as a step size that warm-up
// moved to its bound. It returns nil if there are none. A warning that several chains share is
// listed once. The entry names the first of these chains and states their number.
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

// Stats returns the statistics of all chains since the last warm-up. Retarget does not clear them.
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

// magic begins a checkpoint. A checkpoint consists of a frame of settings, a frame for an
// unfinished Warm, one frame for every block of chains, and an end frame; see [session.Frames].
// The frame of a block holds its steps, statistics, states, energies, streams and the output of
// its kernel's AppendBinary. Only one block at a time is held in memory.
const magic = "gibbsite chains 4\n"

func (c *Runner[S]) frames() *session.Frames {
	limit := max(8*(1+len(c.blocks)), c.blockLimit())
	return &session.Frames{Magic: magic, Settings: c.settings(), Count: 1 + len(c.blocks), Limit: limit, Frame: c.frame}
}

// blockLimit returns the maximum size in bytes of a block in a checkpoint, so that a damaged
// length does not cause a large allocation. It is the size of the first block at present plus 1
// MiB for data that kernels accumulate.
func (c *Runner[S]) blockLimit() int {
	b := &c.blocks[0]
	state, err := b.kernel.AppendBinary(nil)
	if err != nil {
		return math.MaxInt32
	}
	return blockHead + b.chains*(c.sites*4+8+streamSize(c.cfg.Generator)) + len(state) + 1<<20
}

const blockHead = 5 * 8 // bytes before the states of a block: five 64-bit numbers

// frame reads or writes frame i of a checkpoint: the warm-up of Warm for 0, block i−1 otherwise.
func (c *Runner[S]) frame(f *wire.Fields, i int) {
	if i > 0 {
		c.block(f, &c.blocks[i-1])
		return
	}
	if !f.Reading() && !c.warming() {
		c.warm = 0
	}
	f.Counts("steps of a warm-up", &c.warm)
	for i := range c.blocks {
		if c.warm > 0 {
			f.Int("steps of a block in a warm-up", &c.blocks[i].warm, 0, c.warm)
		}
	}
}

// block reads or writes a block of a checkpoint.
func (c *Runner[S]) block(f *wire.Fields, b *block[S]) {
	first := c.cfg.First + b.first
	x, streams := c.states(b), c.streams[b.first:b.first+b.chains]
	f.Counts("a count of steps", &b.steps, &b.stats.Steps, &b.stats.Invalid)
	f.Float64(&b.stats.Accept)
	f.Float64(&b.stats.Moved)
	switch x := any(x).(type) {
	case []int32:
		f.Int32s(x)
	case []float32:
		f.Float32s(x)
	}
	if f.Reading() {
		f.Fail(c.system.Check(x, first))
	}
	// Energies are computed from the current states, because the kernels' last reports may be
	// older than a Reset.
	e, energies := make([]float64, b.chains), make([]float64, b.chains)
	if _, err := f.Rest(); err == nil {
		c.system.Energy(energies, x)
	}
	copy(e, energies)
	f.Float64s(e)
	for s := range streams {
		f.Binary(&streams[s], streamSize(c.cfg.Generator))
		if streams[s].seed != streams[0].seed || streams[s].chain != uint64(first+s) {
			f.Fail(fmt.Errorf("the random stream of chain %d is that of seed %d, chain %d", first+s, streams[s].seed, streams[s].chain))
		}
	}
	if f.Reading() {
		for s := range e {
			c.info[b.first+s].Energy = e[s]
		}
		// Different energies show that the target is another one of the same shape.
		if err := fingerprint.Energies("energies of the states", e, energies, 1); err != nil {
			f.Fail(fmt.Errorf("not the same model: chain %d and on: %w", first, err))
		}
	}
	if f.Reading() {
		// Reset makes the kernel refuse states from which it cannot start. The checkpoint then
		// overwrites the caches that Reset computed.
		f.Fail(c.resetBlock(b, nil))
	}
	f.Binary(b.kernel, -1)
}

func (c *Runner[S]) write(w io.Writer) error {
	if err := c.failure(); err != nil {
		return fmt.Errorf("a chain has failed: %w", err)
	}
	if !c.ready {
		if err := c.restart(); err != nil {
			return err
		}
	}
	if err := c.mend(); err != nil {
		return err
	}
	if err := c.onDraws((*drawfile.Writer).Sync); err != nil { // a checkpoint must not count more draws than are on disk
		return err
	}
	return c.frames().Write(w, nil)
}

func (c *Runner[S]) read(ctx context.Context, r io.Reader) error {
	n := &Runner[S]{cfg: c.cfg, system: c.system, sites: c.sites, size: c.size}
	f := c.frames()
	f.Frame = func(f *wire.Fields, i int) {
		if i == 0 { // the settings have been compared and are equal
			f.Fail(n.make(ctx))
		}
		if f.Reading() {
			n.frame(f, i)
		}
	}
	if err := f.Read(ctx, r, nil); err != nil {
		return err
	}
	c.x, c.streams, c.info, c.blocks, c.warm = n.x, n.streams, n.info, n.blocks, n.warm
	c.draws = nil
	c.kept = c.drawsMade()
	c.ready, c.err = true, nil
	return nil
}

// Save writes a checkpoint to w. A run that continues after Load gets the same bits as if it had
// not stopped. Observers are not saved; a diagnose.Trace can be saved by its own AppendBinary. Save
// needs memory for one more block of chains.
func (c *Runner[S]) Save(w io.Writer) error { return c.life.Save(w) }

// Load restores a checkpoint into chains that were built with the same model, method and Config.
// Only Seed, Init, Workers, Observe and Progress may differ. If another setting differs, the error
// names the first one; see [Method] for how settings are compared.
//
// Load also returns an error if a saved energy differs from the model's, or if a chain cannot start
// from its saved state. It stops if ctx ends. On an error the chains are unchanged. Load reads no
// more of r than the checkpoint.
func (c *Runner[S]) Load(ctx context.Context, r io.Reader) error { return c.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. At any moment either the new
// checkpoint or the previous one is intact on disk. SaveFile first writes and checks path.tmp. It
// then renames an existing path to path.old, and path.tmp to path.
func (c *Runner[S]) SaveFile(path string) error { return c.life.SaveFile(path) }

// LoadFile restores a checkpoint that SaveFile saved; see Load. If the file is missing or damaged,
// LoadFile restores the previous checkpoint, path.old. Call Len to see how many draws the restored
// checkpoint has. If the settings in the file differ, LoadFile returns an error.
func (c *Runner[S]) LoadFile(ctx context.Context, path string) error {
	return c.life.LoadFile(ctx, path)
}

// openDraws opens the file of Config.DrawsFile for a Run.
func (c *Runner[S]) openDraws() error {
	if c.cfg.DrawsFile == "" {
		return nil
	}
	if err := c.drawsTo(); err != nil {
		return fmt.Errorf("%s: Config.DrawsFile: %s: %w", c.system.Name(), c.cfg.DrawsFile, err)
	}
	return nil
}

func (c *Runner[S]) drawsTo() error {
	w := c.draws
	if w == nil {
		settings := c.settings()
		settings.Add("Config.Seed", c.streams[0].seed)
		head := drawfile.Head{Kind: drawfile.Tokens, Sites: c.sites, First: c.cfg.First, Count: c.cfg.Count, Block: c.size, Settings: settings}
		if t, ok := any(c.system).(*tokens); ok {
			head.Levels = t.levels
		}
		if _, ok := any(c.x).([]float32); ok {
			head.Kind = drawfile.Reals
		}
		w = drawfile.NewWriter(c.cfg.DrawsFile, head)
	}
	if err := w.Open(); err != nil {
		return err
	}
	for i := range c.blocks {
		b := &c.blocks[i]
		made := (b.steps - c.cfg.Warmup) / c.cfg.Thin
		if b.missed && w.Have(i) < made {
			if err := w.Skip(i, made); err != nil {
				return errors.Join(err, w.Close())
			}
		}
		if b.missed = false; w.Have(i) < made {
			_ = w.Close()
			return fmt.Errorf("the file has %d draws of chain %d, which has made %d: want a checkpoint that is no newer than the file", w.Have(i), c.cfg.First+b.first, made)
		}
	}
	c.draws = w
	return nil
}

// onDraws calls a method of the draws file, if there is one. Close and Sync flush the draws so far to
// disk, and Err returns the error of writing a draw.
func (c *Runner[S]) onDraws(do func(*drawfile.Writer) error) error {
	if c.draws == nil {
		return nil
	}
	err := do(c.draws)
	if err != nil {
		err = fmt.Errorf("%s: Config.DrawsFile: %w", c.system.Name(), err)
	}
	return err
}

// closeDraws flushes the draws of a Run to disk and closes the file.
func (c *Runner[S]) closeDraws() error { return c.onDraws((*drawfile.Writer).Close) }

// page returns an empty page for the draws of a block, or nil if there is no draws file.
func (c *Runner[S]) page(b *block[S]) *drawfile.Page {
	if c.draws == nil {
		return nil
	}
	p, ok := c.pages.Get().(*drawfile.Page)
	if !ok {
		p = &drawfile.Page{}
	}
	p.Begin(b.first / c.size)
	return p
}

// note writes one draw of a block to a page, and appends a full page to the draws file.
func (c *Runner[S]) note(page *drawfile.Page, draw int, p place[S]) {
	drawfile.States(c.draws, page, draw, p.x)
	for i := range p.info {
		in := &p.info[i]
		page.Info(in.Energy, in.Accept, in.Moved, in.Invalid)
	}
	if page.Full() {
		c.draws.Append(page)
	}
}

// file appends a page to the draws file and returns it to the pool.
func (c *Runner[S]) file(page *drawfile.Page) {
	if page != nil {
		c.draws.Append(page)
		c.pages.Put(page)
	}
}

// Blocks advance in rounds, so that observers and progress see all chains at about the same step.
const (
	// roundTime is the target duration of a round of steps. It bounds the work left after the
	// context ends.
	roundTime = 16 * time.Millisecond

	// maxRound is the maximum number of steps in a round.
	maxRound = 1 << 15
)

// After the context has ended, blocks are brought to the same step if that takes at most levelWork
// site updates and levelLooks calls of Control.Stop, which is a few dozen milliseconds.
// TestCancellationIsBounded checks this.
const (
	levelWork = 1 << 19
	// maximum number of calls of Control.Stop for states of up to levelWork/16 sites; fewer for
	// larger states, none for states of more than levelWork sites
	levelLooks = 16
)

// stepsAfter returns the number of steps after which every chain has made n more draws. If that
// overflows an int, it returns math.MaxInt, which a run reaches only if its context does not end.
func (c *Runner[S]) stepsAfter(n int) int {
	most := (math.MaxInt - c.cfg.Warmup) / c.cfg.Thin
	if kept := min(c.kept, most); n <= most-kept {
		return c.cfg.Warmup + (kept+n)*c.cfg.Thin
	}
	return math.MaxInt
}

// advance moves all blocks to step target and finishes the warm-up of Warm. It resets kernels
// first if needed.
func (c *Runner[S]) advance(ctx context.Context, target int) error {
	if c.err != nil && ctx.Err() == nil && c.failed() {
		return c.err
	}
	stop := func() bool { return poll.Err(ctx) != nil }
	if !c.ready {
		if err := c.prepare(stop); err != nil {
			return err
		}
		if !c.ready {
			c.err = ctx.Err()
			return c.err
		}
	}
	if err := c.mend(); err != nil {
		return err
	}
	defer c.count() // also after a panic
	begin, _ := c.span()
	round, unsure := 1, begin < c.cfg.Warmup || c.warming()
	for at := begin; at < target || c.warming(); {
		end := at + max(0, min(round, target-at))
		start := time.Now()
		if groups := c.groups(); groups != nil {
			pool.Each(c.cfg.Workers, len(groups), func(i int) {
				c.move(ctx, c.blocks[groups[i].first:groups[i].end], true, end, stop)
			})
		} else {
			pool.Each(c.cfg.Workers, len(c.blocks), func(i int) { c.move(ctx, c.blocks[i:i+1], false, end, stop) })
		}
		if ctx.Err() != nil {
			c.level()
		}
		at, _ = c.span()
		c.count()
		if c.err = errors.Join(c.failure(), c.onDraws((*drawfile.Writer).Err)); c.err != nil {
			return c.err
		}
		if end := at >= c.cfg.Warmup && !c.warming(); unsure && (end || round == 1) && ctx.Err() == nil {
			if c.err = c.claims(ctx, at); c.err != nil {
				return c.err
			}
			unsure = !end
		}
		if c.cfg.Progress != nil && target > begin {
			c.cfg.Progress(at-begin, target-begin)
		}
		if c.err = ctx.Err(); c.err != nil && (at < target || c.warming()) {
			return c.err
		}
		if c.err = c.life.Keep(); c.err != nil {
			return c.err
		}
		switch took := time.Since(start); {
		case took < roundTime/2:
			round = min(2*round, maxRound)
		case took > 2*roundTime:
			round = max(round/2, 1)
		}
	}
	c.err, c.warm = nil, 0
	for i := range c.blocks {
		c.blocks[i].warm = 0
	}
	return nil
}

// count updates the number of draws that every chain has made.
func (c *Runner[S]) count() { c.kept = max(c.kept, c.drawsMade()) }

// claims tests the system's optional methods, such as fields, against its energies, at the states
// of a few chains. It runs at the end of the first and the last round of a warm-up.
func (c *Runner[S]) claims(ctx context.Context, step int) (err error) {
	s, ok := c.system.(claimant[S])
	if !ok {
		return nil
	}
	pool.Each(1, 1, func(int) { // pool.Each turns a panic into an error with a stack
		chains := min(claimed, c.cfg.Count)
		for k := range claimed * claimed {
			if poll.Err(ctx) != nil {
				return
			}
			chain := k % chains * (c.cfg.Count - 1) / max(1, chains-1)
			if why := s.claims(ctx, c.x[chain*c.sites:(chain+1)*c.sites], uint64(step*claimed*claimed+k)); why != nil {
				err = fmt.Errorf("%s: %s: warm-up, chain %d, step %d: %w", c.system.Name(), c.system, c.cfg.First+chain, step, why)
				return
			}
		}
	})
	return err
}

// claimed is the number of chains whose states claims tests, and the number of tests per chain.
const claimed = 3

// claimant is a system that can test the optional methods of its target against energies.
type claimant[S energy.Site] interface {
	claims(ctx context.Context, x []S, seed uint64) error
}

// warming reports whether some block has yet to finish the warm-up begun by Warm.
func (c *Runner[S]) warming() bool {
	if c.warm == 0 {
		return false
	}
	for i := range c.blocks {
		if b := &c.blocks[i]; b.warm < c.warm {
			return true
		}
	}
	return false
}

// level brings all blocks to the step of the most advanced one, if that takes little work. It
// runs after a context ended in the middle of a round.
func (c *Runner[S]) level() {
	_, end := c.span()
	work, looks := 0, int64(0)
	for i := range c.blocks {
		b := &c.blocks[i]
		if !b.asks {
			work += (end - b.steps) * b.chains * c.sites
		}
		if work > levelWork {
			return
		}
	}
	most := min(levelLooks, int64(levelWork/c.sites))
	if most == 0 || c.warming() {
		return
	}
	stop := func() bool { return atomic.AddInt64(&looks, 1) > most }
	pool.Each(c.cfg.Workers, len(c.blocks), func(i int) { c.move(context.Background(), c.blocks[i:i+1], false, end, stop) })
}

// Run makes n draws per chain, Config.Thin steps apart, and calls the observer with each draw. The
// first Run makes the warm-up steps before it draws. To draw until ctx ends, let n be math.MaxInt.
//
// If ctx ends, Run returns the error of ctx. The states are valid, and a later Run continues from
// there. The later Run first moves the chains that are some steps behind the others.
//
// If a chain cannot continue, Run returns an error that names the chain and the step. Call Reset
// before the next Run. It is an error to call Run while another Run is under way.
//
// If the code of a model, method or observer panics, Run panics in the goroutine that called it.
// The panic value is an error that reports the original value and its stack. If the original value
// is an error, it is wrapped. A later Run continues from the states at that point.
func (c *Runner[S]) Run(ctx context.Context, n int) error {
	if err := c.life.Begin(ctx, "Run", n); err != nil {
		return err
	}
	defer c.life.End()
	defer c.closeDraws() // also after a panic
	if c.err = c.life.Hold("Run"); c.err != nil {
		return c.err
	}
	if c.err = c.openDraws(); c.err == nil {
		c.err = c.finish(ctx, c.advance(ctx, c.stepsAfter(n)))
	}
	return c.err
}

// finish saves the checkpoint file if the chains can continue, and closes the draws file. It
// returns err joined with any errors of saving and closing.
func (c *Runner[S]) finish(ctx context.Context, err error) error {
	if c.ready && !c.failed() {
		err = c.life.Finish(ctx, err)
	}
	if file := c.closeDraws(); file != nil {
		err = errors.Join(err, file)
	}
	return err
}

// Warm makes n steps of warm-up, in which the kernels tune themselves anew. Call it after Retarget,
// which builds untuned kernels. The steps are not counted, and observers do not see them. Stats
// begins again at zero.
//
// If ctx ends, Warm returns the error of ctx. The next Run or Draws then finishes the warm-up.
// Another Warm starts a new one, and Load discards it. Other errors and panics are as for Run.
func (c *Runner[S]) Warm(ctx context.Context, n int) error {
	if err := c.life.Begin(ctx, "Warm", n); err != nil {
		return err
	}
	defer c.life.End()
	c.warm = n
	for i := range c.blocks {
		c.blocks[i].warm, c.blocks[i].stats = 0, Stats{}
	}
	at, _ := c.span()
	return c.advance(ctx, at)
}

// Draws returns an iterator that makes n draws and yields the states of all chains (chains × sites)
// after each draw. The yielded slice is shared with the runner: it must not be modified, and the
// next draw overwrites it. On an error the loop ends early, and Err returns the error.
func (c *Runner[S]) Draws(ctx context.Context, n int) iter.Seq[[]S] {
	return func(yield func([]S) bool) {
		if c.err = c.life.Begin(ctx, "Draws", n); c.err != nil {
			return
		}
		c.life.End()
		if c.err = c.life.Lock("Draws"); c.err != nil {
			return
		}
		defer c.life.Unlock()
		defer c.closeDraws() // also after a panic
		if c.err = c.openDraws(); c.err != nil {
			return
		}
		for range n {
			if c.draw(ctx) != nil || !yield(c.x) {
				break
			}
		}
		c.err = c.finish(ctx, c.err)
	}
}

// draw makes one draw per chain without saving a checkpoint at the end.
func (c *Runner[S]) draw(ctx context.Context) error {
	if c.err = c.life.Begin(ctx, "Draws", 1); c.err != nil {
		return c.err
	}
	defer c.life.End()
	return c.advance(ctx, c.stepsAfter(1))
}
