package dual

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// DivergedError says that multipliers diverge: no law meets the constraints on
// average. The certificate is a direction u ≥ 0, Σ_j u_j = 1, with
//
//	Σ_j u_j g_j(x) ≥ Margin > 0
//
// for every state x of the support, if Proven, so that no law has E[g] ≤ 0
// (Gordan's alternative); errors.Is then finds constraint.ErrInfeasible.
// Otherwise it holds for every sample of the last Steps dual steps, while the
// multipliers grew beyond Config.Diverge: a law that meets the constraints, if
// there is one, was out of reach. [Solve] alone returns Margin = 0: the
// constraints can be met, but only by laws on the part of the support where
// Σ_j u_j g_j = 0, to which no finite λ leads.
type DivergedError struct {
	Lambda    []float64 // the multipliers at that point
	Direction []float64 // u = λ/Σλ
	Margin    float64
	Steps     int
	Proven    bool
}

func (e *DivergedError) Error() string {
	if e.Proven {
		return fmt.Sprintf("dual: no law meets the constraints on average: every state violates their combination %v by %.4g or more", e.Direction, e.Margin)
	}
	if e.Margin == 0 {
		return fmt.Sprintf("dual: the constraints are met only in the limit of infinite multipliers, in the direction %v", e.Direction)
	}
	return fmt.Sprintf("dual: multipliers diverge, λ = %v: every sample of the last %d steps violates the combination %v of the constraints by %.4g or more", e.Lambda, e.Steps, e.Direction, e.Margin)
}

// Unwrap returns constraint.ErrInfeasible if that is proven.
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
	margin float64 // smallest λᵀg/Σλ of the streak
	proof  int     // length at which to look for a proof
}

// firstProof is the length of a streak that is worth a proof. A proof may cost
// an enumeration, so the next ones come at doubled lengths.
const firstProof = 64

func newStreak() streak { return streak{margin: math.Inf(1), proof: firstProof} }

// rounding is the margin, relative to the violations, below which a positive
// one may be a rounding error of a sum of up to a million terms.
const rounding = 1e-10

// prover is a target that can minimise uᵀg over all states; ok is false if it
// has no exact way to.
type prover interface {
	Margin(ctx context.Context, u []float64) (margin float64, ok bool, err error)
}

// diverged looks for the certificate after a step at λ.
func (i *Inference[S]) diverged(ctx context.Context, lambda []float64) error {
	sum := 0.0
	for _, v := range lambda {
		sum += v
	}
	n := len(lambda)
	low, largest := math.Inf(1), 0.0
	for at := 0; at < len(i.g); at += n {
		low = min(low, dot(lambda, i.g[at:at+n]))
		for _, v := range i.g[at : at+n] {
			largest = max(largest, math.Abs(v))
		}
	}
	if !(sum > 0 && low > 0) {
		i.streak = newStreak()
		return nil
	}
	i.streak.steps++
	i.streak.margin = min(i.streak.margin, low/sum)
	if i.streak.steps < i.streak.proof {
		return nil
	}
	e := &DivergedError{Lambda: slices.Clone(lambda), Direction: slices.Clone(lambda), Steps: i.streak.steps, Margin: i.streak.margin}
	for j := range e.Direction {
		e.Direction[j] /= sum
	}
	if p, ok := i.target.(prover); ok && i.streak.steps == i.streak.proof {
		i.streak.proof *= 2
		margin, ok, err := p.Margin(ctx, e.Direction)
		if err != nil {
			return err
		}
		if ok && margin > rounding*largest {
			e.Margin, e.Proven = margin, true
			return e
		}
		if ok {
			return nil // some state meets the combination
		}
	}
	if sum >= i.cfg.Diverge {
		return e
	}
	return nil
}

// maxProof is the largest number of states that a proof enumerates: about a
// second of work.
const maxProof = 1 << 22

// Margin returns min_x uᵀg(x) for u ≥ 0: a lower bound on it over the support
// of the base if the inequalities are sums over sites, and the minimum over the
// support if the base has at most 2²² states. Otherwise ok is false. A positive
// margin proves that no law meets the constraints.
//
// Errors: those of an evaluation that gives NaN, and of the context.
func (l *Lagrangian) Margin(ctx context.Context, u []float64) (margin float64, ok bool, err error) {
	check.Len("dual", "u", len(u), len(l.lambda))
	if margin, ok = l.separable(u); ok {
		return margin, true, nil
	}
	if states(l.sites, l.levels, maxProof) < 0 {
		return 0, false, nil
	}
	margin = math.Inf(1)
	err = l.each(ctx, func(f0 float64, g []float64) error {
		if !math.IsInf(f0, 1) {
			margin = min(margin, dot(u, g))
		}
		return nil
	})
	return margin, err == nil, err
}

// separable minimises uᵀg site by site if no model couples sites.
func (l *Lagrangian) separable(u []float64) (float64, bool) {
	low := 0.0
	total := make([]float64, l.sites*l.levels)
	d := make([]float64, l.levels)
	e := make([]float64, 1)
	x := make([]int32, l.sites)
	for j, w := range u {
		if w == 0 {
			continue
		}
		if len(l.part[j]) == 0 {
			return 0, false
		}
		low += w * l.bounds[j].Offset
		for k, m := range l.bounds[j].Models {
			g, graphical := energy.As[energy.Graphical](m)
			c, conditional := energy.As[energy.Conditional](m)
			if !graphical || !conditional {
				return 0, false
			}
			if _, adj := g.Graph(); len(adj) > 0 {
				return 0, false
			}
			scale := w * l.bounds[j].coef(k)
			m.Energy(e, x)
			low += scale * e[0]
			for i := range x {
				c.Conditional(d, i, x)
				addScaled(total[i*l.levels:(i+1)*l.levels], d, scale)
			}
		}
	}
	for i := range x {
		low += slices.Min(total[i*l.levels : (i+1)*l.levels])
	}
	return low, check.Finite(low)
}
