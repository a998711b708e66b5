package dual

import (
	"context"
	"io"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Target is what has multipliers: a [Lagrangian] on tokens, a [RealLagrangian]
// on real numbers. See [Lagrangian] for what the methods do.
type Target[S energy.Site] interface {
	Len() int
	Sites() int
	Beta() float64
	SetLambda(lambda []float64) error
	Violation(g []float64, x []S)
}

// Primal draws from the target at its present multipliers. The chains of
// package sampler are primals.
//
// A primal may also have
//
//	Len() int              // draws made so far
//	Save(io.Writer) error  // a checkpoint
//	Load(io.Reader) error
//
// With Len, a dual step whose context ended in the middle goes on where it
// stopped; with Save and Load, [Inference.Save] includes the primal.
type Primal[S energy.Site] interface {
	// Run makes n draws per chain.
	Run(ctx context.Context, n int) error

	// Reset is called when the multipliers have changed.
	Reset() error

	// States returns the present states, states × sites; it is not modified.
	States() []S
}

// saver is a primal with checkpoints.
type saver interface {
	Save(io.Writer) error
	Load(io.Reader) error
}

// counter is a primal that knows how many draws it made.
type counter interface{ Len() int }
