package lead

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Row makes a token v the most likely one in a row x of probabilities, at the least cost. It solves
// one of the problems
//
//	min_y KL(x‖y)  or  min_y KL(y‖x)  subject to  y_v ≥ κ·y_u for all u ≠ v
//
// in closed form, where κ ≥ 1 is the margin. The solution lowers a set S of the other tokens to a
// common value
//
//	c = (x_v + Σ_S x)/(κ+|S|)                       forward,
//	c = exp[(κ·ln(x_v/κ) + Σ_S ln x)/(κ+|S|)]       reverse.
//
// S holds the k most likely of the other tokens, with the smallest k for which all tokens outside S
// have probability at most c. Then y_u = c on S, y_v = κc and y = x elsewhere. The forward solution
// sums to one; the reverse one is divided by its sum Z. The cost is Σ_{S∪v} x·log(x/y) for the
// forward problem and −log Z for the reverse one.
//
// Computing all costs takes one sort and a pass with two pointers. A single cost takes a bisection.
type Row struct {
	rule

	logp  []float64 // log-probability of each token
	order []int32   // tokens; the first known ones are sorted by descending probability
	known int       // number of sorted tokens

	// prob, mass and logs are indexed by rank and have entries for the known ranks. prob holds
	// the probability at each rank.
	prob []float64 // probability
	mass []float64 // mass[n] is the sum of the first n probabilities
	// logs[n] is Σ x·log x (forward) or Σ log x (reverse) over the first n probabilities
	logs []float64

	behind []float64 // behind[n] is the log of the sum of all probabilities except the first n; reverse rule only
	cost   []float64 // cost of the token at each rank, as far as computed
	size   int       // size of the set S (see Row) for the last computed cost
}

// New returns a Row with the given rule, for rows with one log-weight per level (see [Row.Load]).
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

// Load normalises a row of log-weights and prepares the Row r for calls of the other methods on
// this row. It returns the index of a weight that is NaN or +Inf, or −1 if there is none. The
// result ok is false if there is such a weight or all weights are −Inf.
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

// fewRanks is the number of ranks that are found one by one before the rest is sorted.
const fewRanks = 8

// find makes the ranks 0 … n known. It reports whether there are more than n tokens.
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

// sortAll makes all ranks known.
func (r *Row) sortAll() {
	slices.SortFunc(r.order[r.known:], r.likelier)
	for r.known < len(r.order) {
		r.note()
	}
}

