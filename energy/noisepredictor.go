package energy

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// NoisePredictor is the denoiser made of one that predicts the noise ε̂ instead
// of the clean state, as most networks for reals do:
//
//	x̂_0 = (x_t − √(1−ᾱ)·ε̂)/√ᾱ.
//
// Clean entries are their own prediction. Elsewhere ᾱ must be > 0: at ᾱ = 0 the
// noise is all there is, and the prediction is not finite.
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
