package denoise

import (
	"context"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Independent is the exact denoiser of a model with independent sites. For site i of the clean
// state x_0, given the corrupted state x_t, it predicts
//
//	p(x_0,i = l | x_t) ∝ p_i(l)·q(x_t,i | l),
//
// where p_i is the distribution of the site, and q(x_t,i | l) is the probability that the
// corruption turns level l into x_t,i. An Independent is immutable and safe for concurrent use.
type Independent struct {
	sites, k   int
	corruption Corruption
	// probabilities, sites × k, scaled so that the largest of each row is 1
	p []float64
}

// NewIndependent returns the exact denoiser of the model m under the corruption c. It returns an
// error if m is nil or c is unknown.
func NewIndependent(m *model.Independent, c Corruption) (*Independent, error) {
	if m == nil {
		return nil, fmt.Errorf("denoise: NewIndependent: m is nil")
	}
	if err := c.check("NewIndependent"); err != nil {
		return nil, err
	}
	sites, k := m.Shape()
	d := &Independent{sites: sites, k: k, corruption: c, p: make([]float64, sites*k)}
	logw := m.LogWeights()
	for i := range sites {
		row := logw[i*k : (i+1)*k]
		top := slices.Max(row)
		for l, w := range row {
			d.p[i*k+l] = simd.Exp(w - top)
		}
	}
	return d, nil
}

// Shape returns the number of sites and the number of levels of a prediction. If the corruption is
// Absorbing, the mask is one of these levels.
func (d *Independent) Shape() (sites, levels int) { return d.sites, d.corruption.levels(d.k) }

// TimeFree reports whether predictions are independent of time: true for Absorbing, false for
// Noisy.
func (d *Independent) TimeFree() bool { return d.corruption == Absorbing }

// MaskLevel returns the level of the mask, or −1 if the corruption is [Noisy], which has no mask.
// It implements [energy.Masking].
func (d *Independent) MaskLevel() int32 { return d.corruption.mask(d.k) }

// Denoise stores in v the exact log-posteriors of all tokens; it implements [energy.Denoiser].
func (d *Independent) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	return d.corruption.denoise(ctx, v, q, d.sites, d.k, 0, d)
}

func (d *Independent) posterior(p, like, _ []float64) {
	for i, w := range like {
		p[i] = float64(w * d.p[i])
	}
}
