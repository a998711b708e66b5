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

// Chains runs Markov chains on states of integer levels. A state holds a level 0, 1, … for every
// site of a model. All chains use the same [Method] and the same energy.Model. [NewChains] creates
// Chains.
type Chains = Runner[int32]

// NewChains returns chains that sample from the model with the given method, ready to Run.
//
// It returns an error if the model or the method is nil, if the method does not support the model,
// or if a Config field is out of range. An initial state of probability zero is an error of the
// first Run, not of NewChains.
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

// Retarget replaces the model by another one with the same numbers of sites and levels. States,
// random streams and counts are kept. The kernels are new and untuned; call Warm to tune them.
//
// If the kernels cannot be built, or if another call is under way, Retarget returns an error and
// changes nothing. If a chain cannot start from its state under the new model, Retarget replaces
// the model and returns the error of Reset.
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

// System defines what a [Runner] runs: the shape of a state, the initial states, and the kernels
// that move the chains. S is int32 for states of levels and float32 for states of reals.
// [NewChains] builds a System from a model and a method. Package langevin provides one for
// real-valued targets.
type System[S energy.Site] interface {
	// Name returns the prefix of the runner's error messages, such as "sampler".
	Name() string

	// String returns the name of the method.
	String() string

	// Sites returns the number of entries of one state.
	Sites() int

	// Kernel returns a new kernel that moves the given number of chains (1 … BlockSize) together.
	Kernel(ctx context.Context, chains int) (Transition[S], error)

	// Start stores in x the initial states of the chains that the given kernel will move. State i
	// is drawn from stream r[i].
	Start(x []S, r []Stream, kernel Transition[S]) error

	// Check returns an error if an entry of x is not a possible value of a site. The slice x holds
	// the states of consecutive chains, of which the first has the given number. The error names
	// the chain.
	Check(x []S, number int) error

	// Energy stores the energies of the states x in e, one per state.
	Energy(e []float64, x []S)

	// Settings calls add with the name and value of each setting that identifies the system in a
	// checkpoint. These are the settings of the method (see [Method]) and the data that define the
	// target. Load refuses a checkpoint in which one of these values differs. Values of type
	// []float64 are compared up to rounding, others exactly. The runner adds the number of sites
	// and its Config.
	Settings(add func(name string, value any))
}

// CheckStart returns a *[StartError] for the first of the energies e that is not finite, or nil if
// all are finite. A kernel returns this error from Reset.
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

// Start stores random initial states in x. It draws the level of every site uniformly and then
// repairs states of probability zero if the model can do that (energy.Supported). If the kernel
// chooses initial states itself (a [Starter]), its states replace these.
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

// Named is a method, model or function that has a name, such as "dmala". Messages and checkpoints
// use this name. You can then rename the Go type, and old checkpoints still load. Methods and
// models that are not Named go by their Go type.
type Named interface{ Name() string }

var _ probe.Named = Named(nil)

// Settings calls add for each setting: the numbers of sites and levels, and the method with all its
// fields. It also adds the energies of some fixed states, which identify the model.
func (t *tokens) Settings(add func(name string, value any)) {
	probe.Target(add, t.model, t.method, NewStream(probe.States, 0).IntN)
}
