package diffusion

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Process is a corruption x_0 → x_t, t ∈ [0,1], and its reverse: [Masked],
// [Uniform], [Remask] and [Ordered] on tokens, [Gaussian] on reals.
type Process[S energy.Site] interface {
	// Alpha returns the signal level at time t (see [noise.Schedule]).
	Alpha(t float64) float64

	// Prior stores a draw of x_1, pure noise, in x.
	Prior(x []S, r *sampler.Stream)

	// Next returns the time s that follows t for the sample x, s < t or, for
	// processes that linger, s ≤ t. step counts from 0; steps is the number of
	// steps asked for. The run of the sample ends with s = 0.
	Next(x []S, t float64, step, steps int, r *sampler.Stream) (s float64)

	// Reverse replaces x = x_t by a draw of x_s given the predictions of x_0:
	// raw is what the denoiser said, v the same after a projection, or raw
	// itself. Tokens are drawn from v site by site. Reverse may write to v what
	// is implied by x (a mask has no weight). The error is a *[PredictionError].
	Reverse(x []S, raw, v []float32, t, s float64, r *sampler.Stream) error
}

// Binder is a process that needs the shape of the samples or keeps something
// per sample. Runners call Bind once for every sample that they hold at a time
// and use what it returns.
type Binder[S energy.Site] interface {
	Bind(sites, levels int) (Process[S], error)
}

// Renoiser is a token process that can move with a joint draw of the clean
// sample: what projections need.
type Renoiser interface {
	// Condition turns the prediction v for x = x_t into the full posterior
	// log p(x_0,i = l | x_t), up to a constant per row: tokens that x_t shows
	// to be intact get all weight, a mask gets none, and a leave-one-out
	// prediction is multiplied by q(x_t,i | x_0,i = l). Conditioning a full
	// posterior twice changes nothing.
	Condition(v []float32, x []int32, t float64, leaveOneOut bool)

	// Renoise replaces x = x_t by a draw from q(x_s | x_t, x_0). v is the
	// conditioned prediction that x0 was drawn from.
	Renoise(x, x0 []int32, v []float32, t, s float64, r *sampler.Stream)
}

// Joint is a process whose step can be weighed: what [Particles] need.
type Joint interface {
	Renoiser

	// Reweight adds log q(x_s | x_t, x_0,i = l) to the conditioned prediction
	// v, up to a constant per row.
	Reweight(v []float32, xt, xs []int32, t, s float64)
}

// Projection moves predictions to the feasible set. Package projection
// satisfies it without importing this package.
type Projection = interface {
	// Project replaces the sites × levels log-weights (or the sites reals) v of
	// one sample by those of a distribution that satisfies the constraint, and
	// returns by how much it still fails to. sample is a slot of the runner, 0
	// … samples−1; from and to are the times around the step. Samples may be
	// projected concurrently, each by one goroutine at a time.
	Project(ctx context.Context, sample int, v []float32, from, to float64, src rand.Source) (violation float64, err error)
}

// Projector is the recipe of a [Projection].
type Projector interface {
	// Bind makes the projection for samples of a shape. It may be long.
	Bind(ctx context.Context, sites, levels, samples int) (Projection, error)
}

// Drawer is a projection that can condition exactly: runners prefer it. Its
// methods do not modify v and may be called concurrently.
type Drawer interface {
	// Draw stores in x0 an exact joint draw from ∏_i softmax(v_i) restricted to
	// the feasible set C, and returns log Z = log Σ_{x∈C} ∏_i exp(v[i,x_i]).
	// The error wraps constraint.ErrInfeasible if Z = 0.
	Draw(x0 []int32, v []float32, src rand.Source) (logZ float64, err error)

	// LogZ returns log Z alone.
	LogZ(v []float32) (float64, error)
}

// Committer is a projection with a memory, for instance of what has been
// generated. Runners call Commit for every finished sample, in the order of the
// samples and from one goroutine, with the last conditioned prediction of the
// sample; it may change x. An error that wraps constraint.ErrInfeasible makes
// the runner draw the sample again.
type Committer interface {
	Commit(x []int32, v []float32, src rand.Source) error
}

// Warm is a projection that keeps something per sample between steps, for
// instance multipliers.
type Warm interface {
	// Reset forgets what is kept of a sample.
	Reset(sample int)

	// Copy makes dst start from what is kept of src.
	Copy(dst, src int)
}

// PredictionError says that a row of a prediction cannot be drawn from. An
// empty row wraps [constraint.ErrInfeasible].
type PredictionError struct {
	Site  int
	Empty bool // every level has weight zero; otherwise the row has a NaN or +Inf
}

func (e *PredictionError) Error() string {
	if e.Empty {
		return fmt.Sprintf("the prediction for site %d gives every level weight zero", e.Site)
	}
	return fmt.Sprintf("the prediction for site %d has a weight that is NaN or +Inf", e.Site)
}

func (e *PredictionError) Unwrap() error {
	if e.Empty {
		return constraint.ErrInfeasible
	}
	return nil
}

// drawRow draws the level of one site from its row of log-weights, by inverse
// CDF with a 53-bit uniform.
func drawRow(v []float32, site, levels int, r *sampler.Stream) (int32, error) {
	var idx [1]int32
	u := [1]float64{r.Float64()}
	row := v[site*levels : (site+1)*levels]
	simd.Categorical(idx[:], row, levels, u[:])
	if idx[0] < 0 {
		return 0, badRow(row, site)
	}
	return idx[0], nil
}

// badRow says why a row cannot be drawn from.
func badRow(row []float32, site int) error {
	for _, w := range row {
		if w != w || math.IsInf(float64(w), 1) {
			return &PredictionError{Site: site}
		}
	}
	return &PredictionError{Site: site, Empty: true}
}

// oneHot gives all weight of a row to one level.
func oneHot(row []float32, level int32) {
	never := float32(math.Inf(-1))
	for l := range row {
		row[l] = never
	}
	row[level] = 0
}

// gridTime returns the time after the given step of an even grid: exactly 0
// after the last.
func gridTime(step, steps int) float64 {
	if step+1 >= steps {
		return 0
	}
	return float64(steps-step-1) / float64(steps)
}

// rowLen returns the number of levels of a table for x.
func rowLen(v []float32, sites int) int {
	if sites == 0 || len(v)%sites != 0 || len(v) == 0 {
		panic(fmt.Sprintf("diffusion: len(v) = %d, want a positive multiple of %d", len(v), sites))
	}
	return len(v) / sites
}
