// Package planar tests whether a graph is planar and computes the faces of a planar graph.
package planar

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Faces returns the faces of the two-connected parts of a planar graph with n vertices. A face is a
// closed walk, given as a list of edges. Every edge that is not a bridge occurs exactly twice, in
// one walk or in two. Every cycle is a sum of walks modulo 2. The result ok is false if the graph
// is not planar. The graph must have no loops and no parallel edges.
//
// Faces takes O(n·m) steps for m edges (Demoucron, Malgrange and Pertuiset 1964).
func Faces(ctx context.Context, n int, edges [][2]int32) (faces [][]int32, ok bool, err error) {
	if n >= 3 && len(edges) > 3*n-6 {
		return nil, false, nil
	}
	for _, part := range parts(n, edges) {
		if len(part) == 1 {
			continue // a bridge
		}
		walks, ok, err := embed(ctx, part, edges)
		if err != nil || !ok {
			return nil, false, err
		}
		faces = append(faces, walks...)
	}
	return faces, true, nil
}

// half is an edge as seen from one of its ends; to is the other end.
type half struct{ to, edge int32 }

func neighbours(n int, edges [][2]int32, part []int32) [][]half {
	adj := make([][]half, n)
	for _, e := range part {
		u, v := edges[e][0], edges[e][1]
		adj[u], adj[v] = append(adj[u], half{v, e}), append(adj[v], half{u, e})
	}
	return adj
}

// parts returns the edges of each two-connected part (Hopcroft and Tarjan 1973).
func parts(n int, edges [][2]int32) (out [][]int32) {
	all := make([]int32, len(edges))
	for i := range all {
		all[i] = int32(i)
	}
	adj := neighbours(n, edges, all)
	depth, low, at := make([]int32, n), make([]int32, n), make([]int, n)
	type step struct{ v, edge int32 }
	var stack []step
	var open []int32 // edges
	for root := range int32(n) {
		if depth[root] > 0 {
			continue
		}
		depth[root], low[root] = 1, 1
		stack = append(stack, step{root, -1})
		for len(stack) > 0 {
			s := stack[len(stack)-1]
			if v := s.v; at[v] < len(adj[v]) {
				h := adj[v][at[v]]
				at[v]++
				switch {
				case h.edge == s.edge:
				case depth[h.to] == 0:
					depth[h.to] = depth[v] + 1
					low[h.to] = depth[h.to]
					open = append(open, h.edge)
					stack = append(stack, step{h.to, h.edge})
				case depth[h.to] < depth[v]:
					open = append(open, h.edge)
					low[v] = min(low[v], depth[h.to])
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) == 0 {
				break
			}
			above := stack[len(stack)-1].v
			low[above] = min(low[above], low[s.v])
			if low[s.v] >= depth[above] {
				k := len(open) - 1
				for open[k] != s.edge {
					k--
				}
				out = append(out, slices.Clone(open[k:]))
				open = open[:k]
			}
		}
	}
	return out
}

// embedding is the partial embedding of a two-connected part of the graph. Vertices and edges are
// numbered within the part.
type embedding struct {
	ends  [][2]int32
	adj   [][]half
	in    []bool    // for each vertex, whether it is embedded
	drawn []bool    // for each edge, whether it is embedded
	faces [][]int32 // faces as cycles of vertices
	on    [][]int32 // for each vertex, the indices of its faces
}

func embed(ctx context.Context, part []int32, edges [][2]int32) (walks [][]int32, ok bool, err error) {
	number := map[int32]int32{}
	e := &embedding{ends: make([][2]int32, len(part)), drawn: make([]bool, len(part))}
	for k, edge := range part {
		for side, v := range edges[edge] {
			if _, met := number[v]; !met {
				number[v] = int32(len(number))
			}
			e.ends[k][side] = number[v]
		}
	}
	n := len(number)
	if len(part) > 3*n-6 && n > 2 {
		return nil, false, nil
	}
	all := make([]int32, len(part))
	for i := range all {
		all[i] = int32(i)
	}
	e.adj, e.in, e.on = neighbours(n, e.ends, all), make([]bool, n), make([][]int32, n)
	cycle := e.path(e.ends[0][0], 0, func(v int32) bool { return v == e.ends[0][1] })
	e.face(cycle)
	back := slices.Clone(cycle)
	slices.Reverse(back)
	e.face(back)
	e.draw(cycle, true)
	for {
		if poll.Err(ctx) != nil {
			return nil, false, context.Cause(ctx)
		}
		path, face, found, ok := e.next()
		if !ok {
			return nil, false, nil
		}
		if !found {
			break
		}
		e.split(face, path)
	}
	edge := map[[2]int32]int32{}
	for k, ends := range e.ends {
		edge[ends], edge[[2]int32{ends[1], ends[0]}] = part[k], part[k]
	}
	for _, f := range e.faces {
		walk := make([]int32, len(f))
		for i, v := range f {
			walk[i] = edge[[2]int32{v, f[(i+1)%len(f)]}]
		}
		walks = append(walks, walk)
	}
	return walks, true, nil
}

// path returns the vertices of a shortest path that starts at from, does not use the edge without,
// and ends at a vertex for which end is true. The vertices in between are not embedded.
func (e *embedding) path(from, without int32, end func(v int32) bool) []int32 {
	before := map[int32]int32{from: -1}
	for queue := []int32{from}; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		for _, h := range e.adj[v] {
			if _, met := before[h.to]; met || h.edge == without || e.drawn[h.edge] {
				continue
			}
			if end(h.to) {
				path := []int32{h.to}
				for u := v; u >= 0; u = before[u] {
					path = append(path, u)
				}
				slices.Reverse(path)
				return path
			}
			if !e.in[h.to] {
				before[h.to] = v
				queue = append(queue, h.to)
			}
		}
	}
	return nil
}

