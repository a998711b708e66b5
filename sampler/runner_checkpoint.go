package sampler

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint consists of a frame with the settings of the run, one with the unfinished warm-up of
// Warm, if any, one for every block of chains and one for the end, see [session.Frames]. A block
// holds steps, statistics, states, energies, streams and what its kernel wrote. Nothing larger than
// a block is held in memory.
const magic = "gibbsite chains 4\n"

func (c *Runner[S]) frames() *session.Frames {
	limit := max(8*(1+len(c.blocks)), c.blockLimit())
	return &session.Frames{Magic: magic, Settings: c.settings(), Count: 1 + len(c.blocks), Limit: limit, Frame: c.frame}
}

// blockLimit bounds the size of a block in a checkpoint, so that a damaged length does not become
// an allocation. It is the size of a save at present plus space for what kernels accumulate.
func (c *Runner[S]) blockLimit() int {
	b := &c.blocks[0]
	state, err := b.kernel.AppendBinary(nil)
	if err != nil {
		return math.MaxInt32
	}
	return blockHead + b.chains*(c.sites*4+8+streamSize(c.cfg.Generator)) + len(state) + 1<<20
}

const blockHead = 5 * 8 // bytes ahead of the states of a block

// frame reads or writes frame i.
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

// block reads or writes a block.
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
	// The energies of the states as they are: what kernels reported last may be
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
		// Other energies than those of the target are the mark of another one of the same
		// shape.
		if err := fingerprint.Energies("energies of the states", e, energies, 1); err != nil {
			f.Fail(fmt.Errorf("not the same model: chain %d and on: %w", first, err))
		}
	}
	if f.Reading() {
		// A kernel refuses states that it cannot start from; what Reset finds out is
		// then replaced by what the checkpoint says.
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
	if err := c.syncDraws(); err != nil { // a checkpoint must not know of more draws than the disk
		return err
	}
	return c.frames().Write(w, nil)
}

func (c *Runner[S]) read(ctx context.Context, r io.Reader) error {
	n := &Runner[S]{cfg: c.cfg, system: c.system, sites: c.sites, size: c.size}
	f := c.frames()
	f.Frame = func(f *wire.Fields, i int) {
		if i == 0 { // the settings are the same: kernels are worth while
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

// Save writes a checkpoint. After Load, runs continue bit for bit as if they had not stopped.
// Observers are not saved (see Trace.AppendBinary). Save needs memory for one more block of chains.
func (c *Runner[S]) Save(w io.Writer) error { return c.life.Save(w) }

// Load restores a checkpoint into chains built with the same model, method (settings included) and
// Config; Seed, Init, Workers, Observe and Progress may differ. If another setting differs, the
// error names the first such setting; see [Method] for how settings are compared. Load also refuses
// states from which no chain could start, such as those outside the method's Within, and energies
// that are not those of the model. It builds new kernels, which the end of ctx interrupts. It reads
// no more of r than the checkpoint. On an error the chains are unchanged.
func (c *Runner[S]) Load(ctx context.Context, r io.Reader) error { return c.life.Load(ctx, r) }

// SaveFile saves a checkpoint in the file path in such a way that no failure loses both the new
// checkpoint and the previous one. It writes path.tmp, syncs it and reads it back, renames an
// existing path to path.old, and then renames path.tmp to path. It needs memory for one block of
// chains.
func (c *Runner[S]) SaveFile(path string) error { return c.life.SaveFile(path) }

// LoadFile restores what SaveFile saved, as Load does. If the file path is missing or damaged, it
// restores the previous checkpoint, path.old; Len then returns the number of draws of the restored
// one. It refuses a checkpoint with other settings.
func (c *Runner[S]) LoadFile(ctx context.Context, path string) error {
	return c.life.LoadFile(ctx, path)
}
