package energy

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Site is the type of one entry of a state: a token or a real number.
type Site interface{ int32 | float32 }

// Noised is a batch of corrupted states, the input of a [Denoiser]. The slices belong
// to the caller and must not be modified or kept.
type Noised[S Site] struct {
	// X holds the states, states × sites, row-major.
	X []S

	// Time and Alpha hold, per state, the diffusion time in [0,1] (1 is pure
	// noise) and the signal level there: the probability that a token is
	// intact, or ᾱ of x_t = √ᾱ·x_0 + √(1−ᾱ)·noise for reals.
	Time, Alpha []float64

	// Sample identifies each state throughout a run: a state keeps its number from noise to
	// sample, whichever other states are in its batch. Runners set it; in a direct call it may be
	// nil, unless the denoiser keeps data per sample.
	Sample []int

	// Src is the randomness of each state, for denoisers that sample. Runners set it; it
	// may be nil for other denoisers.
	Src []rand.Source

	// Clean, unless nil, marks the entries of X that are known to be x_0, because they
	// are clamped. Under masking a token needs no such mark; under uniform corruption,
	// or for real numbers, its value does not show whether it is noise.
	Clean []bool

	// Guided states that the caller applies the guidance that the denoiser asked for
	// (see diffusion.Guide) in its reverse steps. A denoiser that relies on guidance
	// must return an error if Guided is false.
	Guided bool

	// Reveals states how the caller reveals masked tokens.
	Reveals Reveals

	// Meta is the conditioning of the run, passed through unchanged.
	Meta any
}

// Reveals is how the caller of a [Denoiser] reveals masked tokens, for denoisers that
// measure the path of a sample.
type Reveals uint8

const (
	// RevealsOtherwise is any way other than those below: with a projection, with guidance, by
	// particles, in an order of its own, or under another corruption.
	RevealsOtherwise Reveals = iota

	// RevealsEach replaces each mask, independently with probability (α_s − α_t)/(1 − α_t), by a
	// draw from its row.
	RevealsEach

	// RevealsOne replaces one mask, chosen uniformly, by a draw from its row.
	RevealsOne
)

// Denoiser predicts the clean state x_0 from a corrupted one, x_t.
//
// For tokens (S = int32) the prediction is one row of log-weights per site,
//
//	v[s,i,l] = log p(x_0,i = l | x_t) + c_{s,i},
//
// the full posterior of the site, which takes its own x_t,i into account. A denoiser may predict
// p(x_0,i = l | x_t without site i) instead if it is [SelfExcluding]; diffusions convert the
// rows. For reals (S = float32) levels is 1 and the prediction is the posterior mean
// E[x_0 | x_t].
//
// A denoiser whose prediction does not depend on Time, Alpha and Src should be
// [Timeless]; diffusions then reuse predictions while a state does not change.
type Denoiser[S Site] interface {
	// Shape returns the number of sites and of levels (1 for reals). For
	// masked tokens the mask is one of the levels.
	Shape() (sites, levels int)

	// Denoise stores the prediction for every state of q in v, states × sites
	// × levels, row-major. The prediction for a state is a function of that
	// state and its entries of q alone, unless the denoiser documents what
	// couples a batch. Diffusions call it from one goroutine, once per step.
	// An error ends the run.
	Denoise(ctx context.Context, v []float32, q Noised[S]) error
}

// DenoiserFunc is a denoiser given by a function of a batch; a struct literal is ready for use.
// It is the adapter for neural networks. F then
//
//   - converts q.X (token ids, row-major), and Time or Alpha if the network
//     wants them (σ = −log α), to the network's input;
//   - runs the whole batch at once and returns the network's error, if any;
//   - copies the logits to v, one row of levels per site; any constant per row
//     will do, so no softmax is needed.
type DenoiserFunc[S Site] struct {
	Sites, Levels int

	// F implements Denoise. Lengths have been checked when it is called.
	F func(ctx context.Context, v []float32, q Noised[S]) error

	// IgnoresTime states that predictions depend on the states alone, as is usual for
	// masked diffusion: see [TimeFree].
	IgnoresTime bool

	// ExcludesSelf states that F predicts each site from the others: see [LeaveOneOut].
	// It is true for networks trained on the objective of uniform diffusion (UDLM),
	// whose reverse step puts the prediction into the posterior.
	ExcludesSelf bool
}

