package dual

import (
	"context"

	"github.com/gibbsite-go/gibbsite/energy"
)

// Target is a distribution whose constraints are weighted by Lagrange multipliers, such as a
// [Lagrangian] (tokens) or a [RealLagrangian] (reals). [Lagrangian] documents the methods. A target
// may also implement [Described], [Prover] and [Enumerable].
type Target[S energy.Site] interface {
	Len() int
	Sites() int
	Beta() float64
	SetLambda(lambda []float64) error
	Violation(g []float64, x []S)
}

// Prover is a target that can minimise a weighted sum uᵀg(x) of its violations g over the states x
// of positive probability. The weights satisfy u_j ≥ 0 for inequalities. Margin returns this
// minimum, or ok = false if the target has no exact method. If the minimum is positive, no
// distribution satisfies the constraints, and [Inference] returns a [DivergedError].
type Prover interface {
	Margin(ctx context.Context, u []float64) (margin float64, ok bool, err error)
}

// Enumerable is a target on tokens that can compute its dual function by a sum over all
// levels^sites states. If there are at most 2²² states, [Inference.Certify] adds the dual value to
// the certificate.
type Enumerable interface {
	Shape() (sites, levels int)
	Dual(ctx context.Context, lambda []float64) (float64, error)
}
