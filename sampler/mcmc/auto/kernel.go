package auto

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// kernel moves the chains by one candidate at a time.
type kernel struct {
	model   energy.Model
	later   context.Context // for kernels that a checkpoint asks for again
	workers int
	choice
	moved  bool             // there was a step, and Adapt has not been told of it
	chosen []sampler.Kernel // those of blocks that leap together
}

// costed kernels count what a step costs, see [sampler.Transition].
type costed interface {
	Cost(info []sampler.Info) float64
}

// hire makes the kernel of a candidate.
func (k *kernel) hire(ctx context.Context, c *candidate) error {
	made, err := c.method.Kernel(ctx, k.model, k.chains)
	if err != nil {
		return err
	}
	if check.Nil(made) {
		return fmt.Errorf("its kernel is nil")
	}
	if _, ok := made.(costed); !ok {
		return fmt.Errorf("its kernel %T does not count what a step costs, want a method Cost, see sampler.Transition", made)
	}
	if w, ok := made.(interface{ Workers(n int) }); ok {
		w.Workers(k.workers)
	}
	c.kernel = made
	return nil
}

// Cost implements the method that [sampler.Transition] speaks of.
func (k *kernel) Cost(info []sampler.Info) float64 { return k.now().kernel.(costed).Cost(info) }

// StepSize returns that of the current kernel, 0 if it has none.
func (k *kernel) StepSize() float64 {
	if s, ok := k.now().kernel.(interface{ StepSize() float64 }); ok {
		return s.StepSize()
	}
	return 0
}

// Warning implements the method that [sampler.Transition] speaks of.
func (k *kernel) Warning() string {
	if k.phase != decided {
		return ""
	}
	if w, ok := k.now().kernel.(interface{ Warning() string }); ok && w.Warning() != "" {
		if k.note == "" {
			return w.Warning()
		}
		return k.note + "; " + w.Warning()
	}
	return k.note
}

// Workers implements the method that [sampler.Transition] speaks of.
func (k *kernel) Workers(n int) {
	k.workers = n
	for i := range k.all {
		if w, ok := k.all[i].kernel.(interface{ Workers(n int) }); ok {
			w.Workers(n)
		}
	}
}

// Defer implements the method that [sampler.Transition] speaks of: during trials the
// states are always looked at.
func (k *kernel) Defer(on bool) {
	if d, ok := k.now().kernel.(interface{ Defer(on bool) }); ok {
		d.Defer(on && k.phase == decided)
	}
}

// Show implements the method that [sampler.Transition] speaks of.
func (k *kernel) Show(x []int32) {
	if d, ok := k.now().kernel.(interface{ Show(x []int32) }); ok && !k.behind {
		d.Show(x)
	}
}

// Reset implements [sampler.Transition]. A visit that is under way begins to look at
// changes anew.
func (k *kernel) Reset(x []int32) error {
	k.look()
	return k.now().kernel.Reset(x)
}

// ResetUntil is Reset until stop says so, if the current kernel can.
func (k *kernel) ResetUntil(stop func() bool, x []int32) (done bool, err error) {
	r, ok := k.now().kernel.(interface {
		ResetUntil(stop func() bool, x []int32) (done bool, err error)
	})
	if !ok {
		return true, k.Reset(x)
	}
	k.look()
	return r.ResetUntil(stop, x)
}

// look begins to look at changes anew; the current kernel is about to see the states.
func (k *kernel) look() {
	k.behind = false
	if k.record != nil {
		k.record.seen = 0
	}
}

// Step implements [sampler.Transition].
func (k *kernel) Step(info []sampler.Info, x []int32, r []sampler.Stream) {
	if !k.ready(info, x) {
		return
	}
	k.now().kernel.Step(info, x, r)
	k.made(info, x)
}

// StepUntil is Step until stop says so, if the current kernel can.
func (k *kernel) StepUntil(stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream) (done bool) {
	if !k.ready(info, x) {
		return true
	}
	if s, ok := k.now().kernel.(interface {
		StepUntil(stop func() bool, info []sampler.Info, x []int32, r []sampler.Stream) (done bool)
	}); !ok {
		k.now().kernel.Step(info, x, r)
	} else if !s.StepUntil(stop, info, x, r) {
		return false
	}
	k.made(info, x)
	return true
}

// ready shows the states to a kernel whose turn begins. One that cannot start from
// them drops out; false, and an error in info, if none is left.
func (k *kernel) ready(info []sampler.Info, x []int32) bool {
	if k.moved && k.phase != decided { // nobody adapts: warm-up is over, or there is none
		if k.phase == waiting {
			k.note = fmt.Sprintf("auto: there was no warm-up to try candidates in: %s moves the chains without a trial", k.now().name)
		}
		k.decide(k.current)
	}
	for k.behind {
		err := k.now().kernel.Reset(x)
		if err == nil {
			k.behind = false
			break
		}
		c := k.now()
		if c.reason = err.Error(); k.phase == decided || k.alive() == 1 {
			for s := range info {
				info[s] = sampler.Info{Err: fmt.Errorf("auto: %s cannot go on from the states of its trials: %w", c.name, err)}
			}
			return false
		}
		c.kernel = nil
		k.next()
	}
	return true
}

// made notes a step.
func (k *kernel) made(info []sampler.Info, x []int32) {
	if k.phase == decided {
		return
	}
	k.moved = true
	if k.phase == trying {
		c := k.now()
		k.record.add(&c.trial, func(s int) float64 { return info[s].Energy }, x)
		c.cost += c.kernel.(costed).Cost(info) / float64(len(info))
		c.steps++
	}
}

// Adapt implements [sampler.Adaptive].
func (k *kernel) Adapt(info []sampler.Info, step, of int) {
	k.moved = false
	switch k.phase {
	case waiting:
		k.plan(of - step - 1)
		if k.phase == decided {
			k.pass(info, step, of)
		}
		return
	case decided:
		if k.alone {
			k.pass(info, step, of)
		}
		return
	case tuning:
		c := k.now()
		k.pass(info, c.tuned, k.perVisit*k.passes)
		c.tuned++
	}
	if k.left--; k.left == 0 {
		k.next()
	}
}

// pass passes Adapt on to the current kernel.
func (k *kernel) pass(info []sampler.Info, step, of int) {
	if a, ok := k.now().kernel.(sampler.Adaptive); ok {
		a.Adapt(info, step, of)
	}
}

// starting is a kernel of candidates of which some cannot start everywhere.
type starting struct {
	*kernel
	by int // the candidate that chooses a start
}

// Start implements [sampler.Starter].
func (k *starting) Start(x []int32, r *sampler.Stream) error {
	c := k.all[k.by]
	if c.kernel == nil {
		if err := k.hire(k.later, &c); err != nil {
			return err
		}
	}
	s, ok := c.kernel.(sampler.Starter)
	if !ok {
		return fmt.Errorf("auto: the kernel %T of %s cannot choose a start, and an earlier one could", c.kernel, c.name)
	}
	return s.Start(x, r)
}
