package dual

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Target is a distribution whose constraints are weighted by Lagrange multipliers. Examples are
// [Lagrangian] for tokens and [RealLagrangian] for reals. Each method does what the method of
// [Lagrangian] with the same name does. A target may also implement [Described], [Prover] and
// [Enumerable].
type Target[S energy.Site] interface {
	Len() int
	Sites() int
	Beta() float64
	SetLambda(lambda []float64) error
	Violation(g []float64, x []S)
}

// Prover is a target that can minimise uᵀg(x), a weighted sum of its violations g, over all states
// x of positive probability. The weights u satisfy u_j ≥ 0 for inequalities. A positive minimum
// proves that no distribution satisfies the constraints; [Inference] then returns a
// [DivergedError]. Margin returns ok = false if the target has no exact method.
type Prover interface {
	Margin(ctx context.Context, u []float64) (margin float64, ok bool, err error)
}

// Enumerable is a target whose states are tokens and that can compute its dual function by a sum
// over all levels^sites states. [Inference.Certify] adds the dual value to the certificate if there
// are at most 2²² states.
type Enumerable interface {
	Shape() (sites, levels int)
	Dual(ctx context.Context, lambda []float64) (float64, error)
}
