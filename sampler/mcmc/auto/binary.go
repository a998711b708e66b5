package auto

import (
	"cmp"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// AppendBinary appends the state and results of the trials, followed by the chosen kernel or,
// during trials, by the kernels of all candidates. It implements [sampler.Transition].
func (k *kernel) AppendBinary(b []byte) ([]byte, error) { return wire.AppendFields(b, k.fields) }

// UnmarshalBinary restores the output of AppendBinary; it implements [sampler.Transition].
func (k *kernel) UnmarshalBinary(b []byte) error {
	err := wire.ReadFields(b, k.fields)
	if err == nil {
		k.renew = wire.Empty(k.now().kernel)
	}
	return err
}

// most is the maximum of a number of steps in a checkpoint.
const most = 1 << 30

// fields reads or writes the trials, their results and the kernels of the candidates.
func (k *kernel) fields(f *wire.Fields) {
	recorded := k.record != nil
	f.Int("auto: phase", (*int)(&k.phase), int(waiting), int(decided))
	f.Int("auto: candidate", &k.current, 0, len(k.all)-1)
	for _, n := range []*int{&k.left, &k.perVisit, &k.passes, &k.at, &k.entered, &k.total} {
		f.Int("auto: number of steps", n, 0, most)
	}
	for _, flag := range []*bool{&k.alone, &k.behind, &k.moved, &recorded} {
		f.Bool("auto: flag", flag)
	}
	f.Fail(k.check(recorded))
	f.Text("auto: length of the note", &k.note)
	for i := range k.all {
		k.fieldsOf(f, &k.all[i])
	}
	if f.Reading() {
		f.Fail(k.restore(recorded))
	}
	if k.record != nil {
		k.record.fields(f)
	}
	for i := range k.all {
		c := &k.all[i]
		if k.record != nil {
			f.Float64s(c.pairs)
			f.Float64s(c.jumps)
		}
		if c.kernel != nil {
			f.Sized(c.kernel)
		}
	}
}

// check returns an error if the phase of a checkpoint is inconsistent with its record or visit
// length.
func (k *kernel) check(recorded bool) error {
	trials := k.phase == tuning || k.phase == trying
	return cmp.Or(
		check.If(recorded != trials, "auto: the checkpoint has a record %t in phase %d", recorded, k.phase),
		check.If(recorded && k.left == 0, "auto: the checkpoint stands in a visit of 0 steps, want ≥ 1"),
	)
}

// fieldsOf reads or writes the results of a candidate. A read also builds the candidate's kernel
// if the checkpoint has one.
func (k *kernel) fieldsOf(f *wire.Fields, c *candidate) {
	there := c.kernel != nil
	f.Bool("auto: a kernel", &there)
	f.Int("auto: steps of tuning", &c.tuned, 0, most)
	f.Int("auto: steps of trials", &c.steps, 0, most)
	f.Float64(&c.cost)
	f.Float64(&c.time)
	f.Text("auto: length of a reason", &c.reason)
	if !f.Reading() {
		return
	}
	if !there {
		c.kernel = nil
	} else if c.kernel == nil {
		if err := k.build(k.ctx, c); err != nil {
			f.Fail(fmt.Errorf("auto: %s: %w", c.name, err))
		}
	}
}

// restore allocates the record of a checkpoint, if it has one, and the trials of the candidates.
func (k *kernel) restore(recorded bool) error {
	if k.now().kernel == nil {
		return fmt.Errorf("auto: the checkpoint has no kernel for %s, which moves its chains", k.now().name)
	}
	k.record = nil
	if recorded {
		k.record = newRecord(k.sites, k.levels, k.chains)
	}
	for i := range k.all {
		c := &k.all[i]
		if c.pairs, c.jumps = nil, nil; recorded {
			c.pairs, c.jumps = k.record.sums()
		}
	}
	return nil
}
