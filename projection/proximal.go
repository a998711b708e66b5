package projection

import (
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Proximal moves real-valued predictions to a set of linear rows and smooth
// inequalities: given the posterior mean ẑ of a clean series it finds
//
//	argmin_z ½‖z−ẑ‖² + (γ/2)·Σ_j max(0, f_j(z)),
//
// which for large γ, and always if Gamma is nil, is the nearest point with
// f(z) ≤ 0. It is the projection of constrained posterior sampling (Narasimhan,
// Agarwal, Akcin, Shakkottai and Chinchali 2025, equation 4), solved through
// its dual, to 1e-12 and with a certificate (see [Certificate]), instead of by
// a general solver.
//
// A Proximal is a recipe, used as a literal; the zero value of everything but
// Set is the recommended setting. Bind makes it a [Projection] for a runner,
// Compile a [Solver] to use by hand.
type Proximal struct {
	// Set is the feasible set, on the series as the denoiser sees it. Linear
	// rows come as a [constraint.Linear], a [constraint.Slabs] or a
	// *[constraint.Series], and are met exactly. The inequalities of any other
	// Smooth, and the curved ones of a Series, are linearised again and again
	// (a prox-linear method, Drusvyatskiy and Paquette 2019): what that ends in
	// is a stationary point, not always the nearest.
	Set constraint.Smooth

	// Gamma is the schedule of the weight γ. Nil means the hard form.
	Gamma Gamma

	// Metric, unless nil, replaces ‖z−ẑ‖² by (z−ẑ)ᵀP⁻¹(z−ẑ) with P positive
	// definite: it stores P·v in dst, at diffusion time t. With P the
	// covariance of the clean series given the noisy one, the projection is
	// the conditional mean if that is Gaussian. It must be safe for concurrent
	// use, and P·v must not depend on anything else.
	Metric func(dst, v []float64, t float64)

	// Soften makes rows that exclude each other no error; see [Solver.Solve].
	Soften bool
}

// namer is a set that names its rows.
type namer interface{ RowName(j int) string }

// Compile returns a solver for series of n entries. The error says what is
// wrong with the set, or is the *[ContradictionError] of linear rows that
// exclude each other, unless the recipe says Soften.
func (p Proximal) Compile(n int) (*Solver, error) {
	if n < 1 {
		return nil, fmt.Errorf("projection: Proximal: n = %d, want ≥ 1", n)
	}
	linear, curved, err := p.split()
	if err != nil {
		return nil, err
	}
	if err := linear.Validate(n); err != nil {
		return nil, fmt.Errorf("projection: Proximal: %w", err)
	}
	rows := newSlabs(n, linear)
	if rows.floor > leastSlack && !p.Soften {
		return nil, &ContradictionError{Rows: []int{rows.worst}, Multiplier: []float64{1}, Slack: rows.floor}
	}
	var name func(row int) string // nil: rows have numbers only
	if s, ok := p.Set.(namer); ok {
		name = s.RowName
	}
	s := p.solver(rows, curved, name)
	if !p.Soften {
		// Contradictions are here to be seen before anything runs.
		alone := Proximal{Set: p.Set}.solver(rows, nil, name)
		zero := make([]float64, n)
		if _, err := alone.Solve(zero, zero); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// split takes the set apart into linear rows and curved inequalities.
func (p Proximal) split() (constraint.Slabs, constraint.Curved, error) {
	switch s := p.Set.(type) {
	case nil:
		return constraint.Slabs{}, nil, fmt.Errorf("projection: Proximal: Set is nil")
	case constraint.Linear:
		if len(s.A) != len(s.B) {
			return constraint.Slabs{}, nil, fmt.Errorf("projection: Proximal: %w", s.Validate(0))
		}
		return s.Slabs(), nil, nil
	case constraint.Slabs:
		return s, nil, nil
	case interface {
		Split() (constraint.Slabs, constraint.Curved)
	}:
		linear, curved := s.Split()
		return linear, curved, nil
	case constraint.Curved:
		return constraint.Slabs{}, s, nil
	}
	return constraint.Slabs{}, rounded{p.Set}, nil
}

// solver returns a solver with no multipliers.
func (p Proximal) solver(rows *slabs, curved constraint.Curved, name func(int) string) *Solver {
	s := &Solver{recipe: &p, name: name, scale: 1, base: rows, caps: math.NaN()}
	if curved != nil && curved.Len() > 0 {
		s.curves = newCurves(rows.n, curved)
		rows = s.curves.extend(rows)
	}
	s.iter = newNewton(rows, p.Metric != nil)
	if p.Metric != nil {
		s.At(1)
	}
	return s
}

// At sets the time of the metric, 1 until then. Multipliers stay. Without a
// metric it does nothing.
func (s *Solver) At(t float64) {
	if s.recipe.Metric == nil || s.iter.apply != nil && s.time == t {
		return
	}
	s.time = t
	w := s.iter
	// P may be of any size; the iteration wants one of order 1. A vector of
	// fixed signs sees about the mean of the diagonal of P.
	for i := range w.sum {
		w.sum[i] = 1
		if (uint32(i)*0x9E3779B9)>>31 == 1 {
			w.sum[i] = -1
		}
	}
	s.recipe.Metric(w.pd, w.sum, t)
	s.scale = 1
	if q := dot(w.sum, w.pd) / float64(w.n); q > 0 && !math.IsInf(q, 1) {
		s.scale = q
	}
	s.caps = math.NaN()
	if w.apply == nil {
		w.apply = func(dst, src []float64) {
			s.recipe.Metric(dst, src, s.time)
			for i := range dst {
				dst[i] /= s.scale
			}
		}
	}
}
