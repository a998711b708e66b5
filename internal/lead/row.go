package lead

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Row computes, for one row x of probabilities at a time, the nearest row y in which token v
// leads by the margin κ,
//
//	min_y KL(x‖y)  or  min_y KL(y‖x)  subject to  y_v ≥ κ·y_u for all u ≠ v,
//
// in closed form. Sort the other entries in descending order. Let S be their shortest prefix
// such that the next entry is at most the common value
//
//	c = (x_v + Σ_S x)/(κ+|S|)                       forward,
//	c = exp[(κ·ln(x_v/κ) + Σ_S ln x)/(κ+|S|)]       reverse.
//
// Then y_u = c on S, y_v = κc, and y = x elsewhere. The forward solution sums to one, and the
// reverse solution is divided by its sum Z. The costs are Σ_{S∪v} x·log(x/y) for the forward
// divergence and −log Z for the reverse one.
//
// The less likely a token, the larger are its cost and S. All costs therefore take one sort and
// a scan with two pointers. The cheapest few costs need only a part of the sorted order, and a
// single cost needs a bisection.
type Row struct {
	rule

	logp  []float64 // log-probabilities of the row
	order []int32   // tokens; the first known ones are sorted by descending probability
	known int       // number of sorted tokens

	// probability of each sorted token
	prob []float64
	mass []float64 // mass[n] is the sum of the first n probabilities
	logs []float64 // logs[n] is Σ x·log x (forward) or Σ log x (reverse) over the first n tokens

	// for the reverse divergence, log of the sum of all probabilities except the first n
	behind []float64
	cost   []float64 // cost by rank, for the ranks requested so far
	size   int       // |S| for the last rank in cost
}

// New returns a Row for rows of the given number of levels, under the given rule.
func New(levels int, by Rule) *Row {
	r := &Row{
		rule:  by.compile(),
		logp:  make([]float64, levels),
		order: make([]int32, levels),
	}
	if by.Reverse && !by.Gap {
		r.behind = make([]float64, levels+1)
	}
	return r
}

// Load normalises a row of log-weights and makes it the current row. bad is the index of a
// weight that is NaN or +Inf, or −1. ok is false if there is such a weight or all weights are
// −Inf.
func (r *Row) Load(w []float32) (bad int, ok bool) {
	top := float32(math.Inf(-1))
	for l, x := range w {
		if x > top {
			top = x
		} else if x != x {
			return l, false
		}
	}
	if math.IsInf(float64(top), 0) {
		return slices.Index(w, float32(math.Inf(1))), false
	}
	sum := 0.0
	for l, x := range w {
		d := float64(x) - float64(top)
		r.logp[l] = d
		r.order[l] = int32(l)
		sum += simd.Exp(d)
	}
	norm := simd.Log(sum)
	for l := range r.logp {
		r.logp[l] -= norm
	}
	r.known, r.size = 0, 0
	r.prob = r.prob[:0]
	r.mass = append(r.mass[:0], 0)
	r.logs = append(r.logs[:0], 0)
	r.cost = r.cost[:0]
	if r.behind != nil {
		r.sortAll()
		r.behind[len(r.order)] = math.Inf(-1)
		for n := len(r.order) - 1; n >= 0; n-- {
			r.behind[n] = simd.LogAdd(r.logp[r.order[n]], r.behind[n+1])
		}
	}
	return -1, true
}

// fewRanks is the number of ranks that are found one by one. If more are needed, the rest is
// sorted.
const fewRanks = 8

// find sorts the tokens up to rank n, and reports whether there are more than n tokens.
func (r *Row) find(n int) bool {
	if n >= len(r.order) {
		return false
	}
	for r.known <= n {
		if r.known >= fewRanks {
			r.sortAll()
			break
		}
		rest := r.order[r.known:]
		best, v := 0, rest[0]
		top := r.logp[v]
		for i, u := range rest {
			if lp := r.logp[u]; lp > top || lp == top && u < v {
				best, v, top = i, u, lp
			}
		}
		rest[0], rest[best] = v, rest[0]
		r.note()
	}
	return true
}

// sortAll sorts all tokens.
func (r *Row) sortAll() {
	slices.SortFunc(r.order[r.known:], r.likelier)
	for r.known < len(r.order) {
		r.note()
	}
}

