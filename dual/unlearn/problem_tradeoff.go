package unlearn

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Point is one point of a trade-off curve.
type Point struct {
	Formulation Formulation
	Unlearned   float64 // E_p[q_1/q], what remains of q_1; 1 at p = q
	KL          float64 // KL(p‖q), the cost
	Lambda      float64
}

// UnreachableError means that no distribution of a formulation leaves as little of q_1 as
// requested.
type UnreachableError struct {
	Formulation Formulation // of the missing point
	Level       float64     // the requested level
	Lowest      float64     // the infimum of the reachable levels
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("unlearn: TradeOff: %v: level = %v, want > %v, the least this formulation leaves", e.Formulation, e.Level, e.Lowest)
}

// TradeOff returns, for each formulation and each level 0 < r ≤ 1, the distribution with
// E_p[q_1/q] = r and its cost, so one call gives the curves of several formulations. Only
// the first distribution to move away from is used. ReverseKL and DiscreteSafe trace the
// same curve at different λ.
//
// Levels that a formulation cannot reach are omitted, and the returned error joins an
// [*UnreachableError] for each of them; the points are valid nonetheless. Other errors are
// returned if a formulation does not suit the distributions, a level is out of range, q_1
// has probability where q has none, or the context ends.
func (u *Problem) TradeOff(ctx context.Context, levels []float64, forms ...Formulation) ([]Point, error) {
	one := &Problem{q: u.q, away: u.away[:1]}
	if u.ratios != nil {
		one.ratios, one.scale, one.tails = u.ratios[:1], u.scale[:1], u.tails[:1]
	}
	if err := one.check(LikelihoodRatio); err != nil {
		return nil, err
	}
	var points []Point
	var missing []error
	for _, f := range forms {
		if err := one.check(f); err != nil {
			return nil, err
		}
		for _, level := range levels {
			if !(level > 0 && level <= 1) {
				return nil, fmt.Errorf("unlearn: TradeOff: level = %v, want 0 < level ≤ 1", level)
			}
			if err := poll.Err(ctx); err != nil {
				return nil, err
			}
			p, err := one.point(f, level)
			if err != nil {
				missing = append(missing, err)
				continue
			}
			points = append(points, p)
		}
	}
	return points, errors.Join(missing...)
}

// left returns E_p[q_1/q].
func (u *Problem) left(p []float64) float64 {
	sum := 0.0
	for k, v := range p {
		if v > 0 {
			sum += float64(v * u.statistic(LikelihoodRatio, 0, k))
		}
	}
	return sum
}

// point finds λ by bisection: what is left falls as λ grows, because every
// formulation weighs states by a falling function of q_1/q (Likelihood only if
// q_1 and q_1/q agree on the order of states).
func (u *Problem) point(f Formulation, level float64) (Point, error) {
	at := func(t float64) Point {
		lambda := u.multiplier(f, t)
		p, err := u.law(f, []float64{lambda})
		if err != nil { // t = 1, where λ is beyond the last distribution
			return Point{Unlearned: math.NaN()}
		}
		return Point{f, u.left(p), KL(p, u.q), u.scaled(f, []float64{lambda}, false)[0]}
	}
	lo, hi := 0.0, 1.0
	low := at(math.Nextafter(1, 0))
	if !(low.Unlearned < level) {
		return Point{}, &UnreachableError{f, level, low.Unlearned}
	}
	best := at(0)
	for range 200 { // bisection of a float64 interval ends after some 60 steps
		mid := lo + float64((hi-lo)/2)
		if mid <= lo || mid >= hi {
			break
		}
		if p := at(mid); p.Unlearned >= level {
			lo, best = mid, p
		} else {
			hi = mid
		}
	}
	return best, nil
}

// multiplier maps 0 ≤ t < 1 to the range of λ.
func (u *Problem) multiplier(f Formulation, t float64) float64 {
	switch f {
	case ReverseKL:
		return t
	case ForwardKL:
		most := math.Inf(1)
		for k, a := range u.away[0] {
			if a > 0 {
				most = min(most, u.q[k]/a)
			}
		}
		return t * min(most, 1)
	}
	return t / (1 - t)
}
