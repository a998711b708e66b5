package sampler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// magic begins a checkpoint and names its format version. The body holds the
// fingerprint of the run, then states, streams and, per block, the steps, the
// statistics and what the kernel wrote.
const magic = "gibbsite chains 2\n"

// Save writes a checkpoint: after Load of it, runs go on to the same bits as
// if they had not stopped. Observers are not part of it (see Trace.AppendBinary).
func (c *Runner[S]) Save(w io.Writer) error {
	name := c.system.Name()
	if err := c.failure(); err != nil {
		return fmt.Errorf("%s: Save: a chain has failed: %w", name, err)
	}
	if !c.ready {
		if err := c.Reset(); err != nil {
			return err
		}
	}
	body := appendSites(c.header(), c.x)
	// The energies of the states as they are: what kernels reported last may be
	// older than a Reset.
	energies := make([]float64, len(c.streams))
	c.system.Energy(energies, c.x)
	for i := range c.streams {
		body, _ = c.streams[i].AppendBinary(body)
		body = wire.AppendFloat64s(body, energies[i:i+1])
	}
	for i := range c.blocks {
		b := &c.blocks[i]
		state, err := b.kernel.AppendBinary(nil)
		if err != nil {
			return fmt.Errorf("%s: Save: %w", name, err)
		}
		body = wire.AppendInts(body, b.steps, b.stats.Steps, b.stats.Invalid, len(state))
		body = wire.AppendFloat64s(body, []float64{b.stats.Accept, b.stats.Moved})
		body = append(body, state...)
	}
	if err := wire.Write(w, magic, body); err != nil {
		return fmt.Errorf("%s: Save: %w", name, err)
	}
	return nil
}

// header returns the part of a checkpoint that must agree between writer and
// reader.
func (c *Runner[S]) header() []byte {
	return c.system.Fingerprint(wire.AppendInts(nil, c.cfg.Chains, c.cfg.Warmup, c.cfg.Thin))
}

// Load restores a checkpoint into chains built with the same model, method
// (settings included) and Config; Seed, Init, Workers, Observe and Progress may
// differ. It refuses a checkpoint of another shape, method or configuration and
// one whose energies are not those of the model, and reads no more than the
// checkpoint. It cannot tell apart two functions, or two compiled languages of
// one type (a *constraint.DFA) that both hold the states. On error the chains are as they were.
func (c *Runner[S]) Load(r io.Reader) error {
	name := c.system.Name()
	body, err := wire.Read(r, magic, c.bodyLimit())
	if err != nil {
		return fmt.Errorf("%s: Load: %w", name, err)
	}
	want := c.header()
	if len(body) < len(want) || !bytes.Equal(body[:len(want)], want) {
		return fmt.Errorf("%s: Load: the checkpoint is of another shape, number of chains, Warmup, Thin, method or settings of it than these chains (%s, %d chains of %d sites, Warmup %d, Thin %d)",
			name, c.system, c.cfg.Chains, c.sites, c.cfg.Warmup, c.cfg.Thin)
	}
	n, err := c.restored(body[len(want):])
	if err != nil {
		return fmt.Errorf("%s: Load: %w", name, err)
	}
	c.x, c.streams, c.info, c.blocks = n.x, n.streams, n.info, n.blocks
	c.kept = max(0, (c.blocks[0].steps-c.cfg.Warmup)/c.cfg.Thin)
	c.ready, c.err = true, nil
	return nil
}

// bodyLimit bounds what a checkpoint of these chains can hold, so that a damaged
// length does not become an allocation: a fresh save and room for what kernels
// gather.
func (c *Runner[S]) bodyLimit() uint64 {
	n := len(c.header()) + len(c.x)*4 + len(c.streams)*(streamSize+8)
	for i := range c.blocks {
		state, err := c.blocks[i].kernel.AppendBinary(nil)
		if err != nil {
			return math.MaxInt32
		}
		n += blockHead + len(state)
	}
	return uint64(n) + 1<<16
}

// restored builds chains from the body that follows the header.
func (c *Runner[S]) restored(b []byte) (*Runner[S], error) {
	n := &Runner[S]{
		cfg: c.cfg, system: c.system, sites: c.sites,
		x: make([]S, len(c.x)), streams: make([]Stream, len(c.streams)), info: make([]Info, len(c.info)),
	}
	var err error
	if n.blocks, err = newBlocks(context.Background(), c.system, c.cfg.Chains); err != nil {
		return nil, err
	}
	if b, err = readSites(b, n.x); err != nil {
		return nil, err
	}
	if err := c.system.Check(n.x); err != nil {
		return nil, err
	}
	energies := make([]float64, 1)
	for i := range n.streams {
		if len(b) < streamSize {
			return nil, wire.ErrShort
		}
		if err = n.streams[i].UnmarshalBinary(b[:streamSize]); err != nil {
			return nil, err
		}
		if b, err = wire.ReadFloat64s(b[streamSize:], energies); err != nil {
			return nil, err
		}
		n.info[i].Energy = energies[0]
	}
	for i := range n.blocks {
		// A state outside the method's language: the checkpoint is of another.
		var start *StartError
		if errors.As(n.resetBlock(&n.blocks[i]), &start) && start.Constraint != "" {
			return nil, start
		}
		if b, err = n.blocks[i].restore(b); err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
	}
	if err = wire.ReadEnd(b); err != nil {
		return nil, err
	}
	return n, n.checkTarget()
}

const blockHead = 6 * 8 // bytes ahead of what a kernel wrote

func (b *block[S]) restore(in []byte) ([]byte, error) {
	var words [4]uint64
	var sums [2]float64
	in, err := wire.ReadUint64s(in, words[:])
	if err != nil {
		return nil, err
	}
	if in, err = wire.ReadFloat64s(in, sums[:]); err != nil {
		return nil, err
	}
	b.steps, b.stats.Steps, b.stats.Invalid = int(words[0]), int(words[1]), int(words[2])
	b.stats.Accept, b.stats.Moved = sums[0], sums[1]
	size := words[3]
	if size > uint64(len(in)) {
		return nil, wire.ErrShort
	}
	return in[size:], b.kernel.UnmarshalBinary(in[:size])
}

// checkTarget returns an error if the energies that the checkpoint remembers are
// not those of the target: the mark of another one of the same shape.
func (c *Runner[S]) checkTarget() error {
	energies := make([]float64, len(c.info))
	c.system.Energy(energies, c.x)
	for i, e := range energies {
		saved := c.info[i].Energy
		// 1e-6: far above the rounding in which matrix products differ between
		// instruction sets, far below what tells models apart.
		same := e == saved || math.IsNaN(saved) || math.Abs(e-saved) <= 1e-6*max(1, math.Abs(saved))
		if !same {
			return fmt.Errorf("chain %d has energy %v in the checkpoint and %v in this model: not the same model", i, saved, e)
		}
	}
	return nil
}

// appendSites appends states, four bytes a site.
func appendSites[S energy.Site](b []byte, x []S) []byte {
	switch x := any(x).(type) {
	case []int32:
		b = wire.AppendInt32s(b, x)
	case []float32:
		b = wire.AppendFloat32s(b, x)
	}
	return b
}

func readSites[S energy.Site](b []byte, x []S) ([]byte, error) {
	if x, ok := any(x).([]int32); ok {
		return wire.ReadInt32s(b, x)
	}
	reals, _ := any(x).([]float32)
	return wire.ReadFloat32s(b, reals)
}
