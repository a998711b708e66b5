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

	// Sample identifies each state throughout a run. A state keeps its number from noise to sample,
	// whichever other states are in its batch. Runners set it. In a direct call it may be nil,
	// unless the denoiser keeps data per sample.
	Sample []int

	// Src holds the random source of each state, for denoisers that sample. Runners set it; it may
	// be nil for other denoisers.
	Src []rand.Source

	// Clean, unless nil, marks the entries of X that are known to be x_0, because they are clamped.
	// Under masking a token needs no such mark. Under uniform corruption, or for real numbers, the
	// value of an entry does not show whether it is noise.
	Clean []bool

	// Guided reports whether the caller applies, in its reverse steps, the guidance that the
	// denoiser requires (see diffusion.Guide). A denoiser that relies on guidance must return an
	// error if Guided is false.
	Guided bool

	// Reveals tells how the caller reveals masked tokens.
	Reveals Reveals

	// Meta is the conditioning of the run, which is passed through unchanged.
	Meta any
}

// Reveals tells how the caller of a [Denoiser] reveals masked tokens. Denoisers that need the
// probability of the path of a sample use it.
type Reveals uint8

const (
	// RevealsOtherwise is any way other than RevealsEach and RevealsOne: with a projection, with
	// guidance, by particles, in a chosen order, or under another corruption.
	RevealsOtherwise Reveals = iota

	// RevealsEach replaces each masked token, independently with probability (α_s − α_t)/(1 − α_t),
	// by a draw from its predicted row. α_t and α_s are the signal levels before and after the
	// step.
	RevealsEach

	// RevealsOne replaces one masked token, chosen uniformly, by a draw from its predicted row.
	RevealsOne
)

// String returns "otherwise", "each" or "one".
func (r Reveals) String() string {
	return check.Name("Reveals", r, "otherwise", "each", "one")
}

// MarshalText returns the name that String returns.
func (r Reveals) MarshalText() ([]byte, error) {
	return check.MarshalName("reveals", r, RevealsOne)
}

// UnmarshalText sets r to the value with the name, for flags and files.
func (r *Reveals) UnmarshalText(name []byte) error {
	return check.UnmarshalName("reveals", r, RevealsOne, name)
}

// Denoiser predicts the clean state x_0 from a corrupted one, x_t.
//
// For tokens (S = int32) the prediction is one row of log-weights per site,
//
//	v[s,i,l] = log p(x_0,i = l | x_t) + c_{s,i},
//
// the full posterior of the site given all of x_t, including x_t,i. A denoiser may predict p(x_0,i
// = l | x_t without site i) instead if it is [SelfExcluding]; diffusions convert the rows. For
// reals (S = float32) levels is 1 and the prediction is the posterior mean E[x_0 | x_t].
//
// A denoiser whose prediction does not depend on Time, Alpha and Src should be [Timeless];
// diffusions then reuse predictions while a state does not change.
type Denoiser[S Site] interface {
	// Shape returns the number of sites and of levels (1 for reals). For
	// masked tokens the mask is one of the levels.
	Shape() (sites, levels int)

	// Denoise stores in v the prediction for every state of q, states × sites × levels, row-major.
	// The prediction for a state depends only on that state and its entries of q, unless the
	// denoiser documents how states of a batch interact. Diffusions call Denoise from one
	// goroutine, once per step. An error ends the run.
	Denoise(ctx context.Context, v []float32, q Noised[S]) error
}

// DenoiserFunc is a denoiser given by a function of a batch; a struct literal is ready for use. It
// is the adapter for neural networks. F should
//
//   - convert q.X (token ids, row-major), and Time or Alpha if the network
//     needs them (σ = −log α), to the network's input;
//   - run the whole batch at once and return the network's error, if any;
//   - copy the logits to v, one row of levels per site. A constant may be added to each row, so no
//     softmax is needed.
type DenoiserFunc[S Site] struct {
	Sites, Levels int

	// F stores in v the predictions for the states of q; see [Denoiser]. Lengths have been checked
	// when it is called.
	F func(ctx context.Context, v []float32, q Noised[S]) error

	// IgnoresTime states that predictions depend on the states alone, as is usual for masked
	// diffusion; see [TimeFree].
	IgnoresTime bool

	// ExcludesSelf states that F predicts each site from the other sites only; see [LeaveOneOut].
	// It is true for networks trained on the objective of uniform diffusion (UDLM), whose reverse
	// step puts the prediction into the posterior.
	ExcludesSelf bool
}

// Shape returns Sites and Levels.
func (f DenoiserFunc[S]) Shape() (sites, levels int) { return f.Sites, f.Levels }

// Denoise calls F and returns its error. It panics if slices do not fit the shape.
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

// SelfExcluding is implemented by a denoiser that may predict every token from the other sites
// only.
type SelfExcluding interface {
	// LeaveOneOut reports whether rows are p(x_0,i = l | x_t without site i) instead of
	// full posteriors.
	LeaveOneOut() bool
}

// Timeless is implemented by a denoiser whose predictions may depend on the states alone, that is,
// on X and Clean.
type Timeless interface {
	// TimeFree reports whether predictions depend on X and Clean alone.
	TimeFree() bool
}

// Masking is implemented by a denoiser of tokens that knows how tokens were corrupted. A diffusion
// returns an error if its own process uses another mask.
type Masking interface {
	// MaskLevel returns the level that stands for a masked token, or −1 if the corruption replaces
	// tokens by other tokens.
	MaskLevel() int32
}

// LeaveOneOut reports whether the denoiser d predicts every token from the other sites only. It
// calls the method LeaveOneOut if d, or what it wraps (see [As]), is [SelfExcluding]. It returns
// false for all others, which predict full posteriors.
func LeaveOneOut(d any) bool {
	l, ok := As[SelfExcluding](d)
	return ok && !check.Nil(l) && l.LeaveOneOut()
}

// TimeFree reports whether predictions of the denoiser d depend on the states alone. It calls the
// method TimeFree if d, or what it wraps (see [As]), is [Timeless]. It returns false for all
// others.
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

// NoisePredictor turns a predictor of the noise ε̂, such as most networks for reals, into a
// denoiser:
//
//	x̂_0 = (x_t − √(1−ᾱ)·ε̂)/√ᾱ.
//
// The prediction for a clean entry is the entry itself. For all others ᾱ must be > 0: at ᾱ = 0 the
// state is pure noise, and the prediction is not finite.
type NoisePredictor struct{ Denoiser[float32] }

// Shape returns the shape of the wrapped denoiser.
func (p NoisePredictor) Shape() (sites, levels int) {
	check.Must("energy: NoisePredictor", "Denoiser", p.Denoiser)
	return p.Denoiser.Shape()
}

// Denoise converts the predicted noise of the wrapped denoiser to predictions of the clean states.
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
