package newton

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/projection"
)

const (
	mostSteps = 2000 // maximum number of steps along the set of solutions
	mostReach = 200  // maximum number of steps to reach the set of solutions
	// largest gradient at which the nearest point counts as found, for states of order 1
	settled   = 1e-9
	loose     = 1e-6  // largest gradient that is accepted if no step makes progress
	leastGain = 1e-4  // fraction of the predicted decrease that a step must achieve (Armijo rule)
	rounding  = 1e-14 // relative rounding error of the objective
	halvings  = 50    // maximum number of times that a step is halved
	polished  = 100   // factor by which the residual should fall below the tolerance
	longest   = 1e3   // maximum length of a step, in multiples of the gradient
)

// Solver projects states onto the solutions of the same equations, one state after the other. A
// Solver is not safe for concurrent use. Its methods do not allocate.
type Solver struct {
	n         int
	equations constraint.Curved
	tolerance float64

	basis *basis
	// values of the equations at the present point, at a trial point, and saved values
	h, trial, kept []float64
	at, from       []float64
	step, delta    []float64
	goal           []float64
	before, last   []float64 // previous point and previous step
}

func newSolver(f constraint.Curved, n int, tolerance float64) *Solver {
	m := f.Len()
	mk := func(n int) []float64 { return make([]float64, n) }
	return &Solver{
		n: n, equations: f, tolerance: tolerance, basis: newBasis(n, m),
		h: mk(m), trial: mk(m), kept: mk(m), at: mk(n), from: mk(n), step: mk(n), delta: mk(n), goal: mk(n), before: mk(n), last: mk(n),
	}
}

// clone returns an independent solver for the same equations.
func (s *Solver) clone() *Solver { return newSolver(s.equations, s.n, s.tolerance) }

// Step stores in z the result of one Gauss–Newton step from v,
//
//	z = v − Jᵀ(JJᵀ)⁻¹h(v),  J = ∂h/∂z at v,
//
// and returns max |h_j(v)|. For linear equations, the result is the nearest solution. The step
// leaves out equations whose gradients depend linearly on the gradients of earlier equations. The
// slices z and v may be the same. If v or h(v) is not finite, Step returns an error and does not
// change z.
func (s *Solver) Step(z, v []float64) (residual float64, err error) {
	if residual, err = s.begin(z, v); err != nil {
		return residual, err
	}
	if err := s.linearise(); err != nil {
		return residual, err
	}
	s.basis.least(s.at, s.h)
	copy(z, s.at)
	return residual, nil
}

// Solve stores in z the solution of h(z) = 0 that is locally nearest to v:
//
//	argmin_z ½‖z−v‖²  over  h(z) = 0.
//
// The equations hold to the Tolerance of the [Projector]. Solve first reaches a solution by damped
// Gauss–Newton steps. It then reduces the distance to v by steps along the set of solutions, with
// step lengths by Barzilai and Borwein (1988). For linear h, one Gauss–Newton step suffices. The
// slices z and v may be the same.
//
// If the iteration fails, the error is a *[projection.NotConverged] and z holds the best iterate.
// If v or h(v) is not finite, Solve returns an error and does not change z.
func (s *Solver) Solve(z, v []float64) error {
	if _, err := s.begin(z, v); err != nil {
		return err
	}
	copy(s.goal, v)
	size := max(1, largest(v))
	steps := s.reach()
	if miss := largest(s.h); !(miss <= s.tolerance) {
		copy(z, s.at)
		return &projection.NotConverged{Method: "newton", Residual: miss, Want: s.tolerance, Iterations: steps}
	}
	length, far := 1.0, 0.0
	for steps = 0; ; steps++ {
		if far = s.slope(); far <= settled*size || steps == mostSteps {
			break
		}
		if steps > 0 {
			length = s.length(length)
		}
		copy(s.before, s.at)
		copy(s.last, s.step)
		if !s.advance(length) {
			break
		}
	}
	copy(z, s.at)
	if far > loose*size {
		return &projection.NotConverged{Method: "newton: nearest point", Residual: far, Want: loose * size, Iterations: steps}
	}
	return nil
}

