package sampler

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame with the settings of the run, a frame for every block
// of chains and one for the end. A block holds the sum of the settings, its
// number, states, streams, energies, steps, statistics and what its kernel
// wrote. The magic of the first frame names the format version. Nothing larger
// than a block is held in memory.
const (
	magic      = "gibbsite chains 3\n"
	blockMagic = "block\n"
	endMagic   = "end\n"
)

// Save writes a checkpoint: after Load of it, runs go on to the same bits as
// if they had not stopped. Observers are not part of it (see Trace.AppendBinary).
// Beside the chains it needs memory for one block of them.
func (c *Runner[S]) Save(w io.Writer) error {
	name := c.system.Name()
	if check.Nil(w) {
		return fmt.Errorf("%s: Save: w = nil", name)
	}
	if err := c.failure(); err != nil {
		return fmt.Errorf("%s: Save: a chain has failed: %w", name, err)
	}
	if !c.ready {
		if err := c.Reset(); err != nil {
			return err
		}
	}
	if err := c.mend(); err != nil {
		return err
	}
	settings := c.fingerprint()
	if err := wire.Write(w, magic, settings.Append(nil)); err != nil {
		return fmt.Errorf("%s: Save: %w", name, err)
	}
	sum := settings.Sum()
	var body, frame []byte
	for i := range c.blocks {
		var err error
		if body, err = c.appendBlock(body[:0], i, sum); err != nil {
			return fmt.Errorf("%s: Save: %w", name, err)
		}
		frame = wire.Append(frame[:0], blockMagic, body)
		if _, err := w.Write(frame); err != nil {
			return fmt.Errorf("%s: Save: %w", name, err)
		}
	}
	if err := wire.Write(w, endMagic, c.appendEnd(nil, sum)); err != nil {
		return fmt.Errorf("%s: Save: %w", name, err)
	}
	return nil
}

// appendBlock appends what a checkpoint keeps of a block.
func (c *Runner[S]) appendBlock(body []byte, i int, sum uint64) ([]byte, error) {
	b := &c.blocks[i]
	body = wire.AppendInts(wire.AppendUint64s(body, sum), i, b.steps, b.stats.Steps, b.stats.Invalid)
	body = wire.AppendFloat64s(body, []float64{b.stats.Accept, b.stats.Moved})
	x := c.states(b)
	body = appendSites(body, x)
	// The energies of the states as they are: what kernels reported last may be
	// older than a Reset.
	energies := make([]float64, b.chains)
	c.system.Energy(energies, x)
	body = wire.AppendFloat64s(body, energies)
	for s := range b.chains {
		body, _ = c.streams[b.first+s].AppendBinary(body)
	}
	return b.kernel.AppendBinary(body)
}

// Load restores a checkpoint into chains built with the same model, method
// (settings included) and Config; Seed, Init, Workers, Observe and Progress may
// differ. The error for other settings names the first one that differs, see
// [Method] for how they are compared. Refused are also states that no chain
// could start from, such as those outside the method's Within, and energies that
// are not those of the model. Kernels are made anew, until ctx ends. Load reads no more
// than the checkpoint. On error the chains are as they were.
func (c *Runner[S]) Load(ctx context.Context, r io.Reader) error {
	if check.Nil(r) {
		return fmt.Errorf("%s: Load: r = nil", c.system.Name())
	}
	if ctx == nil {
		return fmt.Errorf("%s: Load: ctx = nil", c.system.Name())
	}
	n, err := c.restored(ctx, r)
	if err != nil {
		return fmt.Errorf("%s: Load: %w", c.system.Name(), err)
	}
	c.x, c.streams, c.info, c.blocks, c.warm = n.x, n.streams, n.info, n.blocks, n.warm
	c.draws = nil
	c.kept = c.drawsMade()
	c.filed = c.kept
	c.ready, c.err = true, nil
	return nil
}

// restored reads chains like c from a checkpoint.
func (c *Runner[S]) restored(ctx context.Context, r io.Reader) (*Runner[S], error) {
	sum, err := durable.ReadSettings(r, magic, c.fingerprint())
	if err != nil {
		return nil, err
	}
	n := &Runner[S]{cfg: c.cfg, system: c.system, sites: c.sites, size: c.size}
	if err := n.make(ctx); err != nil {
		return nil, err
	}
	var body []byte
	for i := range n.blocks {
		if body, err = wire.Read(r, blockMagic, n.blockLimit(i)); err == nil {
			err = n.readBlock(body, i, sum)
		}
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
	}
	if body, err = wire.Read(r, endMagic, uint64(8*(2+len(n.blocks)))); err != nil {
		return nil, err
	}
	return n, n.readEnd(body, sum)
}

// appendEnd appends the sum of the settings and, in the middle of a warm-up of Warm, its
// steps and how many of them each block has made.
func (c *Runner[S]) appendEnd(body []byte, sum uint64) []byte {
	body = wire.AppendUint64s(body, sum)
	if !c.warming() {
		return body
	}
	body = wire.AppendInts(body, c.warm)
	for i := range c.blocks {
		body = wire.AppendInts(body, c.blocks[i].warm)
	}
	return body
}

