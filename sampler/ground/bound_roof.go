package ground

import (
	"context"
	"fmt"
	"math"
)

// flow is a network with a flow: arcs 2k and 2k+1 are opposite to each other.
type flow struct {
	head     []int32 // the first arc of each vertex, −1: none
	next     []int32
	to       []int32
	capacity []int64
	carried  []int64 // on an arc; negative where the opposite one carries more

	level, at []int32
}

func newFlow(vertices int) *flow {
	n := &flow{head: make([]int32, vertices), level: make([]int32, vertices), at: make([]int32, vertices)}
	for v := range n.head {
		n.head[v] = -1
	}
	return n
}

func (n *flow) arc(u, v int32, capacity int64) {
	for _, a := range [2]struct {
		from, to int32
		c        int64
	}{{u, v, capacity}, {v, u, 0}} {
		n.next = append(n.next, n.head[a.from])
		n.head[a.from] = int32(len(n.to))
		n.to, n.capacity, n.carried = append(n.to, a.to), append(n.capacity, a.c), append(n.carried, 0)
	}
}

func (n *flow) residual(a int32) int64 { return n.capacity[a] - n.carried[a] }

// levels numbers vertices by their distance from the source over arcs with residual capacity; −1 if
// a vertex is not reachable.
func (n *flow) levels(source int32) {
	for v := range n.level {
		n.level[v] = -1
	}
	n.level[source] = 0
	for queue := []int32{source}; len(queue) > 0; queue = queue[1:] {
		for a := n.head[queue[0]]; a >= 0; a = n.next[a] {
			if v := n.to[a]; n.level[v] < 0 && n.residual(a) > 0 {
				n.level[v] = n.level[queue[0]] + 1
				queue = append(queue, v)
			}
		}
	}
}

// maximise makes the flow from source to sink maximal (Dinic 1970).
func (n *flow) maximise(ctx context.Context, source, sink int32) error {
	var way []int32
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if n.levels(source); n.level[sink] < 0 {
			return nil
		}
		copy(n.at, n.head)
		for v := source; ; {
			if v == sink {
				least := int64(math.MaxInt64)
				for _, a := range way {
					least = min(least, n.residual(a))
				}
				for _, a := range way {
					n.carried[a] += least
					n.carried[a^1] -= least
				}
				way, v = way[:0], source
				continue
			}
			a := n.at[v]
			if a < 0 { // a dead end
				if v == source {
					break
				}
				last := way[len(way)-1]
				way = way[:len(way)-1]
				v = n.to[last^1]
				n.at[v] = n.next[last]
				continue
			}
			if u := n.to[a]; n.residual(a) > 0 && n.level[u] == n.level[v]+1 {
				way, v = append(way, a), u
			} else {
				n.at[v] = n.next[a]
			}
		}
	}
}

// roof returns the bound of the roof dual and the sites that it fixes. The energy is a constant and
// a sum of terms a·u·v, a > 0, over literals: bits, their complements, and the constants 1 and 0.
// Vertex 2i represents x_i, vertex 2i+1 represents 1 − x_i, and the last two represent 1 and 0.
// Each term gives an arc from u to the complement of v and one from v to the complement of u, each
// of capacity a. A flow of 2φ from 1 to 0 shows that the sum is at least φ. When the flow is
// maximal, every literal reachable from 1 is true in every minimum (Boros and Hammer 2002).
func (q *quantised) roof(ctx context.Context) (*Certificate, error) {
	sites := len(q.field)
	one := int32(2 * sites)
	net := newFlow(2*sites + 2)
	term := func(u, v int32, a int64) {
		net.arc(u, v^1, a)
		net.arc(v, u^1, a)
	}
	linear := append([]int64{}, q.field...)
	for i := range q.field {
		for k := q.start[i]; k < q.start[i+1]; k++ {
			j, w := q.adj[k], q.weight[k]
			switch {
			case int(j) < i:
			case w > 0:
				term(int32(2*i), 2*j, w)
			case w < 0: // w·x_i·x_j = w·x_i − w·x_i·(1 − x_j)
				linear[i] += w
				term(int32(2*i), 2*j+1, -w)
			}
		}
	}
	constant := int64(0)
	for i, f := range linear {
		switch {
		case f > 0:
			term(int32(2*i), one, f)
		case f < 0:
			constant += f
			term(int32(2*i+1), one, -f)
		}
	}
	if err := net.maximise(ctx, one, one+1); err != nil {
		return nil, err
	}
	value, err := net.check(one, one+1)
	if err != nil {
		return nil, fmt.Errorf("ground: Bound: roof duality: %w", err)
	}
	c := &Certificate{Method: "roof duality", least: 4*constant + 2*value, Fixed: make([]int32, sites)}
	net.levels(one)
	for i := range sites {
		c.Fixed[i] = -1
		up, down := net.level[2*i] >= 0, net.level[2*i+1] >= 0
		switch {
		case up && down:
			return nil, fmt.Errorf("ground: Bound: roof duality: site %d is fixed at both levels", i)
		case !q.exact: // rounding may decide
		case up:
			c.Fixed[i] = 1
		case down:
			c.Fixed[i] = 0
		}
	}
	return c, nil
}

// check returns the value of the flow. It returns an error unless no arc carries more than its
// capacity and the flow is conserved at every vertex.
func (n *flow) check(source, sink int32) (value int64, err error) {
	net := make([]int64, len(n.head))
	for a := 0; a < len(n.to); a += 2 {
		if c := n.carried[a]; c < -n.capacity[a+1] || c > n.capacity[a] || n.carried[a+1] != -c {
			return 0, fmt.Errorf("check: arc %d carries %d, want %d … %d", a, c, -n.capacity[a+1], n.capacity[a])
		}
		net[n.to[a+1]] -= n.carried[a]
		net[n.to[a]] += n.carried[a]
	}
	for v, excess := range net {
		if int32(v) != source && int32(v) != sink && excess != 0 {
			return 0, fmt.Errorf("check: %d more enters vertex %d than leaves it", excess, v)
		}
	}
	return net[sink], nil
}
