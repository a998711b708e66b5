package energy

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Site is the type of one entry of a state: int32 for a token, float32 for a real number.
type Site interface{ int32 | float32 }

// Noised is the input of a [Denoiser]: a batch of noisy states. The slices belong to the caller and
// must not be modified or kept.
type Noised[S Site] struct {
	// X holds the states as a row-major array of states × sites.
	X []S

	// Time and Alpha hold one number per state. Time is the diffusion time in [0, 1], where 1
	// is pure noise. Alpha is the signal level at that time. For tokens it is the probability
	// that a token is intact; for reals it is ᾱ in x_t = √ᾱ·x_0 + √(1−ᾱ)·noise.
	Time, Alpha []float64

	// Sample holds one number per state. It is the index of the sample that a diffusion makes from
	// this state. The index is the same in every step, even if other states join or leave the
	// batch. Diffusions set Sample. If you call a denoiser directly, Sample may be nil, unless the
	// denoiser keeps data per sample.
	Sample []int

	// Src holds a random source for each state. Diffusions set Src. It may be nil for denoisers
	// that make no random draws.
	Src []rand.Source

	// Clean, unless nil, marks the entries of X that are known without noise, because the diffusion
	// holds them fixed (clamps). Denoisers need Clean for uniform noise and for reals, where the
	// value of an entry does not show whether it is noisy. With masking noise, every unmasked token
	// is known, marked or not.
	Clean []bool

	// Guided is true if the caller applies the denoiser's guidance itself, in its reverse steps
	// instead of in the predictions (see diffusion.Guide). Guidance makes samples that satisfy a
	// condition more likely. A denoiser that relies on the caller for this must return an error if
	// Guided is false.
	Guided bool

	// Reveals describes how the caller reveals masked tokens. Most denoisers ignore it; see
	// [Reveals].
	Reveals Reveals

	// Meta is data that the user passes to the denoiser, such as a prompt. Diffusions pass it on
	// unchanged.
	Meta any
}

// Reveals describes how the caller of a [Denoiser] reveals masked tokens. A diffusion sets it in
// [Noised]. Denoisers need this value only if they compute the probability of the steps that
// produced a sample.
type Reveals uint8

const (
	// RevealsOtherwise means that neither RevealsEach nor RevealsOne applies. Examples are tokens
	// revealed in a chosen order, steps changed by a projection, by guidance or by resampling of
	// particles, and noise other than masking.
	RevealsOtherwise Reveals = iota

	// RevealsEach means that a step reveals each masked token independently with probability
	//
	//	(α_s − α_t)/(1 − α_t).
	//
	// Here α_t and α_s are the signal levels before and after the step: the probabilities that a
	// token is not masked. The token is drawn from its row of the prediction.
	RevealsEach

	// RevealsOne means that a step reveals one masked token, chosen uniformly. The token is drawn
	// from its row of the prediction.
	RevealsOne
)

// String returns "otherwise", "each" or "one".
func (r Reveals) String() string {
	return check.Name("Reveals", r, "otherwise", "each", "one")
}

// MarshalText returns the result of String as bytes. It implements encoding.TextMarshaler.
func (r Reveals) MarshalText() ([]byte, error) {
	return check.MarshalName("reveals", r, RevealsOne)
}

// UnmarshalText sets r to the value with the given name, as String returns it. It implements
// encoding.TextUnmarshaler.
func (r *Reveals) UnmarshalText(name []byte) error {
	return check.UnmarshalName("reveals", r, RevealsOne, name)
}

// Denoiser predicts the clean state x_0 from a noisy state x_t.
//
// For tokens (S = int32), the prediction for state s of the batch has one row of log-weights per
// site i,
//
//	v[s,i,l] = log p(x_0,i = l | x_t) + c_{s,i},
//
// where c_{s,i} may be any constant. The row is the posterior of the site given all of x_t,
// including the site itself. A [SelfExcluding] denoiser may instead predict each site from the
// other sites only. For reals (S = float32), there is one level, and the prediction is the
// posterior mean E[x_0 | x_t].
//
// If predictions do not depend on Time, Alpha and Src, implement [Timeless]. Diffusions then reuse
// the prediction while a state does not change.
type Denoiser[S Site] interface {
	// Shape returns the number of sites and of levels (1 for reals). For masked tokens the mask
	// is one of the levels.
	Shape() (sites, levels int)

	// Denoise stores in v the prediction for every state of q. The slice v is a row-major array of
	// states × sites × levels. The prediction for a state depends only on the entries of q for this
	// state, unless the denoiser documents how states of a batch interact. Diffusions call Denoise
	// from one goroutine, once per step. If Denoise returns an error, the diffusion stops with it.
	Denoise(ctx context.Context, v []float32, q Noised[S]) error
}

