package twisted

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/span"
)

// propagation is the scratch of one worker for expectation propagation. It handles Gaussians of
// u, u = μ + G·ξ with a lower triangular G and standard normal ξ, given the equations and the
// sites. The equations fix the first entries of ξ. Site j is a factor e^{−p_j(s_j−c_j)²/2} of s_j
// = site_j·u; it approximates the bounds on s_j.
type propagation struct {
	*rows
	xi   []float64 // first entries of ξ, determined by the equations
	base []float64 // value of each s_j when the other entries of ξ are 0
	// derivatives of s_j by the other entries, sites × free: s_j = base_j + slope_j·ξ
	slope  []float64
	mean   []float64 // mean of the other entries of ξ, given the sites
	cov    []float64 // covariance of the other entries of ξ, given the sites
	factor []float64 // Cholesky factor of cov, or of its inverse
	column []float64
}

func newPropagation(r *rows) *propagation {
	f, m := r.q-r.fixed, r.sites()
	return &propagation{
		rows: r, xi: make([]float64, r.q), base: make([]float64, m), slope: make([]float64, m*f),
		mean: make([]float64, f), cov: make([]float64, f*f), factor: make([]float64, f*f), column: make([]float64, f),
	}
}

// given sets the Gaussian to N(μ, GGᵀ) and returns the log-density of the equations.
func (w *propagation) given(mu, g []float64) (logp float64) {
	e, f, q := w.fixed, w.q-w.fixed, w.q
	for k := range e {
		w.xi[k] = (w.value[k] - mu[k] - span.Dot(w.xi[:k], g[k*q:])) / g[k*q+k]
		logp -= float64(w.xi[k]*w.xi[k]/2) + simd.Log(g[k*q+k]) + float64(simd.Log(2*math.Pi)/2)
	}
	for j := range w.base {
		t := w.site[j*q : (j+1)*q]
		slope := w.slope[j*f : (j+1)*f]
		clear(slope)
		s := 0.0
		for i, x := range t {
			if x == 0 {
				continue
			}
			row := g[i*q : i*q+i+1]
			s += float64(x * mu[i])
			for k, y := range row {
				if k < e {
					s += float64(float64(x*y) * w.xi[k])
				} else {
					slope[k-e] += float64(x * y)
				}
			}
		}
		w.base[j] = s
	}
	return logp
}

// fit determines the precision and centre of each site by sweeps of expectation propagation, for
// the Gaussian set by given. It returns the log of the estimated probability of the bounds.
func (w *propagation) fit(precision, centre []float64, sweeps int) (logp float64) {
	f := w.q - w.fixed
	clear(precision)
	clear(centre)
	clear(w.mean)
	clear(w.cov)
	for i := range f {
		w.cov[i*f+i] = 1
	}
	for range sweeps {
		for j := range w.base {
			w.update(j, precision, centre)
		}
	}
	for j, p := range precision {
		m, v := w.cavity(j, p, centre[j])
		sd := math.Sqrt(v)
		l, _, _ := truncated((w.lo[j]-m)/sd, (w.hi[j]-m)/sd)
		logp += l
		if p > 0 {
			off := m - centre[j]
			logp += float64(simd.Log(1+float64(p*v))/2) + float64(float64(off*off)*p)/(2*(1+float64(p*v)))
		}
	}
	return logp + w.evidence(precision, centre)
}

const (
	// leastCavity is the smallest precision of a cavity, relative to that of the marginal.
	leastCavity = 1e-9

	// inert is the distance from a bound, in standard deviations of the cavity, beyond which
	// the bound has no effect. The probability of exceeding it is then below 1e-17.
	inert = 9
)

// cavity returns the mean and variance of s_j under all sites except its own, whose precision is
// p and centre c.
func (w *propagation) cavity(j int, p, c float64) (mean, variance float64) {
	f := w.q - w.fixed
	slope := w.slope[j*f : (j+1)*f]
	m := w.base[j] + span.Dot(slope, w.mean)
	v := 0.0
	for i, x := range slope {
		w.column[i] = span.Dot(slope, w.cov[i*f:])
		v += float64(x * w.column[i])
	}
	v = max(v, math.SmallestNonzeroFloat64)
	if p == 0 {
		return m, v
	}
	rest := max(1/v-p, leastCavity/v)
	return m + float64((m-c)*p)/rest, 1 / rest
}

