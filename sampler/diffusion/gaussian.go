package diffusion

import (
	"cmp"
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/normal"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Gaussian is diffusion of reals, reversed by the steps of DDIM (Song et al. 2021, eq. 12). At time
// t a sample x_0 has become
//
//	x_t = √ᾱ_t·x_0 + √(1−ᾱ_t)·noise,
//
// where ᾱ_t is the signal level. Let x̂_0 be the prediction at time t, and let η be the field Eta.
// A step to time s computes
//
//	ε̂ = (x_t − √ᾱ_t·x̂_0)/√(1−ᾱ_t),
//	σ = η·√((1−ᾱ_s)/(1−ᾱ_t))·√(1−ᾱ_t/ᾱ_s),
//	x_s = √ᾱ_s·x̂_0 + √(1−ᾱ_s−σ²)·ε̂ + σ·noise.
//
// With η = 0 only the initial noise is random. With η = 1 the steps are those of DDPM (Ho et al.
// 2020). The last step returns x̂_0. If your network predicts ε̂, wrap it in energy.NoisePredictor.
//
// With a projection, the formula for x_s uses the projected x̂_0. The formula for ε̂ still uses the
// prediction itself (constrained posterior sampling; Narasimhan et al. 2025), which is best for
// Euclidean projections. For projections in the metric of the posterior covariance
// (proximal.Projector.Metric), set Recompute: then ε̂ uses the projected x̂_0 too.
// Config.ProjectState lists methods for comparison.
type Gaussian struct {
	Schedule noise.Schedule // schedule of the signal level ᾱ; nil means noise.LinearBeta{}

	// Eta is η in [0, 1], the share of fresh noise.
	Eta float64

	// Wide sets the variance of the added noise to that of the forward step, β = 1 − ᾱ_t/ᾱ_s,
	// instead of σ². This is the other choice of Ho et al. 2020. The choice β is exact if clean
	// samples have unit variance; σ² is exact if the clean sample is known. Wide requires Eta = 1.
	// The last step adds no noise.
	Wide bool

	// Recompute computes the noise ε̂ from the projected prediction instead of the denoiser's own;
	// see [Gaussian].
	Recompute bool
}

// Bind returns the steps of the process, or an error if a field of the Gaussian is out of range. It
// implements [Process].
func (p Gaussian) Bind(_ context.Context, sites, levels int) (Steps[float32], error) {
	if p.Schedule == nil {
		p.Schedule = noise.LinearBeta{}
	}
	c, err := noise.Resolve("diffusion: Gaussian", p.Schedule)
	if err = cmp.Or(
		checkShape("Gaussian", sites, levels),
		check.If(!(p.Eta >= 0 && p.Eta <= 1), "diffusion: Gaussian: Eta = %v, want 0 … 1", p.Eta),
		check.If(p.Wide && p.Eta != 1, "diffusion: Gaussian: Eta = %v, want 1 where Wide is set", p.Eta),
		err,
	); err != nil {
		return nil, err
	}
	return &gaussian{schedule: c, eta: p.Eta, wide: p.Wide, recompute: p.Recompute}, nil
}

// gaussian holds the steps of a [Gaussian] process. It keeps no state of a sample.
type gaussian struct {
	schedule        noise.Schedule
	eta             float64
	wide, recompute bool
}

// Alpha returns the signal level at time t, which is ᾱ in x_t = √ᾱ·x_0 + √(1−ᾱ)·noise. It
// implements [Steps].
func (p *gaussian) Alpha(t float64) float64 { return p.schedule.Alpha(t) }

// Prior fills x with standard normal noise; it implements [Steps].
func (p *gaussian) Prior(x []float32, r *sampler.Stream) { normal.Fill(x, r) }

// Next returns the diffusion time at which the next step ends. All steps have the same length. It
// implements [Steps].
func (p *gaussian) Next(_ []float32, _ float64, step, steps int, _ *sampler.Stream) float64 {
	return gridTime(step, steps)
}

// Reverse makes a DDIM step: it replaces the state x at time t by the state at time s. It returns
// an error only if a prediction is not finite. It implements [Steps].
func (p *gaussian) Reverse(x []float32, raw, v []float32, t, s float64, r *sampler.Stream) error {
	at, as := p.Alpha(t), p.Alpha(s)
	variance := float64(float64(float64(p.eta*p.eta)*((1-as)/(1-at))) * (1 - at/as))
	signal, sigma := math.Sqrt(as), math.Sqrt(variance)
	rest := math.Sqrt(max(0, 1-as-variance))
	if p.wide && s > 0 {
		sigma = math.Sqrt(1 - at/as)
	}
	from := raw
	if p.recompute {
		from = v
	}
	spare, has := 0.0, false
	for i, z := range x {
		if v[i]-v[i] != 0 { // true for ±Inf and NaN
			return &PredictionError{Site: i}
		}
		noise := 0.0
		if sigma > 0 {
			if noise = spare; !has {
				noise, spare = normal.Pair(r)
			}
			has = !has
		}
		eps := (float64(z) - float64(math.Sqrt(at)*float64(from[i]))) / math.Sqrt(1-at)
		x[i] = float32(float64(signal*float64(v[i])) + float64(rest*eps) + float64(sigma*noise))
	}
	return nil
}
