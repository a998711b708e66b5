package sampler

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
)

// System is what a [Runner] moves: states of tokens or of reals, how they start,
// and the transitions that move them. [NewChains] makes one of a model and a
// method; package langevin has the one of a real-valued target.
type System[S energy.Site] interface {
	// Name begins the messages of the runner's errors; String names the method.
	Name() string
	String() string

	// Sites returns the number of entries of a state.
	Sites() int

	// Kernel returns a new transition for a block of chains (1 … BlockSize).
	Kernel(ctx context.Context, chains int) (Transition[S], error)

	// Start fills x, the states of a block of chains (one per stream) that kernel
	// will move, with initial states, the one of stream i drawn from it.
	Start(x []S, r []Stream, kernel Transition[S]) error

	// Check returns an error unless every entry of x, the states of chains first,
	// first+1, …, is one that a state may have.
	Check(x []S, first int) error

	// Energy stores the energies of the states x.
	Energy(e []float64, x []S)

	// Settings adds, by name, what a checkpoint must agree on beside the number
	// of sites and Config: the method, what tells the target apart, see
	// [Method]. A []float64 is compared to rounding, anything else exactly.
	Settings(add func(name string, value any))
}

// tokens is the system of a method on a model.
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

// Start draws every level uniformly, then repairs states without probability
// where the model can, and lets kernels that cannot start everywhere choose.
func (t *tokens) Start(x []int32, r []Stream, kernel Transition[int32]) error {
	for i := range r {
		for j := range t.sites {
			x[i*t.sites+j] = int32(r[i].IntN(t.levels))
		}
	}
	if s, ok := energy.As[energy.Supported](t.model); ok {
		s.Repair(x)
	}
	k, ok := kernel.(Starter)
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

func (t *tokens) Energy(e []float64, x []int32) { t.model.Energy(e, x) }

// CheckStart returns a *[StartError] for the first energy that is not finite:
// what a kernel's Reset returns for states that no chain can start from.
func CheckStart(e []float64) error {
	for s, v := range e {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return &StartError{Chain: s, Energy: v}
		}
	}
	return nil
}
