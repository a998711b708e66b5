package pushdown

import (
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// joints takes adjoints from returns to their calls and to what these entered.
type joints struct {
	s     *spans
	leave []turned // by level: store.leave and its adjoint
	tapes []*tape  // by level

	limits

	// Scratch.
	at           []int32
	coef, x, bar []float64
	calling      []calling
	ways         []way
}

// calling appends the calls of a group at a site.
func (t *tape) calling(list []calling, group, e int) []calling {
	v := t.level
	listed := t.listed[(e-t.first)*len(v.calls):][:len(v.calls)]
	for _, k := range v.groups[group].calls {
		if listed[k].row >= 0 {
			list = append(list, calling{listed[k], e, int(k)})
		}
	}
	return list
}

// calls computes the adjoints of the calls of a group at site e, and those of
// what they enter in later tiles.
func (o *joints) calls(t *tape, group, e int) {
	n, rest := t.width, &t.returned[group]
	if len(rest.at) == 0 {
		return
	}
	b := &t.behind[group]
	if e < b.low {
		o.look(t, b, group, e)
	}
	o.calling = t.calling(o.calling[:0], group, e)
	m := len(o.calling)
	if m == 0 {
		return
	}
	o.bar = resize(o.bar, m*n)
	if b.pieces > 0 {
		copy(o.bar, b.bar[b.from[b.high-e]*n:][:m*n])
	}
	o.between(t, group, o.calling, b.pieces, len(rest.at), o.bar)
	for a, l := range o.calling {
		slot, bar := len(t.live)+l.call, o.bar[a*n:a*n+n]
		clear(bar[t.rows(e):])
		t.alive[slot] = o.sift(bar, o.x[a*n:a*n+n])
		copy(t.bar[slot*n:], bar)
		if l.by != 0 {
			simd.Raise(t.bar[slot*n:slot*n+n], algebra.Power(l.by), 0)
		}
	}
}

// look makes b hold site e and, if there is enough behind it, some before it.
func (o *joints) look(t *tape, b *behind, group, e int) {
	b.low, b.high, b.pieces = e, e, 0
	if len(t.returned[group].at) < o.s.least {
		return
	}
	b.low = max(e-aheadEnds+1, t.first)
	if e >= t.last {
		b.low = max(b.low, t.last) // what they enter is noted
	}
	b.pieces = len(t.returned[group].at)
	o.calling = o.calling[:0]
	for i := range b.high - b.low + 1 {
		b.from[i] = len(o.calling)
		o.calling = t.calling(o.calling, group, e-i)
	}
	b.bar = resize(b.bar, len(o.calling)*t.width)
	if len(o.calling) > 0 {
		o.between(t, group, o.calling, 0, b.pieces, b.bar)
	}
}

// between adds to bar what the adjoints of returns from…upto−1 give to calls, and
// passes them on to what the calls enter in later tiles. It leaves the values of
// the calls in o.x.
func (o *joints) between(t *tape, group int, calls []calling, from, upto int, bar []float64) {
	n, terms, rest := t.width, upto-from, &t.returned[group]
	callee := t.level.groups[group].callee
	to, leave := &o.s.levels[callee], &o.leave[callee]
	o.coef, o.x = resize(o.coef, len(calls)*terms), resize(o.x, len(calls)*n)
	tile := -1
	turn := func(row int32) {
		if x := int(to.site[row]) / o.s.tile; x != tile {
			tile = x
			o.lists(t, rest.list[from:upto], leave.exits, to.scale[tile])
		}
	}
	for a, l := range calls {
		copy(o.x[a*n:a*n+n], t.called(l.site, l.call))
		turn(l.row)
		c, at := o.coef[a*terms:][:terms], leave.at[l.row]
		for _, w := range o.ways {
			c[w.piece] += float64(leave.value[at+w.at] * algebra.Power(l.exponent+w.exponent))
		}
	}
	at := rest.at[from:upto]
	simd.Fold(bar, n, t.pieces, at, o.coef)
	if calls[0].site < t.last {
		return // returns tells those rows
	}
	clear(o.coef)
	simd.Dots(o.coef, n, t.pieces, at, o.x)
	for a, l := range calls {
		turn(l.row)
		c, at := o.coef[a*terms:][:terms], leave.at[l.row]
		for _, w := range o.ways {
			i := at + w.at
			leave.bar[i] += o.share(leave.value[i], c[w.piece], algebra.Power(l.exponent+w.exponent))
		}
	}
}

// lists stores the ways of returns of rows with the given scale.
func (o *joints) lists(t *tape, list []piece, exits int, scale []int32) {
	o.ways = o.ways[:0]
	for i := range list {
		r := &list[i]
		by := scale[r.site] - t.scale[r.site]
		for _, κ := range r.exits {
			o.ways = append(o.ways, way{int(r.site)*exits + int(κ), int32(i), by})
		}
	}
}

// returns records the adjoints of what returns at site e in a round, and passes
// them to the rows of its tile that it left.
func (o *joints) returns(t *tape, r *round, e int) {
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
		before = t.joins[group].inTile
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
				bar[row-u.lo] += o.share(left[row], y, algebra.Power(t.exponents[group][a]+u.scale[e]-t.scale[e]))
			}
		}
	}
}

// listing is the row that a call enters and the exponent on which what returns
// of it counts; its vector has been brought there by by.
type listing struct{ row, exponent, by int32 }

// calling is a call of a tape whose adjoint is asked for.
type calling struct {
	listing
	site, call int
}

// behind is the adjoints of the calls of a group at several sites, as far as they
// come from the returns that were known at the greatest of them. One pass over
// these serves all calls.
type behind struct {
	low, high int // the sites
	pieces    int
	from      [aheadEnds + 1]int // the first call of site high − i
	bar       []float64          // [call][row]
}

// way is a return by one exit: its number, where turned has it after the entry of
// its row, and the exponent of its row over that of the caller.
type way struct {
	at              int
	piece, exponent int32
}
