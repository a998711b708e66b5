package sampler

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/probe"
)

// Chains runs Markov chains of one method on one model.
type Chains = Runner[int32]

// NewChains returns chains of the method on the model, ready to run.
//
// It returns an error if the model or the method is nil, a Config field is out of range, or the
// method does not support the model. An initial state of probability zero is reported by the
// first Run.
func NewChains(ctx context.Context, m energy.Model, method Method, cfg Config) (*Chains, error) {
	t, err := newTokens(m, method)
	if err != nil {
		return nil, err
	}
	for i, l := range cfg.Init {
		if l < 0 || int(l) >= t.levels {
			return nil, fmt.Errorf("sampler: Config.Init[%d] = %d, want 0 … %d", i, l, t.levels-1)
		}
	}
	return NewRunner(ctx, System[int32](t), cfg, cfg.Init, cfg.Observe)
}

// Retarget replaces the model of the chains by another one of the same shape. It builds new,
// untuned kernels of the method. The warm-up of Config does not run again, so call Warm to tune
// the new kernels. States, random streams and counts are kept.
//
// If a chain cannot start from its state, the new model is in place all the same, and Retarget
// returns the error that Reset returns. On any other error, for instance if another call on the
// chains is under way, nothing changes.
func Retarget(ctx context.Context, c *Chains, m energy.Model) error {
	if c == nil {
		return fmt.Errorf("sampler: Retarget: chains = nil")
	}
	old, ok := c.system.(*tokens)
	if !ok {
		return fmt.Errorf("sampler: Retarget: the chains are not those of NewChains")
	}
	if _, _, err := check.Shape("sampler: Retarget", m, 1, BlockSize); err != nil {
		return err
	}
	if sites, levels := m.Shape(); sites != old.sites || levels != old.levels {
		return fmt.Errorf("sampler: Retarget: the model has %d sites × %d levels, want %d × %d", sites, levels, old.sites, old.levels)
	}
	t := *old
	t.model = m
	return c.change("Retarget", func() error {
		before := c.blocks
		if err := c.newKernels(ctx, System[int32](&t)); err != nil {
			return err
		}
		for i := range c.blocks {
			b := &c.blocks[i]
			b.steps, b.stats = before[i].steps, before[i].stats
		}
		c.system, c.draws = &t, nil
		return c.restart()
	})
}

// System defines what a [Runner] moves: the states, of tokens or of reals, their initial values,
// and the transitions that move them. [NewChains] builds a System from a model and a method;
// package langevin provides one for real-valued targets.
type System[S energy.Site] interface {
	// Name returns the prefix of the runner's error messages. String returns the name of the
	// method.
	Name() string
	String() string

	// Sites returns the number of entries of a state.
	Sites() int

	// Kernel returns a new transition for a block of chains (1 … BlockSize).
	Kernel(ctx context.Context, chains int) (Transition[S], error)

	// Start fills x with initial states for a block of chains that kernel will move. State i is
	// drawn from stream r[i].
	Start(x []S, r []Stream, kernel Transition[S]) error

	// Check returns an error if an entry of x is outside the range of a state. x holds the states
	// of chains first, first+1, ….
	Check(x []S, first int) error

	// Energy stores in e the energies of the states x, one per state.
	Energy(e []float64, x []S)

	// Settings calls add with every name and value that must equal those of a checkpoint, besides
	// the number of sites and Config. These are the method (see [Method]) and data that identify
	// the target. A []float64 is compared up to rounding, anything else exactly.
	Settings(add func(name string, value any))
}

// CheckStart returns a *[StartError] for the first energy that is not finite, or nil if all
// energies are finite. Kernels return this error from Reset.
func CheckStart(e []float64) error {
	for s, v := range e {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &StartError{Chain: s, Energy: v}
		}
	}
	return nil
}

// tokens is the System of a method on a model.
type tokens struct {
	model         energy.Model
	method        Method
	sites, levels int
}

func newTokens(m energy.Model, method Method) (*tokens, error) {
	if check.Nil(method) {
		return nil, fmt.Errorf("sampler: NewChains: method = nil")
	}
	sites, levels, err := check.Shape("sampler: NewChains", m, 1, BlockSize)
	if err != nil {
		return nil, err
	}
	return &tokens{model: m, method: method, sites: sites, levels: levels}, nil
}

func (t *tokens) Name() string { return "sampler" }

func (t *tokens) String() string { return fingerprint.Name(t.method) }

func (t *tokens) Sites() int { return t.sites }

func (t *tokens) Kernel(ctx context.Context, chains int) (Transition[int32], error) {
	return t.method.Kernel(ctx, t.model, chains)
}

// Start draws every level uniformly. If the model is energy.Supported, it then repairs states of
// probability zero. If the kernel is a [Starter], the kernel then chooses the state.
func (t *tokens) Start(x []int32, r []Stream, kernel Transition[int32]) error {
	for i := range r {
		for j := range t.sites {
			x[i*t.sites+j] = int32(r[i].IntN(t.levels))
		}
	}
	if s, ok := energy.As[energy.Supported](t.model); ok {
		s.Repair(x)
	}
	k, ok := As[Starter](kernel)
	if !ok {
		return nil
	}
	for i := range r {
		if err := k.Start(x[i*t.sites:(i+1)*t.sites], &r[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tokens) Check(x []int32, first int) error {
	for i, l := range x {
		if l < 0 || int(l) >= t.levels {
			return fmt.Errorf("level of site %d of chain %d = %d, want 0 … %d", i%t.sites, first+i/t.sites, l, t.levels-1)
		}
	}
	return nil
}

var _ claimant[int32] = (*tokens)(nil)

// claims tests the model's optional methods, such as fields and differences, against its
// energies.
func (t *tokens) claims(ctx context.Context, x []int32, seed uint64) error {
	return probe.Claims(ctx, t.model, x, seed)
}

func (t *tokens) Energy(e []float64, x []int32) { t.model.Energy(e, x) }

// Named is a recipe with a name such as "dmala", used in checkpoints and messages. The name does
// not depend on Go identifiers. A recipe without a name is identified by its Go type. Models and
// functions in a field of a recipe may also be Named; checkpoints then distinguish them by name.
type Named interface{ Name() string }

var _ probe.Named = Named(nil)

// Settings adds the shape, the method with all its fields, and the energies of some fixed states.
// These energies identify the model.
func (t *tokens) Settings(add func(name string, value any)) {
	probe.Target(add, t.model, t.method, NewStream(probe.States, 0).IntN)
}
