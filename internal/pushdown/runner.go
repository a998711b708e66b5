package pushdown

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// DeadError says that no sequence of the language has positive weight; Site is
// the first at which every run has ended, or the last one.
type DeadError struct{ Site int }

func (e *DeadError) Error() string { return fmt.Sprintf("pushdown: dead at site %d", e.Site) }

// WeightError says that a log-weight is NaN or +Inf, and where.
type WeightError struct {
	Site, Level int
	Weight      float64
}

func (e *WeightError) Error() string {
	return fmt.Sprintf("pushdown: weight of site %d, level %d = %v, want finite or −Inf", e.Site, e.Level, e.Weight)
}

// Runner is the scratch of one worker for sequences of a fixed length. Log
// weights v are sites × levels, row-major.
type Runner struct {
	g       *Graph
	sites   int
	levels  int
	v       []float32
	sum     *filter[number, sums]
	best    *filter[float64, best]
	class   [][]number  // [site][class]
	top     [][]float64 // [site][class]: the greatest log-weight
	terms   [block]float64
	logZ    float64
	back    *backward
	numbers walk[number, sums]
	logs    walk[float64, best]
}

// NewRunner returns a runner for sequences of the given length, whose weights
// have rows of levels ≥ g.Tokens(); what exceeds the tokens is dead.
func NewRunner(g *Graph, sites, levels int) *Runner {
	return &Runner{g: g, sites: sites, levels: levels, class: grid[number](sites, len(g.members)), top: grid[float64](sites, len(g.members))}
}

// Filter sums the weights exp(Σ_i v[i,x_i]) of the language and returns the log
// of the sum. The error is a *[DeadError] or a *[WeightError]. v is kept until
// the next Filter.
func (r *Runner) Filter(v []float32) (logZ float64, err error) {
	check.Len("pushdown", "v", len(v), r.sites*r.levels)
	r.v = nil
	if r.sum == nil {
		r.sum = newFilter[number, sums](r.g, r.sites)
	}
	n := r.levels
	for i := range r.sites {
		row := v[i*n : (i+1)*n]
		if err := r.rowTops(i, row); err != nil {
			return 0, err
		}
		for k, tokens := range r.g.members {
			r.class[i][k] = r.classSum(row, tokens, r.top[i][k])
		}
		for w, classes := range r.g.weights {
			var s number
			for _, k := range classes {
				s = s.plus(r.class[i][k])
			}
			r.sum.weight[i][w] = s
		}
	}
	z := r.sum.inside()
	if z.m == 0 {
		return 0, r.dead(r.sum.far)
	}
	r.v, r.logZ = v, z.log()
	return r.logZ, nil
}

func (r *Runner) dead(far int) error { return &DeadError{Site: max(0, min(far, r.sites-1))} }

// tops stores the greatest log-weight of every class of site i.
func (r *Runner) tops(i int, weight func(t int32) float64) error {
	for k, tokens := range r.g.members {
		m := math.Inf(-1)
		for _, t := range tokens {
			w := weight(t)
			if w != w || w > math.MaxFloat64 {
				return &WeightError{Site: i, Level: int(t), Weight: w}
			}
			m = max(m, w)
		}
		r.top[i][k] = m
	}
	return nil
}

// rowTops is tops for the weights of a row.
func (r *Runner) rowTops(i int, row []float32) error {
	for k, tokens := range r.g.members {
		m := float32(math.Inf(-1))
		for _, t := range tokens {
			if w := row[t]; w > m {
				m = w
			} else if w != w {
				return &WeightError{Site: i, Level: int(t), Weight: float64(w)}
			}
		}
		if float64(m) > math.MaxFloat64 {
			return r.tops(i, func(t int32) float64 { return float64(row[t]) })
		}
		r.top[i][k] = float64(m)
	}
	return nil
}

// block is how many exponentials are taken at once, so that they stay in the
// cache between the kernel and the sum.
const block = 512

// classSum returns Σ exp(row[t]) over the tokens, whose greatest weight is top.
func (r *Runner) classSum(row []float32, tokens []int32, top float64) number {
	if math.IsInf(top, -1) {
		return number{}
	}
	s := 0.0
	for len(tokens) > 0 {
		n := min(len(tokens), block)
		simd.ExpGather(r.terms[:n], row, tokens[:n], top)
		for _, p := range r.terms[:n] {
			s += p
		}
		tokens = tokens[n:]
	}
	return fromLog(top).times(number{m: s})
}

// Best stores in x the sequence of the language with the greatest sum of
// weight(i, x_i) and returns it, the first in the order of the automaton among
// equals. weight is asked for every token of every class once, site by site.
func (r *Runner) Best(x []int32, weight func(site int, token int32) float64) (float64, error) {
	check.Len("pushdown", "x", len(x), r.sites)
	if r.best == nil {
		r.best = newFilter[float64, best](r.g, r.sites)
	}
	for i := range r.sites {
		if err := r.tops(i, func(t int32) float64 { return weight(i, t) }); err != nil {
			return 0, err
		}
		for w, classes := range r.g.weights {
			m := math.Inf(-1)
			for _, k := range classes {
				m = max(m, r.top[i][k])
			}
			r.best.weight[i][w] = m
		}
	}
	total := r.best.inside()
	if math.IsInf(total, -1) {
		return 0, r.dead(r.best.far)
	}
	r.logs.trace(r.best, nil, func(site int, w int32) {
		at := -1
		for _, k := range r.g.weights[w] {
			if at < 0 || r.top[site][k] > r.top[site][at] {
				at = int(k)
			}
		}
		for _, t := range r.g.members[at] {
			if weight(site, t) == r.top[site][at] {
				x[site] = t
				return
			}
		}
	})
	return total, nil
}

// Draw stores in x an exact draw of the distribution of the last Filter.
func (r *Runner) Draw(x []int32, src rand.Source) {
	check.Len("pushdown", "x", len(x), r.sites)
	r.mustFilter()
	random := rand.New(src)
	n := r.levels
	var terms []number
	r.numbers.trace(r.sum, random, func(site int, w int32) {
		classes := r.g.weights[w]
		terms = terms[:0]
		for _, k := range classes {
			terms = append(terms, r.class[site][k])
		}
		k := classes[sums{}.choose(terms, random)]
		row, top, tokens := r.v[site*n:(site+1)*n], r.top[site][k], r.g.members[k]
		total := r.class[site][k].over(fromLog(top))
		u := float64(random.Float64() * total.ratio(number{m: 1}))
		for _, t := range tokens {
			if p := simd.Exp(float64(row[t]) - top); p > 0 {
				x[site] = t
				if u < p {
					return
				}
				u -= p
			}
		}
	})
}

func (r *Runner) mustFilter() {
	if r.v == nil {
		panic("pushdown: no successful Filter before")
	}
}
