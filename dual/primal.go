package dual

import (
	"context"
	"io"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Primal draws from the target at its present multipliers. The chains of package sampler
// are primals; [Resampler] makes a primal of any other sampler.
//
// A primal may also be a [Counter] and a [Saver].
type Primal[S energy.Site] interface {
	// Run makes n draws per chain.
	Run(ctx context.Context, n int) error

	// Reset is called when the multipliers have changed.
	Reset() error

	// States returns the present states, states × sites; it is not modified.
	States() []S

	// SetStates replaces the present states by a copy of x, of the same length, from
	// which the next Run continues as after Reset: states from a buffer, or from data for
	// contrastive divergence. On an error of length or range nothing changes.
	SetStates(x []S) error
}

// Counter is a primal that knows how many draws per chain it has made. With a Counter, a
// dual step whose context ended in the middle continues where it stopped.
type Counter interface{ Len() int }

// Energetic is a primal that knows the energies of its target: Energy stores in e[s] that
// of the state x[s·sites : (s+1)·sites]. [NewInference] refuses a primal whose energies
// do not change with the target's multipliers, since it runs on another model.
type Energetic[S energy.Site] interface{ Energy(e []float64, x []S) }

// Saver is a primal with checkpoints: [Inference.Save] appends its own to that of
// the loop, and [Inference.Load] restores it. Load must read no more than Save
// wrote and on an error change nothing.
type Saver interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}
