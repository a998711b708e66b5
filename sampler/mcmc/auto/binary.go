package auto

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// AppendBinary implements [sampler.Transition]. It appends the state and results of the trials
// and then the chosen kernel or, during trials, the kernels of all candidates.
func (k *kernel) AppendBinary(b []byte) ([]byte, error) {
	b = wire.AppendInts(b, int(k.phase), k.current, k.left, k.perVisit, k.passes, k.at, k.entered, k.total,
		flag(k.alone), flag(k.behind), flag(k.moved), flag(k.record != nil))
	b = appendText(b, k.note)
	for i := range k.all {
		c := &k.all[i]
		b = wire.AppendInts(b, flag(c.kernel != nil), c.tuned, c.steps)
		b = wire.AppendFloat64s(b, []float64{c.cost, c.time})
		b = appendText(b, c.reason)
	}
	if k.record != nil {
		b = k.record.append(b)
	}
	for i := range k.all {
		c := &k.all[i]
		if k.record != nil {
			b = wire.AppendFloat64s(wire.AppendFloat64s(b, c.pairs), c.jumps)
		}
		if c.kernel == nil {
			continue
		}
		var err error
		if b, err = wire.AppendParts(b, []sampler.Kernel{c.kernel}); err != nil {
			return nil, fmt.Errorf("auto: %s: %w", c.name, err)
		}
	}
	return b, nil
}

// UnmarshalBinary implements [sampler.Transition].
func (k *kernel) UnmarshalBinary(b []byte) error {
	var head [12]uint64
	b, err := wire.ReadUint64s(b, head[:])
	if err != nil {
		return err
	}
	for i, v := range head {
		if v > most {
			return fmt.Errorf("auto: number %d of the checkpoint = %d, want ≤ %d", i, v, most)
		}
	}
	if head[0] > uint64(decided) || head[1] >= uint64(len(k.all)) {
		return fmt.Errorf("auto: the checkpoint stands at candidate %d of phase %d, want < %d and ≤ %d", head[1], head[0], len(k.all), decided)
	}
	if recorded := head[0] == uint64(tuning) || head[0] == uint64(trying); recorded != (head[11] == 1) {
		return fmt.Errorf("auto: the checkpoint has %d records in phase %d", head[11], head[0])
	}
	if recorded := head[11] == 1; recorded && head[2] == 0 {
		return fmt.Errorf("auto: the checkpoint stands in a visit of 0 steps, want ≥ 1")
	}
	k.phase, k.current, k.left, k.perVisit, k.passes, k.at, k.entered, k.total = phase(head[0]), int(head[1]), int(head[2]),
		int(head[3]), int(head[4]), int(head[5]), int(head[6]), int(head[7])
	k.alone, k.behind, k.moved = head[8] == 1, head[9] == 1, head[10] == 1
	if k.note, b, err = readText(b); err != nil {
		return err
	}
	for i := range k.all {
		if b, err = k.restore(&k.all[i], b); err != nil {
			return err
		}
	}
	if k.all[k.current].kernel == nil {
		return fmt.Errorf("auto: the checkpoint has no kernel for %s, which moves its chains", k.all[k.current].name)
	}
	k.record = nil
	if head[11] == 1 {
		k.record = newRecord(k.sites, k.levels, k.chains)
		if b, err = k.record.restore(b); err != nil {
			return err
		}
	}
	for i := range k.all {
		if b, err = k.restoreKernel(&k.all[i], b); err != nil {
			return fmt.Errorf("auto: %s: %w", k.all[i].name, err)
		}
	}
	k.renew = wire.Empty(k.now().kernel)
	return wire.ReadEnd(b)
}

// restore reads the results of a candidate and makes its kernel if needed.
func (k *kernel) restore(c *candidate, b []byte) ([]byte, error) {
	var head [3]uint64
	b, err := wire.ReadUint64s(b, head[:])
	if err != nil {
		return nil, err
	}
	if head[0] > 1 || head[1] > most || head[2] > most {
		return nil, fmt.Errorf("auto: the checkpoint has %d kernels, %d and %d steps of %s", head[0], head[1], head[2], c.name)
	}
	c.trial = trial{tuned: int(head[1]), steps: int(head[2])}
	var found [2]float64
	if b, err = wire.ReadFloat64s(b, found[:]); err != nil {
		return nil, err
	}
	c.cost, c.time = found[0], found[1]
	if c.reason, b, err = readText(b); err != nil {
		return nil, err
	}
	if head[0] == 0 {
		c.kernel = nil
	} else if c.kernel == nil {
		if err := k.build(k.ctx, c); err != nil {
			return nil, fmt.Errorf("auto: %s: %w", c.name, err)
		}
	}
	return b, nil
}

// restoreKernel reads the trial and the kernel of a candidate.
func (k *kernel) restoreKernel(c *candidate, b []byte) (rest []byte, err error) {
	if k.record != nil {
		c.pairs, c.jumps = k.record.sums()
		if b, err = wire.ReadFloat64s(b, c.pairs); err != nil {
			return nil, err
		}
		if b, err = wire.ReadFloat64s(b, c.jumps); err != nil {
			return nil, err
		}
	}
	if c.kernel == nil {
		return b, nil
	}
	return wire.ReadParts(b, []sampler.Kernel{c.kernel})
}

func appendText(b []byte, s string) []byte { return append(wire.AppendInts(b, len(s)), s...) }

func readText(b []byte) (string, []byte, error) {
	var n [1]uint64
	b, err := wire.ReadUint64s(b, n[:])
	if err != nil {
		return "", nil, err
	}
	if n[0] > uint64(len(b)) {
		return "", nil, wire.ErrShort
	}
	return string(b[:n[0]]), b[n[0]:], nil
}
