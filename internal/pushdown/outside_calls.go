package pushdown

import "github.com/gibbsite-go/gibbsite/internal/simd"

// enter prepares the adjoints of what site e leads to: its states on the scale
// before them, the exits as callers of earlier tiles have left them, and the
// calls from all returns after e.
func (o *outside) enter(t *tape, e int) {
	s, n, states, calls := o.s, t.width, len(t.live), len(t.level.calls)
	shift := t.scale[e] - t.scale[e+1]
	if shift > adjointStep || shift < -adjointStep {
		o.wide = true
		return
	}
	rows := t.rows(e)
	for q, yes := range t.alive[:states] {
		if !yes {
			continue
		}
		x := t.bar[q*n : q*n+n]
		clear(x[rows:]) // called at e or after it
		if shift != 0 {
			simd.Raise(x, power(shift), 0)
		}
	}
	for k := range t.level.exits {
		i, slot := e*len(t.level.exits)+k, states+calls+k
		t.alive[slot] = t.keep.leave != nil && t.keep.leave[i] != nil && rows > 0
		if !t.alive[slot] {
			continue
		}
		x := t.bar[slot*n : slot*n+n]
		clear(x)
		if y := o.leave[s.g.starts[t.keep.start[t.lo]].level][i]; y != nil {
			copy(x[:rows], y[t.lo:])
		}
	}
	for k := range calls {
		t.alive[states+k] = false
	}
	for i := range t.level.groups {
		o.calls(t, i, e)
	}
}

// calls computes the adjoints of the calls of a group at site e, and those of
// what they enter in later tiles.
func (o *outside) calls(t *tape, group, e int) {
	v, n, rest := t.level, t.width, t.returned[group]
	terms := len(rest.at)
	if terms == 0 {
		return
	}
	callee := v.groups[group].callee
	to, exits := &o.s.levels[callee], len(o.s.g.levels[callee].exits)
	listed := t.listed[(e-t.first)*len(v.calls):][:len(v.calls)]
	o.at = o.at[:0]
	for _, k := range v.groups[group].calls {
		if listed[k].row >= 0 {
			o.at = append(o.at, k)
		}
	}
	m := len(o.at)
	if m == 0 {
		return
	}
	o.coef, o.x = resize(o.coef, m*terms), resize(o.x, 2*m*n)
	bar, x := o.x[:m*n], o.x[m*n:]
	for a, k := range o.at {
		l := listed[k]
		copy(x[a*n:a*n+n], t.callOf(e, int(k)))
		scale := to.scale[int(to.site[l.row])/o.s.tile]
		c := o.coef[a*terms:][:terms]
		for i := range c {
			r := &rest.list[i]
			by := power(l.exponent + scale[r.site] - t.scale[r.site])
			for _, κ := range r.exits {
				if left := to.leave[int(r.site)*exits+int(κ)]; left != nil {
					c[i] += float64(left[l.row] * by)
				}
			}
		}
	}
	simd.Fold(bar, n, t.pieces, rest.at, o.coef)
	for a, k := range o.at {
		slot, b := len(t.live)+int(k), bar[a*n:a*n+n]
		clear(b[t.rows(e):])
		t.alive[slot] = o.sift(b, x[a*n:a*n+n])
		copy(t.bar[slot*n:], b)
		if by := listed[k].by; by != 0 {
			simd.Raise(t.bar[slot*n:slot*n+n], power(by), 0)
		}
	}
	if e < t.last {
		return // returns tells those rows
	}
	clear(o.coef)
	simd.Dots(o.coef, n, t.pieces, rest.at, x)
	for a, k := range o.at {
		l := listed[k]
		scale := to.scale[int(to.site[l.row])/o.s.tile]
		for i, y := range o.coef[a*terms:][:terms] {
			r := &rest.list[i]
			if y == 0 {
				continue
			}
			by := power(l.exponent + scale[r.site] - t.scale[r.site])
			for _, κ := range r.exits {
				j := int(r.site)*exits + int(κ)
				left := to.leave[j]
				if left == nil {
					continue
				}
				out := &o.leave[callee][j]
				if *out == nil {
					*out = o.memory.take(len(left))
				}
				(*out)[l.row] += o.share(left[l.row], y, by)
			}
		}
	}
}

// returns notes the adjoints of what returns at site e in a round, and tells
// the rows of its tile that it left.
func (o *outside) returns(t *tape, r *round, e int) {
	v, n := t.level, t.width
	group := int(r.group)
	before := int(t.count[(e-t.first)*len(v.groups)+group])
	if before == 0 {
		return
	}
	rest := &t.returned[group]
	first := len(rest.at)
	for _, node := range r.nodes {
		slot := t.slotOf(int(node.place))
		if slot < 0 || !t.alive[slot] || t.keep.back[e*len(t.of.places)+int(node.place)] == nil {
			continue
		}
		rest.at = append(rest.at, int32(len(t.pieces)))
		rest.list = append(rest.list, piece{int32(e), node.exits})
		t.pieces = append(t.pieces, t.bar[slot*n:slot*n+n]...)
	}
	m := len(rest.at) - first
	if e >= t.last {
		before = int(t.inTile[group])
	}
	if m == 0 || before == 0 {
		return
	}
	callee := v.groups[group].callee
	u := o.tapes[callee]
	exits := len(u.level.exits)
	j := &t.joins[group]
	o.coef = resize(o.coef, m*before)
	simd.Dots(o.coef, n, t.call, j.at[:before], t.pieces[rest.at[first]:])
	for i := range m {
		for _, κ := range rest.list[first+i].exits {
			left := u.keep.leave[e*exits+int(κ)]
			if left == nil {
				continue
			}
			bar := u.slot(len(u.live) + len(u.level.calls) + int(κ))
			for a, y := range o.coef[i*before:][:before] {
				row := int(j.row[a])
				bar[row-u.lo] += o.share(left[row], y, power(t.exponents[group][a]+u.scale[e]-t.scale[e]))
			}
		}
	}
}
