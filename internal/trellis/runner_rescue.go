package trellis

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// logarithms is linear with the logs of the values, for weights of any size. It
// returns false if nothing has weight.
//
// Between logarithms the sums of a site run on numbers with an exponent of their
// own, mantissa·2^exponent: that takes one logarithm a node instead of an
// exponential an edge.
func (r *Runner) logarithms() bool {
	g := r.g
	clear(r.values(g.sites))
	for ; r.passed < g.sites; r.passed++ {
		t := g.sites - 1 - r.passed
		l := g.layers[t]
		if r.halt(logWork * len(l.to)) {
			return false
		}
		here, ahead, sums := r.values(t), r.values(t+1), r.sums(t)
		r.scale[t] = 0
		r.long.fits = r.long.ahead.Load(ahead) && r.long.sum.Load(sums)
		list, all := r.nodes(t)
		if all {
			for q := range here {
				here[q] = r.nodeLog(l, int32(q), sums, ahead)
			}
			continue
		}
		for q := range here {
			here[q] = math.Inf(-1)
		}
		for _, q := range list {
			here[q] = r.nodeLog(l, q, sums, ahead)
		}
	}
	r.logZ = r.values(0)[0]
	return !math.IsInf(r.logZ, -1)
}

// logWork is what an edge costs in logarithms, in edges of linear.
const logWork = 8

// nodeLog returns log Σ exp(sum + ahead) over the edges of node q.
func (r *Runner) nodeLog(l *layer, q int32, sums, ahead []float64) float64 {
	from, end := l.row[q], l.row[q+1]
	cols, targets := l.col[from:end], l.to[from:end]
	if r.long.fits {
		return r.long.sum.LogDot(&r.long.ahead, cols, targets)
	}
	top := math.Inf(-1)
	for e, k := range cols {
		top = max(top, sums[k]+ahead[targets[e]])
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for e, k := range cols {
		sum += simd.Exp(sums[k] + ahead[targets[e]] - top)
	}
	return top + simd.Log(sum)
}