// update replaces site j. The new site gives s_j the moments that it has under the cavity
// restricted to its bounds.
func (w *propagation) update(j int, precision, centre []float64) {
	f, p, c := w.q-w.fixed, precision[j], centre[j]
	m, v := w.cavity(j, p, c)
	sd := math.Sqrt(v)
	lo, hi := (w.lo[j]-m)/sd, (w.hi[j]-m)/sd
	next, at := 0.0, 0.0
	if lo > -inert || hi < inert {
		_, tm, tv := truncated(lo, hi)
		// The site has the part of the moments that the cavity does not have.
		if gain := 1/tv - 1; gain > 1e-14 && !math.IsInf(gain, 1) {
			next = gain / v
			// equals (tm/tv)/gain, because tv = 1/(1+gain)
			at = m + float64(float64(sd*tm)*(1+1/gain))
		}
	}
	if next == 0 && p == 0 {
		return
	}
	// The marginal changes by the difference of the new and the old site. Its moments along
	// slope are own and spread.
	slope := w.slope[j*f : (j+1)*f]
	own := w.base[j] + span.Dot(slope, w.mean)
	spread := span.Dot(slope, w.column)
	change := next - p
	den := 1 + float64(change*spread)
	if !(den > 0) {
		return
	}
	shift := (float64(next*(at-own)) - float64(p*(c-own))) / den
	for i, x := range w.column {
		w.mean[i] += float64(shift * x)
		part := float64(x*change) / den
		for k, y := range w.column {
			w.cov[i*f+k] -= float64(part * y)
		}
	}
	precision[j], centre[j] = next, at
}

// evidence returns log E[Π_j e^{−p_j(s_j−c_j)²/2}] for the Gaussian set by given. It stores the
// mean of ξ given the sites, and the Cholesky factor of the inverse of its covariance.
func (w *propagation) evidence(precision, centre []float64) (logp float64) {
	f := w.q - w.fixed
	clear(w.factor)
	clear(w.mean)
	for i := range f {
		w.factor[i*f+i] = 1
	}
	for j, p := range precision {
		if p == 0 {
			continue
		}
		slope, off := w.slope[j*f:(j+1)*f], centre[j]-w.base[j]
		logp -= float64(p * float64(off*off) / 2)
		for i, x := range slope {
			if x == 0 {
				continue
			}
			w.mean[i] += float64(float64(p*off) * x)
			for k, y := range slope[:i+1] {
				w.factor[i*f+k] += float64(float64(p*x) * y)
			}
		}
	}
	cholesky(w.factor, f)
	forward(w.factor, w.mean, f)
	logp += float64(span.Dot(w.mean, w.mean) / 2)
	backward(w.factor, w.mean, f)
	for i := range f {
		logp -= simd.Log(w.factor[i*f+i])
	}
	return logp
}

// Nodes and weights of the 16-point Gauss–Legendre rule on (−1, 1), positive nodes only
// (Abramowitz and Stegun 1964, table 25.4). TestTruncated checks them.
var (
	legendreNode = [8]float64{
		0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863, 0.6178762444026437484,
		0.7554044083550030339, 0.8656312023878317439, 0.9445750230732325761, 0.9894009349916499326,
	}
	legendreWeight = [8]float64{
		0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382, 0.1495959888165767321,
		0.1246289712555338720, 0.0951585116824927848, 0.0622535239386478929, 0.0271524594117540949,
	}
)

const (
	faint = 40 // densities below e⁻⁴⁰ of the largest are omitted
	// number of intervals on each side of the mode; the rule is then accurate to 1e-10
	pieces = 2
)

// truncated returns, for z ~ N(0, 1), log P(lo ≤ z ≤ hi), and the mean and variance of z given
// that lo ≤ z ≤ hi. It integrates from the mode outwards by quadrature. So it is as accurate in
// the tails and for narrow intervals as elsewhere. lo must be below hi.
func truncated(lo, hi float64) (logp, mean, variance float64) {
	mode := min(max(0, lo), hi)
	var node, weight [4 * pieces * len(legendreNode)]float64
	count, total, first := 0, 0.0, 0.0
	for _, sign := range [2]float64{-1, 1} {
		width := hi - mode
		if sign < 0 {
			width = mode - lo
		}
		// At distance d from the mode, the density is lower by the factor e^{−d(d/2 ±
		// mode)}.
		out := float64(sign * mode)
		end := min(width, -out+math.Sqrt(float64(out*out)+2*faint))
		if !(end > 0) {
			continue
		}
		step := end / pieces
		for p := range pieces {
			centre := float64((float64(p) + 0.5) * step)
			for k, x := range legendreNode {
				for _, s := range [2]float64{-1, 1} {
					d := centre + float64(s*x*step/2)
					fall := float64(d * (float64(d/2) + out))
					w := float64(legendreWeight[k] * step / 2 * simd.Exp(-fall))
					node[count], weight[count] = sign*d, w
					count++
					total += w
					first += float64(w * float64(sign*d))
				}
			}
		}
	}
	if count == 0 {
		return math.Inf(-1), mode, 0
	}
	mean = first / total
	for k, x := range node[:count] {
		variance += float64(weight[k] * float64((x-mean)*(x-mean)))
	}
	logp = simd.Log(total) - float64(mode*mode/2) - float64(simd.Log(2*math.Pi)/2)
	return logp, mode + mean, variance / total
}
