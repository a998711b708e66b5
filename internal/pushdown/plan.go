package pushdown

import (
	"cmp"
	"slices"
)

// fan is the edges of one kind in a level, by target: those to t are
// at[t]…at[t+1].
type fan struct{ at, from, w []int32 }

func newFan(es []edge, targets int) fan {
	es = slices.Clone(es)
	slices.SortStableFunc(es, func(a, b edge) int { return cmp.Compare(a.to, b.to) })
	f := fan{at: make([]int32, targets+1)}
	for _, e := range es {
		f.at[e.to+1]++
		f.from, f.w = append(f.from, e.from), append(f.w, e.w)
	}
	for t := range targets {
		f.at[t+1] += f.at[t]
	}
	return f
}

// merged is the exits of a callee after which a level goes on at one place.
type merged struct {
	place int32
	exits []int32
}

// arrangement is a level in the order in which package code of spans goes
// through it.
type arrangement struct {
	in, call, out fan
	places        []node     // where the level goes on after returns
	nodes         [][]merged // by group
	callOf        [][]int32  // [group][number of the start in the callee]: the call, −1
}

// round is the returns of one group that are complete at one time: exits feed
// half-positions, which feed exits with shorter rests, so that rounds go by
// descending depth of exits.
type round struct {
	depth, level, group int32
	nodes               []merged
}

// plan is what spans need to know about a graph.
type plan struct {
	levels []arrangement
	rounds []round
	number []int32 // of every start in its level
}

// newPlan takes the depth of every exit of the reader: how many more returns
// may follow in its token.
func newPlan(g *Graph, depth []int32) *plan {
	p := &plan{levels: make([]arrangement, len(g.levels)), number: make([]int32, len(g.starts))}
	starts := make([]int32, len(g.levels))
	for _, s := range g.order {
		lv := g.starts[s].level
		p.number[s] = starts[lv]
		starts[lv]++
	}
	for lv := range g.levels {
		v, a := &g.levels[lv], &p.levels[lv]
		a.in, a.call, a.out = newFan(v.in, len(v.states)), newFan(v.call, len(v.calls)), newFan(v.out, len(v.exits))
		place := map[node]int32{}
		for i, group := range v.groups {
			callOf := make([]int32, starts[group.callee])
			for s := range callOf {
				callOf[s] = -1
			}
			for _, k := range group.calls {
				callOf[p.number[v.calls[k].start]] = k
			}
			a.callOf = append(a.callOf, callOf)
			var nodes []merged
			least := []int32{} // depth of the shortest exit of each node
			at := map[node]int{}
			for k, to := range group.resume {
				if to.state < 0 && to.half < 0 {
					continue
				}
				d := depth[g.levels[group.callee].exits[k]]
				n, ok := at[to]
				if !ok {
					n = len(nodes)
					at[to] = n
					if _, ok := place[to]; !ok {
						place[to] = int32(len(a.places))
						a.places = append(a.places, to)
					}
					nodes, least = append(nodes, merged{place: place[to]}), append(least, d)
				}
				nodes[n].exits = append(nodes[n].exits, int32(k))
				least[n] = min(least[n], d)
			}
			a.nodes = append(a.nodes, nodes)
			for n, d := range least {
				p.add(round{d, int32(lv), int32(i), nodes[n : n+1]})
			}
		}
	}
	slices.SortStableFunc(p.rounds, func(a, b round) int { return cmp.Compare(b.depth, a.depth) })
	return p
}

func (p *plan) add(r round) {
	for i := range p.rounds {
		if x := &p.rounds[i]; x.depth == r.depth && x.level == r.level && x.group == r.group {
			x.nodes = append(slices.Clone(x.nodes), r.nodes...)
			return
		}
	}
	p.rounds = append(p.rounds, r)
}

// depths counts the returns that may follow each exit within its token.
func depths(after [][]outcome) []int32 {
	d := make([]int32, len(after))
	known := make([]bool, len(after))
	var find func(k int32) int32
	find = func(k int32) int32 {
		if !known[k] {
			known[k] = true // a rest is shorter than its token: no circles
			for _, o := range after[k] {
				if o.kind == Return {
					d[k] = max(d[k], 1+find(o.a))
				}
			}
		}
		return d[k]
	}
	for k := range after {
		find(int32(k))
	}
	return d
}