// DenoiserFunc is a denoiser given by a function F, which may run a neural network. A struct
// literal is ready for use. For a network, F should
//
//   - convert q.X (token ids, row-major) to the network's input, and also q.Time or q.Alpha if the
//     network needs the noise level (often −log Alpha);
//   - run the whole batch at once and return the network's error, if any;
//   - copy the logits to v, one row of levels per site. No softmax is needed.
type DenoiserFunc[S Site] struct {
	Sites, Levels int

	// F stores in v the predictions for the states of q (see [Denoiser]). The lengths of the
	// slices are checked before F is called.
	F func(ctx context.Context, v []float32, q Noised[S]) error

	// IgnoresTime declares that predictions depend on the states alone (see [TimeFree]), as usual
	// in masked diffusion.
	IgnoresTime bool

	// ExcludesSelf declares that F predicts each site from the other sites only (see
	// [LeaveOneOut]). Set it for networks trained on the objective of uniform diffusion (UDLM). The
	// reverse step of that diffusion combines such a prediction with the site's own token.
	ExcludesSelf bool
}

// Shape returns the fields Sites and Levels.
func (f DenoiserFunc[S]) Shape() (sites, levels int) { return f.Sites, f.Levels }

// Denoise calls F, which stores the predictions for q in v, and returns the error of F. It panics
// if a slice does not fit the shape.
func (f DenoiserFunc[S]) Denoise(ctx context.Context, v []float32, q Noised[S]) error {
	q.States(f.Sites)
	check.Len("energy", "v", len(v), len(q.X)*f.Levels)
	if f.F == nil {
		return fmt.Errorf("energy: DenoiserFunc.F = nil")
	}
	return f.F(ctx, v, q)
}

// TimeFree returns the field IgnoresTime; it implements [Timeless].
func (f DenoiserFunc[S]) TimeFree() bool { return f.IgnoresTime }

// LeaveOneOut returns the field ExcludesSelf; it implements [SelfExcluding].
func (f DenoiserFunc[S]) LeaveOneOut() bool { return f.ExcludesSelf }

// SelfExcluding is implemented by denoisers that can report whether they predict the clean token of
// a site without using its noisy token.
type SelfExcluding interface {
	// LeaveOneOut reports whether the rows of a prediction are p(x_0,i = l | x_t without site i),
	// where x_0 is the clean state and x_t is the noisy state. If not, the rows are the posteriors
	// given all of x_t.
	LeaveOneOut() bool
}

// Timeless is implemented by denoisers that report whether their predictions depend on the states
// alone.
type Timeless interface {
	// TimeFree reports whether predictions depend on the fields X and Clean of [Noised] alone.
	TimeFree() bool
}

// Masking is implemented by denoisers of tokens to say which level is their mask. A diffusion with a
// different mask returns an error.
type Masking interface {
	// MaskLevel returns the level that stands for a masked token, or −1 if the noise replaces
	// tokens by other tokens instead.
	MaskLevel() int32
}

// LeaveOneOut reports whether the denoiser d predicts each token from the other sites only. If d
// supports [SelfExcluding] (see [As]), the result is that of its method LeaveOneOut. Otherwise d
// predicts the posterior given all sites, and the result is false.
func LeaveOneOut(d any) bool {
	l, ok := As[SelfExcluding](d)
	return ok && !check.Nil(l) && l.LeaveOneOut()
}

// TimeFree reports whether the predictions of the denoiser d depend on the states alone. If d
// supports [Timeless] (see [As]), the result is that of its method TimeFree. Otherwise it is false.
func TimeFree(d any) bool {
	t, ok := As[Timeless](d)
	return ok && !check.Nil(t) && t.TimeFree()
}

// States returns the number of states in q, given the number of sites of a state. It first checks
// the lengths of all slices of q, and panics if one does not fit; Sample, Src and Clean may be nil.
// A denoiser should call States before it uses q.
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

// NoisePredictor turns a predictor of the noise into a denoiser. Most networks for reals predict
// the noise. From the predicted noise ε̂ and the noisy state x_t at signal level ᾱ, NoisePredictor
// computes the prediction of the clean state,
//
//	x̂_0 = (x_t − √(1−ᾱ)·ε̂)/√ᾱ.
//
// The prediction of a clean entry is the entry itself. For all other entries ᾱ must be > 0, because
// at ᾱ = 0 the state is pure noise and the prediction would not be finite.
type NoisePredictor struct{ Denoiser[float32] }

// Shape returns the shape of the wrapped denoiser.
func (p NoisePredictor) Shape() (sites, levels int) {
	check.Must("energy: NoisePredictor", "Denoiser", p.Denoiser)
	return p.Denoiser.Shape()
}

// Denoise stores in v the predictions of the clean states, converted from the noise that the
// wrapped predictor returns. It implements [Denoiser].
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
