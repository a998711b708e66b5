package trellis

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// scaledMarginals is Marginals with scaled numbers instead of logarithms. It returns false if a
// product was lost or nearly so, or if the context that is watched has ended.
func (r *Runner) scaledMarginals(dst, here, next, post []float64) bool {
	g := r.g
	here[0] = 1
	exponent := 0 // here is in units of 2^exponent
	first := simd.Log(r.values(0)[0])
	for t, l := range g.layers {
		if r.meter.Done(siteWork+g.levels+len(l.to)) || !r.pushForward(t, l, here[:l.n], next[:l.next], post[:len(l.live)]) {
			return false
		}
		units := float64(exponent+r.scale[t+1]-r.scale[0]) * math.Ln2
		r.spread(dst, t, l, post, func(p float64) float64 { return simd.Log(p) + units - first - r.shift[t] })
		top := 0.0
		for _, a := range next[:l.next] {
			top = max(top, a)
		}
		if _, e := math.Frexp(top); e > loose || e < -loose {
			for q := range next[:l.next] {
				next[q] = math.Ldexp(next[q], -e)
			}
			exponent += e
		}
		here, next = next, here
	}
	return true
}

// pushForward sums the forward values here over the edges of site t: into next
// by target, with class sums, and into post by column, with values ahead
// instead. It returns false if a product of numbers above 0 is below 2^low.
func (r *Runner) pushForward(t int, l *layer, here, next, post []float64) bool {
	clear(next)
	clear(post)
	sums, ahead, value := r.sums(t), r.values(t+1), r.values(t)
	for q, a := range here {
		if a == 0 || value[q] == 0 {
			continue
		}
		for e := l.row[q]; e < l.row[q+1]; e++ {
			k, to := l.col[e], l.to[e]
			p, n := float64(a*ahead[to]), float64(a*sums[k])
			if p < lowest && ahead[to] > 0 || n < lowest && sums[k] > 0 {
				return false
			}
			post[k] += p
			next[to] += n
		}
	}
	return true
}

// spread stores in row t of dst the log-probabilities of the tokens, given
// their weights and what base makes of the sum of their column.
func (r *Runner) spread(dst []float64, t int, l *layer, post []float64, base func(float64) float64) {
	for k := range l.end {
		if b := base(post[k]); !math.IsInf(b, -1) {
			for _, v := range l.class(k) {
				dst[t*r.g.levels+int(v)] = float64(r.v[t*r.g.levels+int(v)]) + b
			}
		}
	}
}

// logMarginals is Marginals on logarithms.
func (r *Runner) logMarginals(dst, here, next, post []float64) {
	g := r.g
	here[0] = 0
	for t, l := range g.layers {
		if r.meter.Done(siteWork + g.levels + len(l.to)) {
			return
		}
		sums, ahead := r.sums(t), r.values(t+1)
		next, post := next[:l.next], post[:len(l.live)]
		for i := range next {
			next[i] = math.Inf(-1)
		}
		for i := range post {
			post[i] = math.Inf(-1)
		}
		for q, a := range here[:l.n] {
			for e := l.row[q]; e < l.row[q+1]; e++ {
				k, to := l.col[e], l.to[e]
				post[k] = simd.LogAdd(post[k], a+ahead[to])
				next[to] = simd.LogAdd(next[to], a+sums[k])
			}
		}
		r.spread(dst, t, l, post, func(p float64) float64 { return p - r.logZ })
		copy(here, next)
	}
}