// likelier compares tokens by descending probability, then by number.
func (r *Row) likelier(a, b int32) int {
	if c := cmp.Compare(r.logp[b], r.logp[a]); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// note adds the token at rank r.known to the sums and increments r.known.
func (r *Row) note() {
	lp := r.logp[r.order[r.known]]
	p := simd.Exp(lp)
	r.prob = append(r.prob, p)
	r.mass = append(r.mass, r.mass[r.known]+p)
	term := lp
	if !r.Reverse {
		term = entropyTerm(p, lp)
	}
	r.logs = append(r.logs, r.logs[r.known]+term)
	r.known++
}

// entropyTerm returns p·log p, 0 for p = 0.
func entropyTerm(p, logp float64) float64 {
	if p == 0 {
		return 0
	}
	return float64(p * logp)
}

// Rule defines the distance between rows, and thereby the cost of making a token lead. The zero
// value is the forward divergence without a margin.
type Rule struct {
	Reverse bool    // minimise KL(y‖x) instead of KL(x‖y)
	Margin  float64 // κ ≥ 1; 0 means 1
	Gap     bool    // use max_u x_u − x_v as the cost of token v instead
	Revive  bool    // forward only: a token of probability zero may be made to lead
}

// rule is a Rule with precomputed values.
type rule struct {
	Rule
	logKappa float64
	plain    bool // forward divergence, without margin or gap
}

// compile sets the default of the margin and precomputes its logarithm.
func (r Rule) compile() rule {
	if r.Margin == 0 {
		r.Margin = 1
	}
	return rule{r, simd.Log(r.Margin), !r.Reverse && r.Margin == 1 && !r.Gap}
}

// Pool replaces the log-weights w of the loaded row by the log-probabilities of the nearest row
// in which v is greatest (see [Row]). Do not call it for rows that are [Row.Satisfied].
// Projecting twice then changes nothing, bit for bit.
func (r *Row) Pool(w []float32, v int32) {
	if r.Reverse {
		r.poolReverse(w, v)
		return
	}
	logc := r.level(v)
	for u, lp := range r.logp {
		w[u] = float32(min(lp, logc))
	}
	r.lift(w, v, float32(logc))
}

// level returns log c of the forward solution for token v. It needs no sort. c solves Σ_u
// (x_u−c)₊ = κc − x_v, where the left side is convex and decreasing in c. Newton's iteration
// from below is therefore monotone and ends after finitely many steps.
func (r *Row) level(v int32) float64 {
	own := simd.Exp(r.logp[v])
	c := own / r.Margin
	logc := r.logp[v] - r.logKappa
	for {
		sum, n := own, r.Margin
		for u, lp := range r.logp {
			if lp > logc && u != int(v) {
				sum += simd.Exp(lp)
				n++
			}
		}
		if next := sum / n; next > c {
			c, logc = next, simd.Log(next)
			continue
		}
		return logc
	}
}

// poolReverse is Pool for KL(y‖x). It finds log c by the same Newton iteration as level,
// applied to logarithms.
func (r *Row) poolReverse(w []float32, v int32) {
	own := r.logp[v] - r.logKappa
	c := own
	for {
		sum, n := float64(r.Margin*own), r.Margin
		for u, lp := range r.logp {
			if lp > c && u != int(v) {
				sum += lp
				n++
			}
		}
		next := sum / n
		if !(next > c) {
			break
		}
		c = next
	}
	logZ := c + r.logKappa
	for u, lp := range r.logp {
		if u != int(v) {
			logZ = simd.LogAdd(logZ, min(lp, c))
		}
	}
	for u, lp := range r.logp {
		w[u] = float32(min(lp, c) - logZ)
	}
	r.lift(w, v, float32(c-logZ))
}

// Satisfied reports whether v has the greatest log-weight in w, by the margin.
func (r *Row) Satisfied(w []float32, v int32) bool {
	own := float64(w[v])
	for u, x := range w {
		if float64(x)+r.logKappa > own && u != int(v) {
			return false
		}
	}
	return true
}

// lift stores log(κc) as the log-weight of v. It rounds up, so that the margin over the
// log-weight log c of other tokens holds.
func (r *Row) lift(w []float32, v int32, logc float32) {
	goal := float64(logc) + r.logKappa
	w[v] = float32(goal)
	if float64(w[v]) < goal {
		w[v] = math.Nextafter32(w[v], float32(math.Inf(1)))
	}
}

// At returns the token of the given rank by cost, and its cost. ok is false if there is no such
// token or its cost is infinite.
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

// second returns the forward cost of rank 1 without a margin. The two likeliest tokens share
// their mass equally, and no other token can exceed half of it. Searches mostly need this cost.
// size is |S|.
func (r *Row) second() (cost float64, size int) {
	if r.logp[r.order[0]] == r.logp[r.order[1]] {
		return 0, 0
	}
	total := r.mass[2]
	c := simd.Log(total / 2)
	return max(0, r.logs[2]-float64(total*c)), 1
}

// Cost returns the cost of the given rank, for which [Row.At] must have been called.
func (r *Row) Cost(rank int) float64 { return r.cost[rank] }

// Token returns the token of the given rank, for which [Row.At] must have been called.
func (r *Row) Token(rank int) int32 { return r.order[rank] }

// Costs stores the cost of every token in dst, +Inf for a token that cannot lead.
func (r *Row) Costs(dst []float64) {
	r.sortAll()
	for rank := range r.order {
		token, cost, _ := r.At(rank)
		dst[token] = cost
	}
}

// Price returns the cost of one token, +Inf if the token cannot lead.
func (r *Row) Price(v int32) float64 {
	cost, _ := r.price(v, 0)
	return cost
}

// price returns the cost of token v and |S|. from is a lower bound on |S|.
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

// among reports whether v is one of the first n tokens in sorted order.
func (r *Row) among(v int32, n int) bool {
	return n > 0 && r.find(n-1) && r.likelier(r.order[n-1], v) >= 0
}

// beyond returns the rank of the token at position n in sorted order when v is not counted.
func (r *Row) beyond(v int32, n int) int {
	if r.among(v, n+1) {
		return n + 1
	}
	return n
}

// few is the number of sizes of S that are tried one by one before bisection.
const few = 8

// least returns the size of S: the least n ≥ from for which enough returns true. If enough is
// true for n, it is true for all larger n, because the entries descend.
func (r *Row) least(v int32, from int, enough func(n int) bool) int {
	for n := from; n < from+few; n++ {
		if enough(n) {
			return n
		}
	}
	from += few
	return from + sort.Search(len(r.order)-from, func(i int) bool { return enough(from + i) })
}

// forwardPrice returns the cost of token v in KL(x‖y), and |S|. from is a lower bound on |S|.
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

// reversePrice returns the cost of token v in KL(y‖x), and |S|, computed in logarithms
// throughout. from is a lower bound on |S|.
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
