package lead

import (
	"cmp"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Row solves, for one probability row x at a time,
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
// From one token to the next less likely one the cost grows, and so does S. Hence all
// costs take one sort and two pointers, the cheapest few take only the part of the order
// that they touch, and any single one takes a bisection.
type Row struct {
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

// New returns scratch for rows of the given number of levels.
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

// Load normalises a row of log-weights. It returns the index of a weight that
// is NaN or +Inf, or −1; ok is false if all are −Inf.
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

// fewRanks is how many ranks are found one by one before the rest is sorted.
const fewRanks = 8

// find makes order[:n+1] known and reports whether there are that many tokens.
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

// sortAll makes the whole order known.
func (r *Row) sortAll() {
	slices.SortFunc(r.order[r.known:], r.likelier)
	for r.known < len(r.order) {
		r.note()
	}
}

// likelier orders tokens by descending probability, then by number.
func (r *Row) likelier(a, b int32) int {
	if c := cmp.Compare(r.logp[b], r.logp[a]); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// note adds the token at rank known to the sums.
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

// Rule defines which row is nearest, and the cost of making a token lead. The zero value
// is the forward divergence without a margin.
type Rule struct {
	Reverse bool    // min KL(y‖x) instead of min KL(x‖y)
	Margin  float64 // κ ≥ 1, 0 for 1
	Gap     bool    // the cost is max_u x_u − x_v instead
	Revive  bool    // forward: a token of weight zero may become the greatest
}

// rule is a Rule with what follows from it.
type rule struct {
	Rule
	logKappa float64
	plain    bool // forward, without margin or gap
}

// compile puts the default in and takes the logarithm of the margin.
func (r Rule) compile() rule {
	if r.Margin == 0 {
		r.Margin = 1
	}
	return rule{r, simd.Log(r.Margin), !r.Reverse && r.Margin == 1 && !r.Gap}
}
