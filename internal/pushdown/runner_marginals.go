package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Marginals stores in dst (sites × levels) the log-probabilities log P(x_i = t) of the last
// Filter, or −Inf for tokens that cannot occur. It can fail only if a context is watched.
func (r *Runner) Marginals(dst []float64) error {
	check.Len("pushdown", "dst", len(dst), r.sites*r.levels)
	r.mustFilter()
	if !r.exact && r.marginalsOfSpans(dst) {
		return nil
	}
	if err := r.meter.Err(); err != nil {
		return err
	}
	return r.marginalsOfNumbers(dst)
}

// marginalsOfSpans is Marginals in float64 and by the vector. It reports whether
// that does: probabilities of what is nested lie above a bound.
func (r *Runner) marginalsOfSpans(dst []float64) bool {
	if r.outer == nil {
		r.outer = newOutside(r.spans)
	}
	bound, ok := r.outer.run()
	if !ok {
		return false
	}
	least := algebra.Power(int32(math.Ceil(min(max(bound, -990), 0))))
	n := r.levels
	r.classes, r.nested = resize(r.classes, len(r.g.members)), resize(r.nested, len(r.g.members))
	sum := make([]algebra.Number, len(r.g.members))
	for i := range r.sites {
		class, nested, share := r.classes, r.nested, simd.Exp(r.shift[i]-r.down[i])
		clear(nested)
		clear(sum)
		for w, classes := range r.g.weights {
			y, z := r.outer.of(i, w)
			if y == 0 && z.M == 0 || r.spans.weight[i][w] == 0 {
				continue
			}
			if y != 0 {
				z = z.Plus(algebra.Scaled(y, 0))
			}
			for _, k := range classes {
				nested[k] += y
				sum[k] = sum[k].Plus(z)
			}
		}
		for k, z := range sum {
			if nested[k] > 0 && z.Ratio(algebra.Number{M: 1})*r.sums[i][k]*share < least {
				return false
			}
			class[k] = z.Log() - r.down[i]
		}
		r.tokens(i, dst[i*n:(i+1)*n], class)
	}
	return true
}

// tokens stores in out what tokens have of what their class has at site i.
func (r *Runner) tokens(i int, out, class []float64) {
	of, row := r.g.class, r.v[i*r.levels:(i+1)*r.levels]
	row, dst := row[:len(of)], out[:len(of)]
	for t, k := range of {
		if uint(k) < uint(len(class)) {
			dst[t] = float64(row[t]) + class[k]
		} else {
			dst[t] = math.Inf(-1) // dead
		}
	}
	for t := len(of); t < len(out); t++ {
		out[t] = math.Inf(-1)
	}
}

// marginalsOfNumbers is Marginals without limits.
func (r *Runner) marginalsOfNumbers(dst []float64) error {
	if !r.exact {
		if _, err := r.filterNumbers(r.v); err != nil {
			if ended := r.meter.Err(); ended != nil {
				return ended
			}
			panic(err) // Filter found a sequence
		}
		r.exact = false // draws are the same before and after
	}
	f := r.sum
	if r.back == nil {
		r.back = newBackward(r.g, r.sites)
		r.back.whole = grid[[][]algebra.Number](r.sites, len(r.g.starts))
	}
	b := r.back
	for c := range r.sites {
		clear(b.weight[c])
		for _, s := range r.g.order {
			if f.need[c][s] {
				f.leaving(b.whole, c, s)
			}
		}
	}
	b.outer(f, algebra.Exp(-r.logZ))
	// A span is called before it begins, or at its own site by a start with
	// more calls before it: those come first.
	for c := range r.sites {
		for i := len(r.g.order) - 1; i >= 0; i-- {
			s := r.g.order[i]
			if !f.need[c][s] {
				continue
			}
			lv := r.g.starts[s].level
			ch := f.chartOf(lv, c, r.sites)
			x := span{c, int(s)}
			f.forward(ch, x, r.sites, nil)
			b.adjoint(f, ch, b.bar(f, lv, c), x, b.whole[c][s])
			if err := r.meter.Err(); err != nil {
				return err
			}
		}
	}
	if err := r.meter.Err(); err != nil {
		return err
	}
	r.spread(dst)
	return nil
}

// spread divides the adjoints of edges among tokens.
func (r *Runner) spread(dst []float64) {
	class := make([]algebra.Number, len(r.g.members))
	r.classes = resize(r.classes, len(class))
	for i := range r.sites {
		clear(class)
		for w, classes := range r.g.weights {
			if y := r.back.weight[i][w]; y.M != 0 {
				for _, k := range classes {
					class[k] = class[k].Plus(y)
				}
			}
		}
		for k, y := range class {
			r.classes[k] = y.Log()
		}
		r.tokens(i, dst[i*r.levels:(i+1)*r.levels], r.classes)
	}
}
