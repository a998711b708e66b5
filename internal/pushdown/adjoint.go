package pushdown

import "math"

// backward holds the adjoints of a filter.
type backward struct {
	whole  [][][][]number // of filter.whole, nil if nobody asks for them
	weight [][]number     // of filter.weight
	bars   []*chart[number]
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
		if f.meter.Done(siteWork + len(v.in) + len(v.call) + len(v.out) + (f.sites-j)*len(v.calls)) {
			return
		}
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
		b.unjoin(f, ch, bar, x.c, f.g.halfCall(v, x.s))
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
		sum = sums{}.dot(sum, src[i], after)
		if y.m != 0 && b.whole != nil {
			sums{}.axpy(b.whole[j][c.start][i], after, y)
		}
	}
	bar.calls[j][k] = bar.calls[j][k].plus(sum)
}

// unsure is log₂ of the weight of a span, relative to its sites, below which
// what spans raise may show in it.
const unsure = -400

// whole is the sums and adjoints of the whole sequence in numbers: what does not
// nest may be as unlikely as it likes, such as a text that is one number from end
// to end. What it calls comes from spans.
type whole struct {
	sum  *filter[number, sums]
	back *backward
}

func newWhole(s *spans) *whole {
	f := newFilter[number, sums](s.g, s.sites)
	f.meter = s.meter
	return &whole{sum: f, back: &backward{
		weight: grid[number](s.sites, len(s.g.weights)), bars: make([]*chart[number], len(s.g.levels))}}
}

// run computes the adjoints of the weights of the whole sequence. ok is false
// where a span is too unlikely to be known.
func (w *whole) run(s *spans, leave []turned) (ok bool) {
	f, v := w.sum, &s.g.levels[s.g.top]
	if s.over > -unsure/5 {
		return false
	}
	for i, row := range s.weight {
		for k, x := range row {
			f.weight[i][k] = number{m: x}.normal()
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
	f.clear(f.top, 0, s.sites)
	f.forward(f.top, span{-1, -1}, s.sites, nil)
	var z number
	for q, final := range v.final {
		if final {
			z = z.plus(f.top.states[s.sites][q])
		}
	}
	if z.m == 0 {
		return false
	}
	bar := w.back.bar(f, s.g.top, 0)
	for q, final := range v.final {
		if final {
			bar.states[s.sites][q] = number{m: 1}.over(z)
		}
	}
	w.back.adjoint(f, f.top, bar, span{-1, -1}, nil)
	return true
}

// take fills in what a start weighs at every site.
func (w *whole) take(s *spans, start int32, leave *turned) (ok bool) {
	f, l := w.sum, &s.levels[s.g.starts[start].level]
	for r, x := range l.start {
		if x != start {
			continue
		}
		c := int(l.site[r])
		out := &f.whole[c][start]
		if *out == nil {
			*out = grid[number](leave.exits, s.sites-c-1)
		}
		scale, at := l.scale[c/s.tile], leave.at[r]
		for e := c + 1; e < s.sites; e++ {
			n := l.offset[r] + scale[e]
			for k, left := range leave.value[at+e*leave.exits:][:leave.exits] {
				if left == 0 {
					(*out)[k][e-c-1] = number{}
					continue
				}
				if float64(exponent(left)+n)-(s.total[e+1]-s.total[c]) < unsure {
					return false
				}
				(*out)[k][e-c-1] = scaled(left, n)
			}
		}
	}
	return true
}

// scaled returns x·2^n for a normal x > 0.
func scaled(x float64, n int32) number {
	e := (int64(exponent(x)+n) + wordBits/2) >> 9
	return number{math.Float64frombits(math.Float64bits(x) + uint64(int64(n)-e*wordBits)<<52), e}
}
