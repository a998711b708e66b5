package subgraph

import "math/rand/v2"

// States of a site while a strip is chosen.
const (
	open   = iota
	front  // in the strip, with neighbours that are open
	inside // in the strip
	out
)

// Strip returns a set of at most the given number of sites that a front of at most width
// sites sweeps over. It begins with a shortest path from a random site; then the open
// neighbours of the oldest site of the front join it as far as it stays as narrow, and the
// others stay out. On a lattice it is a straight band.
func (g *Graph) Strip(width, length int, r *rand.Rand) (set []int32) {
	state := make([]int8, len(g.free))
	for i, f := range g.free {
		if !f {
			state[i] = out
		}
	}
	queue := g.path(int32(r.IntN(len(g.free))), width, state)
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		for more := min(width, length-len(set)-1) - len(queue); more > 0; more-- {
			v := g.fitting(u, state)
			if v < 0 {
				break
			}
			state[v] = front
			queue = append(queue, v)
		}
		for _, v := range g.row(u) {
			if state[v] == open {
				state[v] = out
			}
		}
		state[u] = inside
		set = append(set, u)
	}
	return set
}

// fitting returns the open neighbour of u with the most neighbours in the strip and the fewest
// out of it, −1 for none.
func (g *Graph) fitting(u int32, state []int8) int32 {
	best, most := int32(-1), 0
	for _, v := range g.row(u) {
		if state[v] != open {
			continue
		}
		score := 0
		for _, w := range g.row(v) {
			switch state[w] {
			case front, inside:
				score++
			case out:
				score--
			}
		}
		if best < 0 || score > most {
			best, most = v, score
		}
	}
	return best
}

// path makes a shortest path of open sites from i, of at most the given number, the front.
func (g *Graph) path(i int32, length int, state []int8) []int32 {
	if state[i] != open {
		return nil
	}
	from, depth := map[int32]int32{i: -1}, map[int32]int{i: 1}
	queue, last := []int32{i}, i
	for at := 0; at < len(queue) && depth[last] < length; at++ {
		u := queue[at]
		for _, v := range g.row(u) {
			if _, met := from[v]; !met && state[v] == open {
				from[v], depth[v] = u, depth[u]+1
				queue = append(queue, v)
				if depth[v] > depth[last] {
					last = v
				}
			}
		}
	}
	var path []int32
	for v := last; v >= 0; v = from[v] {
		state[v] = front
		path = append(path, v)
	}
	return path
}
