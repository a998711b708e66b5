package projection

import (
	"cmp"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// rows solves, for one probability row x at a time,
//
//	min_y KL(x‖y)  or  min_y KL(y‖x)  subject to  y_v ≥ κ·y_u for all u ≠ v,
//
// in closed form. Let S be the shortest prefix of the other entries, sorted
// descending, after which the next one is at most the common value
//
//	c = (x_v + Σ_S x)/(κ+|S|)                       forward,
//	c = exp[(κ·ln(x_v/κ) + Σ_S ln x)/(κ+|S|)]       reverse.
//
// Then y_u = c on S, y_v = κc and y = x elsewhere; the forward solution sums to
// one, the reverse one is divided by its sum Z. The costs are
// Σ_{S∪v} x·log(x/y) and −log Z.
type rows struct {
	divergence Divergence
	kappa      float64
	logKappa   float64
	revive     bool // forward: a token of weight zero may become the greatest

	logp   []float64 // log-probabilities of the row
	order  []int32   // tokens by descending probability
	prob   []float64 // their probabilities
	mass   []float64 // mass[n]: the sum of the first n probabilities
	logs   []float64 // logs[n]: Σ x·log x (forward) or Σ log x (reverse) of those
	behind []float64 // reverse: log of the sum of all but the first n
}

func newRows(levels int, d Divergence, kappa float64, revive bool) *rows {
	r := &rows{
		divergence: d, kappa: kappa, logKappa: simd.Log(kappa), revive: revive,
		logp:  make([]float64, levels),
		order: make([]int32, levels),
		prob:  make([]float64, levels),
		mass:  make([]float64, levels+1),
		logs:  make([]float64, levels+1),
	}
	if d == Reverse {
		r.behind = make([]float64, levels+1)
	}
	return r
}

// load normalises a row of log-weights. It returns the index of a weight that
// is NaN or +Inf, or −1; ok is false if all are −Inf.
func (r *rows) load(w []float32) (bad int, ok bool) {
	top := math.Inf(-1)
	for l, x := range w {
		if x != x || math.IsInf(float64(x), 1) {
			return l, false
		}
		top = max(top, float64(x))
	}
	if math.IsInf(top, -1) {
		return -1, false
	}
	sum := 0.0
	for _, x := range w {
		sum += simd.Exp(float64(x) - top)
	}
	norm := top + simd.Log(sum)
	for l, x := range w {
		r.logp[l] = float64(x) - norm
	}
	return -1, true
}

// costs stores the cost of every token of the loaded row, by one sort and two
// pointers: from one token to the next less likely one, S only grows.
func (r *rows) costs(dst []float64) {
	for l := range r.order {
		r.order[l] = int32(l)
	}
	slices.SortFunc(r.order, func(a, b int32) int {
		if c := cmp.Compare(r.logp[b], r.logp[a]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	if r.divergence == Reverse {
		r.reverseCosts(dst)
		return
	}
	for n, v := range r.order {
		lp := r.logp[v]
		p := simd.Exp(lp)
		r.prob[n] = p
		r.mass[n+1] = r.mass[n] + p
		r.logs[n+1] = r.logs[n] + entropyTerm(p, lp)
	}
	n := 0 // size of S
	for rank, v := range r.order {
		lp, p := r.logp[v], r.prob[rank]
		if math.IsInf(lp, -1) && !r.revive {
			dst[v] = math.Inf(1)
			continue
		}
		var sum float64 // over S and v
		for {
			if sum = r.mass[n] + p; n > rank {
				sum = r.mass[n+1]
			}
			next := beyond(n, rank)
			if next >= len(r.order) || r.prob[next] <= sum/(r.kappa+float64(n)) {
				break
			}
			n++
		}
		if n == 0 {
			dst[v] = 0
			continue
		}
		logs := r.logs[n] + entropyTerm(p, lp)
		if n > rank {
			logs = r.logs[n+1]
		}
		c := simd.Log(sum / (r.kappa + float64(n)))
		dst[v] = max(0, logs-float64(sum*c)-float64(p*r.logKappa))
	}
}

// entropyTerm returns p·log p, 0 for p = 0.
func entropyTerm(p, logp float64) float64 {
	if p == 0 {
		return 0
	}
	return float64(p * logp)
}

// beyond returns the rank of the n-th entry, counted without the one at rank.
func beyond(n, rank int) int {
	if n >= rank {
		return n + 1
	}
	return n
}

// reverseCosts is costs for KL(y‖x), in logarithms throughout.
func (r *rows) reverseCosts(dst []float64) {
	levels := len(r.order)
	for n, v := range r.order {
		if lp := r.logp[v]; !math.IsInf(lp, -1) {
			r.logs[n+1] = r.logs[n] + lp
		} else {
			r.logs[n+1] = math.Inf(-1)
		}
	}
	r.behind[levels] = math.Inf(-1)
	for n := levels - 1; n >= 0; n-- {
		r.behind[n] = addLogs(r.logp[r.order[n]], r.behind[n+1])
	}
	n := 0
	for rank, v := range r.order {
		lp := r.logp[v]
		if math.IsInf(lp, -1) {
			dst[v] = math.Inf(1)
			continue
		}
		own := float64(r.kappa * (lp - r.logKappa))
		var c float64
		for {
			sum := r.logs[n]
			if n > rank {
				sum = r.logs[n+1] - lp
			}
			c = (own + sum) / (r.kappa + float64(n))
			next := beyond(n, rank)
			if next >= levels || r.logp[r.order[next]] <= c {
				break
			}
			n++
		}
		if n == 0 {
			dst[v] = 0
			continue
		}
		rest := r.behind[n] // of everything outside S and v
		switch {
		case n < rank: // something at least as likely as v remains: no cancellation
			rest += simd.Log1p(-simd.Exp(lp - rest))
		default:
			rest = r.behind[n+1]
		}
		dst[v] = max(0, -addLogs(rest, simd.Log(r.kappa+float64(n))+c))
	}
}

// addLogs returns log(e^a + e^b).
func addLogs(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + simd.Log1p(simd.Exp(b-a))
}
