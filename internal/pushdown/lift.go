package pushdown

import (
	"cmp"
	"context"
	"slices"
)

// Lift carries m, which has passed [Machine.Check], over to the tokens of v.
// The error is that of ctx or a [*constraint.LimitError].
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
