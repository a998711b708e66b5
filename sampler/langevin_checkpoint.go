package sampler

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"io"
	"math"
)

// A Langevin checkpoint is little-endian:
//
//	magic, length of the body (8 bytes), body, CRC-64/ECMA of the body (8 bytes)
//
// and the body holds what results depend on, then states and streams and, per
// block, steps, step size, tuner, statistics, energies and scores.
var langevinMagic = []byte("gibbsite langevin 1\n")

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
	return writeBody(w, langevinMagic, l.appendBody(l.header()))
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
	return appendFloat64s(b, []float64{l.cfg.StepSize, l.cfg.Target})
}

func (l *Langevin) appendBody(b []byte) []byte {
	b = appendFloat32s(b, l.x)
	for i := range l.streams {
		b, _ = l.streams[i].AppendBinary(b)
	}
	for i := range l.blocks {
		k := &l.blocks[i]
		for _, v := range []int{k.steps, k.stats.Steps, k.stats.Invalid} {
			b = binary.LittleEndian.AppendUint64(b, uint64(v))
		}
		b = appendFloat64s(b, []float64{k.h, k.stats.Accept, k.stats.Moved})
		if k.tune != nil {
			b = k.tune.appendBinary(b)
		}
		b = appendFloat64s(b, k.e)
		b = appendFloat32s(b, k.s)
	}
	return b
}

// Load restores what Save wrote, into chains built with the same arguments
// (Workers and Observe aside). It reads no more than the checkpoint. On an error
// nothing changes.
func (l *Langevin) Load(r io.Reader) error {
	head := make([]byte, len(langevinMagic)+8)
	if _, err := io.ReadFull(r, head); err != nil {
		return fmt.Errorf("sampler: Load: reading the head: %w", err)
	}
	if !bytes.Equal(head[:len(langevinMagic)], langevinMagic) {
		return fmt.Errorf("sampler: Load: not a checkpoint of Langevin chains: it begins with %q", head[:len(langevinMagic)])
	}
	want := len(l.appendBody(l.header())) // the size is fixed by the shape
	if size := binary.LittleEndian.Uint64(head[len(langevinMagic):]); size != uint64(want) {
		return fmt.Errorf("sampler: Load: the checkpoint holds %d bytes, want %d for these chains", size, want)
	}
	body := make([]byte, want+8)
	if _, err := io.ReadFull(r, body); err != nil {
		return fmt.Errorf("sampler: Load: reading the body: %w", err)
	}
	sum := binary.LittleEndian.Uint64(body[want:])
	body = body[:want]
	if got := crc64.Checksum(body, crcTable); got != sum {
		return fmt.Errorf("sampler: Load: the checkpoint is damaged: checksum %016x, want %016x", got, sum)
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
	b, err := readFloat32s(b, l.x)
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
			if b, err = k.tune.unmarshalBinary(b); err != nil {
				return err
			}
		}
		if b, err = readFloat64s(b, k.e); err != nil {
			return err
		}
		if b, err = readFloat32s(b, k.s); err != nil {
			return err
		}
		for c, e := range k.e {
			l.info[k.first+c].Energy = e
		}
	}
	l.kept = max(0, l.blocks[0].steps-l.cfg.Warmup) / l.cfg.Thin
	l.ready = true
	return readEnd(b)
}
