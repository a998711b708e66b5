package dual

import (
	"context"
	"fmt"
	"math"
)

// NotConverged is the error of conditions that did not hold within the steps allowed. The
// loop's state is kept, and Certificate is that of the trajectory so far.
type NotConverged struct {
	Steps       int     // made in all
	Tolerance   float64 // that was asked for
	Certificate *Certificate
}

func (e *NotConverged) Error() string {
	return fmt.Sprintf("dual: after %d steps the residual is %.4g, want ≤ %g with two standard errors to spare", e.Steps, e.Certificate.Residual(), e.Tolerance)
}

// firstCheck is the first step at which Solve looks, when there are a dozen
// batch means to judge errors by; the next looks come an eighth later each, since
// a look costs a pass over the trajectory.
const firstCheck = 256

// Solve makes dual steps until the certificate of the trajectory holds within tol, an
// absolute tolerance on violations and slacks. The certificate is about the samples drawn
// on the way; for the distribution at λ̄ use [Inference.Certify]. If the certificate does
// not hold within the given number of further steps, the error is a [*NotConverged];
// other errors are those of Run.
func (i *Inference[S]) Solve(ctx context.Context, steps int, tol float64) error {
	if !(tol > 0) {
		return fmt.Errorf("dual: Solve: tol = %v, want > 0", tol)
	}
	if steps < 0 {
		return fmt.Errorf("dual: Solve: steps = %d, want ≥ 1", steps)
	}
	end := i.steps + min(steps, math.MaxInt-i.steps)
	for i.steps < end {
		next := min(max(firstCheck, i.steps+i.steps/8), end)
		if err := i.Run(ctx, next-i.steps); err != nil {
			return err
		}
		if i.Certificate().Holds(tol) {
			return nil
		}
	}
	if i.steps == 0 {
		return fmt.Errorf("dual: Solve: steps = %d, want ≥ 1", steps)
	}
	return &NotConverged{i.steps, tol, i.Certificate()}
}