// begin checks v, evaluates the equations at v and returns the largest |h_j|.
func (s *Solver) begin(z, v []float64) (residual float64, err error) {
	check.Len("newton", "z", len(z), s.n)
	check.Len("newton", "v", len(v), s.n)
	for i, x := range v {
		if !check.Finite(x) {
			return 0, fmt.Errorf("newton: v[%d] = %v, want finite", i, x)
		}
	}
	copy(s.at, v)
	s.equations.Eval(s.h, s.at)
	for j, h := range s.h {
		if !check.Finite(h) {
			return 0, fmt.Errorf("newton: equation %d is %v at v, want finite", j, h)
		}
	}
	return largest(s.h), nil
}

// linearise computes a basis of the gradients at the present point. It returns an error if a
// gradient is not finite.
func (s *Solver) linearise() error {
	s.basis.reset()
	for j := range s.h {
		row := s.basis.next()
		s.equations.Gradient(row, j, s.at)
		for i, g := range row {
			if !check.Finite(g) {
				return fmt.Errorf("newton: entry %d of the gradient of equation %d is %v, want finite", i, j, g)
			}
		}
		s.basis.add(j)
	}
	return nil
}

// reach moves the present point to a solution by Gauss–Newton steps, and returns the number of
// steps. Each step is halved until Σ|h_j| decreases. If no step length decreases this sum, reach
// stops.
func (s *Solver) reach() (steps int) {
	for ; steps < mostReach && largest(s.h) > s.tolerance/polished; steps++ {
		if s.linearise() != nil {
			return steps
		}
		clear(s.delta)
		s.basis.least(s.delta, s.h)
		was, ok := total(s.h), false
		copy(s.from, s.at)
		for cut, k := 1.0, 0; k < halvings && !ok; cut, k = cut/2, k+1 {
			for i, p := range s.delta {
				s.at[i] = s.from[i] + float64(cut*p)
			}
			s.equations.Eval(s.trial, s.at)
			ok = total(s.trial) <= (1-float64(leastGain*cut))*was
		}
		if !ok {
			copy(s.at, s.from)
			return steps
		}
		copy(s.h, s.trial)
	}
	return steps
}

// slope stores in step the component of goal − z along the set of solutions, and returns its
// largest entry in absolute value.
func (s *Solver) slope() float64 {
	if s.linearise() != nil {
		return math.Inf(1)
	}
	for i, x := range s.goal {
		s.step[i] = x - s.at[i]
	}
	s.basis.remove(s.step, s.basis.y)
	return largest(s.step)
}

// length returns the length of the next step. The argument previous is the length of the step
// before.
func (s *Solver) length(previous float64) float64 {
	move, bend := 0.0, 0.0
	for i, x := range s.at {
		d := x - s.before[i]
		move += float64(d * d)
		bend += float64(d * (s.last[i] - s.step[i]))
	}
	if !(bend > 0) {
		return min(2*previous, longest)
	}
	return min(move/bend, longest)
}

// advance moves along step and then back onto the set of solutions. It halves the length until
// the distance to goal decreases enough. It returns false, and does not move, if no length
// succeeds.
func (s *Solver) advance(length float64) bool {
	was, gain := s.distance(), simd.Dot64(s.step, s.step)
	copy(s.kept, s.h)
	for range halvings {
		for i, p := range s.step {
			s.at[i] = s.before[i] + float64(length*p)
		}
		s.equations.Eval(s.h, s.at)
		s.reach()
		if largest(s.h) <= s.tolerance && s.distance() <= was-float64(float64(leastGain*length)*gain)+float64(rounding*(1+was)) {
			return true
		}
		length /= 2
	}
	copy(s.at, s.before)
	copy(s.h, s.kept)
	return false
}

// distance returns ½‖z − goal‖².
func (s *Solver) distance() float64 {
	sum := 0.0
	for i, x := range s.goal {
		d := x - s.at[i]
		sum += float64(d * d)
	}
	return float64(sum / 2)
}

func largest(h []float64) float64 {
	most := 0.0
	for _, v := range h {
		if !(math.Abs(v) <= most) {
			most = math.Abs(v)
		}
	}
	return most
}

func total(h []float64) float64 {
	s := 0.0
	for _, v := range h {
		s += math.Abs(v)
	}
	return s
}