// likelier compares tokens by descending probability, then by ascending number.
func (r *Row) likelier(a, b int32) int {
	if c := cmp.Compare(r.logp[b], r.logp[a]); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// note appends the token at the next rank to the cumulative sums.
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

// entropyTerm returns p·log p, or 0 for p = 0.
func entropyTerm(p, logp float64) float64 {
	if p == 0 {
		return 0
	}
	return float64(p * logp)
}

// Rule defines which distribution counts as nearest, and thus the cost of making a token the most
// likely one. The zero value is the forward divergence without a margin.
type Rule struct {
	Reverse bool    // minimise KL(y‖x) instead of KL(x‖y)
	Margin  float64 // margin κ ≥ 1 of the most likely token over each other token; 0 means 1
	// the cost of token v is the gap max_u x_u − x_v in a row x of probabilities, not the
	// divergence
	Gap    bool
	Revive bool // forward only: a token of probability zero may become the most likely one
}

// rule is a Rule with values derived from it.
type rule struct {
	Rule
	logKappa float64
	plain    bool // the rule is forward, without a margin or Gap
}

// compile applies the default margin and computes the derived values.
func (r Rule) compile() rule {
	if r.Margin == 0 {
		r.Margin = 1
	}
	return rule{r, simd.Log(r.Margin), !r.Reverse && r.Margin == 1 && !r.Gap}
}

// Pool makes v the most likely token of the loaded row, by the margin of the [Rule]. It replaces
// the log-weights w of the row by the log-probabilities of the nearest such distribution (see
// [Row]). Call Pool only if [Row.Satisfied] returns false. Satisfied returns true after a call of
// Pool, so projecting a row again changes no bit.
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

// level returns log c of the forward solution for token v. It needs no sort, because c solves Σ_u
// (x_u−c)₊ = κc − x_v. The left side of this equation is convex and decreasing in c. Newton's
// iteration from below is therefore monotone and ends after finitely many steps.
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

// poolReverse is Pool for the divergence KL(y‖x). The iteration of level, on logarithms, finds
// log c.
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

// Satisfied reports whether v has the greatest log-weight in w, by at least the margin of the
// [Rule].
func (r *Row) Satisfied(w []float32, v int32) bool {
	own := float64(w[v])
	for u, x := range w {
		if float64(x)+r.logKappa > own && u != int(v) {
			return false
		}
	}
	return true
}

// lift stores log(κc) as the weight of v, where the other weights are at most logc = log c. It
// rounds up, so that the margin holds.
func (r *Row) lift(w []float32, v int32, logc float32) {
	goal := float64(logc) + r.logKappa
	w[v] = float32(goal)
	if float64(w[v]) < goal {
		w[v] = math.Nextafter32(w[v], float32(math.Inf(1)))
	}
}

// At returns the token of the given rank and its cost. Rank 0 is the cheapest token, rank 1 the
// next, and so on. The result ok is false if there is no such token or its cost is infinite.
func (r *Row) At(rank int) (token int32, cost float64, ok bool) {
	if !r.find(rank) {
		return -1, math.Inf(1), false
	}
	for n := len(r.cost); n <= rank; n++ {
		c := 0.0
		switch {
		case n == 0 && r.Margin == 1: // the most likely token needs no change
		case n == 1 && r.plain && !math.IsInf(r.logp[r.order[1]], -1):
			c, r.size = r.second()
		default:
			c, r.size = r.price(r.order[n], r.size)
		}
		r.cost = append(r.cost, c)
	}
	return r.order[rank], r.cost[rank], !math.IsInf(r.cost[rank], 1)
}

// second returns the forward cost of rank 1 without a margin, and |S|. The two most likely tokens
// share their mass, and no other token can exceed half of it. Searches need few other costs.
func (r *Row) second() (cost float64, size int) {
	if r.logp[r.order[0]] == r.logp[r.order[1]] {
		return 0, 0
	}
	total := r.mass[2]
	c := simd.Log(total / 2)
	return max(0, r.logs[2]-float64(total*c)), 1
}

// Cost returns the cost of the token of the given rank. [Row.At] must have been called for this
// rank.
func (r *Row) Cost(rank int) float64 { return r.cost[rank] }

// Token returns the token of the given rank. [Row.At] must have been called for this rank.
func (r *Row) Token(rank int) int32 { return r.order[rank] }

// Costs stores in dst the cost of every token, or +Inf for a token that cannot become the most
// likely one.
func (r *Row) Costs(dst []float64) {
	r.sortAll()
	for rank := range r.order {
		token, cost, _ := r.At(rank)
		dst[token] = cost
	}
}

// Price returns the cost of making v the most likely token, or +Inf if that is impossible.
func (r *Row) Price(v int32) float64 {
	cost, _ := r.price(v, 0)
	return cost
}

// price returns the cost of token v and the size of S. The argument bound is a known lower bound on
// this size.
func (r *Row) price(v int32, bound int) (cost float64, size int) {
	switch {
	case math.IsInf(r.logp[v], -1) && !r.Revive:
		return math.Inf(1), bound
	case r.Gap:
		r.find(0)
		return r.prob[0] - simd.Exp(r.logp[v]), bound
	case r.Reverse:
		return r.reversePrice(v, bound)
	}
	return r.forwardPrice(v, bound)
}

// among reports whether v is one of the first n tokens in order.
func (r *Row) among(v int32, n int) bool {
	return n > 0 && r.find(n-1) && r.likelier(r.order[n-1], v) >= 0
}

// beyond returns the rank of the token that has n tokens other than v before it.
func (r *Row) beyond(v int32, n int) int {
	if r.among(v, n+1) {
		return n + 1
	}
	return n
}

// few is the number of sizes of S that are tried one by one before bisection.
const few = 8

// least returns the size of S, which is the least n ≥ from for which enough(n) is true. For all
// larger n, enough(n) is then true as well, because the entries descend.
func (r *Row) least(v int32, from int, enough func(n int) bool) int {
	for n := from; n < from+few; n++ {
		if enough(n) {
			return n
		}
	}
	from += few
	return from + sort.Search(len(r.order)-from, func(i int) bool { return enough(from + i) })
}

// forwardPrice returns the cost of token v in KL(x‖y), and the size of S.
func (r *Row) forwardPrice(v int32, from int) (cost float64, size int) {
	lp := r.logp[v]
	p := simd.Exp(lp)
	sum := func(n int) float64 { // sum of the probabilities of S and v
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

// reversePrice returns the cost of token v in KL(y‖x), computed with logarithms, and the size of
// S.
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
	rest := r.behind[n+1] // log-sum of the probabilities outside S and v
	if !r.among(v, n+1) { // a token at least as likely as v remains, so nothing cancels
		rest = r.behind[n]
		rest += simd.Log1p(-simd.Exp(lp - rest))
	}
	return max(0, -simd.LogAdd(rest, simd.Log(r.Margin+float64(n))+common(n))), n
}
