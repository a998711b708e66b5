package twisted

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/span"
)

// Posterior is a denoiser of reals that knows more of x_0 given x_t than its mean,
// such as denoise.Mixture and denoise.Windows. It is safe for concurrent use.
type Posterior interface {
	energy.Denoiser[float32]

	// Moments stores E[x_0 | x_t = x] in mean and the products of Cov[x_0 | x_t]
	// with rows, any number of sites entries each, in product, and returns the
	// trace of that covariance. alpha is ᾱ, 0 ≤ ᾱ < 1.
	Moments(mean, product, rows []float64, x []float32, alpha float64) (trace float64, err error)
}

// view is what the model says of particles: it fills their mean, product (U times
// the covariance) and open (the trace of the covariance orthogonal to U).
type view interface {
	look(ctx context.Context, p []*particle, t, alpha float64) error
}

// known asks a [Posterior].
type known struct {
	model Posterior
	*rows
	pool *pool.Pool

	// The step under way.
	ctx   context.Context
	all   []*particle
	alpha float64
	ask   func(_, i int) // method one
}

func newKnown(m Posterior, r *rows, p *pool.Pool) *known {
	k := &known{model: m, rows: r, pool: p}
	k.ask = k.one
	return k
}

func (k *known) look(ctx context.Context, all []*particle, _, alpha float64) error {
	k.ctx, k.all, k.alpha = ctx, all, alpha
	k.pool.Each(0, len(all), k.ask)
	return firstError(all)
}

// one asks for particle i.
func (k *known) one(_, i int) {
	p := k.all[i]
	if p.err = poll.Err(k.ctx); p.err != nil {
		return
	}
	p.open, p.err = k.model.Moments(p.mean, p.product, k.basis, p.z, k.alpha)
	for r := range k.q {
		p.open -= span.Dot(k.basis[r*k.n:(r+1)*k.n], p.product[r*k.n:])
	}
}

// reach is the distance of a difference, in standard deviations of the noise:
// small beside the structure that noise leaves, large beside float32 rounding.
const reach = 0.05

func firstError(all []*particle) error {
	for i, p := range all {
		if p.err != nil {
			return fmt.Errorf("particle %d: %w", i, p.err)
		}
	}
	return nil
}
