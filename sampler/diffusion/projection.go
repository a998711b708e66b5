package diffusion

import (
	"context"
	"math/rand/v2"
)

// Projection moves predictions to the feasible set. It is an alias of an interface literal, so
// that package projection can implement it without importing this package.
type Projection = interface {
	// Project replaces the prediction v of one sample by one that satisfies the constraint, and
	// returns the remaining violation. v holds sites × levels log-weights, or one number per
	// site for reals. sample is a slot of the runner, 0 … samples−1. The step goes from time
	// from to time to. Different slots may be projected concurrently, but each slot is used by
	// one goroutine at a time.
	Project(ctx context.Context, sample int, v []float32, from, to float64, src rand.Source) (violation float64, err error)
}

// Projector holds the settings from which a [Projection] is made.
type Projector interface {
	// Bind makes the projection for samples of the given shape. It may take a long time.
	Bind(ctx context.Context, sites, levels, samples int) (Projection, error)
}

// Drawer is a projection that can draw exactly from the conditional distribution. Runners then
// draw instead of projecting. The methods must not modify v and may be called concurrently. A
// [GivenDrawer] can skip rows.
type Drawer interface {
	// Draw stores in x0 an exact joint draw from ∏_i softmax(v_i) restricted to the feasible
	// set C. It returns log Z = log Σ_{x∈C} ∏_i exp(v[i,x_i]). The error wraps
	// constraint.ErrInfeasible if Z = 0; otherwise it is the error of ctx.
	Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)

	// LogZ returns the log Z that Draw returns, without drawing.
	LogZ(ctx context.Context, v []float32) (float64, error)
}

// GivenDrawer is a [Drawer] that does not need the rows of known tokens.
type GivenDrawer interface {
	Drawer

	// Self returns the Drawer itself. Runners use it to detect a type that embeds a
	// GivenDrawer and has its own Draw.
	Self() any

	// DrawGiven draws like Draw for a sample with known tokens (see [IntactSteps]). On entry x0
	// holds these tokens, and −1 elsewhere. Their rows in v may hold anything and may be
	// overwritten. The result is that of Draw after each such row is set to 0 at the token and
	// −Inf elsewhere. Observers do not see these rows.
	DrawGiven(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)
}

// Committer is a projection with a memory, for instance of the samples generated so far. Runners
// call Commit for every finished sample, in the order of the samples and from one goroutine. x is
// the sample, and v the last prediction for it, conditioned on the revealed tokens. Commit may
// change x. If its error wraps constraint.ErrInfeasible, the runner draws the sample again.
// Checkpoints need a [Recaller].
type Committer interface {
	Commit(ctx context.Context, x []int32, v []float32, src rand.Source) error
}

// Recaller is a [Committer] that can resume from a checkpoint. Runners call Recall instead of
// Commit for every sample of the checkpoint, in order. Recall must record the sample x without
// changing x, or return an error.
type Recaller interface {
	Recall(x []int32) error
}

// Warm is a projection that keeps state of a sample between steps, such as multipliers.
type Warm interface {
	// Reset discards the state of a sample.
	Reset(sample int)

	// Copy copies the state of sample src to sample dst.
	Copy(dst, src int)
}
