package trellis

import (
	"errors"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Filter runs the sums backward over the sites for the log-weights v, laid out
// sites × levels, and returns
//
//	log Z = log Σ_{x accepted} ∏_i exp(v[i,x_i]).
//
// It returns a [*algebra.DeadError] if the sum is empty and a [*algebra.WeightError] for a NaN or
// +Inf among the tokens that the automaton can use (others are not read). r keeps a reference to
// v until the next Filter. It panics unless len(v) = sites·levels.
func (r *Runner) Filter(v []float32) (logZ float64, err error) {
	logZ, err = r.FilterUntil(v, r.watched(), false)
	return logZ, r.cause(err)
}

// cause returns err, or what ended the context that is watched.
func (r *Runner) cause(err error) error {
	if err == ErrStopped && r.meter.Err() != nil {
		return r.meter.Err()
	}
	return err
}

// FilterGiven is [Runner.Filter] for a v in which the row of every site i with given[i] ≥ 0 is 0
// at token given[i] and −Inf elsewhere. The rows of v at these sites are not read, and may be
// overwritten. Only Draw may follow. It panics unless len(given) = sites and its tokens are
// levels.
func (r *Runner) FilterGiven(v []float32, given []int32) (logZ float64, err error) {
	r.g.checkTable("v", len(v))
	r.g.checkSequence(given)
	for t, token := range given {
		if token < 0 {
			continue
		}
		row := v[t*r.g.levels : (t+1)*r.g.levels]
		_ = row[token]
		if r.g.layers[t].wide() {
			continue
		}
		for l := range row {
			row[l] = float32(math.Inf(-1))
		}
		row[token] = 0
	}
	r.given = given
	logZ, err = r.Filter(v)
	r.given = nil
	return logZ, err
}

// FilterLogs is [Runner.Filter] with logarithms throughout, so that no value loses precision,
// however small its share of the total. [Runner.Ahead] and [Runner.DrawFrom] require it.
func (r *Runner) FilterLogs(v []float32) (logZ float64, err error) {
	r.g.checkTable("v", len(v))
	r.begin(logarithm)
	r.v, r.stop, r.stopped, r.paused, r.work = v, r.watched(), false, false, 0
	logZ, err = r.filter()
	r.stop = nil
	return logZ, r.cause(err)
}

// Marginals stores in dst (sites × levels) the log-probabilities
//
//	dst[i,l] = log P(x_i = l) = log Σ_{x: x_i=l} w(x)/Z
//
// under the distribution of the last Filter, −Inf for tokens that cannot occur. If float64 loses
// tokens that are unlikely but possible, Marginals filters again with logarithms, in separate
// scratch: draws are the same before and after. It returns an error only if a context is watched,
// and panics unless a Filter succeeded and len(dst) = sites·levels.
func (r *Runner) Marginals(dst []float64) error {
	g := r.g
	g.checkTable("dst", len(dst))
	r.mustFilter()
	if r.front == nil {
		columns := 0
		for _, l := range g.layers {
			columns = max(columns, len(l.live))
		}
		r.front = make([]float64, 2*g.widest+columns)
	}
	for i := range dst {
		dst[i] = math.Inf(-1)
	}
	here, next := r.front[:g.widest], r.front[g.widest:2*g.widest]
	post := r.front[2*g.widest:]
	if r.method != logarithm {
		if r.lossless && r.scaledMarginals(dst, here, next, post) {
			return nil
		}
		if err := r.meter.Err(); err != nil {
			return err
		}
		if r.logarithmic == nil {
			r.logarithmic = NewRunner(g)
		}
		r.logarithmic.Watch(r.meter.Context())
		if _, err := r.logarithmic.FilterLogs(r.v); err != nil {
			if ended := r.logarithmic.meter.Err(); ended != nil {
				return ended
			}
			panic(err) // the last Filter took the same weights
		}
		return r.logarithmic.Marginals(dst)
	}
	r.logMarginals(dst, here, next, post)
	return r.meter.Err()
}

// ErrStopped is returned by a FilterUntil that was stopped.
var ErrStopped = errors.New("trellis: stopped")

// FilterUntil is [Runner.Filter], except that stop can end it early with [ErrStopped]; a nil stop
// never does. After ErrStopped r holds no results. If again is true, FilterUntil continues where
// it was stopped, with the same v.
func (r *Runner) FilterUntil(v []float32, stop Stopper, again bool) (logZ float64, err error) {
	r.g.checkTable("v", len(v))
	if !again || !r.paused {
		r.begin(scaled)
	}
	r.v, r.stop, r.stopped, r.work = v, stop, false, 0
	logZ, err = r.filter()
	r.paused, r.stop = r.stopped, nil
	if r.stopped {
		r.v = nil
		return 0, ErrStopped
	}
	return logZ, err
}

// filter goes through the phases from the present one on, with numbers and,
// where these are not exact, with logarithms.
func (r *Runner) filter() (logZ float64, err error) {
	for {
		if r.phase == summing {
			if err := r.allSums(); err != nil {
				return 0, err
			}
			r.enter(sweeping)
		}
		if r.phase == sweeping {
			if r.dead = !r.sweep(); r.stopped {
				return 0, ErrStopped
			}
			r.enter(backward)
		}
		ok := !r.dead
		switch {
		case !ok:
		case r.method == logarithm:
			ok = r.logarithms()
		default:
			done, clean := r.linear()
			ok = done && (clean || r.certified())
		}
		switch {
		case r.stopped:
			return 0, ErrStopped
		case ok:
			return r.logZ, nil
		case r.method == logarithm:
			r.v, r.stop = nil, nil
			return 0, r.g.dead(func(t int, k int32) bool { return r.sums(t)[k] > r.zero() })
		}
		r.begin(logarithm)
	}
}

// begin begins the first phase of a method.
func (r *Runner) begin(m method) {
	r.method = m
	if m == logarithm && r.logs == nil {
		r.logs = make([]float64, len(r.sum))
	}
	r.enter(summing)
}

// LogZ returns the result of the last successful Filter.
func (r *Runner) LogZ() float64 { return r.logZ }

// allSums takes the class sums of every site.
func (r *Runner) allSums() error {
	for ; r.passed < len(r.g.layers); r.passed++ {
		if r.halt(r.g.levels) {
			return ErrStopped
		}
		if err := r.classSums(r.passed); err != nil {
			return err
		}
	}
	return nil
}

// sweep lists the nodes that are reachable under the weights, if that is likely to save work
// later: after sites at which few tokens are left. It reports whether every site that it examines
// has such a node, unless it is stopped.
func (r *Runner) sweep() bool {
	g := r.g
	r.count[0] = none // one node
	for ; r.passed < len(g.layers); r.passed++ {
		if r.halt(0) {
			return false
		}
		t, l := r.passed, g.layers[r.passed]
		list, all := r.nodes(t)
		cols := r.columns(t)
		if len(cols) == 0 {
			return false
		}
		few := 4*len(cols) <= len(l.live)
		many := all && l.n > 1 || 2*len(list) > l.n
		if many && !few || l.n == 1 && len(cols) == len(l.live) {
			r.count[t+1] = none
			continue
		}
		seen := r.seen[:l.next]
		clear(seen)
		sums, zero := r.sums(t), r.zero()
		if all {
			for e, to := range l.to {
				seen[to] = seen[to] || sums[l.col[e]] > zero
			}
		}
		for _, q := range list {
			for e := l.row[q]; e < l.row[q+1]; e++ {
				if sums[l.col[e]] > zero {
					seen[l.to[e]] = true
				}
			}
		}
		out := r.active[g.offset[t+1]:g.offset[t+2]]
		n := 0
		for q, s := range seen {
			if s {
				out[n] = int32(q)
				n++
			}
		}
		if n == 0 {
			return false
		}
		r.count[t+1] = n
		if n == l.next {
			r.count[t+1] = none
		}
	}
	return true
}

// zero returns the representation of a sum of nothing.
func (r *Runner) zero() float64 {
	if r.method == logarithm {
		return math.Inf(-1)
	}
	return 0
}

// linear fills values and scales from the last site to the first, and logZ. done
// is false if a site or the whole underflowed, clean true if nothing underflowed
// that could matter.
func (r *Runner) linear() (done, clean bool) {
	g := r.g
	last := r.values(g.sites)
	for q := range last {
		last[q] = 1
	}
	r.scale[g.sites], r.top[g.sites] = 0, 0
	for ; r.passed < g.sites; r.passed++ {
		t := g.sites - 1 - r.passed
		l := g.layers[t]
		if r.halt(len(l.to)) {
			return false, false
		}
		here := r.values(t)
		frac, e := math.Frexp(r.layerSums(t, l))
		if frac == 0 || e < -1000 {
			return false, false
		}
		r.lossless = r.lossless && !r.deep[t] && r.clean(t, l)
		r.unit[t], r.scale[t], r.top[t] = 1, r.scale[t+1], e
		if e > loose || e < -loose {
			r.unit[t] = math.Ldexp(1, e)
			up := math.Ldexp(1, -e)
			for q := range here {
				here[q] *= up
			}
			r.scale[t] += e
			r.top[t] = 0
		}
		r.shifted += r.shift[t]
	}
	r.logZ = simd.Log(r.values(0)[0]) + float64(float64(r.scale[0])*math.Ln2) + r.shifted
	return true, r.lossless
}

// clean reports whether no node of site t has lost a part of its value that
// could matter, given that those of the next site have not.
//
// The values ahead are at most 2^loose, class sums at most the number of tokens,
// so each product that is lost, or whose factors are, is below 2^(−1074+loose+32), and a value above 2^low has 2^(900−978+31) of
// itself in that way at most. A smaller value must be that of a node that leads
// nowhere.
func (r *Runner) clean(t int, l *layer) bool {
	list, all := r.nodes(t)
	here := r.values(t)
	if all {
		for q, w := range here {
			if w < lowest && !r.leadsNowhere(t, l, int32(q)) {
				return false
			}
		}
		return true
	}
	for _, q := range list {
		if here[q] < lowest && !r.leadsNowhere(t, l, q) {
			return false
		}
	}
	return true
}

// leadsNowhere reports whether every edge of node q has a class without weight or
// a target without value.
func (r *Runner) leadsNowhere(t int, l *layer, q int32) bool {
	sums, ahead := r.sums(t), r.values(t+1)
	for e := l.row[q]; e < l.row[q+1]; e++ {
		if sums[l.col[e]] > 0 && ahead[l.to[e]] > 0 {
			return false
		}
	}
	return true
}

// layerSums fills the values of site t from those of the next, in its units,
// and returns the greatest.
func (r *Runner) layerSums(t int, l *layer) (top float64) {
	list, all := r.nodes(t)
	here, ahead, sums := r.values(t), r.values(t+1), r.sums(t)
	switch {
	case l.dense != nil && (all || 2*len(list) > l.n):
		copy(r.ahead[:dead], ahead) // the value of dead stays 0
		cols := r.columns(t)
		s := r.nonz[:len(cols)]
		for i, k := range cols {
			s[i] = sums[k]
		}
		l.denseSums(here, cols, s, &r.ahead)
		for _, v := range here {
			top = max(top, v)
		}
	case !all:
		clear(here)
		for _, q := range list {
			here[q] = l.nodeSum(q, sums, ahead)
			top = max(top, here[q])
		}
	default:
		top = l.sparseSums(here, sums, ahead)
	}
	return top
}

// The bounds of certified. An exponential below exp(logTiny) or a product below
// it is lost by a float64 (2^-1074). Losses are accepted when they are below
// exp(−margin) of the result: 1e-17 of it. A node whose value is above 2^low in
// the units of its site has lost nothing that matters to it.
const (
	logTiny = -1074 * math.Ln2
	margin  = 39
	low     = -900
)

// lowest is 2^low.
const lowest = 0x1p-900

// certified reports whether everything that linear may have lost to underflow
// is negligible.
//
// At site t a term of a sum is at most tiny = exp(logTiny) too small for each
// token, times the greatest value ahead, or for each column, in the units of the
// values ahead. What comes before multiplies it by no more than the sums of all class
// sums. So
//
//	log lost_t ≤ Σ_{i<t} total_i + log(tokens + columns) + logTiny + (scale_{t+1} + top_{t+1})·log 2,
//
// top being the binary exponent of the greatest value, or 0 if that is larger, to be
// compared with log Z without its shifts.
func (r *Runner) certified() bool {
	g := r.g
	result := r.logZ
	for _, shift := range r.shift {
		result -= shift
	}
	limit := result - margin - simd.Log(float64(g.sites)) - logTiny
	before := 0.0
	for t, l := range g.layers {
		top := max(0, r.top[t+1])
		lost := before + l.logSize + float64(float64(r.scale[t+1]+top)*math.Ln2)
		if !(lost <= limit) {
			return false
		}
		before += r.total[t]
	}
	return true
}

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
