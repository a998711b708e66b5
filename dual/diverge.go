package dual

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
	"github.com/gibbsite-go/gibbsite/internal/weighted"
)

// DivergedError reports that the multipliers diverge, usually because no distribution satisfies the
// constraints on average. As evidence it gives a direction u with
//
//	Σ_j u_j g_j(x) ≥ Margin,
//
// where g_j are the violations and Σ_j |u_j| = 1. For inequalities, u_j ≥ 0. There are three cases:
//
//   - Proven: Margin > 0, and every state x of positive probability satisfies this inequality. No
//     distribution can then have E[g] ≤ 0. The error wraps constraint.ErrInfeasible.
//   - Not proven, Margin > 0: the multipliers grew beyond Config.Diverge, and every sample of the
//     last dual steps satisfies this inequality. The field Steps is the number of these steps. A
//     distribution may satisfy the constraints, but the loop could not reach it.
//   - Margin = 0, from [Solve] and [SolveStates]: every distribution that satisfies the constraints
//     gives probability 0 to states with Σ_j u_j g_j(x) > 0. No finite multipliers do that.
type DivergedError struct {
	Lambda []float64 // multipliers when the search stopped
	// direction u (see [DivergedError]), one entry per multiplier; usually the direction of Lambda
	Direction []float64
	Margin    float64
	Steps     int
	Proven    bool
	Rows      []Row // description of each constraint
}

func (e *DivergedError) Error() string {
	if e.Proven {
		return fmt.Sprintf("dual: no distribution meets the constraints on average: every state violates their combination %s by %.4g or more: loosen one of them", combination(e.Direction, e.Rows), e.Margin)
	}
	if e.Margin == 0 {
		return fmt.Sprintf("dual: the constraints are met only in the limit of infinite multipliers, in the direction %s: loosen one of them a little", combination(e.Direction, e.Rows))
	}
	return fmt.Sprintf("dual: multipliers diverge, Σ|λ| = %.4g: every sample of the last %d steps violates the combination %s of the constraints by %.4g or more: loosen one of them, use a smaller step, or raise Diverge", tilt.SumAbs(e.Lambda), e.Steps, combination(e.Direction, e.Rows), e.Margin)
}

// Unwrap returns constraint.ErrInfeasible if Proven, and nil otherwise.
func (e *DivergedError) Unwrap() error {
	if e.Proven {
		return constraint.ErrInfeasible
	}
	return nil
}

// streak counts consecutive dual steps in which every sample had λᵀg > 0. At the optimum λᵀE[g] =
// 0. So a long streak means that λ is far from the optimum, or that no optimum exists.
type streak struct {
	steps  int
	margin float64 // smallest λᵀg/Σ|λ| of the samples in the streak
	proof  int     // length of the streak at which to look for a proof next
}

// contradiction looks for a combination of rows, not necessarily along λ, that every sample of the
// batch violates. It returns a [*DivergedError] if the target proves that every state violates this
// combination.
func (i *Inference[S]) contradiction(ctx context.Context, p Prover) error {
	n := len(i.lambda)
	if n > mostProven {
		return nil
	}
	t := tilt.New(1, n, i.batch.Equal)
	for at := 0; at < len(i.g); at += n {
		t.Append(0, i.g[at:at+n])
	}
	o, err := t.Maximize(ctx, make([]float64, n))
	if err != nil || o.Outcome != tilt.Infeasible {
		return err
	}
	margin, ok, err := p.Margin(ctx, o.Direction)
	if err != nil || !ok || tilt.Positive(margin, size(o.Direction, i.g)) <= 0 {
		return err
	}
	return &DivergedError{Lambda: slices.Clone(i.drawn), Direction: o.Direction, Margin: margin, Steps: i.steps, Proven: true, Rows: i.rows}
}

// mostProven is the largest number of rows for which [Inference.contradiction] examines a batch.
const mostProven = 64

// size returns the largest value of Σ_j |u_j g_j| over the states.
func size(u, g []float64) (most float64) {
	n := len(u)
	for at := 0; at < len(g); at += n {
		sum := 0.0
		for j, v := range g[at : at+n] {
			sum += math.Abs(float64(u[j] * v))
		}
		most = max(most, sum)
	}
	return most
}

// firstProof is the length of a streak at which the loop first looks for a proof. A proof may
// require an enumeration, so the length doubles after each attempt.
const firstProof = 64

func newStreak() streak { return streak{margin: math.Inf(1), proof: firstProof} }

// next adds a step with multipliers lambda and violations g of the samples. If the streak is long
// enough, next asks p, unless nil, for a proof, and returns a [*DivergedError] if p finds one.
// Without a proof, next returns the error only if the sum of the multipliers has reached the limit
// diverge.
func (s *streak) next(ctx context.Context, lambda, g []float64, rows []Row, p Prover, diverge float64) error {
	sum := tilt.SumAbs(lambda)
	n := len(lambda)
	low, largest := math.Inf(1), 0.0
	for at := 0; at < len(g); at += n {
		low = min(low, weighted.Dot(lambda, g[at:at+n]))
		size := 0.0
		for j, v := range g[at : at+n] {
			if lambda[j] != 0 {
				size += math.Abs(float64(lambda[j] * v))
			}
		}
		largest = max(largest, size)
	}
	if !(sum > 0 && low > 0) {
		*s = newStreak()
		return nil
	}
	s.steps++
	s.margin = min(s.margin, low/sum)
	if s.steps < s.proof {
		return nil
	}
	e := &DivergedError{Lambda: slices.Clone(lambda), Direction: tilt.Direction(lambda), Steps: s.steps, Margin: s.margin, Rows: rows}
	if p != nil && s.steps == s.proof {
		s.proof *= 2
		margin, ok, err := p.Margin(ctx, e.Direction)
		if err != nil {
			return err
		}
		if ok && tilt.Positive(margin, largest/sum) > 0 {
			e.Margin, e.Proven = margin, true
			return e
		}
		if ok {
			return nil // some state satisfies the combination
		}
	}
	if sum >= diverge {
		return e
	}
	return nil
}
