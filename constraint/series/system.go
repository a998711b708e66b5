package series

import (
	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// System is the system of inequalities that a [Builder] has compiled. Its rows, which are two-sided
// linear inequalities, come first, followed by its autocorrelations. A System is evaluated on
// standardised series (see [Shape]). A series is a row-major array of length × channels. Channel c
// at time t is entry t·channels + c. A System is immutable and implements [constraint.Smooth]. A
// proximal.Projector uses the method Split to treat the linear rows separately.
type System struct {
	slabs  constraint.Slabs
	curves curves
	names  []string // names of the rows, then of the autocorrelations
	sites  int
}

// Len returns the number of inequalities: one per row and two per autocorrelation.
func (s *System) Len() int { return s.slabs.Len() + s.curves.Len() }

// Split returns the two parts of the system: the linear rows, and the autocorrelations as nonlinear
// inequalities with derivatives. The results share memory with the system and must not be modified.
func (s *System) Split() (constraint.Slabs, constraint.Curved) { return s.slabs, s.curves }

// RowName returns a description of inequality j in raw units.
func (s *System) RowName(j int) string {
	if n := s.slabs.Len(); j >= n {
		return s.names[n+(j-n)/2]
	}
	return s.names[j]
}

// Value stores in g the values of all inequalities for the series v. The value of a row (a
// two-sided linear inequality) is the larger of its two violations, in units of the largest scale
// among the row's channels (see [Shape]). An autocorrelation has two values: its distance above the
// upper bound and its distance below the lower bound.
func (s *System) Value(g []float64, v []float32) {
	check.Len("series", "g", len(g), s.Len())
	check.Len("series", "v", len(v), s.sites)
	n := s.slabs.Len()
	s.slabs.Value(g[:n], v)
	eval(s.curves, g[n:], v)
}

// Pull adds to dst the gradient Σ_j w_j·∂g_j/∂v at the series v, where g_j is the value of
// inequality j.
func (s *System) Pull(dst, v []float32, w []float64) {
	check.Len("series", "w", len(w), s.Len())
	check.Len("series", "v", len(v), s.sites)
	n := s.slabs.Len()
	s.slabs.Pull(dst, v, w[:n])
	for j, x := range w[n:] {
		if x != 0 {
			a := s.curves[j/2]
			a.eachSlope(func(t int) float64 { return float64(v[a.index(t)]) }, func(t int, slope float64) {
				dst[a.index(t)] += float32(x * sign(j) * slope)
			})
		}
	}
}

// Violation returns the largest violation of a constraint by the standardised series v, and the
// name of that constraint. It returns 0 and "" if all constraints hold. The units are the same as
// in [System.Value].
func (s *System) Violation(v []float32) (worst float64, name string) {
	g := make([]float64, s.Len())
	s.Value(g, v)
	for j, x := range g {
		if !(x <= worst) {
			worst, name = x, s.RowName(j)
		}
	}
	return worst, name
}
