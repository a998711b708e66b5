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

// DivergedError means that the multipliers diverge: no distribution satisfies the
// constraints on average. The certificate is a direction u, with Σ_j |u_j| = 1 and u_j ≥ 0
// for inequalities, such that
//
//	Σ_j u_j g_j(x) ≥ Margin > 0
//
// If Proven, this holds for every state x of the support, so no distribution has E[g] ≤ 0
// (Gordan's alternative), and the error wraps constraint.ErrInfeasible. Otherwise it holds
// for every sample of the last Steps dual steps, while the multipliers grew beyond
// Config.Diverge: if a distribution satisfies the constraints, the loop could not reach it.
// Only [Solve] and [SolveStates] return Margin = 0. The constraints can then be satisfied,
// but only by distributions on the part of the support where Σ_j u_j g_j = 0, to which no
// finite λ leads.
type DivergedError struct {
	Lambda    []float64 // the multipliers at that point
	Direction []float64 // u = λ/Σ|λ|
	Margin    float64
	Steps     int
	Proven    bool
	Rows      []Row // meaning of each row
}

func (e *DivergedError) Error() string {
	if e.Proven {
		return fmt.Sprintf("dual: no distribution meets the constraints on average: every state violates their combination %s by %.4g or more", combination(e.Direction, e.Rows), e.Margin)
	}
	if e.Margin == 0 {
		return fmt.Sprintf("dual: the constraints are met only in the limit of infinite multipliers, in the direction %s", combination(e.Direction, e.Rows))
	}
	return fmt.Sprintf("dual: multipliers diverge, Σ|λ| = %.4g: every sample of the last %d steps violates the combination %s of the constraints by %.4g or more", tilt.SumAbs(e.Lambda), e.Steps, combination(e.Direction, e.Rows), e.Margin)
}

// Unwrap returns constraint.ErrInfeasible if Proven, and nil otherwise.
func (e *DivergedError) Unwrap() error {
	if e.Proven {
		return constraint.ErrInfeasible
	}
	return nil
}

// streak counts dual steps in a row in which every sample had λᵀg > 0. At the
// optimum λᵀE[g] = 0, so a long streak means that λ is far from it, or that
// there is none.
type streak struct {
	steps  int
	margin float64 // smallest λᵀg/Σ|λ| of the streak
	proof  int     // length at which to look for a proof
}

// contradiction looks for a combination, not necessarily along λ, that every sample of the
// batch violates, and returns the error if every state violates it.
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

// mostProven is the number of rows up to which a batch is looked at for contradictions.
const mostProven = 64

// size returns the largest Σ_j |u_j g_j| of the states.
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

// firstProof is the length of a streak that is worth a proof. A proof may cost
// an enumeration, so the next ones come at doubled lengths.
const firstProof = 64

func newStreak() streak { return streak{margin: math.Inf(1), proof: firstProof} }

// next adds the violations g of the samples drawn at λ, and returns the certificate if the
// streak has become long. If p is not nil, next asks p for a proof. Without a proof, the
// sum of the multipliers must have reached diverge.
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
			return nil // some state meets the combination
		}
	}
	if sum >= diverge {
		return e
	}
	return nil
}
