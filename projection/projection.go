package projection

import (
	"context"
	"math/rand/v2"
)

// Projection moves predictions to a feasible set, one sample at a time. It is an alias of
// an interface literal, so that consumers can declare the same interface without
// importing this package.
type Projection = interface {
	// Project replaces the sites × levels log-weights v of one sample by those
	// of a distribution that satisfies the constraint, and returns by how much
	// it still fails to (0 for exact projections). sample numbers the samples
	// of a batch, 0…samples−1; from and to are the diffusion times before and
	// after the step, and src the sample's own randomness. Samples may be
	// projected concurrently, each by one goroutine at a time.
	Project(ctx context.Context, sample int, v []float32, from, to float64, src rand.Source) (violation float64, err error)
}
