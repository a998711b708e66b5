package pushdown

import (
	"cmp"
	"context"
	"slices"
)

// Lift carries m, which has passed [Machine.Check], over to the tokens of v.
// The error is that of ctx or a *[LimitError].
func Lift(ctx context.Context, m *Machine, v *Vocabulary) (*Graph, error) {
	l := newLifter(m, v)
	if err := l.read(ctx); err != nil {
		return nil, err
	}
	return l.trim(), nil
}

func newLifter(m *Machine, v *Vocabulary) *lifter {
	l := &lifter{v: v, numbers: map[outcome]int32{}, most: remembered, class: make([]int32, len(v.Tokens))}
	for t := range l.class {
		l.class[t] = -1
	}
	l.m, l.exits, l.find, l.alike = m, map[exit]int32{}, map[start]int32{}, map[string]int32{}
	return l
}

// builder numbers what is reachable.
type builder struct {
	*Graph
	l       *lifter
	byState [][]struct{ o, class int32 }
	weight  map[[4]int32]int32
	entered map[int32]bool
	half    []map[outcome]int32
}

// trim keeps what is reachable from the start, level by level.
func (l *lifter) trim() *Graph {
	n := l.m.States()
	g := &Graph{m: l.m, v: l.v, members: l.members(), class: l.class,
		levels: make([]level, l.m.Levels), starts: l.starts, local: make([]int32, n+1)}
	b := &builder{Graph: g, l: l, byState: make([][]struct{ o, class int32 }, n),
		weight: map[[4]int32]int32{}, entered: map[int32]bool{}, half: make([]map[outcome]int32, l.m.Levels)}
	for c, row := range l.rows {
		for _, p := range row {
			b.byState[p.q] = append(b.byState[p.q], struct{ o, class int32 }{p.o, int32(c)})
		}
	}
	for i := range g.local {
		g.local[i] = -1
	}
	g.top = l.m.Level[l.m.Start]
	g.begin = b.state(g.top, l.m.Start)
	done := make([]int, len(g.levels))
	for again := true; again; {
		again = false
		for lv := range g.levels {
			again = b.grow(int32(lv), &done[lv]) || again
		}
	}
	b.pad()
	for s := range b.entered {
		g.order = append(g.order, s)
	}
	slices.SortFunc(g.order, func(x, y int32) int {
		return cmp.Or(cmp.Compare(g.starts[x].depth, g.starts[y].depth), cmp.Compare(x, y))
	})
	g.plan = newPlan(g, depths(l.after))
	g.blocks = newBlocks(g)
	return g
}

// grow adds the edges of new states and the returns of new exits to a level.
func (b *builder) grow(lv int32, done *int) (grown bool) {
	v := &b.levels[lv]
	for ; *done < len(v.states); *done++ {
		grown = true
		from := int32(*done)
		for _, x := range b.byState[v.states[from]] {
			switch o := b.l.list[x.o]; o.kind {
			case Inside:
				b.edge(&v.in, Inside, lv, from, b.state(lv, o.a), x.class)
			case Call:
				b.edge(&v.call, Call, lv, from, b.callOf(lv, o), x.class)
			case Return:
				b.edge(&v.out, Return, lv, from, b.exitOf(lv, o.a), x.class)
			}
		}
	}
	for i := 0; i < len(v.groups); i++ {
		callee := &b.levels[v.groups[i].callee]
		for len(v.groups[i].resume) < len(callee.exits) {
			grown = true
			k := callee.exits[len(v.groups[i].resume)]
			to := b.node(lv, b.l.after[k][v.groups[i].symbol])
			v.groups[i].resume = append(v.groups[i].resume, to)
		}
	}
	return grown
}

// node numbers what follows a return.
func (b *builder) node(lv int32, o outcome) node {
	switch o.kind {
	case Dead:
		return node{-1, -1}
	case Inside:
		return node{b.state(lv, o.a), -1}
	}
	if h, ok := b.half[lv][o]; ok {
		return node{-1, h}
	}
	x := half{-1, -1}
	if o.kind == Call {
		x.call = b.callOf(lv, o)
	} else {
		x.exit = b.exitOf(lv, o.a)
	}
	v := &b.levels[lv]
	if b.half[lv] == nil {
		b.half[lv] = map[outcome]int32{}
	}
	h := int32(len(v.halves))
	b.half[lv][o] = h
	v.halves = append(v.halves, x)
	return node{-1, h}
}

// state numbers a state in its level.
func (b *builder) state(lv, q int32) int32 {
	if b.local[q] < 0 {
		v := &b.levels[lv]
		b.local[q] = int32(len(v.states))
		v.states = append(v.states, q)
		v.final = append(v.final, lv == b.top && int(q) < len(b.m.Accept) && b.m.Accept[q])
	}
	return b.local[q]
}

func (b *builder) edge(es *[]edge, kind Kind, lv, from, to, class int32) {
	key := [4]int32{int32(kind), lv, from, to}
	w, ok := b.weight[key]
	if !ok {
		w = int32(len(b.weights))
		b.weight[key] = w
		b.weights = append(b.weights, nil)
		*es = append(*es, edge{from, to, w})
	}
	b.weights[w] = append(b.weights[w], class)
}

// callOf numbers the call of an outcome in a level.
func (b *builder) callOf(lv int32, o outcome) int32 {
	b.enterStart(o.b)
	v, callee := &b.levels[lv], b.starts[o.b].level
	at := slices.IndexFunc(v.groups, func(x group) bool { return x.symbol == o.a && x.callee == callee })
	if at < 0 {
		at = len(v.groups)
		v.groups = append(v.groups, group{symbol: o.a, callee: callee})
	}
	c := call{int32(at), o.b}
	if i := slices.Index(v.calls, c); i >= 0 {
		return int32(i)
	}
	i := int32(len(v.calls))
	v.calls = append(v.calls, c)
	v.groups[at].calls = append(v.groups[at].calls, i)
	return i
}

func (b *builder) enterStart(s int32) {
	if b.entered[s] {
		return
	}
	b.entered[s] = true
	if x := b.starts[s]; x.q >= 0 {
		b.state(x.level, x.q)
	} else {
		b.callOf(x.level, outcome{Call, x.symbol, x.sub})
	}
}

func (b *builder) exitOf(lv, k int32) int32 {
	v := &b.levels[lv]
	if i := slices.Index(v.exits, k); i >= 0 {
		return int32(i)
	}
	v.exits = append(v.exits, k)
	return int32(len(v.exits) - 1)
}

// pad adds a state after accepted texts, where only padding goes on.
func (b *builder) pad() {
	if len(b.v.Pad) == 0 {
		return
	}
	class := int32(len(b.members))
	b.members = append(b.members, b.v.Pad)
	for _, t := range b.v.Pad {
		b.class[t] = class
	}
	v := &b.levels[b.top]
	end := b.state(b.top, int32(b.m.States()))
	for q := range v.states {
		if int32(q) == end || v.final[q] {
			b.edge(&v.in, Inside, b.top, int32(q), end, class)
		}
	}
	v.final[end] = true
}
