package trellis

import (
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Draw stores in x an exact draw from the distribution w(x)/Z of the last Filter. It uses one
// value of src per site, a second one if the token drawn shares its class with others, and a
// third one if these are many. It panics unless a Filter succeeded and len(x) = sites.
//
// The sums were taken backward, so the draw runs forward: at state q of site i
// the token is l with probability proportional to exp(v[i,l])·Z(what follows),
// by inverse CDF with 53 random bits.
func (r *Runner) Draw(x []int32, src rand.Source) {
	r.g.checkSequence(x)
	r.mustFilter()
	r.walk(x, 0, 0, src)
}

// walk draws from node q of site t on.
func (r *Runner) walk(x []int32, t int, q int32, src rand.Source) {
	pick := r.pickEdge
	if r.method == logarithm {
		pick = r.pickLog
	}
	for ; t < len(x); t++ {
		l, e := r.g.layers[t], pick(t, q, algebra.Unit(src))
		x[t] = r.pickToken(t, l, l.col[e], src)
		q = l.to[e]
	}
}

// mustFilter panics unless there is something to draw from.
func (r *Runner) mustFilter() {
	if r.v == nil {
		panic("trellis: no successful Filter")
	}
}

// pickEdge returns the edge of node q at the quantile u. The value of q is the
// sum of the same terms in the same order, so no second pass is needed.
func (r *Runner) pickEdge(t int, q int32, u float64) int32 {
	l := r.g.layers[t]
	ahead, sums := r.values(t+1), r.sums(t)
	goal := u * float64(r.values(t)[q]*r.unit[t])
	sum, last := 0.0, int32(none)
	for e := l.row[q]; e < l.row[q+1]; e++ {
		if w := float64(sums[l.col[e]] * ahead[l.to[e]]); w > 0 {
			if sum += w; sum > goal {
				return e
			}
			last = e
		}
	}
	return last
}

// pickLog is pickEdge on logarithms.
func (r *Runner) pickLog(t int, q int32, u float64) int32 {
	l := r.g.layers[t]
	ahead, sums := r.values(t+1), r.sums(t)
	value := r.values(t)[q]
	sum, last := 0.0, int32(none)
	for e := l.row[q]; e < l.row[q+1]; e++ {
		if w := simd.Exp(sums[l.col[e]] + ahead[l.to[e]] - value); w > 0 {
			if sum += w; sum > u {
				return e
			}
			last = e
		}
	}
	return last
}

// pickToken returns a token of column k with probability proportional to its
// weight.
func (r *Runner) pickToken(t int, l *layer, k int32, src rand.Source) int32 {
	tokens := l.class(int(k))
	if len(tokens) == 1 {
		return tokens[0]
	}
	if terms := r.terms(t); terms != nil && r.method != logarithm {
		return tokens[pickTerm(terms[l.begin(k):l.end[k]], r.sums(t)[k], src)]
	}
	if l.wide() {
		return r.pickWide(t, l, k, tokens, src)
	}
	row := r.v[t*r.g.levels : (t+1)*r.g.levels]
	weight, m := r.weight[:len(tokens)], float32(math.Inf(-1))
	for _, v := range tokens {
		m = max(m, row[v])
	}
	total := 0.0
	for i, v := range tokens {
		weight[i] = simd.Exp(float64(row[v]) - float64(m))
		total += weight[i]
	}
	return tokens[pickTerm(weight, total, src)]
}

// pickWide is pickToken where classes are large: a block by its sum, then a
// token of the block.
func (r *Runner) pickWide(t int, l *layer, k int32, tokens []int32, src rand.Source) int32 {
	if v := r.lone[t]; v != none {
		return v
	}
	if sums := r.blocks(t, l, int(k)); len(sums) > 1 {
		total := 0.0
		for _, w := range sums {
			total += w
		}
		from, to := l.part(k, pickTerm(sums, total, src))
		tokens = l.tokens[from:to]
	}
	w := r.row[:len(tokens)]
	gatherRow(w, r.v[t*r.g.levels:(t+1)*r.g.levels], tokens)
	var at [1]int32
	u := [1]float64{algebra.Unit(src)}
	simd.Categorical(at[:], w, len(w), u[:])
	return tokens[at[0]]
}

// pickTerm returns one of several with probability proportional to its weight, which
// sum to total in their order.
func pickTerm(weights []float64, total float64, src rand.Source) (last int) {
	goal, sum := algebra.Unit(src)*total, 0.0
	for i, w := range weights {
		if w > 0 {
			last = i
			if sum += w; sum > goal {
				break
			}
		}
	}
	return last
}

// LogProb returns log w(x)/Z under the last Filter, or −Inf if x is not accepted. It panics
// unless a Filter succeeded and len(x) = sites.
func (r *Runner) LogProb(x []int32) float64 {
	g := r.g
	g.checkSequence(x)
	r.mustFilter()
	q := int32(0)
	sum := 0.0
	for t, l := range g.layers {
		e := g.edge(l, q, x[t])
		if e == none {
			return math.Inf(-1)
		}
		sum += float64(r.v[t*g.levels+int(x[t])])
		q = l.to[e]
	}
	return sum - r.logZ
}

// Ahead returns the log of the total weight of everything that can follow a state of the graph: 0
// at the end, −Inf if nothing can follow. The state must have been reached before. It panics
// unless the last filter was a successful [Runner.FilterLogs].
func (r *Runner) Ahead(state int) float64 {
	r.mustLogs()
	return r.value[state]
}

// DrawFrom stores in x, from the site of state on, an exact draw of what follows the state, and
// returns that site. It panics unless the last filter was a successful [Runner.FilterLogs] and
// len(x) = sites.
func (r *Runner) DrawFrom(x []int32, state int, src rand.Source) (site int) {
	g := r.g
	g.checkSequence(x)
	r.mustLogs()
	site = g.site(state)
	r.walk(x, site, int32(state-g.offset[site]), src)
	return site
}

// mustLogs panics unless the last filter was one of logarithms.
func (r *Runner) mustLogs() {
	r.mustFilter()
	if r.method != logarithm {
		panic("trellis: no successful FilterLogs")
	}
}
