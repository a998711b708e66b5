package dual

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Target is an energy with multipliers: a [Lagrangian] on tokens, a [RealLagrangian] on
// real numbers. See [Lagrangian] for what the methods do. A target may also be
// [Described], a [Prover] and [Enumerable].
type Target[S energy.Site] interface {
	Len() int
	Sites() int
	Beta() float64
	SetLambda(lambda []float64) error
	Violation(g []float64, x []S)
}

// Prover is a target that can minimise uᵀg over all states of its support, for u_j ≥ 0 at
// inequalities: a positive minimum proves that nothing meets the constraints, and
// [Inference] then returns a [DivergedError]. ok is false if no exact method is
// available.
type Prover interface {
	Margin(ctx context.Context, u []float64) (margin float64, ok bool, err error)
}

// Enumerable is a target on levels^sites states that knows the value of its dual
// function by a sum over all of them; [Inference.Certify] adds it to the
// certificate if there are at most 2²² states.
type Enumerable interface {
	Shape() (sites, levels int)
	Dual(ctx context.Context, lambda []float64) (float64, error)
}
