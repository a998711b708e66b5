package denoise

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Mixture is the exact denoiser of a [continuous.Mixture]. It predicts the posterior mean E[x_0 |
// x_t] of the clean state, and conditions exactly on entries that are marked clean. The matrices
// for a set of clean entries are computed when that set first occurs. With full covariances, a
// prediction for n sites takes 2n² operations per component. A Mixture is safe for concurrent use.
type Mixture struct {
	prior *continuous.Mixture

	mu sync.Mutex
	// conditional mixture for each pattern of clean entries
	prepared map[string]*continuous.Conditional
}

// maxPatterns is the largest number of patterns of clean entries that stay cached.
const maxPatterns = 64

// NewMixture returns the denoiser of the mixture. It returns an error if m is nil.
func NewMixture(m *continuous.Mixture) (*Mixture, error) {
	if m == nil {
		return nil, fmt.Errorf("denoise: NewMixture: m is nil")
	}
	return &Mixture{prior: m, prepared: map[string]*continuous.Conditional{}}, nil
}

// NewGaussian returns the denoiser of the Gaussian with the given mean and covariance matrix,
// row-major. It returns the errors of [continuous.NewMixture].
func NewGaussian(mean, cov []float64) (*Mixture, error) {
	m, err := continuous.NewMixture([]float64{1}, [][]float64{mean}, [][]float64{cov})
	if err != nil {
		return nil, err
	}
	return NewMixture(m)
}

// Shape returns the number of sites, and 1 as the number of levels.
func (m *Mixture) Shape() (sites, levels int) { return m.prior.Sites(), 1 }

// Denoise stores in v the posterior means of the clean states; it implements [energy.Denoiser]. It
// returns an error if the covariance of the entries that are marked clean is singular.
func (m *Mixture) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	n := m.prior.Sites()
	states := q.States(n)
	check.Len("denoise", "v", len(v), len(q.X))
	if err := poll.Err(ctx); err != nil || q.Clean == nil {
		if err == nil {
			m.prior.Posterior(v, q.X, q.Alpha, nil)
		}
		return err
	}
	for s, end := 0, 0; s < states; s = end {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		clean := q.Clean[s*n : (s+1)*n]
		for end = s + 1; end < states && slices.Equal(clean, q.Clean[end*n:(end+1)*n]); end++ {
		}
		given, err := m.given(clean)
		if err != nil {
			return err
		}
		given.Posterior(v[s*n:end*n], q.X[s*n:end*n], q.Alpha[s:end], nil)
	}
	return nil
}

// Moments computes the mean and covariance of the clean state x_0 given the noisy state x_t, as
// [continuous.Mixture.Moments] documents. The error is always nil.
func (m *Mixture) Moments(mean, product, rows []float64, x []float32, alpha float64) (trace float64, err error) {
	return m.prior.Moments(mean, product, rows, x, alpha), nil
}

// given returns the mixture conditioned on the clean entries.
func (m *Mixture) given(clean []bool) (*continuous.Conditional, error) {
	key := make([]byte, len(clean))
	for i, c := range clean {
		if c {
			key[i] = 1
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, ok := m.prepared[string(key)]; ok {
		return c, nil
	}
	c, err := m.prior.Given(clean)
	if err != nil {
		return nil, fmt.Errorf("denoise: Mixture: %w", err)
	}
	if len(m.prepared) >= maxPatterns {
		clear(m.prepared)
	}
	m.prepared[string(key)] = c
	return c, nil
}

// Ancestral is a denoiser of a Gaussian mixture. Instead of the posterior mean, it predicts a
// random draw of the clean state x_0 given the noisy state x_t. A reverse step of
// diffusion.Gaussian is then an exact draw of the less noisy state, for any value of its field Eta.
// If the schedule begins with pure noise, the samples have the distribution of the mixture for any
// number of steps. If the mixture comes from [continuous.Mixture.Where], the samples satisfy the
// equations given to Where. An Ancestral is safe for concurrent use.
type Ancestral struct{ prior *continuous.Mixture }

// NewAncestral returns the Ancestral denoiser of the mixture. It returns an error if m is nil.
func NewAncestral(m *continuous.Mixture) (*Ancestral, error) {
	if m == nil {
		return nil, fmt.Errorf("denoise: NewAncestral: m is nil")
	}
	return &Ancestral{m}, nil
}

// Shape returns the number of sites, and 1 as the number of levels.
func (a *Ancestral) Shape() (sites, levels int) { return a.prior.Sites(), 1 }

// Denoise stores in v random draws of the clean states x_0 given the noisy states, made with the
// random sources q.Src. It returns an error if entries are marked clean. To condition on such
// entries, use the mixture that [continuous.Mixture.Where] returns. It implements
// [energy.Denoiser].
func (a *Ancestral) Denoise(ctx context.Context, v []float32, q energy.Noised[float32]) error {
	q.States(a.prior.Sites())
	check.Len("denoise", "v", len(v), len(q.X))
	if err := poll.Err(ctx); err != nil {
		return err
	}
	if q.Src == nil && len(q.Time) > 0 {
		return fmt.Errorf("denoise: Ancestral: Noised.Src = nil, want a source for every state: the prediction is a draw")
	}
	if i := slices.Index(q.Clean, true); i >= 0 {
		return fmt.Errorf("denoise: Ancestral: Noised.Clean[%d] = true, want false for all: use a mixture conditioned on the clean entries, which its method Where returns", i)
	}
	a.prior.DrawPosterior(v, q.X, q.Alpha, q.Src)
	return nil
}
