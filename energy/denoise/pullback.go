package denoise

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/scratch"
)

// Differentiable is a denoiser of reals that has vector–Jacobian products,
// such as a network with a backward pass. With J = ∂x̂_0/∂x_t the covariance of the
// clean state given the noisy one is (1−ᾱ)/√ᾱ·J, which is symmetric; that of a
// network is so approximately.
type Differentiable interface {
	energy.Denoiser[float32]

	// Pullback stores predictions in v, as Denoise does, and, with J of state s, the
	// products
	//
	//	dst[s,k,j] = Σ_i rows[s,k,i]·J_ij,
	//
	// states × (any number of rows) × sites in rows and in dst, which may not
	// overlap. J is that of Denoise as a function of all of q.X: the row of
	// a clean entry, its own prediction, is that of the identity. It panics on
	// lengths that do not fit; its errors are those of Denoise.
	Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error
}

// As gives a [Differentiable] if the denoiser of velocities is one.
func (p Velocity) As(target any) bool {
	if d, ok := energy.As[Differentiable](p.Denoiser); ok {
		return energy.Give[Differentiable](target, velocityPullback{p, d})
	}
	return false
}

// velocityPullback is a Velocity of a differentiable denoiser.
type velocityPullback struct {
	Velocity
	velocity Differentiable
}

// Pullback implements [Differentiable]: with z = x_t/c,
// J = (I − s·∂û/∂z)/c.
func (p velocityPullback) Pullback(ctx context.Context, v, dst, rows []float32, q energy.Noised[float32]) error {
	n, _ := p.Shape()
	check.Len("denoise", "v", len(v), len(q.X))
	check.Len("denoise", "dst", len(dst), len(rows))
	per := check.Rows("denoise", "rows", len(rows), max(1, len(q.X))) // rows of a state
	zs, times, opens := scratch.Float32s.Get(len(q.X)), scratch.Float64s.Get(q.States(n)), scratch.Float32s.Get(len(rows))
	defer scratch.Float32s.Put(zs)
	defer scratch.Float64s.Put(times)
	defer scratch.Float32s.Put(opens)
	shown, err := p.show(*zs, *times, q)
	if err != nil {
		return err
	}
	open := *opens // rows without the entries of clean predictions
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
			d += float64(rows[i]) // shown as it is
		} else {
			d /= math.Sqrt(q.Alpha[state]) + math.Sqrt(1-q.Alpha[state])
		}
		dst[i] = float32(d)
	}
	return nil
}
