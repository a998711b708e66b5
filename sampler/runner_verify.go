package sampler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc64"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// VerifyError says that a block of chains, moved a second time from the same
// states, random streams and caches, went another way: see Config.Verify. The
// target or the method is not a function of what it is given, two goroutines
// share memory that they must not, or the machine errs.
type VerifyError struct {
	Block  int // number of the block, counted from chain 0 of the run
	First  int // number of its first chain
	Chains int

	// Step is the first step, warm-up included and counted from 0, after which the
	// two differ. In a Run of 65536 steps or more they are compared after every
	// second, fourth, … step, and Step is the first of these.
	Step int
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("sampler: Config.Verify: block %d (chains %d … %d) is not reproducible: from step %d on it differs from a second run of the same block", e.Block, e.First, e.First+e.Chains-1, e.Step)
}

// journal keeps, at every stride-th step, a digest of all steps so far.
type journal[S energy.Site] struct {
	steps, stride int
	sum           uint64
	sums          []uint64
	buffer        []byte
}

// mostSums bounds a journal; TestVerifyLongRuns.
const mostSums = 1 << 16

func (j *journal[S]) note(p place[S]) {
	b := appendSites(j.buffer[:0], p.x)
	for i := range p.info {
		b = wire.AppendUint64s(b, math.Float64bits(p.info[i].Energy), p.streams[i].pos)
	}
	j.buffer, j.sum = b, crc64.Update(j.sum, parkedTable, b)
	if j.steps++; j.steps%j.stride != 0 {
		return
	}
	if j.sums = append(j.sums, j.sum); len(j.sums) < mostSums {
		return
	}
	for i := range mostSums / 2 {
		j.sums[i] = j.sums[2*i+1]
	}
	j.sums, j.stride = j.sums[:mostSums/2], 2*j.stride
}

// double is a block about to move a second time.
type double[S energy.Site] struct {
	of      *block[S]
	before  place[S]
	image   []byte
	steps   int
	warm    int
	journal journal[S]
}

// double copies a block drawn at random if it is time to verify one, and returns nil
// otherwise. The draw does not touch the streams of the chains.
func (c *Runner[S]) double() (*double[S], error) {
	if c.cfg.Verify == 0 {
		return nil, nil
	}
	if c.runs++; c.runs%c.cfg.Verify != 0 {
		return nil, nil
	}
	if !c.ready {
		if err := c.Reset(); err != nil {
			return nil, err
		}
	}
	if err := c.mend(); err != nil {
		return nil, err
	}
	r := NewStream(^c.cfg.Seed, uint64(c.runs))
	b := &c.blocks[r.IntN(len(c.blocks))]
	d := &double[S]{of: b, steps: b.steps, warm: b.warm, journal: journal[S]{stride: 1}}
	err := c.with(b, true, func(t *turn[S]) (err error) {
		d.before = place[S]{append([]S(nil), t.x...), append([]Info(nil), t.info...), append([]Stream(nil), t.streams...)}
		d.image, err = b.kernel.AppendBinary(nil)
		return err
	})
	return d, err
}

// again moves the copy to where the block is and compares.
func (c *Runner[S]) again(ctx context.Context, d *double[S]) error {
	end := d.of.steps
	k, err := c.system.Kernel(ctx, d.of.chains)
	if err == nil {
		err = restore(k, d.image, d.before.x)
	}
	if err != nil {
		return fmt.Errorf("%s: Config.Verify: %w", c.system.Name(), err)
	}
	second := journal[S]{stride: 1}
	b := block[S]{first: d.of.first, chains: d.of.chains, kernel: k, steps: d.steps, warm: d.warm, after: second.note}
	t := turn[S]{place: d.before, run: c, block: &b}
	t.advance(context.Background(), end, never)
	if lazy, ok := As[Lazy[S]](k); ok {
		lazy.Show(d.before.x)
	}
	differs := &VerifyError{Block: (c.cfg.First + b.first) / c.size, First: c.cfg.First + b.first, Chains: b.chains, Step: b.steps}
	for i, sum := range d.journal.sums {
		if i >= len(second.sums) {
			return differs // it failed where the first did not
		}
		if second.sums[i] != sum {
			differs.Step = d.steps + (i+1)*d.journal.stride - 1
			return differs
		}
	}
	differs.Step = max(d.steps, b.steps-1)
	return c.with(d.of, true, func(t *turn[S]) error {
		x, y := appendSites(nil, t.x), appendSites(nil, d.before.x)
		one, errOne := d.of.kernel.AppendBinary(nil)
		two, errTwo := b.kernel.AppendBinary(nil)
		if err := errors.Join(errOne, errTwo); err != nil {
			return err
		}
		if b.err != nil || d.journal.sum != second.sum || !bytes.Equal(x, y) || !bytes.Equal(one, two) {
			return differs
		}
		return nil
	})
}
