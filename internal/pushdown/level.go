package pushdown

import (
	"cmp"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// call pushes the symbol of its group and enters the callee at the given start.
type call struct{ group, start int32 }

// group holds the calls of a level that push the same symbol and enter the same level.
type group struct {
	symbol, callee int32
	calls          []int32
	resume         []node // for each exit of the callee, the node at which the caller continues
}

// node is a place at which a level continues: a state, a half-position, or nothing if both
// fields are −1.
type node struct{ state, half int32 }

// half is a half-position. The rest of its token makes a call or leaves the level by an exit;
// the other field is −1.
type half struct{ call, exit int32 }

// level is one level of a graph. It numbers the states, calls and exits that are reachable in
// the level.
type level struct {
	// machine state of each state; the padding state is encoded as the number of machine states
	states []int32
	final  []bool
	in     algebra.Fan // edges to states
	call   algebra.Fan // edges to calls
	out    algebra.Fan // edges to exits
	calls  []call
	groups []group
	halves []half
	exits  []int32 // exit of the reader for each exit of the level
}

// edges returns the number of edges.
func (v *level) edges() int { return len(v.in.All) + len(v.call.All) + len(v.out.All) }

// start describes how a level is entered. If q ≥ 0, the level is entered at state q. Otherwise it
// is entered at a half-position whose next move calls start sub and pushes symbol. The field depth
// is the number of such calls. A start is computed after its start sub.
type start struct {
	level, q, symbol, sub, depth int32
}

// merged lists the exits of a callee after which the caller continues at the same place.
type merged struct {
	place int32
	exits []int32
}

// arrangement holds a level in the order in which spans processes it.
type arrangement struct {
	places []node     // nodes at which the level continues after a return
	nodes  [][]merged // for each group, the exits of the callee by place
	// call by group and by number of the start in the callee, −1 if there is none
	callOf [][]int32
}

// round is a set of returns of one group that are complete at the same time. Exits lead to
// half-positions, and half-positions lead to exits with a shorter rest of the token. Rounds are
// therefore ordered by descending depth of exits.
type round struct {
	depth, level, group int32
	nodes               []merged
}

// plan holds the precomputed order in which spans processes a graph.
type plan struct {
	levels []arrangement
	rounds []round
	number []int32 // number of each start within its level
}

// newPlan returns the plan of a graph. The slice depth holds, for every exit of the reader, the
// number of returns that may still follow within the token.
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
			first := len(p.rounds)
			for n, d := range least {
				at := first
				for at < len(p.rounds) && p.rounds[at].depth != d {
					at++
				}
				if at == len(p.rounds) {
					p.rounds = append(p.rounds, round{depth: d, level: int32(lv), group: int32(i)})
				}
				p.rounds[at].nodes = append(p.rounds[at].nodes, nodes[n])
			}
		}
	}
	slices.SortStableFunc(p.rounds, func(a, b round) int { return cmp.Compare(b.depth, a.depth) })
	return p
}

// depths returns, for each exit, the largest number of returns that may follow it within its
// token.
func depths(after [][]resumption) []int32 {
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
