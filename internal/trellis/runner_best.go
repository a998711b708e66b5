package trellis

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// MAP stores in x the sequence of greatest weight for the log-weights v (sites × levels; −Inf
// forbids) and returns the log of that weight. Among equals it takes the first in lexicographic
// order. Errors and panics are those of [Runner.Filter], whose results stay valid.
func (r *Runner) MAP(x []int32, v []float32) (logWeight float64, err error) {
	r.g.checkTable("v", len(v))
	cost, err := best(r, x, v, -1, nil)
	return 0 - cost, err // never −0
}

// Cheapest stores in x the sequence of least total cost and returns that cost: the sum of
// cost[i,x_i] (sites × levels; +Inf forbids). Among equals it takes the first in lexicographic
// order. It returns a [*algebra.WeightError] for a NaN or −Inf among the tokens the automaton can
// use, and a [*algebra.DeadError] for an empty language.
func (r *Runner) Cheapest(x []int32, cost []float64) (float64, error) {
	r.g.checkTable("cost", len(cost))
	return best(r, x, cost, 1, nil)
}

// Pricer prices tokens by their weight: within a site the cost must not grow
// with the weight.
type Pricer interface {
	// Site is called before the calls of Price for site t.
	Site(t int) error

	// Price returns the cost of a token, +Inf to forbid it.
	Price(token int32) float64
}

// CheapestBy is [Runner.Cheapest] for costs that fall with the weights v, sites × levels: it
// prices only the heaviest token of every class, the first among equals. It returns an error if p
// does or if a weight is NaN or +Inf.
func (r *Runner) CheapestBy(x []int32, v []float32, p Pricer) (float64, error) {
	r.g.checkTable("v", len(v))
	return best(r, x, v, -1, p)
}

// best runs the (min,+) recursion on the costs sign·v, or those of p unless that is nil,
// and follows the least ones.
func best[W float32 | float64](r *Runner, x []int32, v []W, sign float64, p Pricer) (float64, error) {
	g := r.g
	g.checkSequence(x)
	if err := costs(r, v, sign, p); err != nil {
		return 0, err
	}
	b := r.best
	q := int32(0)
	for t, l := range g.layers {
		ahead := b.value[g.offset[t+1]:]
		goal := b.value[g.offset[t]+int(q)]
		to, token := int32(none), int32(math.MaxInt32)
		for e := l.row[q]; e < l.row[q+1]; e++ {
			c := r.sumAt[t] + int(l.col[e])
			if b.arg[c] < token && b.cost[c]+ahead[l.to[e]] == goal {
				to, token = l.to[e], b.arg[c]
			}
		}
		x[t], q = token, to
	}
	return b.value[0], nil
}

// costs runs the recursion: the costs of the classes, and then of the nodes.
func costs[W float32 | float64](r *Runner, v []W, sign float64, p Pricer) error {
	g := r.g
	if r.best == nil {
		r.best = &bestState{
			cost:  make([]float64, r.sumAt[g.sites]),
			arg:   make([]int32, r.sumAt[g.sites]),
			value: make([]float64, g.offset[g.sites+1]),
		}
	}
	for t, l := range g.layers {
		if r.meter.Done(siteWork + g.levels) {
			return r.meter.Err()
		}
		cost, arg := r.best.cost[r.sumAt[t]:], r.best.arg[r.sumAt[t]:]
		if p != nil {
			if err := p.Site(t); err != nil {
				return err
			}
		}
		if err := leastCosts(t, l, cost, arg, v[t*g.levels:(t+1)*g.levels], sign); err != nil {
			return err
		}
		for k := range l.live {
			if p == nil {
				break
			}
			if arg[k] == none { // all of weight −Inf
				arg[k] = l.class(k)[0]
			}
			cost[k] = p.Price(arg[k])
		}
	}
	return r.backwardCosts()
}

// backwardCosts fills the values of the nodes, or fails if nothing has finite
// cost.
func (r *Runner) backwardCosts() error {
	g, b := r.g, r.best
	clear(b.value[g.offset[g.sites]:])
	for t := g.sites - 1; t >= 0; t-- {
		l := g.layers[t]
		if r.meter.Done(siteWork + len(l.to)) {
			return r.meter.Err()
		}
		cost := b.cost[r.sumAt[t]:r.sumAt[t+1]]
		l.leastSums(b.value[g.offset[t]:g.offset[t+1]], cost, b.value[g.offset[t+1]:g.offset[t+2]])
	}
	if math.IsInf(b.value[0], 1) {
		return g.dead(func(t int, k int32) bool { return !math.IsInf(b.cost[r.sumAt[t]+int(k)], 1) })
	}
	return nil
}

// leastCosts stores the least cost of every column and its smallest token.
func leastCosts[W float32 | float64](t int, l *layer, cost []float64, arg []int32, row []W, sign float64) error {
	for k := range l.end {
		least, at := math.Inf(1), int32(none)
		for _, v := range l.class(k) {
			c := sign * float64(row[v])
			if c < least {
				least, at = c, v
			} else if c != c {
				return &algebra.WeightError{Site: t, Level: int(v), Weight: float64(row[v])}
			}
		}
		if math.IsInf(least, -1) {
			return &algebra.WeightError{Site: t, Level: int(at), Weight: float64(row[at])}
		}
		cost[k], arg[k] = least, at
	}
	return nil
}
