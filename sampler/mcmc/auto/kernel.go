package auto

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// kernel moves the chains by one candidate at a time, and by the chosen one after the trials.
type kernel struct {
	model energy.Model
	ctx   context.Context // context in which kernels are built when a checkpoint is restored or a start is chosen
	choice
	moved bool // a step was made since the last call of Adapt
	renew bool // the current kernel saved nothing in its checkpoint and must be Reset
}

var (
	_ sampler.Adaptive       = (*kernel)(nil)
	_ sampler.Confined       = (*kernel)(nil)
	_ sampler.Costed         = (*kernel)(nil)
	_ sampler.Tuned          = (*kernel)(nil)
	_ sampler.Warner         = (*kernel)(nil)
	_ sampler.Wrapper[int32] = (*kernel)(nil)
)

// build builds the kernel of candidate c. The kernel must be sampler.Costed.
func (k *kernel) build(ctx context.Context, c *candidate) error {
	made, err := c.method.Kernel(ctx, k.model, k.chains)
	if err != nil {
		return err
	}
	if check.Nil(made) {
		return fmt.Errorf("its kernel is nil")
	}
	if _, ok := sampler.As[sampler.Costed](made); !ok {
		return fmt.Errorf("its kernel %T does not count what a step costs, want a sampler.Costed one", made)
	}
	c.kernel = made
	return nil
}

// Unwrap returns the chosen kernel. Before the choice it returns nil, because the trials must
// observe every step. It implements [sampler.Wrapper].
func (k *kernel) Unwrap() sampler.Kernel {
	if k.phase != decided || k.behind || k.renew {
		return nil
	}
	return k.now().kernel
}

// Allows reports whether all candidates allow the state; it implements [sampler.Confined].
func (k *kernel) Allows(x []int32) bool {
	for _, c := range k.all {
		if s, ok := sampler.As[sampler.Confined](c.kernel); ok && !s.Allows(x) {
			return false
		}
	}
	return true
}

// Cost returns the estimated time of a step of the current candidate's kernel, in nanoseconds; it
// implements [sampler.Costed].
func (k *kernel) Cost(info []sampler.Info) float64 { return k.now().price(info) }

// StepSize returns the step size of the current candidate's kernel. It implements [sampler.Tuned].
func (k *kernel) StepSize() float64 {
	if s, ok := sampler.As[sampler.Tuned](k.now().kernel); ok {
		return s.StepSize()
	}
	return 0
}

// Warning returns the warnings of the trials and of the chosen kernel, or "" before the choice. It
// implements [sampler.Warner].
func (k *kernel) Warning() string {
	if k.phase != decided {
		return ""
	}
	if w, ok := sampler.As[sampler.Warner](k.now().kernel); ok && w.Warning() != "" {
		if k.note == "" {
			return w.Warning()
		}
		return k.note + "; " + w.Warning()
	}
	return k.note
}

// Reset resets the current candidate's kernel and, during trials, restarts the record of changes.
// It implements [sampler.Transition].
func (k *kernel) Reset(ctl sampler.Control, x []int32) error {
	k.look()
	return k.now().kernel.Reset(ctl, x)
}

// look restarts the record of changes, because the current kernel is about to be Reset.
func (k *kernel) look() {
	k.behind, k.renew = false, false
	if k.record != nil {
		k.record.seen = 0
	}
}

// Step makes a step of the current candidate's kernel and, during trials, records it. It implements
// [sampler.Transition].
func (k *kernel) Step(ctl sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) (done int) {
	if !k.ready(ctl, info, x) {
		return 1
	}
	if k.phase != decided {
		if len(ctl.Company) > 0 {
			return 0
		}
		ctl.Steps, ctl.Unread = 0, false // trials read the states
	}
	if done = k.now().kernel.Step(ctl, info, x, r); done > 0 {
		k.made(info, x)
	}
	return done
}

// ready resets the kernel of a candidate whose visit begins. A candidate that cannot start from the
// states drops out. If no candidate is left, ready stores an error in the reports info and returns
// false.
func (k *kernel) ready(ctl sampler.Control, info []sampler.Info, x []int32) bool {
	// Adapt was not called after the last step: warm-up is over, or there is none
	if k.moved && k.phase != decided {
		if k.phase == waiting {
			k.note = fmt.Sprintf("auto: there was no warm-up to try candidates in: %s moves the chains without a trial", k.now().name)
		}
		k.decide(k.current)
	}
	for k.behind || k.renew {
		err := k.now().kernel.Reset(sampler.Control{Workers: ctl.Workers}, x)
		if err == nil {
			k.behind, k.renew = false, false
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

// made records a step that the current candidate has made.
func (k *kernel) made(info []sampler.Info, x []int32) {
	if k.phase == decided {
		return
	}
	k.moved = true
	if k.phase == trying {
		c := k.now()
		k.record.add(&c.trial, func(s int) float64 { return info[s].Energy }, x)
		c.cost += c.price(info) / float64(len(info))
		c.steps++
	}
}

// Adapt decides which candidate moves the chains next. If the current candidate is being tuned,
// Adapt also calls the Adapt method of its kernel. It implements [sampler.Adaptive].
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
		k.alone = k.alone || step == 0 // of a later warm-up
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

// pass calls Adapt of the current kernel, if it is Adaptive.
func (k *kernel) pass(info []sampler.Info, step, of int) {
	if a, ok := sampler.As[sampler.Adaptive](k.now().kernel); ok {
		a.Adapt(info, step, of)
	}
}

// starting is a kernel with candidates that cannot start from every state.
type starting struct {
	*kernel
	by int // index of the candidate that chooses a start
}

var _ sampler.Starter = (*starting)(nil)

// Start draws the initial state with the kernel of the first candidate that can do so. It
// implements [sampler.Starter].
func (k *starting) Start(x []int32, r *sampler.Stream) error {
	c := k.all[k.by]
	if c.kernel == nil {
		if err := k.build(k.ctx, &c); err != nil {
			return err
		}
	}
	s, ok := sampler.As[sampler.Starter](c.kernel)
	if !ok {
		return fmt.Errorf("auto: the kernel %T of %s cannot choose a start, and an earlier one could", c.kernel, c.name)
	}
	return s.Start(x, r)
}
