package ground

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/heap"
	"github.com/gibbsite-go/gibbsite/internal/matching"
)

// dualGraph has the faces of a frame as vertices and its bonds as edges.
type dualGraph struct {
	adj [][]dualEdge

	distance []int64 // scratch of reach
	before   []dualEdge
	seen     []int32
	run      int32
}

type dualEdge struct {
	to, bond int32
	w        int64
}

func (g *frame) dual() *dualGraph {
	d := &dualGraph{adj: make([][]dualEdge, len(g.faces)), distance: make([]int64, len(g.faces)), before: make([]dualEdge, len(g.faces)), seen: make([]int32, len(g.faces))}
	first := make([]int32, len(g.ends))
	for k := range first {
		first[k] = -1
	}
	for f, walk := range g.faces {
		for _, k := range walk {
			if first[k] < 0 {
				first[k] = int32(f)
				continue
			}
			w := max(g.w[k], -g.w[k])
			d.adj[f] = append(d.adj[f], dualEdge{first[k], k, w})
			d.adj[first[k]] = append(d.adj[first[k]], dualEdge{int32(f), k, w})
		}
	}
	return d
}

// frustrated reports for each face whether it has an odd number of bonds > 0, so that an odd number
// of its bonds is unsatisfied in every state.
func (g *frame) frustrated() []bool {
	odd := make([]bool, len(g.faces))
	for f, walk := range g.faces {
		for _, k := range walk {
			odd[f] = odd[f] != (g.w[k] > 0)
		}
	}
	return odd
}

type visit struct {
	at int64
	v  int32
}

// reach calls f with the faces within a distance of a face, nearest first, until f returns
// false (Dijkstra 1959).
func (d *dualGraph) reach(from int32, radius int64, f func(v int32, distance int64) (more bool)) {
	d.run++
	var queue []visit
	push := func(v int32, at int64, e dualEdge) {
		if at <= radius && (d.seen[v] != d.run || at < d.distance[v]) {
			d.seen[v], d.distance[v], d.before[v] = d.run, at, e
			queue = heap.Push(queue, visit{at, v}, func(a, b visit) bool { return a.at < b.at })
		}
	}
	push(from, 0, dualEdge{to: -1})
	for len(queue) > 0 {
		var p visit
		queue, p = heap.Pop(queue, func(a, b visit) bool { return a.at < b.at })
		if p.at != d.distance[p.v] {
			continue
		}
		if !f(p.v, p.at) {
			return
		}
		for _, e := range d.adj[p.v] {
			push(e.to, p.at+e.w, dualEdge{p.v, e.bond, e.w})
		}
	}
}