// readEnd reads what appendEnd wrote.
func (c *Runner[S]) readEnd(body []byte, sum uint64) error {
	var word [1]uint64
	body, err := wire.ReadUint64s(body, word[:])
	if err != nil || word[0] != sum {
		return fmt.Errorf("the end is that of another checkpoint")
	}
	if len(body) == 0 {
		return nil
	}
	if body, err = wire.ReadUint64s(body, word[:]); err != nil {
		return err
	}
	if word[0] > math.MaxInt {
		return fmt.Errorf("a warm-up of %d steps, want ≤ %d", word[0], math.MaxInt)
	}
	c.warm = int(word[0])
	for i := range c.blocks {
		if body, err = wire.ReadUint64s(body, word[:]); err != nil {
			return err
		}
		if word[0] > uint64(c.warm) {
			return fmt.Errorf("block %d is at step %d of a warm-up of %d", i, word[0], c.warm)
		}
		c.blocks[i].warm = int(word[0])
	}
	return wire.ReadEnd(body)
}

const blockHead = 7 * 8 // bytes ahead of the states of a block

// blockLimit bounds what a checkpoint can hold of a block, so that a damaged
// length does not become an allocation: a fresh save and room for what kernels
// gather.
func (c *Runner[S]) blockLimit(i int) uint64 {
	b := &c.blocks[i]
	state, err := b.kernel.AppendBinary(nil)
	if err != nil {
		return math.MaxInt32
	}
	return uint64(blockHead+b.chains*(c.sites*4+8+streamSize(c.cfg.Generator))+len(state)) + 1<<20
}

// readBlock restores a block from what appendBlock wrote.
func (c *Runner[S]) readBlock(in []byte, i int, sum uint64) error {
	b := &c.blocks[i]
	var words [5]uint64
	in, err := wire.ReadUint64s(in, words[:])
	if err != nil {
		return err
	}
	if words[0] != sum || words[1] != uint64(i) {
		return fmt.Errorf("the block is number %d of another checkpoint", words[1])
	}
	for _, w := range words[2:] {
		if w > math.MaxInt {
			return fmt.Errorf("a count of steps = %d, want ≤ %d", w, math.MaxInt)
		}
	}
	b.steps, b.stats.Steps, b.stats.Invalid = int(words[2]), int(words[3]), int(words[4])
	var sums [2]float64
	if in, err = wire.ReadFloat64s(in, sums[:]); err != nil {
		return err
	}
	b.stats.Accept, b.stats.Moved = sums[0], sums[1]
	x := c.states(b)
	if in, err = readSites(in, x); err != nil {
		return err
	}
	if err := c.system.Check(x, c.cfg.First+b.first); err != nil {
		return err
	}
	energies := make([]float64, b.chains)
	if in, err = wire.ReadFloat64s(in, energies); err != nil {
		return err
	}
	size := streamSize(c.cfg.Generator)
	if len(in) < b.chains*size {
		return wire.ErrShort
	}
	streams := c.streams[b.first : b.first+b.chains]
	for s := range streams {
		if err = streams[s].UnmarshalBinary(in[:size]); err != nil {
			return err
		}
		in = in[size:]
		if streams[s].seed != streams[0].seed || streams[s].chain != uint64(c.cfg.First+b.first+s) {
			return fmt.Errorf("the random stream of chain %d is that of seed %d, chain %d", c.cfg.First+b.first+s, streams[s].seed, streams[s].chain)
		}
		c.info[b.first+s].Energy = energies[s]
	}
	if err := c.checkTarget(b, x, energies); err != nil {
		return err
	}
	// A kernel refuses states that it cannot start from; what Reset finds out is
	// then replaced by what the checkpoint says.
	if err := c.resetBlock(b, nil); err != nil {
		return err
	}
	return b.kernel.UnmarshalBinary(in)
}

// checkTarget returns an error if the energies that the checkpoint remembers are
// not those of the target: the mark of another one of the same shape.
func (c *Runner[S]) checkTarget(b *block[S], x []S, saved []float64) error {
	energies := make([]float64, len(saved))
	c.system.Energy(energies, x)
	if err := fingerprint.Energies("energies of the states", saved, energies, 1); err != nil {
		return fmt.Errorf("not the same model: chain %d and on: %w", c.cfg.First+b.first, err)
	}
	return nil
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before: it is written to path.tmp, synced and read back, the file
// that was there becomes path.old, and the new one takes its place. It needs
// memory for one block of chains.
func (c *Runner[S]) SaveFile(path string) error {
	return durable.SaveFile(c.system.Name(), path, c)
}

// LoadFile restores what SaveFile saved, as Load does. If the file path is
// missing or damaged, it restores the generation before it, path.old; Len says
// how far that had come. A checkpoint of other settings is refused.
func (c *Runner[S]) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, c.system.Name(), path, c)
}
