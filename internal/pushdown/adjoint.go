package pushdown

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