// solve returns the minimum weight of unsatisfied bonds that the frustrated faces require, and a
// set of such bonds. Every face has a radius, and the matching omits pairs of faces neither of
// which is within the other's radius. The dual variables of the matching show which radii are too
// short, and these radii then grow. check, if not nil, examines the dual solution.
func (g *frame) solve(ctx context.Context, check func(context.Context, *matching.Matching, []int32) error) (least int64, bad []bool, err error) {
	d, odd := g.dual(), g.frustrated()
	number := make([]int32, len(odd))
	var face []int32
	for f, frustrated := range odd {
		if number[f] = -1; frustrated {
			number[f] = int32(len(face))
			face = append(face, int32(f))
		}
	}
	bad = make([]bool, len(g.ends))
	if len(face) == 0 {
		return 0, bad, nil
	}
	radius := make([]int64, len(face)) // of the nearest other frustrated face, to begin with
	for i, f := range face {
		radius[i] = 1
		d.reach(f, int64(1)<<60, func(v int32, at int64) bool {
			if v == f || !odd[v] {
				return true
			}
			radius[i] = max(at, 1)
			return false
		})
	}
	var m *matching.Matching
	for short := true; short; {
		var edges []matching.Edge
		for i, f := range face {
			d.reach(f, radius[i], func(v int32, at int64) bool {
				if j := number[v]; j > int32(i) || j >= 0 && at > radius[j] {
					edges = append(edges, matching.Edge{U: int32(i), V: j, W: 2 * at})
				}
				return true
			})
			if ctx.Err() != nil {
				return 0, nil, context.Cause(ctx)
			}
		}
		m, err = matching.Perfect(ctx, len(face), edges)
		if errors.Is(err, matching.ErrNone) {
			if slices.Min(radius) > g.total {
				return 0, nil, fmt.Errorf("%d frustrated faces without a perfect matching", len(face))
			}
			for i := range radius {
				radius[i] *= 2
			}
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		short = false
		p := potentials(m)
		largest := slices.Max(p)
		for i, v := range p { // no face that is further away has a tight edge to this one
			if need := (v + largest + 1) / 2; radius[i] < need && radius[i] <= g.total {
				short, radius[i] = true, need
			}
		}
	}
	if check != nil {
		if err := check(ctx, m, face); err != nil {
			return 0, nil, err
		}
	}
	for i, j := range m.Mate {
		if int32(i) > j {
			continue
		}
		d.reach(face[i], g.total, func(v int32, _ int64) bool {
			if v != face[j] {
				return true
			}
			for v != face[i] {
				e := d.before[v]
				bad[e.bond] = !bad[e.bond]
				v = e.to
			}
			return false
		})
	}
	return m.Weight / 2, bad, nil
}

// potentials returns, for each vertex, the sum of the dual variables of the vertex and of the sets
// that contain it.
func potentials(m *matching.Matching) []int64 {
	p := append([]int64{}, m.Y...)
	for _, b := range m.Sets {
		for _, v := range b.Members {
			p[v] += b.Z
		}
	}
	return p
}

// checkDual returns an error unless a dual solution proves that unsatisfied bonds weigh at least
// m.Weight/2. It shares no code with the search for the solution.
//
// In every state, a closed walk has an odd number of unsatisfied bonds exactly if it has an odd
// number of bonds > 0. Every bond of a cycle is in two walks, so unsatisfied bonds form, in the
// dual graph, paths between pairs of frustrated faces. The weight of these paths is at least
// Σ y + Σ z if z ≥ 0, sets are odd, and for every two frustrated faces y_u + y_v + Σ_{sets with one
// of them} z is at most their distance; here all values are in halves.
func (g *frame) checkDual(ctx context.Context, m *matching.Matching, face []int32) error {
	times := make([]int, len(g.ends))
	sides := make([][2]int, len(g.ends))
	frustrated := map[int32]int{}
	for f, walk := range g.faces {
		odd := 0
		at := map[int32]int{}
		for _, k := range walk {
			if times[k] < 2 {
				sides[k][times[k]] = f
			}
			times[k]++
			at[g.ends[k][0]]++
			at[g.ends[k][1]]++
			if g.w[k] > 0 {
				odd++
			}
		}
		for v, n := range at {
			if n%2 != 0 {
				return fmt.Errorf("check: face %d passes site %d by %d bonds, want an even number", f, v, n)
			}
		}
		if odd%2 == 1 {
			frustrated[int32(f)] = len(frustrated)
		}
	}
	for k, n := range times {
		if n != 0 && n != 2 {
			return fmt.Errorf("check: bond %d is in %d faces, want 2", k, n)
		}
	}
	if len(face) != len(frustrated) || len(m.Y) != len(face) {
		return fmt.Errorf("check: %d faces and %d variables, want %d frustrated faces", len(face), len(m.Y), len(frustrated))
	}
	value := int64(0)
	sets := make([][]int, len(face)) // those that hold a face
	for i, f := range face {
		if _, ok := frustrated[f]; !ok {
			return fmt.Errorf("check: face %d is not frustrated", f)
		}
		value += m.Y[i]
	}
	for k, b := range m.Sets {
		if len(b.Members)%2 == 0 || b.Z < 0 {
			return fmt.Errorf("check: set %d has %d faces and the value %d, want an odd number and ≥ 0", k, len(b.Members), b.Z)
		}
		value += b.Z
		for _, v := range b.Members {
			sets[v] = append(sets[v], k)
		}
	}
	if value != m.Weight {
		return fmt.Errorf("check: the dual value is %d, want %d", value, m.Weight)
	}
	around := make([]int64, len(face)) // the value of a face and of its sets
	largest := int64(0)
	index := make([]int, len(g.faces))
	for f := range index {
		index[f] = -1
	}
	for i, f := range face {
		index[f], around[i] = i, m.Y[i]
		for _, k := range sets[i] {
			around[i] += m.Sets[k].Z
		}
		largest = max(largest, around[i])
	}
	next := make([][][2]int64, len(g.faces)) // face and weight
	for k, n := range times {
		if n == 2 {
			a, b, w := sides[k][0], sides[k][1], g.w[k]
			if w < 0 {
				w = -w
			}
			next[a], next[b] = append(next[a], [2]int64{int64(b), w}), append(next[b], [2]int64{int64(a), w})
		}
	}
	least := map[int]int64{}
	holds := make([]int, len(m.Sets)) // the last face that a set was found to hold
	for k := range holds {
		holds[k] = -1
	}
	for i, f := range face {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, k := range sets[i] {
			holds[k] = i
		}
		limit := around[i] + largest // twice a distance; further ones meet it
		clear(least)
		least[int(f)] = 0
		queue := [][2]int64{{0, int64(f)}}
		closer := func(a, b [2]int64) bool { return a[0] < b[0] }
		for len(queue) > 0 {
			var top [2]int64
			queue, top = heap.Pop(queue, closer)
			at, v := top[0], int(top[1])
			if at > least[v] {
				continue
			}
			if j := index[v]; j >= 0 && j != i {
				left := around[i] + around[j]
				for _, k := range sets[j] {
					if holds[k] == i {
						left -= 2 * m.Sets[k].Z
					}
				}
				if left > 2*at {
					return fmt.Errorf("check: faces %d and %d at distance %d have the value %d, want ≤ %d", f, v, at, left, 2*at)
				}
			}
			for _, e := range next[v] {
				d := at + e[1]
				if old, met := least[int(e[0])]; 2*d < limit && (!met || d < old) {
					least[int(e[0])] = d
					queue = heap.Push(queue, [2]int64{d, e[0]}, closer)
				}
			}
		}
	}
	return nil
}
