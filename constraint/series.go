package constraint

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Series is a set of real-valued series that a [SeriesBuilder] has compiled:
// linear rows and, after them, autocorrelations. It works on standardised
// entries, length × channels, row-major, so that channel c at time t is entry
// t·channels + c. It is immutable, a [Smooth], and what projection.ProximalProjector
// knows to take apart.
type Series struct {
	slabs  Slabs
	curves seriesCurves
	names  []string // of the rows, then of the autocorrelations
	sites  int
}

// Len returns the number of rows plus two inequalities per autocorrelation.
func (s *Series) Len() int { return s.slabs.Len() + s.curves.Len() }

// Sites returns length × channels.
func (s *Series) Sites() int { return s.sites }

// Split returns the rows and the rest. Neither may be modified.
func (s *Series) Split() (Slabs, Curved) { return s.slabs, s.curves }

// RowName says what row or inequality j is, in raw units.
func (s *Series) RowName(j int) string {
	if n := s.slabs.Len(); j >= n {
		return s.names[n+(j-n)/2]
	}
	return s.names[j]
}

// Value stores g(v): for every row the larger of its two violations, in
// standardised units; for every autocorrelation how far it is above and below.
func (s *Series) Value(g []float64, v []float32) {
	check.Len("constraint", "g", len(g), s.Len())
	check.Len("constraint", "v", len(v), s.sites)
	n := s.slabs.Len()
	s.slabs.Value(g[:n], v)
	evalCurves(s.curves, g[n:], v)
}

// Pull adds the derivative of Σ_j w_j·g_j at v to dst.
func (s *Series) Pull(dst, v []float32, w []float64) {
	check.Len("constraint", "w", len(w), s.Len())
	check.Len("constraint", "v", len(v), s.sites)
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

// Violation returns the largest violation of the series v, and what it is a
// violation of; 0 and "" if everything holds.
func (s *Series) Violation(v []float32) (worst float64, name string) {
	g := make([]float64, s.Len())
	s.Value(g, v)
	for j, x := range g {
		if !(x <= worst) {
			worst, name = x, s.RowName(j)
		}
	}
	return worst, name
}

// seriesCurves are autocorrelations; inequality 2j is r_j ≤ upper, 2j+1 is
// lower ≤ r_j.
type seriesCurves []autocorrelation

func (c seriesCurves) Len() int { return 2 * len(c) }

// Eval implements [Curved].
func (c seriesCurves) Eval(g, z []float64) { evalCurves(c, g, z) }

// Gradient implements [Curved].
func (c seriesCurves) Gradient(dst []float64, j int, z []float64) {
	clear(dst)
	a := c[j/2]
	a.eachSlope(func(t int) float64 { return z[a.index(t)] }, func(t int, slope float64) {
		dst[a.index(t)] = sign(j) * slope
	})
}

func sign(j int) float64 { return float64(1 - 2*(j%2)) }

func evalCurves[T float32 | float64](c seriesCurves, g []float64, z []T) {
	for k, a := range c {
		r, _, _ := a.value(func(t int) float64 { return float64(z[a.index(t)]) })
		g[2*k], g[2*k+1] = r-a.upper, a.lower-r
	}
}

// autocorrelation bounds
//
//	r = Σ_t u_t·u_{t+lag} / Σ_t u_t²,  u_t = x_t − mean(x),
//
// of one channel, the usual (biased) estimate, which is at most 1 in absolute
// value. Shift and scale of x do not matter. A constant channel has r = 0.
type autocorrelation struct {
	channel, channels, length, lag int
	lower, upper                   float64
}

func (a autocorrelation) index(t int) int { return t*a.channels + a.channel }

// value returns r, the mean and Σ u².
func (a autocorrelation) value(x func(t int) float64) (r, mean, square float64) {
	for t := range a.length {
		mean += x(t)
	}
	mean /= float64(a.length)
	cross := 0.0
	for t := range a.length {
		u := x(t) - mean
		square += float64(u * u)
		if t+a.lag < a.length {
			cross += float64(u * (x(t+a.lag) - mean))
		}
	}
	if !(square > 0) {
		return 0, mean, 0
	}
	return cross / square, mean, square
}

// eachSlope calls f with ∂r/∂x_t = (∂cross − r·∂square)/square for every t. The
// derivative through the mean takes the average of the first term off; that of
// the second has average 0.
func (a autocorrelation) eachSlope(x func(t int) float64, f func(t int, slope float64)) {
	r, mean, square := a.value(x)
	if square == 0 {
		return
	}
	cross := func(t int) float64 {
		s := 0.0
		if t >= a.lag {
			s += x(t-a.lag) - mean
		}
		if t+a.lag < a.length {
			s += x(t+a.lag) - mean
		}
		return s
	}
	average := 0.0
	for t := range a.length {
		average += cross(t)
	}
	average /= float64(a.length)
	for t := range a.length {
		f(t, (cross(t)-average-float64(2*r*(x(t)-mean)))/square)
	}
}

// span names a range of times.
func span(from, to int) string { return fmt.Sprintf("t = %d…%d", from, to-1) }
