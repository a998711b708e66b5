package pushdown

import (
	"cmp"
	"slices"
)

func newBlocks(g *Graph) blocks {
	b := blocks{from: []int32{0}, ones: make([]float64, blockSize)}
	for i := range b.ones {
		b.ones[i] = 1
	}
	for at := int32(0); at < block; at += blockSize {
		b.wholes = append(b.wholes, at)
	}
	for _, tokens := range g.members {
		b.class = append(b.class, int32(len(b.from)-1))
		for len(tokens) > 0 {
			n := min(len(tokens), blockSize)
			b.token = append(b.token, tokens[:n]...)
			b.from = append(b.from, int32(len(b.token)))
			tokens = tokens[n:]
		}
	}
	b.class = append(b.class, int32(len(b.from)-1))
	return b
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
