package trellis

import "math"

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
		r.long.fits = l.edge == nil && r.long.ahead.load(ahead) && r.long.sum.load(sums)
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

// nodeLog returns log Σ exp(sum + edge + ahead) over the edges of node q.
func (r *Runner) nodeLog(l *layer, q int32, sums, ahead []float64) float64 {
	if !r.long.fits {
		return l.nodeLog(q, sums, ahead)
	}
	from, end := l.row[q], l.row[q+1]
	cols, targets := l.col[from:end], l.to[from:end]
	targets = targets[:len(cols)]
	s, a := &r.long.sum, &r.long.ahead
	top := int32(2 * nothing)
	for e, k := range cols {
		top = max(top, s.exponent[k]+a.exponent[targets[e]])
	}
	if top < nothing/2 {
		return math.Inf(-1)
	}
	sum := 0.0
	for e, k := range cols {
		to := targets[e]
		down := uint32(top - s.exponent[k] - a.exponent[to])
		if down < uint32(len(halves)) {
			sum += float64(float64(s.mantissa[k]*a.mantissa[to]) * halves[down])
		}
	}
	return log(sum) + float64(float64(top)*math.Ln2)
}

// nodeLog returns log Σ exp(sum + edge + ahead) over the edges of node q.
func (l *layer) nodeLog(q int32, sums, ahead []float64) float64 {
	top := math.Inf(-1)
	for e := l.row[q]; e < l.row[q+1]; e++ {
		top = max(top, l.logTerm(e, sums, ahead))
	}
	if math.IsInf(top, -1) {
		return top
	}
	sum := 0.0
	for e := l.row[q]; e < l.row[q+1]; e++ {
		sum += exp(l.logTerm(e, sums, ahead) - top)
	}
	return top + log(sum)
}

// logTerm returns the log of the term of edge e in the sum of its node.
func (l *layer) logTerm(e int32, sums, ahead []float64) float64 {
	w := sums[l.col[e]] + ahead[l.to[e]]
	if l.edge != nil {
		w += l.edge[e]
	}
	return w
}
