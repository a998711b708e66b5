package denoise

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Velocity is the denoiser made of one that predicts the velocity of a flow
// on straight paths from noise to data, û ≈ E[ε − x_0 | z], as networks trained by flow
// matching do (train.Flow):
//
//	s = √(1−ᾱ)/(√ᾱ+√(1−ᾱ)),  z = x_t/(√ᾱ+√(1−ᾱ)) = (1−s)·x_0 + s·ε,  x̂_0 = z − s·û.
//
// The denoiser behind it is shown the state z at the time s, 1 being noise; Alpha stays
// that of the diffusion. Clean entries are shown as they are, and are their own
// prediction.
type Velocity struct{ energy.Denoiser[float32] }

// Shape returns the shape of the denoiser.
func (p Velocity) Shape() (sites, levels int) {
	check.Must("denoise: Velocity", "Denoiser", p.Denoiser)
	return p.Denoiser.Shape()
}

// Denoise implements [energy.Denoiser].
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

// show returns what the denoiser of velocities is shown of q, in z and s.
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

// clean turns the velocities v of what was shown into the clean states of q.
func (p Velocity) clean(v []float32, shown, q energy.Noised[float32]) {
	n, _ := p.Shape()
	for i, u := range v {
		v[i] = float32(float64(shown.X[i]) - float64(shown.Time[i/n]*float64(u)))
		if q.Clean != nil && q.Clean[i] {
			v[i] = q.X[i]
		}
	}
}
