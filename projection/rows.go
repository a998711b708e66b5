package projection

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// rows solves, for one probability row x at a time,
//
//	min_y KL(x‖y)  or  min_y KL(y‖x)  subject to  y_v ≥ κ·y_u for all u ≠ v,
//
// in closed form. Let S be the shortest prefix of the other entries, sorted
// descending, after which the next one is at most the common value
//
//	c = (x_v + Σ_S x)/(κ+|S|)                       forward,
//	c = exp[(κ·ln(x_v/κ) + Σ_S ln x)/(κ+|S|)]       reverse.
//
// Then y_u = c on S, y_v = κc and y = x elsewhere; the forward solution sums to
// one, the reverse one is divided by its sum Z. The costs are
// Σ_{S∪v} x·log(x/y) and −log Z.
//
// From one token to the next less likely one the cost grows, and so does S.
// Hence all costs take one sort and two pointers, the cheapest few only as much
// of the order as they touch, and any one a bisection.
type rows struct {
	rule

	logp  []float64 // log-probabilities of the row
	order []int32   // tokens; the first sorted by descending probability
	known int       // how many that are

	// By rank, as far as known.
	prob []float64 // probability
	mass []float64 // mass[n]: the sum of the first n probabilities
	logs []float64 // logs[n]: Σ x·log x (forward) or Σ log x (reverse) of those

	behind []float64 // reverse: log of the sum of all but the first n
	cost   []float64 // by rank, as far as asked for
	size   int       // |S| of the last of them
}

// rule is what a row is projected by.
type rule struct {
	divergence Divergence
	kappa      float64
	logKappa   float64
	gap        bool // cost max_u x_u − x_v instead
	revive     bool // forward: a token of weight zero may become the greatest
	plain      bool // forward, without margin or gap
}

func newRule(d Divergence, kappa float64, gap, revive bool) rule {
	return rule{
		divergence: d, kappa: kappa, logKappa: simd.Log(kappa), gap: gap, revive: revive,
		plain: d == Forward && kappa == 1 && !gap,
	}
}

func newRows(levels int, by rule) *rows {
	r := &rows{
		rule:  by,
		logp:  make([]float64, levels),
		order: make([]int32, levels),
	}
	if by.divergence == Reverse && !by.gap {
		r.behind = make([]float64, levels+1)
	}
	return r
}

// load normalises a row of log-weights. It returns the index of a weight that
// is NaN or +Inf, or −1; ok is false if all are −Inf.
func (r *rows) load(w []float32) (bad int, ok bool) {
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
			r.behind[n] = addLogs(r.logp[r.order[n]], r.behind[n+1])
		}
	}
	return -1, true
}

// fewRanks is how many ranks are found one by one before the rest is sorted.
const fewRanks = 8

// find makes order[:n+1] known and reports whether there are that many tokens.
func (r *rows) find(n int) bool {
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

// sortAll makes the whole order known.
func (r *rows) sortAll() {
	slices.SortFunc(r.order[r.known:], r.likelier)
	for r.known < len(r.order) {
		r.note()
	}
}

// likelier orders tokens by descending probability, then by number.
func (r *rows) likelier(a, b int32) int {
	if c := cmp.Compare(r.logp[b], r.logp[a]); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// note adds the token at rank known to the sums.
func (r *rows) note() {
	lp := r.logp[r.order[r.known]]
	p := simd.Exp(lp)
	r.prob = append(r.prob, p)
	r.mass = append(r.mass, r.mass[r.known]+p)
	term := lp
	if r.divergence == Forward {
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

// at returns the token of the given rank by cost and its cost; ok is false if
// there is none, or none of finite cost.
func (r *rows) at(rank int) (token int32, cost float64, ok bool) {
	if !r.find(rank) {
		return -1, math.Inf(1), false
	}
	for n := len(r.cost); n <= rank; n++ {
		c := 0.0
		switch {
		case n == 0 && r.kappa == 1: // the likeliest token leads already
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
// ask for little else.
func (r *rows) second() (cost float64, size int) {
	if r.logp[r.order[0]] == r.logp[r.order[1]] {
		return 0, 0
	}
	total := r.mass[2]
	c := simd.Log(total / 2)
	return max(0, r.logs[2]-float64(total*c)), 1
}

// price returns the cost of token v and |S|, which is at least from.
func (r *rows) price(v int32, from int) (cost float64, size int) {
	switch {
	case math.IsInf(r.logp[v], -1) && !r.revive:
		return math.Inf(1), from
	case r.gap:
		r.find(0)
		return r.prob[0] - simd.Exp(r.logp[v]), from
	case r.divergence == Reverse:
		return r.reversePrice(v, from)
	}
	return r.forwardPrice(v, from)
}

// among reports whether v is one of the first n tokens in order.
func (r *rows) among(v int32, n int) bool {
	return n > 0 && r.find(n-1) && r.likelier(r.order[n-1], v) >= 0
}

// beyond returns the rank of the n-th token, counted without v.
func (r *rows) beyond(v int32, n int) int {
	if r.among(v, n+1) {
		return n + 1
	}
	return n
}

// few is how many sizes of S are tried one by one before bisection.
const few = 8

// least returns the size of S: the least n ≥ from that is enough. What is enough
// stays enough, because the entries descend.
func (r *rows) least(v int32, from int, enough func(n int) bool) int {
	for n := from; n < from+few; n++ {
		if enough(n) {
			return n
		}
	}
	from += few
	return from + sort.Search(len(r.order)-from, func(i int) bool { return enough(from + i) })
}

// forwardPrice returns the cost in KL(x‖y).
func (r *rows) forwardPrice(v int32, from int) (cost float64, size int) {
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
		return !r.find(next) || r.prob[next] <= sum(n)/(r.kappa+float64(n))
	})
	if n == 0 {
		return 0, 0
	}
	logs := r.logs[n] + entropyTerm(p, lp)
	if r.among(v, n) {
		logs = r.logs[n+1]
	}
	total := sum(n)
	c := simd.Log(total / (r.kappa + float64(n)))
	return max(0, logs-float64(total*c)-float64(p*r.logKappa)), n
}

// reversePrice returns the cost in KL(y‖x), in logarithms throughout.
func (r *rows) reversePrice(v int32, from int) (cost float64, size int) {
	lp := r.logp[v]
	own := float64(r.kappa * (lp - r.logKappa))
	common := func(n int) float64 { // log c
		sum := r.logs[n]
		if r.among(v, n) {
			sum = r.logs[n+1] - lp
		}
		return (own + sum) / (r.kappa + float64(n))
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
	return max(0, -addLogs(rest, simd.Log(r.kappa+float64(n))+common(n))), n
}

// addLogs returns log(e^a + e^b).
func addLogs(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + simd.Log1p(simd.Exp(b-a))
}
