package projection

import (
	"context"
	"math/rand/v2"
)

// Projection moves predictions to a feasible set, one sample at a time. It is an alias for an
// interface type, so that other packages can declare the same interface without importing this
// package.
type Projection = interface {
	// Project replaces the log-weights v (sites × levels) of one sample by log-weights that satisfy
	// the constraint. It returns the amount by which the constraint is still violated, which is 0
	// for exact projections. The argument sample is the index of the sample in its batch,
	// 0…samples−1, and src is the random source for this sample. The step goes from the diffusion
	// time start to the time end. Different samples may be projected concurrently, each by one
	// goroutine at a time.
	Project(ctx context.Context, sample int, v []float32, start, end float64, src rand.Source) (violation float64, err error)
}
