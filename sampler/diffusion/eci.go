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

// ECI is a process of flow matching for reals. Its steps extrapolate, correct and interpolate
// (Cheng, Han, Maddix, Ansari, Stuart, Mahoney and Wang 2025). From the state x_t the denoiser
// predicts the end of the trajectory, and the projector corrects this prediction to v. The next
// state lies between v and noise ε that is independent of x_t,
//
//	x_s = √ᾱ_s·v + √(1−ᾱ_s)·ε,
//
// where ᾱ_s is the signal level at time s. The last step returns v.
//
// If your network predicts the velocity of a flow on straight paths z_s = (1−s)·v + s·ε, wrap it in
// denoise.Velocity. For a flow without constraints, use Gaussian with the schedule
// [noise.Straight].
//
// With Resample −1 and the projector of package projection/newton, ECI is physics-constrained flow
// matching (PCFM; Utkarsh, Cai, Edelman, Gómez-Bombarelli and Rackauckas 2025, Algorithm 1) without
// relaxed correction.
//
// # Caveats
//
// ECI does not sample from the distribution of the model, even without a constraint, because ε is
// not the noise contained in the state. If a variable is standard normal in the model, its variance
// in the samples is not 1 but
//
//	steps                    10   50   200  1000
//	ε drawn anew each round  .40  .47  .49  .50
//	ε kept (PCFM)            2.2  8.7  25   79
//
// Gaussian with noise.Straight does not have this error. Package twisted draws from the conditional
// distribution.
type ECI struct {
	Schedule noise.Schedule // schedule of the signal level ᾱ; nil means noise.Straight{}

	// Mix is the number of rounds per step; 0 means 1. A round predicts, corrects and adds noise.
	// All rounds of a step except the last return to the time at which the step began. A correction
	// can thus spread to the rest of the state.
	Mix int

	// Resample is the number of rounds after which the noise ε is drawn anew. 0 means 1; −1 keeps
	// the first ε for the whole sample.
	Resample int
}

// mostRounds is the largest number of rounds of a step.
const mostRounds = 1 << 20

// Bind returns the steps of the process, or an error if a field of the ECI is out of range. It
// implements [Process].
func (p ECI) Bind(_ context.Context, sites, levels int) (Steps[float32], error) {
	if p.Schedule == nil {
		p.Schedule = noise.Straight{}
	}
	c, err := noise.Resolve("diffusion: ECI", p.Schedule)
	if err = cmp.Or(
		check.If(sites < 1 || levels != 1, "diffusion: ECI: Bind: sites = %d, levels = %d, want ≥ 1 and 1", sites, levels),
		check.If(p.Mix < 0 || p.Mix > mostRounds || p.Resample < -1, "diffusion: ECI: Mix = %d, Resample = %d, want 0 … %d and ≥ −1", p.Mix, p.Resample, mostRounds),
		check.Entries("diffusion: ECI: Bind", "sites", sites), err,
	); err != nil {
		return nil, err
	}
	return &eci{schedule: c, mix: max(1, p.Mix), resample: cmp.Or(p.Resample, 1), noise: make([]float32, sites)}, nil
}

// eci holds the steps of an [ECI] process, with the state of a sample.
type eci struct {
	schedule noise.Schedule
	mix      int
	resample int
	noise    []float32 // noise ε of the current round
	rounds   int       // number of rounds made so far
}

// Alpha returns the signal level at time t, which is ᾱ in x_t = √ᾱ·x_0 + √(1−ᾱ)·ε. It implements
// [Steps].
func (p *eci) Alpha(t float64) float64 { return p.schedule.Alpha(t) }

// MaxSteps returns the total number of rounds in all steps; it implements [Clocked].
func (p *eci) MaxSteps(steps int) int {
	if steps > math.MaxInt/p.mix {
		return math.MaxInt
	}
	return steps * p.mix
}

// Prior draws the first noise ε and stores it in x; it implements [Steps].
func (p *eci) Prior(x []float32, r *sampler.Stream) {
	normal.Fill(p.noise, r)
	copy(x, p.noise)
	p.rounds = 0
}

// Next returns the time after the next round. The times of the steps are evenly spaced. Only the
// last round of a step changes the time. It implements [Steps].
func (p *eci) Next(_ []float32, t float64, step, steps int, _ *sampler.Stream) float64 {
	if step%p.mix < p.mix-1 {
		return t
	}
	return gridTime(step/p.mix, steps)
}

// Reverse ends a round by replacing the state x with √ᾱ_s·v + √(1−ᾱ_s)·ε, a mixture of the
// projected prediction v and the noise ε. It implements [Steps].
func (p *eci) Reverse(x []float32, _, v []float32, _, s float64, r *sampler.Stream) error {
	if p.rounds++; p.resample > 0 && p.rounds%p.resample == 0 {
		normal.Fill(p.noise, r)
	}
	a := p.Alpha(s)
	signal, rest := math.Sqrt(a), math.Sqrt(1-a)
	for i, c := range v {
		if c-c != 0 { // true for ±Inf and NaN
			return &PredictionError{Site: i}
		}
		x[i] = float32(float64(signal*float64(c)) + float64(rest*float64(p.noise[i])))
	}
	return nil
}
