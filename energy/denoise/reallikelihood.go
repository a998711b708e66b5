package denoise

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// RealLikelihood estimates the density q of the samples that a Gaussian diffusion generates with a
// denoiser of reals, such as a network. Let ᾱ_1 > … > ᾱ_T be the signal levels of its steps. The
// chain begins with a standard normal x_T and continues as in DDPM (Ho, Jain and Abbeel 2020):
//
//	x_{t−1} | x_t ~ N(μ_t(x_t, x̂_0), β̃_t),  x_0 | x_1 ~ N(x̂_0, (1−ᾱ_1)/ᾱ_1).
//
// Here x̂_0 is the prediction, and μ_t and β̃_t are the mean and the variance of x_{t−1} given x_t
// and x_0. The last step has the posterior variance of x_0 under a flat prior. (Samplers usually
// make it without noise, which gives no density.)
//
// The estimate is a mean of K ratios. For each ratio, noise is added to the state along a random
// path. The ratio is the density of this path under the reverse chain, divided by the density of
// this path under the noise process. On average the logarithm of the estimate is below log q(x_0).
// The gap shrinks as K grows (Khalafi, Ribeiro and Ding 2026, Lemma 2 and C.4). With K = 1 it is
// the evidence lower bound.
//
// A RealLikelihood is safe for concurrent use if the denoiser is.
type RealLikelihood struct {
	base  energy.Denoiser[float32]
	alpha []float64 // signal levels ᾱ_t, from the least noise to the most
	sites int
	paths int
	seed  uint64
}

// NewRealLikelihood returns an estimator of the density of the samples that a Gaussian diffusion
// generates with the denoiser d. The argument alpha holds the signal levels ᾱ_1 > … > ᾱ_T of the
// steps. The argument paths is the number of random noise paths for each state. The seed
// determines these paths.
//
// NewRealLikelihood returns an error unless d is a denoiser of reals, alpha decreases strictly
// within (0, 1), and paths ≥ 1.
func NewRealLikelihood(d energy.Denoiser[float32], alpha []float64, paths int, seed uint64) (*RealLikelihood, error) {
	if err := check.Given("denoise: NewRealLikelihood", "d", d); err != nil {
		return nil, err
	}
	l := &RealLikelihood{base: d, paths: paths, seed: seed}
	levels := 0
	if l.sites, levels = d.Shape(); l.sites < 1 || levels != 1 {
		return nil, fmt.Errorf("denoise: NewRealLikelihood: d has %d sites and %d levels, want ≥ 1 and 1", l.sites, levels)
	}
	if len(alpha) == 0 || paths < 1 {
		return nil, fmt.Errorf("denoise: NewRealLikelihood: %d signal levels and %d paths, want ≥ 1 of both", len(alpha), paths)
	}
	before := 1.0
	for t, a := range alpha {
		if !(a > 0 && a < before) {
			return nil, fmt.Errorf("denoise: NewRealLikelihood: alpha[%d] = %v, want in (0, %v): signal levels fall", t, a, before)
		}
		before = a
	}
	l.alpha = append(l.alpha, alpha...)
	return l, nil
}

// reverse returns the coefficients of the step from level t to level t−1: the weights of x̂_0 and
// of x_t in its mean, and its variance. At level 0 it is the last step.
func (l *RealLikelihood) reverse(t int) (clean, noisy, variance float64) {
	a := l.alpha[t]
	if t == 0 {
		return 1, 0, (1 - a) / a
	}
	b := l.alpha[t-1]
	beta := 1 - a/b
	return math.Sqrt(b) * beta / (1 - a), math.Sqrt(a/b) * (1 - b) / (1 - a), (1 - b) / (1 - a) * beta
}

// path adds noise to the state clean at all levels. State t of the path is x[t·sites :
// (t+1)·sites].
func (l *RealLikelihood) path(x, clean []float32, r *rand.Rand) {
	normal.Fill(x, r)
	from, before := clean, 1.0
	for t, a := range l.alpha {
		at := x[t*l.sites : (t+1)*l.sites]
		keep, noise := math.Sqrt(a/before), math.Sqrt(1-a/before)
		for i, e := range at {
			at[i] = float32(float64(keep*float64(from[i])) + float64(noise*float64(e)))
		}
		from, before = at, a
	}
}

// predict stores in v the predictions of d for the states x of a path.
func (l *RealLikelihood) predict(ctx context.Context, d energy.Denoiser[float32], v, x []float32) error {
	q := energy.Noised[float32]{X: x, Alpha: l.alpha}
	for t := range l.alpha {
		q.Time = append(q.Time, float64(t+1)/float64(len(l.alpha)))
	}
	return d.Denoise(ctx, v, q)
}

