package sampler

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// The body of a checkpoint holds the shape, the configuration that results depend on, the
// name and a digest of the method, then states, streams and, per block, the
// steps, the statistics and what the kernel wrote.
const magic = "gibbsite chains 1\n"

// Save writes a checkpoint: after Load of it, runs go on to the same bits as
// if they had not stopped. Observers are not part of it (see Trace.AppendBinary).
func (c *Chains) Save(w io.Writer) error {
	if c.err != nil && c.failed() {
		return fmt.Errorf("sampler: Save: a chain has failed: %w", c.err)
	}
	if !c.ready {
		if err := c.Reset(); err != nil {
			return err
		}
	}
	body := c.header()
	body = wire.AppendInt32s(body, c.x)
	// The energies of the states as they are: what kernels reported last may be
	// older than a Reset.
	energies := make([]float64, len(c.streams))
	c.model.Energy(energies, c.x)
	for i := range c.streams {
		body, _ = c.streams[i].AppendBinary(body)
		body = wire.AppendFloat64s(body, energies[i:i+1])
	}
	for i := range c.blocks {
		b := &c.blocks[i]
		state, err := b.kernel.AppendBinary(nil)
		if err != nil {
			return fmt.Errorf("sampler: Save: %w", err)
		}
		for _, v := range []int{b.steps, b.stats.Steps, b.stats.Invalid, len(state)} {
			body = binary.LittleEndian.AppendUint64(body, uint64(v))
		}
		body = wire.AppendFloat64s(body, []float64{b.stats.Accept, b.stats.Moved})
		body = append(body, state...)
	}
	if err := wire.Write(w, magic, body); err != nil {
		return fmt.Errorf("sampler: Save: %w", err)
	}
	return nil
}

// header returns the part of a checkpoint that must agree between writer and
// reader.
func (c *Chains) header() []byte {
	var b []byte
	for _, v := range []int{c.sites, c.levels, c.cfg.Chains, c.cfg.Warmup, c.cfg.Thin} {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	name := fmt.Sprintf("%T", c.method)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(name)))
	return binary.LittleEndian.AppendUint64(append(b, name...), settings(c.method))
}

// Load restores a checkpoint into chains built with the same model, method
// (settings included) and Config; Seed, Init, Workers, Observe and Progress may
// differ. It refuses a checkpoint of another shape, method or configuration and
// one whose energies are not those of the model. On error the chains are as they
// were.
func (c *Chains) Load(r io.Reader) error {
	body, err := wire.Read(r, magic, c.bodyLimit())
	if err != nil {
		return fmt.Errorf("sampler: Load: %w", err)
	}
	want := c.header()
	if len(body) < len(want) || !bytes.Equal(body[:len(want)], want) {
		return fmt.Errorf("sampler: Load: the checkpoint is of another shape, number of chains, Warmup, Thin, method or settings of it than these chains (%T, %d chains of %d sites × %d levels, Warmup %d, Thin %d)",
			c.method, c.cfg.Chains, c.sites, c.levels, c.cfg.Warmup, c.cfg.Thin)
	}
	n, err := c.restored(body[len(want):])
	if err != nil {
		return fmt.Errorf("sampler: Load: %w", err)
	}
	c.x, c.streams, c.info, c.blocks = n.x, n.streams, n.info, n.blocks
	c.kept = max(0, (c.blocks[0].steps-c.cfg.Warmup)/c.cfg.Thin)
	c.ready, c.err = true, nil
	return nil
}

// bodyLimit bounds what a checkpoint of these chains can hold, so that a damaged
// length does not become an allocation: a fresh save and room for what kernels
// gather.
func (c *Chains) bodyLimit() uint64 {
	n := len(c.header()) + len(c.x)*4 + len(c.streams)*(streamSize+8)
	for i := range c.blocks {
		state, err := c.blocks[i].kernel.AppendBinary(nil)
		if err != nil {
			return math.MaxInt32
		}
		n += 6*8 + len(state)
	}
	return uint64(n) + 1<<16
}

// restored builds chains from the body that follows the header.
func (c *Chains) restored(b []byte) (*Chains, error) {
	n := &Chains{
		cfg: c.cfg, model: c.model, method: c.method, sites: c.sites, levels: c.levels,
		x: make([]int32, len(c.x)), streams: make([]Stream, len(c.streams)), info: make([]Info, len(c.info)),
	}
	var err error
	if n.blocks, err = n.newBlocks(); err != nil {
		return nil, err
	}
	if b, err = wire.ReadInt32s(b, n.x); err != nil {
		return nil, err
	}
	for i, l := range n.x {
		if l < 0 || int(l) >= n.levels {
			return nil, fmt.Errorf("level of site %d of chain %d = %d, want 0 … %d", i%n.sites, i/n.sites, l, n.levels-1)
		}
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
		if b, err = n.blocks[i].restore(b); err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
	}
	if err = wire.ReadEnd(b); err != nil {
		return nil, err
	}
	return n, n.checkModel()
}

func (b *block) restore(in []byte) ([]byte, error) {
	const head = 6 * 8
	if len(in) < head {
		return nil, wire.ErrShort
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(in[8*i:]) }
	b.steps, b.stats.Steps, b.stats.Invalid = int(word(0)), int(word(1)), int(word(2))
	b.stats.Accept, b.stats.Moved = math.Float64frombits(word(4)), math.Float64frombits(word(5))
	size := word(3)
	if in = in[head:]; size > uint64(len(in)) {
		return nil, wire.ErrShort
	}
	return in[size:], b.kernel.UnmarshalBinary(in[:size])
}

// checkModel returns an error if the energies that the checkpoint remembers are
// not those of the model: the mark of another model of the same shape.
func (c *Chains) checkModel() error {
	energies := make([]float64, len(c.info))
	c.model.Energy(energies, c.x)
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
