package denoise

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Velocity turns a predictor of velocities, such as a network trained by train.Flow, into a
// denoiser. The paths are straight lines from data x_0 to noise ε. The predicted velocity in a
// state z is û ≈ E[ε − x_0 | z]. For a noisy state x_t at signal level ᾱ, the predictor receives
// the state z at the time s, where s = 1 is pure noise:
//
//	s = √(1−ᾱ)/(√ᾱ+√(1−ᾱ)),  z = x_t/(√ᾱ+√(1−ᾱ)) = (1−s)·x_0 + s·ε.
//
// The prediction of the denoiser is x̂_0 = z − s·û. The predictor also receives the diffusion's
// Alpha. Clean entries are passed on unchanged, and are their own prediction.
type Velocity struct{ energy.Denoiser[float32] }

// Shape returns the shape of the predictor of velocities.
func (p Velocity) Shape() (sites, levels int) {
	check.Must("denoise: Velocity", "Denoiser", p.Denoiser)
	return p.Denoiser.Shape()
}

// Denoise stores predictions of the clean states in v; it implements [energy.Denoiser].
func (p Velocity) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	if err := check.Given("denoise: Velocity", "Denoiser", p.Denoiser); err != nil {
		return err
	}
	n, _ := p.Shape()
	check.Len("denoise", "v", len(v), len(q.X))
	zs, times := scratch.Float32s.Get(len(q.X)), scratch.Float64s.Get(q.States(n))
	defer scratch.Float32s.Put(zs)
	defer scratch.Float64s.Put(times)
	shown, err := p.show(*zs, *times, q)
	if err != nil {
		return err
	}
	if err := p.Denoiser.Denoise(ctx, v, shown); err != nil {
		return err
	}
	p.clean(v, shown, q)
	return nil
}

// show returns the input of the predictor of velocities for q. It stores the states in z and the
// times in s.
func (p Velocity) show(z []float32, s []float64, q energy.Noised[float32]) (energy.Noised[float32], error) {
	n, _ := p.Shape()
	for k := range s {
		a := q.Alpha[k]
		if !(a >= 0 && a <= 1) {
			return q, fmt.Errorf("denoise: Velocity: state %d: ᾱ = %v, want 0 … 1", k, a)
		}
		noise := math.Sqrt(1 - a)
		total := math.Sqrt(a) + noise
		s[k] = noise / total
		for i := k * n; i < (k+1)*n; i++ {
			z[i] = float32(float64(q.X[i]) / total)
			if q.Clean != nil && q.Clean[i] {
				z[i] = q.X[i]
			}
		}
	}
	q.X, q.Time = z, s
	return q, nil
}

// clean turns the velocities v, predicted for shown, into predictions of the clean states for q.
func (p Velocity) clean(v []float32, shown, q energy.Noised[float32]) {
	n, _ := p.Shape()
	for i, u := range v {
		v[i] = float32(float64(shown.X[i]) - float64(shown.Time[i/n]*float64(u)))
		if q.Clean != nil && q.Clean[i] {
			v[i] = q.X[i]
		}
	}
}

// Differentiable is a denoiser of reals that computes vector–Jacobian products, such as a network
// with a backward pass. Let J = ∂x̂_0/∂x_t be the Jacobian of the prediction x̂_0 at the noisy
// state x_t with signal level ᾱ. For an exact denoiser, the covariance of the clean state given x_t
// is
//
//	(1−ᾱ)/√ᾱ·J,
//
// so J is symmetric. For a network this holds only approximately.
type Differentiable interface {
	energy.Denoiser[float32]

	// Pullback stores predictions in v, like Denoise, and vector–Jacobian products in dst. For
	// state s,
	//
	//	dst[s,k,j] = Σ_i rows[s,k,i]·J_ij,
	//
	// where J is the Jacobian of the prediction with respect to all entries of the state. For a
	// clean entry, the row of J is a row of the identity matrix. The slices rows and dst hold
	// states × K × sites numbers, for any number K of vectors per state. These slices must not
	// overlap. Pullback panics if lengths do not match. It returns the errors of Denoise.
	Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error
}

// As implements [energy.Capable]. The denoiser is [Differentiable] if the predictor of velocities
// is.
func (p Velocity) As(target any) bool {
	if d, ok := energy.As[Differentiable](p.Denoiser); ok {
		return energy.Give[Differentiable](target, velocityPullback{p, d})
	}
	return false
}

// velocityPullback is a Velocity whose predictor is differentiable.
type velocityPullback struct {
	Velocity
	velocity Differentiable
}

// Pullback stores predictions in v and vector–Jacobian products in dst. In the notation of
// [Velocity], with c = √ᾱ+√(1−ᾱ) and z = x_t/c, the Jacobian of the prediction is J = (I −
// s·∂û/∂z)/c. It implements [Differentiable].
func (p velocityPullback) Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error {
	n, _ := p.Shape()
	check.Len("denoise", "v", len(v), len(q.X))
	check.Len("denoise", "dst", len(dst), len(rows))
	per := check.Rows("denoise", "rows", len(rows), max(1, len(q.X))) // rows per state
	zs, times, opens := scratch.Float32s.Get(len(q.X)), scratch.Float64s.Get(q.States(n)), scratch.Float32s.Get(len(rows))
	defer scratch.Float32s.Put(zs)
	defer scratch.Float64s.Put(times)
	defer scratch.Float32s.Put(opens)
	shown, err := p.show(*zs, *times, q)
	if err != nil {
		return err
	}
	open := *opens // rows with 0 at clean entries, whose predictions are constant
	for i, x := range rows {
		if open[i] = x; q.Clean != nil && q.Clean[i/(per*n)*n+i%n] {
			open[i] = 0
		}
	}
	if err := p.velocity.Pullback(ctx, v, dst, open, shown); err != nil {
		return err
	}
	p.clean(v, shown, q)
	for i, g := range dst {
		state := i / (per * n)
		d := float64(open[i]) - float64(shown.Time[state]*float64(g))
		if q.Clean != nil && q.Clean[state*n+i%n] {
			d += float64(rows[i]) // the predictor received this entry unchanged
		} else {
			d /= math.Sqrt(q.Alpha[state]) + math.Sqrt(1-q.Alpha[state])
		}
		dst[i] = float32(d)
	}
	return nil
}
