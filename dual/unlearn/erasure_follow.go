package unlearn

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// pathRecord is the path divergence of one sample so far.
type pathRecord struct {
	sample  int
	alpha   float64   // at the last prediction
	pending []float64 // Σ over masked sites of the divergences then
	sum     []float64
	path    tokenPath // if terminal
}

// settle adds what the step from r.alpha to the level alpha revealed.
func (r *pathRecord) settle(alpha float64) {
	reveal := (alpha - r.alpha) / (1 - r.alpha)
	for i, k := range r.pending {
		if k != 0 { // all is revealed where α = 1
			r.sum[i] += float64(reveal * k)
		}
		r.pending[i] = 0
	}
}

// tokenPath is the record of one sample whose tokens are revealed one by one: log
// q(x) and log q_i(x) of the tokens so far, by the chain rule, and the sum of the
// logarithms of the combined rows' totals. With p the product of experts
// q^{1/(1−s)} ∏ q_i^{−λ_i/(1−s)}, the sample was drawn with the probability
// p(x)·Z/∏ totals, so the totals are its weight.
type tokenPath struct {
	x      []int32   // as last seen
	rows   []float64 // sites × (1 + laws) × levels: log-probabilities then
	totals []float64 // sites: log totals then
	logp   []float64 // q, then the laws
	weight float64
}

// reveal adds to the path the tokens that x has and the path has not.
func (e *Erasure) reveal(r *tokenPath, x []int32) {
	if r.x == nil {
		return
	}
	laws := 1 + len(e.away)
	for site, v := range x {
		if r.x[site] != e.mask || v == e.mask {
			continue
		}
		for i := range laws {
			r.logp[i] += r.rows[(site*laws+i)*e.levels+int(v)]
		}
		r.weight += r.totals[site]
	}
	copy(r.x, x)
}

// follow notes the rows of a masked site: log-weights base of q, as they came,
// those of the laws in e.tables from at on, and the total of their combination,
// which is Σ_k exp(log q(k)/(1−s) − …) for normalised rows.
func (e *Erasure) follow(r *tokenPath, site, at int, base []float32, rest float64) {
	laws := 1 + len(e.away)
	rows := r.rows[site*laws*e.levels : (site+1)*laws*e.levels]
	for i := range laws {
		from := base
		if i > 0 {
			from = e.tables[i-1][at : at+e.levels]
		}
		row := rows[i*e.levels : (i+1)*e.levels]
		for k, v := range from {
			row[k] = float64(v)
		}
		row[e.mask] = math.Inf(-1)
		copy(e.q, row)
		logZ := tilt.Normalize(e.q)
		for k := range row {
			row[k] -= logZ
		}
	}
	for k := range e.q {
		e.q[k] = math.Inf(-1)
		if v := rows[k]; !math.IsInf(v, -1) {
			for i, l := range e.lambda {
				if l > 0 {
					v -= float64(l * rows[(i+1)*e.levels+k])
				}
			}
			e.q[k] = v / rest
		}
	}
	r.totals[site] = tilt.Normalize(e.q)
}

// terminals stores b_i − log p_λ(x)/q_i(x) of a record in g.
func (e *Erasure) terminals(g []float64, r *tokenPath) {
	rest := e.rest()
	logp := r.logp[0]
	for i, l := range e.lambda {
		if l > 0 {
			logp -= float64(l * r.logp[1+i])
		}
	}
	logp = logp/rest - e.logZ
	for i, b := range e.bound {
		g[i] = b - (logp - r.logp[1+i])
	}
}
