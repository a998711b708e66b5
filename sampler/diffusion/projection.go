package diffusion

import (
	"context"
	"math/rand/v2"
)

// Projection moves predictions to the set of allowed samples, called the feasible set.
type Projection = interface {
	// Project replaces the prediction v for one sample by one that satisfies the constraint, and
	// returns the violation that remains. The slice v holds sites × levels log-weights for tokens,
	// or one number per site for reals. The samples made at the same time are numbered from 0, and
	// the argument sample is this number. The step goes from the time start to the time end. Calls
	// for different samples can be concurrent, but not calls for the same sample.
	Project(ctx context.Context, sample int, v []float32, start, end float64, src rand.Source) (violation float64, err error)
}

// Projector holds the settings from which a [Projection] is made.
type Projector interface {
	// Bind makes the projection for samples of the given shape. The argument samples is the largest
	// number of samples made at the same time. Bind may take a long time.
	Bind(ctx context.Context, sites, levels, samples int) (Projection, error)
}

// Drawer is a projection that can draw a clean sample exactly from the prediction restricted to the
// feasible set. Runners draw instead of projecting if Config.Decode is DecodeLast. The methods must
// not modify v and may be called concurrently. A [GivenDrawer] can skip sites whose tokens are
// known.
type Drawer interface {
	// Draw stores in x0 an exact joint draw from ∏_i softmax(v_i) restricted to the feasible set C.
	// Here v_i holds the log-weights of site i. It returns log Z, where
	//
	//	Z = Σ_{x∈C} ∏_i exp(v[i,x_i]).
	//
	// If Z = 0, the error wraps constraint.ErrInfeasible. Any other error comes from ctx.
	Draw(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)

	// LogZ returns the same log Z as Draw but does not draw.
	LogZ(ctx context.Context, v []float32) (float64, error)
}

// GivenDrawer is a [Drawer] that does not need the log-weights of sites whose tokens are known.
type GivenDrawer interface {
	Drawer

	// Self returns the receiver. If a type embeds a GivenDrawer and has a Draw of its own, Self
	// shows the runner that DrawGiven belongs to the embedded type. The runner then calls Draw.
	Self() any

	// DrawGiven is Draw for a sample with known tokens (see [IntactSteps]). On entry x0 holds the
	// known tokens, and −1 at the other sites. The rows of v at the known sites may hold anything
	// and may be overwritten. DrawGiven returns what Draw would return if these rows were 0 for the
	// known token and −Inf for all others.
	DrawGiven(ctx context.Context, x0 []int32, v []float32, src rand.Source) (logZ float64, err error)
}

// Committer is a projection that remembers something between samples, for instance the samples
// generated so far. For checkpoints, it must also be a [Recaller].
//
// Runners call Commit for every finished sample, in the order of the samples and from one
// goroutine. The argument x is the sample, and v is the last prediction for it, conditioned on the
// revealed tokens. Commit may change x. If its error wraps constraint.ErrInfeasible, the runner
// draws the sample again.
type Committer interface {
	Commit(ctx context.Context, x []int32, v []float32, src rand.Source) error
}

// Recaller is a [Committer] that can resume from a checkpoint. When a runner loads a checkpoint, it
// calls Recall instead of Commit for every sample of the checkpoint, in order. Recall must remember
// the sample x without changing it, or return an error.
type Recaller interface {
	Recall(x []int32) error
}

// Warm is a projection that keeps data about each sample between its steps, such as Lagrange
// multipliers.
type Warm interface {
	// Reset discards the data about a sample.
	Reset(sample int)

	// Copy copies the data about sample src to sample dst.
	Copy(dst, src int)
}
