package pushdown

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// backward holds the adjoints of a filter.
type backward struct {
	whole  [][][][]number // of filter.whole
	weight [][]number     // of filter.weight
	bars   []*chart[number]
}

// Marginals stores in dst (sites × levels) the log-probabilities log P(x_i = t)
// of the last Filter, −Inf for what cannot occur.
func (r *Runner) Marginals(dst []float64) {
	check.Len("pushdown", "dst", len(dst), r.sites*r.levels)
	r.mustFilter()
	f := r.sum
	if r.back == nil {
		r.back = &backward{whole: make([][][][]number, r.sites), weight: grid[number](r.sites, len(r.g.weights)),
			bars: make([]*chart[number], len(r.g.levels))}
		for c := range r.back.whole {
			r.back.whole[c] = make([][][]number, len(r.g.starts))
		}
	}
	b := r.back
	for c := range r.sites {
		clear(b.weight[c])
		for _, s := range r.g.order {
			if !f.need[c][s] {
				continue
			}
			if b.whole[c][s] == nil {
				b.whole[c][s] = grid[number](len(f.whole[c][s]), r.sites-c-1)
			}
			for _, x := range b.whole[c][s] {
				clear(x)
			}
		}
	}
	bar := b.bar(f, r.g.top, 0)
	one := fromLog(-r.logZ)
	for q, final := range f.top.level.final {
		if final {
			bar.states[r.sites][q] = one
		}
	}
	b.adjoint(f, f.top, bar, span{-1, -1}, nil)
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
		}
	}
	r.spread(dst)
}

// spread divides the adjoints of edges among tokens.
func (r *Runner) spread(dst []float64) {
	n := r.levels
	class := make([]number, len(r.g.members))
	for i := range r.sites {
		row, out := r.v[i*n:(i+1)*n], dst[i*n:(i+1)*n]
		for t := range out {
			out[t] = math.Inf(-1)
		}
		clear(class)
		for w, classes := range r.g.weights {
			if y := r.back.weight[i][w]; y.m != 0 {
				for _, k := range classes {
					class[k] = class[k].plus(y)
				}
			}
		}
		for k, y := range class {
			if y.m != 0 {
				for _, t := range r.g.members[k] {
					out[t] = float64(row[t]) + y.log()
				}
			}
		}
	}
}

// bar returns an empty chart for adjoints.
func (b *backward) bar(f *filter[number, sums], lv int32, from int) *chart[number] {
	if b.bars[lv] == nil {
		b.bars[lv] = f.newChart(lv)
	}
	f.clear(b.bars[lv], from, f.sites)
	return b.bars[lv]
}

// adjoint runs forward backward: from the adjoints of what leaves x to those of
// weights and of what it calls.
func (b *backward) adjoint(f *filter[number, sums], ch, bar *chart[number], x span, out [][]number) {
	v := ch.level
	left := make([]number, len(v.exits))
	for j := f.sites - 1; j > x.c; j-- {
		for k := range out {
			left[k] = out[k][j-x.c-1]
		}
		for k := range v.calls {
			b.unjoin(f, ch, bar, j, k)
		}
		here, w, bw := ch.states[j], f.weight[j], b.weight[j]
		unfollow := func(es []edge, to []number) {
			for _, e := range es {
				if y := to[e.to]; y.m != 0 {
					bar.states[j][e.from] = bar.states[j][e.from].plus(y.times(w[e.w]))
					bw[e.w] = bw[e.w].plus(y.times(here[e.from]))
				}
			}
		}
		unfollow(v.in, bar.states[j+1])
		unfollow(v.call, bar.calls[j])
		unfollow(v.out, left)
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
		b.unjoin(f, ch, bar, x.c, f.halfCall(v, x.s))
	}
}

// unjoin is the adjoint of join. A call of weight zero has an adjoint, too.
func (b *backward) unjoin(f *filter[number, sums], ch, bar *chart[number], j, k int) {
	c := ch.level.calls[k]
	src := f.whole[j][c.start]
	if src == nil || !f.need[j][c.start] {
		return
	}
	y, sum := ch.calls[j][k], number{}
	for i, to := range ch.level.groups[c.group].resume {
		if to.state < 0 && to.half < 0 {
			continue
		}
		after := bar.returns[c.group][i][j+1:]
		for e, z := range src[i] {
			if after[e].m != 0 {
				sum = sum.plus(z.times(after[e]))
			}
		}
		if y.m != 0 {
			sums{}.axpy(b.whole[j][c.start][i], after, y)
		}
	}
	bar.calls[j][k] = bar.calls[j][k].plus(sum)
}