func (e *embedding) face(cycle []int32) {
	for _, v := range cycle {
		e.on[v] = append(e.on[v], int32(len(e.faces)))
	}
	e.faces = append(e.faces, cycle)
}

// draw marks the vertices and edges of a path as embedded. If closed is true, path is a cycle.
func (e *embedding) draw(path []int32, closed bool) {
	for i, v := range path {
		e.in[v] = true
		if i == len(path)-1 && !closed {
			break
		}
		next := path[(i+1)%len(path)]
		for _, h := range e.adj[v] {
			if h.to == next {
				e.drawn[h.edge] = true
			}
		}
	}
}

// next returns a path of vertices that can be embedded next, and the face to draw it in. found is
// false if everything is embedded. ok is false if no face can hold the rest, so that the graph is
// not planar.
func (e *embedding) next() (path []int32, face int32, found, ok bool) {
	fewest := 0
	seen := make([]bool, len(e.in))
	consider := func(attached []int32, inner int32) bool {
		count := map[int32]int{}
		for _, v := range attached {
			for _, f := range e.on[v] {
				count[f]++
			}
		}
		admissible, last := 0, int32(-1)
		for _, f := range e.on[attached[0]] {
			if count[f] == len(attached) {
				admissible, last = admissible+1, f
			}
		}
		if admissible == 0 {
			return false
		}
		if !found || admissible < fewest {
			found, fewest, face = true, admissible, last
			if inner < 0 {
				path = slices.Clone(attached)
			} else {
				path = e.through(attached[0], inner)
			}
		}
		return true
	}
	for k, ends := range e.ends {
		if !e.drawn[k] && e.in[ends[0]] && e.in[ends[1]] {
			if !consider(ends[:], -1) {
				return nil, 0, true, false
			}
			if fewest == 1 {
				return path, face, true, true
			}
		}
	}
	for v := range int32(len(e.in)) {
		if e.in[v] || seen[v] {
			continue
		}
		var attached []int32
		seen[v] = true
		for queue := []int32{v}; len(queue) > 0; queue = queue[1:] {
			for _, h := range e.adj[queue[0]] {
				switch {
				case e.in[h.to]:
					attached = append(attached, h.to)
				case !seen[h.to]:
					seen[h.to] = true
					queue = append(queue, h.to)
				}
			}
		}
		slices.Sort(attached)
		if !consider(slices.Compact(attached), v) {
			return nil, 0, true, false
		}
		if fewest == 1 {
			return path, face, true, true
		}
	}
	return path, face, found, true
}

// through returns a path from the embedded vertex from to another embedded vertex. It runs through
// the component of unembedded vertices that contains inner.
func (e *embedding) through(from, inner int32) []int32 {
	component := map[int32]bool{inner: true}
	for queue := []int32{inner}; len(queue) > 0; queue = queue[1:] {
		for _, h := range e.adj[queue[0]] {
			if !e.in[h.to] && !component[h.to] {
				component[h.to] = true
				queue = append(queue, h.to)
			}
		}
	}
	for _, h := range e.adj[from] {
		if component[h.to] {
			rest := e.path(h.to, h.edge, func(v int32) bool { return e.in[v] && v != from })
			return append([]int32{from}, rest...)
		}
	}
	return nil
}

// split divides the face f into two by a path between two of its vertices.
func (e *embedding) split(f int32, path []int32) {
	cycle := e.faces[f]
	a, b := slices.Index(cycle, path[0]), slices.Index(cycle, path[len(path)-1])
	if a > b {
		a, b = b, a
		path = slices.Clone(path)
		slices.Reverse(path)
	}
	e.draw(path, false)
	inner := path[1 : len(path)-1]
	back := slices.Clone(inner)
	slices.Reverse(back)
	one := append(slices.Clone(cycle[a:b+1]), back...) // a … b, and back along the path
	two := append(append(slices.Clone(cycle[b:]), cycle[:a+1]...), inner...)
	for _, v := range cycle {
		e.on[v] = slices.DeleteFunc(e.on[v], func(g int32) bool { return g == f })
	}
	e.faces[f] = one
	for _, v := range one {
		e.on[v] = append(e.on[v], f)
	}
	e.face(two)
}
