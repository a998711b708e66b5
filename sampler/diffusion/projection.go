package diffusion

import (
	"context"
	"math/rand/v2"
)

// Projection moves predictions to the feasible set. Package projection implements it without
// importing this package.
type Projection = interface {
	// Project replaces the sites × levels log-weights (or the sites reals) v of one sample by those
	// of a distribution that satisfies the constraint, and returns the violation that remains.
	// sample is a slot of the runner, 0 … samples−1; from and to are the times before and after the
	// step. Samples may be projected concurrently, but each slot is used by one goroutine at a
	// time.
	Project(ctx context.Context, sample int, v []float32, from, to float64, src rand.Source) (violation float64, err error)
}

// Projector is the recipe of a [Projection].
type Projector interface {
	// Bind makes the projection for samples of the given shape. It may take long.
	Bind(ctx context.Context, sites, levels, samples int) (Projection, error)
}

// Drawer is a projection that can condition exactly. Runners then draw instead of projecting. The
// methods must not modify v and may be called concurrently. A [GivenDrawer] can skip rows.
type Drawer interface {
	// Draw stores in x0 an exact joint draw from ∏_i softmax(v_i) restricted to the feasible set C,
	// and returns log Z = log Σ_{x∈C} ∏_i exp(v[i,x_i]). The error wraps constraint.ErrInfeasible
	// if Z = 0; otherwise it is the error of ctx.
	Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)

	// LogZ returns log Z alone.
	LogZ(ctx context.Context, v []float32) (float64, error)
}

// GivenDrawer is a [Drawer] that does not need the rows of tokens that are certain.
type GivenDrawer interface {
	Drawer

	// Self returns the Drawer itself, so that runners recognise a type that embeds a GivenDrawer
	// and has its own Draw.
	Self() any

	// DrawGiven is Draw for a sample some of whose tokens are certain (see [IntactSteps]): on entry
	// x0 holds these tokens, and −1 elsewhere. Their rows in v may hold anything and may be
	// overwritten. The result is that of Draw with each such row set to 0 at the token and −Inf
	// elsewhere. No observer sees these rows.
	DrawGiven(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)
}

// Committer is a projection with a memory, for instance of what has been generated. Runners call
// Commit for every finished sample, in the order of the samples and from one goroutine, with
// the sample x and the last prediction for it, conditioned on what was revealed. Commit may change
// x. An error that wraps
// constraint.ErrInfeasible makes the runner draw the sample again. Checkpoints need a [Recaller].
type Committer interface {
	Commit(ctx context.Context, x []int32, v []float32, src rand.Source) error
}

// Recaller is a [Committer] that can resume. For every sample of a checkpoint, in order, Recall is
// called instead of Commit. It must remember x unchanged or return an error.
type Recaller interface {
	Recall(x []int32) error
}

// Warm is a projection that keeps state of a sample between steps, such as multipliers.
type Warm interface {
	// Reset forgets the state of a sample.
	Reset(sample int)

	// Copy copies the state of sample src to dst.
	Copy(dst, src int)
}
