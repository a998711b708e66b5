package trellis

import "math"

// logarithms is linear with the logs of the values: slow, and exact for
// weights of any size. It returns false if nothing has weight.
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
		list, all := r.nodes(t)
		if all {
			for q := range here {
				here[q] = l.nodeLog(int32(q), sums, ahead)
			}
			continue
		}
		for q := range here {
			here[q] = math.Inf(-1)
		}
		for _, q := range list {
			here[q] = l.nodeLog(q, sums, ahead)
		}
	}
	r.logZ = r.values(0)[0]
	return !math.IsInf(r.logZ, -1)
}

// logWork is what an edge costs in logarithms, in edges of linear.
const logWork = 8

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
