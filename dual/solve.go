package dual

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Solution is the exact optimum of a constrained problem.
type Solution struct {
	Lambda    []float64 // λ*
	Dual      float64   // D(λ*), equal to the optimum
	Violation []float64 // E[g] at λ*: 0 where λ*_j > 0
}

// maxStates is the largest number of states that [Solve] keeps: 8·(1 + m) bytes
// each.
const maxStates = 1 << 22

// solveTol is the projected gradient at which Solve stops, relative to the
// violations; λ* is then known to solveTol over the smallest variance of g.
const solveTol = 1e-13

// Solve returns the optimum for a base model that can be enumerated, to
// rounding: it maximises D(λ) = −β log Σ_x exp(−(f0 + λᵀg)/β) over λ ≥ 0. The
// multipliers that l has now are the start; l is not changed.
//
// Errors: more than 2²² states; a base without support, a NaN; constraints that
// no law meets ([*DivergedError], proven, unwraps to constraint.ErrInfeasible)
// or that only laws on part of the support meet, where λ* is infinite
// (*DivergedError with Margin 0, not proven).
func Solve(ctx context.Context, l *Lagrangian) (*Solution, error) {
	n := states(l.sites, l.levels, maxStates)
	if n < 0 {
		return nil, fmt.Errorf("dual: Solve: %d sites of %d levels have more than %d states", l.sites, l.levels, maxStates)
	}
	t := &tilt{beta: l.beta, n: l.Len()}
	err := l.each(ctx, func(f0 float64, g []float64) error {
		if !math.IsInf(f0, 1) {
			t.add(f0, g)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.f0) == 0 {
		return nil, fmt.Errorf("dual: Solve: every state has energy +Inf")
	}
	lambda, err := t.solve(ctx, l.lambda)
	if err != nil {
		return nil, err
	}
	s := &Solution{Lambda: lambda, Violation: make([]float64, t.n)}
	s.Dual = t.value(lambda, s.Violation, make([]float64, t.n*t.n))
	return s, nil
}

// tilt is the dual function of a finite list of states.
type tilt struct {
	beta float64
	n    int
	f0   []float64
	g    []float64 // states × n
	p    []float64 // scratch: probabilities after value
}

func (t *tilt) add(f0 float64, g []float64) {
	t.f0 = append(t.f0, f0)
	t.g = append(t.g, g...)
}

// row returns the violations of state k.
func (t *tilt) row(k int) []float64 { return t.g[k*t.n : (k+1)*t.n] }

// value is the [concave] dual function.
func (t *tilt) value(lambda, grad, curv []float64) float64 {
	logZ := t.law(lambda)
	clear(grad)
	for k, p := range t.p {
		for j, v := range t.row(k) {
			grad[j] += p * v
		}
	}
	clear(curv)
	for k, p := range t.p {
		g := t.row(k)
		for i := range t.n {
			for j := range i + 1 {
				curv[i*t.n+j] += p * (g[i] - grad[i]) * (g[j] - grad[j]) / t.beta
			}
		}
	}
	for i := range t.n {
		for j := range i {
			curv[j*t.n+i] = curv[i*t.n+j]
		}
	}
	return -t.beta * logZ
}

// law stores the tilted law in t.p and returns log Z.
func (t *tilt) law(lambda []float64) float64 {
	t.p = slices.Grow(t.p[:0], len(t.f0))[:len(t.f0)]
	for k, f := range t.f0 {
		t.p[k] = -(f + dot(lambda, t.row(k))) / t.beta
	}
	return normalize(t.p)
}

// solve maximises the dual function.
func (t *tilt) solve(ctx context.Context, start []float64) ([]float64, error) {
	largest := 0.0
	for _, v := range t.g {
		largest = max(largest, math.Abs(v))
	}
	lambda, err := climb(ctx, t.value, start, solveTol*largest)
	if err == nil && t.determined(lambda, largest) {
		return lambda, nil
	}
	var away *unbounded
	if err != nil && !errors.As(err, &away) {
		return nil, err
	}
	if away != nil {
		lambda = away.lambda
	}
	return nil, t.certificate(lambda)
}

// minVariance is the variance of an active g_j, relative to its square range,
// below which its multiplier is not determined: the law has all but frozen on
// the states where g_j is smallest, and solveTol leaves λ_j open.
const minVariance = 1e-11

// determined reports whether λ is a maximum and not a point on the way to one
// at infinity.
func (t *tilt) determined(lambda []float64, largest float64) bool {
	grad, curv := make([]float64, t.n), make([]float64, t.n*t.n)
	t.value(lambda, grad, curv)
	// A stalled climb ends many orders below this.
	if projected(lambda, grad) > 1e-6*largest {
		return false
	}
	for j, v := range lambda {
		if v > 0 && t.varies(j) && curv[j*t.n+j]*t.beta < minVariance*largest*largest {
			return false
		}
	}
	return true
}

// varies reports whether g_j is not constant.
func (t *tilt) varies(j int) bool {
	for k := range t.f0 {
		if t.row(k)[j] != t.row(0)[j] {
			return true
		}
	}
	return false
}

// certificate returns the error for multipliers that run away at λ.
func (t *tilt) certificate(lambda []float64) error {
	sum := 0.0
	for _, v := range lambda {
		sum += v
	}
	e := &DivergedError{Lambda: slices.Clone(lambda), Direction: slices.Clone(lambda), Margin: math.Inf(1), Steps: 1}
	largest := 0.0
	for j := range e.Direction {
		e.Direction[j] /= sum
	}
	for k := range t.f0 {
		e.Margin = min(e.Margin, dot(e.Direction, t.row(k)))
		for _, v := range t.row(k) {
			largest = max(largest, math.Abs(v))
		}
	}
	e.Proven = e.Margin > rounding*largest
	if !e.Proven {
		e.Margin = 0
	}
	return e
}

// normalize replaces log-weights by probabilities and returns the logarithm of
// their sum.
func normalize(w []float64) float64 {
	top := slices.Max(w)
	sum := 0.0
	for k, v := range w {
		w[k] = math.Exp(v - top)
		sum += w[k]
	}
	for k := range w {
		w[k] /= sum
	}
	return top + math.Log(sum)
}
