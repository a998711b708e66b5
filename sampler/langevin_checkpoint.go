package sampler

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// The body of a Langevin checkpoint holds what results depend on, then states and streams and, per
// block, steps, step size, tuner, statistics, energies and scores.
const langevinMagic = "gibbsite langevin 1\n"

// Save writes a checkpoint: after Load of it, runs go on to the same bits as
// if they had not stopped.
func (l *Langevin) Save(w io.Writer) error {
	if !l.ready {
		if err := l.Reset(); err != nil {
			return err
		}
	}
	for i := range l.blocks {
		if err := l.blocks[i].err; err != nil {
			return fmt.Errorf("sampler: Save: a chain has failed: %w", err)
		}
	}
	if err := wire.Write(w, langevinMagic, l.appendBody(l.header())); err != nil {
		return fmt.Errorf("sampler: Save: %w", err)
	}
	return nil
}

// header returns what must agree between writer and reader.
func (l *Langevin) header() []byte {
	flags := uint64(0)
	if l.cfg.Unadjusted {
		flags |= 1
	}
	if l.cfg.Project != nil {
		flags |= 2
	}
	if l.blocks[0].tune != nil {
		flags |= 4
	}
	var b []byte
	for _, v := range []uint64{uint64(l.sites), uint64(l.cfg.Chains), l.cfg.Seed, uint64(l.cfg.Warmup), uint64(l.cfg.Thin), flags} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return wire.AppendFloat64s(b, []float64{l.cfg.StepSize, l.cfg.Target})
}

func (l *Langevin) appendBody(b []byte) []byte {
	b = wire.AppendFloat32s(b, l.x)
	for i := range l.streams {
		b, _ = l.streams[i].AppendBinary(b)
	}
	for i := range l.blocks {
		k := &l.blocks[i]
		for _, v := range []int{k.steps, k.stats.Steps, k.stats.Invalid} {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
		b = wire.AppendFloat64s(b, []float64{k.h, k.stats.Accept, k.stats.Moved})
		if k.tune != nil {
			b = k.tune.Append(b)
		}
		b = wire.AppendFloat64s(b, k.e)
		b = wire.AppendFloat32s(b, k.s)
	}
	return b
}

// Load restores what Save wrote, into chains built with the same arguments
// (Workers and Observe aside). It reads no more than the checkpoint. On an error
// nothing changes.
func (l *Langevin) Load(r io.Reader) error {
	want := len(l.appendBody(l.header())) // the size is fixed by the shape
	body, err := wire.Read(r, langevinMagic, uint64(want))
	if err != nil {
		return fmt.Errorf("sampler: Load: %w", err)
	}
	if len(body) != want {
		return fmt.Errorf("sampler: Load: the checkpoint holds %d bytes, want %d for these chains", len(body), want)
	}
	own := l.header()
	if !bytes.Equal(body[:len(own)], own) {
		return fmt.Errorf("sampler: Load: the checkpoint is of other chains: shape, seed or settings differ")
	}
	n := *l
	if err := n.restore(body[len(own):]); err != nil {
		return fmt.Errorf("sampler: Load: %w", err)
	}
	*l = n
	return nil
}

// restore fills fresh memory from the body after the header, whose length has
// been checked.
func (l *Langevin) restore(b []byte) error {
	l.x, l.streams = make([]float32, len(l.x)), make([]Stream, len(l.streams))
	l.info = make([]Info, len(l.info))
	b, err := wire.ReadFloat32s(b, l.x)
	if err != nil {
		return err
	}
	for i := range l.streams {
		if err := l.streams[i].UnmarshalBinary(b[:streamSize]); err != nil {
			return err
		}
		b = b[streamSize:]
	}
	old := l.blocks
	l.blocks = make([]langevinBlock, len(old))
	for i := range l.blocks {
		k := &l.blocks[i]
		*k = newLangevinBlock(old[i].first, old[i].chains, l.sites, 0)
		word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
		real := func(i int) float64 { return math.Float64frombits(word(i)) }
		k.steps, k.stats.Steps, k.stats.Invalid = int(word(0)), int(word(1)), int(word(2))
		k.h, k.stats.Accept, k.stats.Moved = real(3), real(4), real(5)
		b = b[6*8:]
		if old[i].tune != nil {
			t := *old[i].tune
			k.tune = &t
			if b, err = k.tune.Restore(b); err != nil {
				return err
			}
		}
		if b, err = wire.ReadFloat64s(b, k.e); err != nil {
			return err
		}
		if b, err = wire.ReadFloat32s(b, k.s); err != nil {
			return err
		}
		for c, e := range k.e {
			l.info[k.first+c].Energy = e
		}
	}
	l.kept = max(0, l.blocks[0].steps-l.cfg.Warmup) / l.cfg.Thin
	l.ready = true
	return wire.ReadEnd(b)
}
