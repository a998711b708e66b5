package trellis

import "math/rand/v2"

// FilterLogs is [Runner.Filter] on logarithms throughout, so that no value has
// lost anything, however small a part of the whole it is. [Runner.Ahead] and
// [Runner.DrawFrom] rest on it.
func (r *Runner) FilterLogs(v []float32) (logZ float64, err error) {
	r.g.checkTable("v", len(v))
	r.method = logarithm
	if r.logs == nil {
		r.logs = make([]float64, len(r.sum))
	}
	r.enter(summing)
	r.v, r.stop, r.stopped, r.paused, r.work = v, nil, false, false, 0
	return r.filter()
}

// Ahead returns the log of the weight of all that can follow a state of the graph
// that has been met, 0 at the end, −Inf where nothing can follow. It panics unless
// the last filter was a successful [Runner.FilterLogs].
func (r *Runner) Ahead(state int) float64 {
	r.mustLogs()
	return r.value[state]
}

// DrawFrom stores in x, from the site of state on, an exact draw of what follows
// it, and returns that site. It panics unless the last filter was a successful
// [Runner.FilterLogs] and len(x) = sites.
func (r *Runner) DrawFrom(x []int32, state int, src rand.Source) (site int) {
	g := r.g
	g.checkSequence(x)
	r.mustLogs()
	site = g.site(state)
	q := int32(state - g.offset[site])
	for t := site; t < g.sites; t++ {
		l := g.layers[t]
		e := r.pickLog(t, q, unit64(src))
		x[t] = r.pickToken(t, l, l.col[e], src)
		q = l.to[e]
	}
	return site
}

// mustLogs panics unless the last filter was one of logarithms.
func (r *Runner) mustLogs() {
	r.mustFilter()
	if r.method != logarithm {
		panic("trellis: no successful FilterLogs")
	}
}
