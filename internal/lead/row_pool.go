package lead

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Pool replaces the log-weights w of the loaded row by the log-probabilities of the
// nearest row in which v is greatest (see [Row]). Skip rows that are [Row.Satisfied]:
// then projecting twice changes nothing, bit for bit.
func (r *Row) Pool(w []float32, v int32) {
	if r.Reverse {
		r.poolReverse(w, v)
		return
	}
	logc := r.level(v)
	for u, lp := range r.logp {
		w[u] = float32(min(lp, logc))
	}
	r.lift(w, v, float32(logc))
}

// level returns log c of the forward solution. No sort is needed: c solves
// Σ_u (x_u−c)₊ = κc − x_v, the left side convex and falling, so that Newton's
// iteration from below is monotone and ends after finitely many steps.
func (r *Row) level(v int32) float64 {
	own := simd.Exp(r.logp[v])
	c := own / r.Margin
	logc := r.logp[v] - r.logKappa
	for {
		sum, n := own, r.Margin
		for u, lp := range r.logp {
			if lp > logc && u != int(v) {
				sum += simd.Exp(lp)
				n++
			}
		}
		if next := sum / n; next > c {
			c, logc = next, simd.Log(next)
			continue
		}
		return logc
	}
}

// poolReverse is Pool for KL(y‖x).
//
// The same iteration finds log c, from logarithms.
func (r *Row) poolReverse(w []float32, v int32) {
	own := r.logp[v] - r.logKappa
	c := own
	for {
		sum, n := float64(r.Margin*own), r.Margin
		for u, lp := range r.logp {
			if lp > c && u != int(v) {
				sum += lp
				n++
			}
		}
		next := sum / n
		if !(next > c) {
			break
		}
		c = next
	}
	logZ := c + r.logKappa
	for u, lp := range r.logp {
		if u != int(v) {
			logZ = simd.LogAdd(logZ, min(lp, c))
		}
	}
	for u, lp := range r.logp {
		w[u] = float32(min(lp, c) - logZ)
	}
	r.lift(w, v, float32(c-logZ))
}

// Satisfied reports whether v is greatest in w by the margin.
func (r *Row) Satisfied(w []float32, v int32) bool {
	own := float64(w[v])
	for u, x := range w {
		if float64(x)+r.logKappa > own && u != int(v) {
			return false
		}
	}
	return true
}

// lift stores log(κc) as the weight of v, rounded so that the margin over the
// weight log c of others holds.
func (r *Row) lift(w []float32, v int32, logc float32) {
	goal := float64(logc) + r.logKappa
	w[v] = float32(goal)
	if float64(w[v]) < goal {
		w[v] = math.Nextafter32(w[v], float32(math.Inf(1)))
	}
}