// LogProb stores in logp an estimate of log q(x) for each state x, in nats, where q is the density
// of the samples of the diffusion. If se is not nil, it receives the standard error of each
// estimate.
//
// The standard error is estimated from the spread of the ratios of the random paths (see
// [RealLikelihood]). It is +Inf for a single path. Above about 0.5 it is unreliable.
//
// LogProb returns an error of ctx or of the denoiser. It panics if the lengths do not match.
func (l *RealLikelihood) LogProb(ctx context.Context, logp, se []float64, x []float32) error {
	n := check.Rows("denoise", "x", len(x), l.sites)
	check.Len("denoise", "logp", len(logp), n)
	if se != nil {
		check.Len("denoise", "se", len(se), n)
	}
	path, v := make([]float32, len(l.alpha)*l.sites), make([]float32, len(l.alpha)*l.sites)
	ratio := make([]float64, l.paths)
	for s := range n {
		clean := x[s*l.sites : (s+1)*l.sites]
		for k := range ratio {
			l.path(path, clean, rand.New(rand.NewPCG(l.seed, uint64(s)<<32+uint64(k))))
			if err := l.predict(ctx, l.base, v, path); err != nil {
				return fmt.Errorf("denoise: RealLikelihood: state %d: %w", s, err)
			}
			ratio[k] = l.ratio(clean, path, v)
		}
		mean, spread := meanExp(ratio)
		logp[s] = mean
		if se != nil {
			se[s] = spread
		}
	}
	return nil
}

// ratio returns the log ratio of two densities: that of a path and its clean state under the
// reverse chain, and that of the path under noise.
func (l *RealLikelihood) ratio(clean, path, v []float32) (sum float64) {
	last := len(l.alpha) - 1
	a := l.alpha[last]
	for i, z := range path[last*l.sites:] {
		e := float64(z) - float64(math.Sqrt(a)*float64(clean[i]))
		sum += float64((float64(e*e)/(1-a) - float64(float64(z)*float64(z)) + simd.Log(1-a)) / 2)
	}
	for t := last; t >= 0; t-- {
		c, noisy, variance := l.reverse(t)
		x, p := path[t*l.sites:(t+1)*l.sites], v[t*l.sites:(t+1)*l.sites]
		if t == 0 {
			for i, m := range p {
				e := float64(clean[i]) - float64(m)
				sum -= float64((float64(e*e)/variance + simd.Log(2*math.Pi*variance)) / 2)
			}
			break
		}
		for i, y := range path[(t-1)*l.sites : t*l.sites] {
			rest := float64(y) - float64(noisy*float64(x[i]))
			model, noise := rest-float64(c*float64(p[i])), rest-float64(c*float64(clean[i]))
			sum += (float64(noise*noise) - float64(model*model)) / (2 * variance)
		}
	}
	return sum
}

// PathKL compares the diffusion of the denoiser d, which was given to [NewRealLikelihood], with
// that of another denoiser. The states x must be samples of d. For each state, PathKL follows one
// random path of noise and stores in kl an estimate of the divergence in nats,
//
//	Σ_t ‖μ_t(x_t, x̂_0) − μ_t(x_t, x̂′_0)‖²/(2β̃_t).
//
// Here x_t is the state after t steps of noise. From x_t, d predicts x̂_0, and the other denoiser
// predicts x̂′_0. The mean and the variance of x_{t−1} given x_t and x_0 are μ_t and β̃_t.
//
// If d is exact, the mean over samples is the divergence between the distributions of whole paths
// (Khalafi, Ribeiro and Ding 2026, Lemma 3). This divergence is an upper bound on the divergence of
// the final samples.
//
// PathKL returns an error of ctx or of a denoiser, or if the other denoiser has a different shape.
// It panics if the lengths do not match.
func (l *RealLikelihood) PathKL(ctx context.Context, kl []float64, other energy.Denoiser[float32], x []float32) error {
	n := check.Rows("denoise", "x", len(x), l.sites)
	check.Len("denoise", "kl", len(kl), n)
	if err := check.Given("denoise: PathKL", "other", other); err != nil {
		return err
	}
	if sites, levels := other.Shape(); sites != l.sites || levels != 1 {
		return fmt.Errorf("denoise: PathKL: the other denoiser has %d sites and %d levels, want %d and 1", sites, levels, l.sites)
	}
	path, v, w := make([]float32, len(l.alpha)*l.sites), make([]float32, len(l.alpha)*l.sites), make([]float32, len(l.alpha)*l.sites)
	for s := range kl {
		l.path(path, x[s*l.sites:(s+1)*l.sites], rand.New(rand.NewPCG(l.seed, uint64(s)<<32)))
		if err := l.predict(ctx, l.base, v, path); err != nil {
			return fmt.Errorf("denoise: PathKL: state %d: %w", s, err)
		}
		if err := l.predict(ctx, other, w, path); err != nil {
			return fmt.Errorf("denoise: PathKL: state %d, other denoiser: %w", s, err)
		}
		kl[s] = 0
		for t := range l.alpha {
			c, _, variance := l.reverse(t)
			for i := t * l.sites; i < (t+1)*l.sites; i++ {
				d := float64(c * (float64(v[i]) - float64(w[i])))
				kl[s] += float64(d*d) / (2 * variance)
			}
		}
	}
	return nil
}