// Shape returns Sites and Levels.
func (f DenoiserFunc[S]) Shape() (sites, levels int) { return f.Sites, f.Levels }

// Denoise calls F. It panics if slices do not fit the shape.
func (f DenoiserFunc[S]) Denoise(ctx context.Context, v []float32, q Noised[S]) error {
	q.States(f.Sites)
	check.Len("energy", "v", len(v), len(q.X)*f.Levels)
	if f.F == nil {
		return fmt.Errorf("energy: DenoiserFunc.F = nil")
	}
	return f.F(ctx, v, q)
}

// TimeFree returns IgnoresTime.
func (f DenoiserFunc[S]) TimeFree() bool { return f.IgnoresTime }

// LeaveOneOut returns ExcludesSelf.
func (f DenoiserFunc[S]) LeaveOneOut() bool { return f.ExcludesSelf }

// SelfExcluding is implemented by a denoiser of tokens that may predict every token
// from the other sites only.
type SelfExcluding interface {
	// LeaveOneOut reports whether rows are p(x_0,i = l | x_t without site i) instead of
	// full posteriors.
	LeaveOneOut() bool
}

// Timeless is implemented by a denoiser whose predictions may be functions of the
// states (X and Clean) alone.
type Timeless interface {
	// TimeFree reports whether predictions depend on the states alone.
	TimeFree() bool
}

// Masking is implemented by a denoiser of tokens that knows how they were corrupted.
// Diffusions refuse to run it with a process that has another mask.
type Masking interface {
	// MaskLevel returns the level that stands for a masked token, or −1 if corruption
	// replaces tokens by other tokens.
	MaskLevel() int32
}

// LeaveOneOut returns the result of the method LeaveOneOut if d, or what it wraps (see
// [As]), is [SelfExcluding]. It returns false for others: they predict full posteriors.
func LeaveOneOut(d any) bool {
	l, ok := As[SelfExcluding](d)
	return ok && !check.Nil(l) && l.LeaveOneOut()
}

// TimeFree returns the result of the method TimeFree if d, or what it wraps (see [As]),
// is [Timeless], and false for others.
func TimeFree(d any) bool {
	t, ok := As[Timeless](d)
	return ok && !check.Nil(t) && t.TimeFree()
}

// States returns the number of states of q, each with the given number of sites. It
// panics unless the lengths of all slices fit; Sample, Src and Clean may be nil. A denoiser
// should call it first.
func (q Noised[S]) States(sites int) int {
	n := check.Rows("energy", "X", len(q.X), sites)
	check.Len("energy", "Time", len(q.Time), n)
	check.Len("energy", "Alpha", len(q.Alpha), n)
	if q.Sample != nil {
		check.Len("energy", "Sample", len(q.Sample), n)
	}
	if q.Src != nil {
		check.Len("energy", "Src", len(q.Src), n)
	}
	if q.Clean != nil {
		check.Len("energy", "Clean", len(q.Clean), len(q.X))
	}
	return n
}

// NoisePredictor turns a predictor of the noise ε̂, such as most networks for reals,
// into a denoiser:
//
//	x̂_0 = (x_t − √(1−ᾱ)·ε̂)/√ᾱ.
//
// Clean entries are their own prediction. Elsewhere ᾱ must be > 0: at ᾱ = 0 the state
// is pure noise, and the prediction is not finite.
type NoisePredictor struct{ Denoiser[float32] }

// Shape returns the shape of the denoiser.
func (p NoisePredictor) Shape() (sites, levels int) {
	check.Must("energy: NoisePredictor", "Denoiser", p.Denoiser)
	return p.Denoiser.Shape()
}

// Denoise implements [Denoiser].
func (p NoisePredictor) Denoise(ctx context.Context, v []float32, q Noised[float32]) error {
	if err := check.Given("energy: NoisePredictor", "Denoiser", p.Denoiser); err != nil {
		return err
	}
	if err := p.Denoiser.Denoise(ctx, v, q); err != nil {
		return err
	}
	n, _ := p.Shape()
	for i, x := range q.X {
		alpha := q.Alpha[i/n]
		v[i] = float32((float64(x) - float64(math.Sqrt(1-alpha)*float64(v[i]))) / math.Sqrt(alpha))
		if q.Clean != nil && q.Clean[i] {
			v[i] = x
		}
	}
	return nil
}
