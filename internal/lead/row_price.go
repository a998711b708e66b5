package lead

import (
	"math"
	"sort"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// At returns the token of the given rank by cost and its cost; ok is false if
// there is none, or none of finite cost.
func (r *Row) At(rank int) (token int32, cost float64, ok bool) {
	if !r.find(rank) {
		return -1, math.Inf(1), false
	}
	for n := len(r.cost); n <= rank; n++ {
		c := 0.0
		switch {
		case n == 0 && r.Margin == 1: // the likeliest token leads already
		case n == 1 && r.plain && !math.IsInf(r.logp[r.order[1]], -1):
			c, r.size = r.second()
		default:
			c, r.size = r.price(r.order[n], r.size)
		}
		r.cost = append(r.cost, c)
	}
	return r.order[rank], r.cost[rank], !math.IsInf(r.cost[rank], 1)
}

// second returns the forward price of rank 1 without a margin: the two likeliest
// tokens share their mass, and nothing else can be above the half of it. Searches
// need little else.
func (r *Row) second() (cost float64, size int) {
	if r.logp[r.order[0]] == r.logp[r.order[1]] {
		return 0, 0
	}
	total := r.mass[2]
	c := simd.Log(total / 2)
	return max(0, r.logs[2]-float64(total*c)), 1
}

// Cost returns the cost of the given rank, which [Row.At] has been asked for.
func (r *Row) Cost(rank int) float64 { return r.cost[rank] }

// Token returns the token of the given rank, which [Row.At] has been asked for.
func (r *Row) Token(rank int) int32 { return r.order[rank] }

// Costs stores the cost of every token in dst, +Inf where there is none.
func (r *Row) Costs(dst []float64) {
	r.sortAll()
	for rank := range r.order {
		token, cost, _ := r.At(rank)
		dst[token] = cost
	}
}

// Price returns the cost of one token, +Inf if there is none.
func (r *Row) Price(v int32) float64 {
	cost, _ := r.price(v, 0)
	return cost
}

// price returns the cost of token v and |S|, which is at least from.
func (r *Row) price(v int32, from int) (cost float64, size int) {
	switch {
	case math.IsInf(r.logp[v], -1) && !r.Revive:
		return math.Inf(1), from
	case r.Gap:
		r.find(0)
		return r.prob[0] - simd.Exp(r.logp[v]), from
	case r.Reverse:
		return r.reversePrice(v, from)
	}
	return r.forwardPrice(v, from)
}

// among reports whether v is one of the first n tokens in order.
func (r *Row) among(v int32, n int) bool {
	return n > 0 && r.find(n-1) && r.likelier(r.order[n-1], v) >= 0
}

// beyond returns the rank of the n-th token, counted without v.
func (r *Row) beyond(v int32, n int) int {
	if r.among(v, n+1) {
		return n + 1
	}
	return n
}

// few is how many sizes of S are tried one by one before bisection.
const few = 8

// least returns the size of S: the least n ≥ from that is enough. What is enough
// stays enough, because the entries descend.
func (r *Row) least(v int32, from int, enough func(n int) bool) int {
	for n := from; n < from+few; n++ {
		if enough(n) {
			return n
		}
	}
	from += few
	return from + sort.Search(len(r.order)-from, func(i int) bool { return enough(from + i) })
}

// forwardPrice returns the cost in KL(x‖y).
func (r *Row) forwardPrice(v int32, from int) (cost float64, size int) {
	lp := r.logp[v]
	p := simd.Exp(lp)
	sum := func(n int) float64 { // over S and v
		if r.among(v, n) {
			r.find(n)
			return r.mass[n+1]
		}
		return r.mass[n] + p
	}
	n := r.least(v, from, func(n int) bool {
		next := r.beyond(v, n)
		return !r.find(next) || r.prob[next] <= sum(n)/(r.Margin+float64(n))
	})
	if n == 0 {
		return 0, 0
	}
	logs := r.logs[n] + entropyTerm(p, lp)
	if r.among(v, n) {
		logs = r.logs[n+1]
	}
	total := sum(n)
	c := simd.Log(total / (r.Margin + float64(n)))
	return max(0, logs-float64(total*c)-float64(p*r.logKappa)), n
}

// reversePrice returns the cost in KL(y‖x), in logarithms throughout.
func (r *Row) reversePrice(v int32, from int) (cost float64, size int) {
	lp := r.logp[v]
	own := float64(r.Margin * (lp - r.logKappa))
	common := func(n int) float64 { // log c
		sum := r.logs[n]
		if r.among(v, n) {
			sum = r.logs[n+1] - lp
		}
		return (own + sum) / (r.Margin + float64(n))
	}
	n := r.least(v, from, func(n int) bool {
		next := r.beyond(v, n)
		return next >= len(r.order) || r.logp[r.order[next]] <= common(n)
	})
	if n == 0 {
		return 0, 0
	}
	rest := r.behind[n+1] // of everything outside S and v
	if !r.among(v, n+1) { // something at least as likely as v remains: no cancellation
		rest = r.behind[n]
		rest += simd.Log1p(-simd.Exp(lp - rest))
	}
	return max(0, -simd.LogAdd(rest, simd.Log(r.Margin+float64(n))+common(n))), n
}
