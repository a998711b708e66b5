package sampler

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
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
