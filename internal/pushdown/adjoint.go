package pushdown

import "github.com/gibbsite-go/gibbsite/internal/algebra"

// backward holds the adjoints of a filter, which are the derivatives of the filter's sum by its
// weights and span sums.
type backward struct {
	whole  [][][][]algebra.Number // adjoints of filter.whole; nil if they are not needed
	weight [][]algebra.Number     // adjoints of filter.weight
	bars   []*chart[algebra.Number]
}

func newBackward(g *Graph, sites int) *backward {
	return &backward{weight: grid[algebra.Number](sites, g.weights.count()), bars: make([]*chart[algebra.Number], len(g.levels))}
}

// outer computes the adjoints of the weights in the chart of the whole sequence. The argument one
// is the adjoint of the sum.
func (b *backward) outer(f *filter[algebra.Number, algebra.Sums], one algebra.Number) {
	bar := b.bar(f, f.g.top, 0)
	for q, final := range f.top.level.final {
		if final {
			bar.states[f.sites][q] = one
		}
	}
	b.adjoint(f, f.top, bar, span{-1, -1}, nil)
}

// bar returns the chart for adjoints of level lv, cleared from position from on.
func (b *backward) bar(f *filter[algebra.Number, algebra.Sums], lv int32, from int) *chart[algebra.Number] {
	if b.bars[lv] == nil {
		b.bars[lv] = f.newChart(lv)
	}
	f.clear(b.bars[lv], from, f.sites)
	return b.bars[lv]
}

// adjoint runs the recursion of forward in reverse. From the adjoints of the sums that leave
// the span x, it computes the adjoints of the weights and of the spans called inside x.
func (b *backward) adjoint(f *filter[algebra.Number, algebra.Sums], ch, bar *chart[algebra.Number], x span, out [][]algebra.Number) {
	v := ch.level
	left := make([]algebra.Number, len(v.exits))
	for j := f.sites - 1; j > x.c; j-- {
		if f.meter.Done(siteWork + v.edges() + (f.sites-j)*len(v.calls)) {
			return
		}
		for k := range out {
			left[k] = out[k][j-x.c-1]
		}
		for k := range v.calls {
			b.unjoin(f, ch, bar, j, k)
		}
		here, w, bw := ch.states[j], f.weight[j], b.weight[j]
		unfollow := func(f *algebra.Fan, to []algebra.Number) {
			for t, y := range to {
				if y.M == 0 {
					continue
				}
				for _, e := range f.To(t) {
					bar.states[j][e.From] = bar.states[j][e.From].Plus(y.Times(w[e.W]))
					bw[e.W] = bw[e.W].Plus(y.Times(here[e.From]))
				}
			}
		}
		unfollow(&v.in, bar.states[j+1])
		unfollow(&v.call, bar.calls[j])
		unfollow(&v.out, left)
		for h, to := range v.halves {
			if to.exit >= 0 {
				bar.halves[j][h] = left[to.exit]
			} else {
				bar.halves[j][h] = bar.calls[j][to.call]
			}
		}
		for i := range v.groups {
			for k, to := range v.groups[i].resume {
				if to.state >= 0 {
					bar.returns[i][k][j] = bar.states[j+1][to.state]
				} else if to.half >= 0 {
					bar.returns[i][k][j] = bar.halves[j][to.half]
				}
			}
		}
	}
	if x.s >= 0 && f.g.starts[x.s].q < 0 {
		b.unjoin(f, ch, bar, x.c, f.g.halfCall(v, x.s))
	}
}

// unjoin is the reverse of join: it adds the contributions of call k at site j to the adjoints.
// A call of weight zero has an adjoint, too.
func (b *backward) unjoin(f *filter[algebra.Number, algebra.Sums], ch, bar *chart[algebra.Number], j, k int) {
	c := ch.level.calls[k]
	src := f.whole[j][c.start]
	if src == nil || !f.need[j][c.start] {
		return
	}
	y, sum := ch.calls[j][k], algebra.Number{}
	for i, to := range ch.level.groups[c.group].resume {
		if to.state < 0 && to.half < 0 {
			continue
		}
		after := bar.returns[c.group][i][j+1:]
		sum = algebra.Sums{}.Dot(sum, src[i], after)
		if y.M != 0 && b.whole != nil {
			algebra.Sums{}.Axpy(b.whole[j][c.start][i], after, y)
		}
	}
	bar.calls[j][k] = bar.calls[j][k].Plus(sum)
}

// unsure is a threshold for log₂ of the weight of a span, relative to the product of the totals
// of its sites. Below it, values that spans raised to their minimum may change the result.
const unsure = -400

// whole computes the sums and adjoints of the top level with Number values. Parts of the
// sequence that do not nest may be arbitrarily unlikely, for instance a text that is a single
// number from beginning to end. The sums of nested levels are taken from spans.
type whole struct {
	sum  *filter[algebra.Number, algebra.Sums]
	back *backward
}

func newWhole(s *spans) *whole {
	f := newFilter[algebra.Number, algebra.Sums](s.g, s.sites)
	f.meter = s.meter
	return &whole{sum: f, back: newBackward(s.g, s.sites)}
}

// run computes the adjoints of the weights in the top level. It returns ok = false if the sum is
// zero, if the weight of some span is too small to be known accurately, or if the scale of the
// spans runs too far above the totals.
func (w *whole) run(s *spans, leave []turned) (ok bool) {
	f, v := w.sum, &s.g.levels[s.g.top]
	if s.over > -unsure/5 {
		return false
	}
	for i, row := range s.weight {
		for k, x := range row {
			f.weight[i][k] = algebra.Number{M: x}.Normal()
		}
		copy(f.need[i], s.need[i])
		clear(w.back.weight[i])
	}
	for _, group := range v.groups {
		for _, k := range group.calls {
			if !w.take(s, v.calls[k].start, &leave[group.callee]) {
				return false
			}
		}
	}
	z := f.outer()
	if z.M != 0 {
		w.back.outer(f, algebra.Number{M: 1}.Over(z))
	}
	return z.M != 0
}

// take copies to w.sum.whole, for every site, the sums of the start in leave. It returns ok = false
// if one of the sums is too small to be known accurately.
func (w *whole) take(s *spans, start int32, leave *turned) (ok bool) {
	f, l := w.sum, &s.levels[s.g.starts[start].level]
	for r, x := range l.start {
		if x != start {
			continue
		}
		c := int(l.site[r])
		out := &f.whole[c][start]
		if *out == nil {
			*out = grid[algebra.Number](leave.exits, s.sites-c-1)
		}
		scale, at := l.scale[c/s.tile], leave.at[r]
		for e := c + 1; e < s.sites; e++ {
			n := l.offset[r] + scale[e]
			for k, left := range leave.value[at+e*leave.exits:][:leave.exits] {
				if left == 0 {
					(*out)[k][e-c-1] = algebra.Number{}
					continue
				}
				if float64(algebra.Exponent(left)+n)-(s.total[e+1]-s.total[c]) < unsure {
					return false
				}
				(*out)[k][e-c-1] = algebra.Scaled(left, n)
			}
		}
	}
	return true
}
