package elimination

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/heap"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// graph records which variables share a table during elimination.
type graph struct {
	bits  []float64 // log₂ of the levels of each variable
	late  []bool    // variables that may only be eliminated after all others; nil for none
	adj   [][]int32 // neighbours in ascending order, including some that were eliminated
	dead  []int     // number of eliminated variables in each list of adj
	gone  []bool    // whether each variable has been eliminated
	meter *poll.Meter
}

func newGraph(cards []int32, scopes [][]int32, late []bool) *graph {
	g := &graph{bits: make([]float64, len(cards)), late: late, adj: make([][]int32, len(cards))}
	for i, c := range cards {
		g.bits[i] = math.Log2(float64(c))
	}
	for _, scope := range scopes {
		for _, a := range scope {
			for _, b := range scope {
				if a != b {
					g.adj[a] = append(g.adj[a], b)
				}
			}
		}
	}
	for i := range g.adj {
		slices.Sort(g.adj[i])
		g.adj[i] = slices.Compact(g.adj[i])
	}
	return g
}

// clone returns a copy whose neighbour lists may be changed.
func (g *graph) clone() *graph {
	c := *g
	c.adj, c.dead, c.gone = make([][]int32, len(g.adj)), make([]int, len(g.adj)), make([]bool, len(g.adj))
	total := 0
	for _, a := range g.adj {
		total += len(a)
	}
	all := make([]int32, 0, total)
	for i, a := range g.adj {
		all = append(all, a...)
		c.adj[i] = all[len(all)-len(a) : len(all) : len(all)]
	}
	return &c
}

// near returns the remaining neighbours of v.
func (g *graph) near(v int32) []int32 {
	if g.dead != nil && g.dead[v] > 0 {
		g.adj[v] = slices.DeleteFunc(g.adj[v], func(u int32) bool { return g.gone[u] })
		g.dead[v] = 0
	}
	return g.adj[v]
}

// weight returns log₂ of the number of states of the neighbours of v.
func (g *graph) weight(v int32) (bits float64) {
	for _, u := range g.near(v) {
		bits += g.bits[u]
	}
	return bits
}

// union stores in dst the union of two ascending lists, without v and w.
func union(dst, a, b []int32, v, w int32) []int32 {
	dst = dst[:0]
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		var u int32
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			u = a[i]
			i++
		case i == len(a) || b[j] < a[i]:
			u = b[j]
			j++
		default:
			u = a[i]
			i, j = i+1, j+1
		}
		if u != v && u != w {
			dst = append(dst, u)
		}
	}
	return dst
}

// hub is the ratio of neighbour counts from which a variable counts as a hub. A hub's list is
// searched instead of read. Thousands of variables with few neighbours can thus be eliminated
// around a hub in linear time.
const hub = 16

// remove eliminates v: its neighbours become neighbours of each other. It returns these
// neighbours and the number of operations.
func (g *graph) remove(v int32, buf *[]int32) (near []int32, work int) {
	near = g.near(v)
	g.gone[v] = true
	for _, a := range near {
		if len(g.adj[a]) <= hub*len(near) {
			*buf = union(*buf, g.near(a), near, v, a)
			g.adj[a] = append(g.adj[a][:0], *buf...)
			work += len(g.adj[a]) + len(near)
			continue
		}
		for _, b := range near {
			if at, found := slices.BinarySearch(g.adj[a], b); !found && b != a {
				g.adj[a] = slices.Insert(g.adj[a], at, b)
				work += len(g.adj[a]) / hub
			}
		}
		work += hub * len(near)
		if g.dead[a]++; 2*g.dead[a] > len(g.adj[a]) {
			work += len(g.near(a))
		}
	}
	g.adj[v] = nil
	return near, work
}

// missing returns the number of edges missing between the neighbours of v, each weighted by the
// product of its ends' log₂ numbers of levels. It also returns the number of operations.
func (g *graph) missing(v int32) (fill float64, work int) {
	near := g.near(v)
	for k, a := range near {
		other, j := g.adj[a], 0
		if len(other) > hub*len(near) {
			for _, b := range near[k+1:] {
				if _, found := slices.BinarySearch(other, b); !found {
					fill += float64(g.bits[a] * g.bits[b])
				}
			}
			work += hub * len(near)
			continue
		}
		for _, b := range near[k+1:] {
			for j < len(other) && other[j] < b {
				j++
			}
			if j == len(other) || other[j] != b {
				fill += float64(g.bits[a] * g.bits[b])
			}
		}
		work += len(other) + len(near)
	}
	return fill, work
}

// elimination is an elimination order with its cost.
type elimination struct {
	order   []int32
	scopes  [][]int32 // scopes of the messages, in the order of elimination, each ascending
	entries float64   // number of entries of all cliques
	width   float64   // log₂ of the entries of the largest clique
	work    int       // operations that finding the order took
}

// limits bounds the cost of an order. The search gives up on orders that exceed it.
type limits struct {
	message float64 // log₂ of the number of entries of a message
	entries float64 // number of entries of all cliques
	work    int     // number of operations
}

// eliminate removes all variables in the order given by next, which returns −1 to give up. It
// returns nil if it gives up or a limit is exceeded.
func (g *graph) eliminate(l limits, next func(removed int32, near []int32, work *int) int32) *elimination {
	e := &elimination{order: make([]int32, 0, len(g.adj)), scopes: make([][]int32, 0, len(g.adj))}
	var buf, near []int32
	removed := int32(-1)
	for len(e.order) < len(g.adj) {
		v := next(removed, near, &e.work)
		if v < 0 {
			return nil
		}
		message := g.weight(v)
		e.width = max(e.width, message+g.bits[v])
		e.entries += math.Exp2(message + g.bits[v])
		if message > l.message || e.entries > l.entries || e.work > l.work || g.meter.Done(len(g.adj[v])+1) {
			return nil
		}
		var work int
		near, work = g.remove(v, &buf)
		g.meter.Done(work)
		e.work += work
		e.order, e.scopes = append(e.order, v), append(e.scopes, near)
		removed = v
	}
	return e
}

// follow eliminates in the given order, with late variables last.
func (g *graph) follow(order []int32, l limits) *elimination {
	if g.late != nil { // those that are late come last, in the same order
		early, late := make([]int32, 0, len(order)), []int32(nil)
		for _, v := range order {
			if g.late[v] {
				late = append(late, v)
			} else {
				early = append(early, v)
			}
		}
		order = append(early, late...)
	}
	k := 0
	return g.clone().eliminate(l, func(int32, []int32, *int) int32 {
		k++
		return order[k-1]
	})
}

// place is an entry in the queue of greedy: a variable with its score.
type place struct {
	late  bool
	score float64
	tie   uint32
	v     int32
}

func (p place) before(q place) bool {
	if p.late != q.late {
		return q.late
	}
	if p.score != q.score {
		return p.score < q.score
	}
	return p.tie < q.tie || p.tie == q.tie && p.v < q.v
}

// mostBits is larger than log₂ of the number of entries of any message.
const mostBits = 64

// greedy always eliminates the variable whose neighbours lack the fewest edges (min-fill) or
// have the smallest table (min-weight). Ties are broken at random (Kjærulff 1990).
func (g *graph) greedy(fill bool, l limits, r *rand.Rand) *elimination {
	own := g.clone()
	score, done := make([]float64, len(g.adj)), make([]bool, len(g.adj))
	queue := make([]place, 0, 2*len(g.adj))
	push := func(v int32, work *int) {
		s := float64(len(own.adj[v]) - own.dead[v]) // at most the weight: levels are two or more
		if s <= mostBits {
			s = own.weight(v)
			*work += len(own.adj[v])
		}
		switch {
		case fill && s > l.message: // it cannot be next
			s = math.Inf(1)
		case fill:
			var w int
			s, w = own.missing(v)
			*work += w
		}
		*work += 20
		score[v] = s
		queue = heap.Push(queue, place{g.late != nil && g.late[v], s, r.Uint32(), v}, place.before)
	}
	ignored := 0
	for v := range g.adj {
		push(int32(v), &ignored)
	}
	return own.eliminate(l, func(removed int32, near []int32, work *int) int32 {
		if removed >= 0 {
			done[removed] = true
		}
		for _, u := range near {
			push(u, work)
			if *work > l.work {
				return -1
			}
		}
		for {
			var p place
			queue, p = heap.Pop(queue, place.before)
			if !done[p.v] && p.score == score[p.v] {
				return p.v
			}
		}
	})
}

// far returns the last variable that a breadth-first search from start reaches.
func (g *graph) far(start int32) int32 {
	seen, order := make([]bool, len(g.adj)), []int32{start}
	seen[start] = true
	for at := 0; at < len(order); at++ {
		for _, u := range g.adj[order[at]] {
			if !seen[u] {
				seen[u] = true
				order = append(order, u)
			}
		}
	}
	return order[len(order)-1]
}

// front returns an upper bound on log₂ of the entries of the largest clique if variables are
// eliminated breadth first from start. The bound is the largest table, at any time during the
// search, over the variables reached and not yet eliminated.
func (g *graph) front(start int32) (bits float64) {
	seen, order := make([]bool, len(g.adj)), make([]int32, 0, len(g.adj))
	weight := 0.0
	meet := func(v int32) {
		if !seen[v] {
			seen[v] = true
			order = append(order, v)
			weight += g.bits[v]
		}
	}
	for v := -1; v < len(g.adj); v++ {
		if v < 0 {
			meet(start)
		} else {
			meet(int32(v))
		}
		for at := len(order) - 1; at < len(order); at++ {
			for _, u := range g.adj[order[at]] {
				meet(u)
			}
			bits = max(bits, weight)
			weight -= g.bits[order[at]]
		}
	}
	return bits
}

// sweep eliminates variables starting from start, one connected component after the other. It
// always eliminates a variable of the front whose elimination adds the smallest table of new
// variables to the front; among several, the oldest (King 1970). Strips are eliminated along
// their length.
func (g *graph) sweep(start int32, l limits) *elimination {
	own := g.clone()
	seen := make([]bool, len(g.adj))
	var front []int32
	unseen := 0
	return own.eliminate(l, func(_ int32, near []int32, work *int) int32 {
		for _, u := range near {
			if !seen[u] {
				seen[u] = true
				front = append(front, u)
			}
		}
		best, least := -1, math.Inf(1)
		for k, u := range front {
			grows := 0 - g.bits[u]
			for _, w := range g.adj[u] {
				if !seen[w] {
					grows += g.bits[w]
				}
			}
			*work += len(g.adj[u]) + 1
			if grows < least {
				best, least = k, grows
			}
		}
		if best >= 0 {
			v := front[best]
			front = slices.Delete(front, best, best+1)
			return v
		}
		for v := start; ; {
			if !seen[v] {
				seen[v] = true
				return v
			}
			v = int32(unseen)
			unseen++
		}
	})
}

const (
	restarts = 24      // maximum number of random repetitions of greedy orders
	patience = 1e7     // operations of one order, about 0.4 s
	quick    = 1 << 14 // operations that a search may always spend
)

// search returns the orders found whose messages have at most 2^message entries, the cheapest
// first. Candidates are the given order, sweeps from two ends, and greedy orders. Greedy orders
// are repeated until the cost of the search reaches a share of what they could save.
func (g *graph) search(ctx context.Context, message float64) (found []*elimination, err error) {
	if len(g.adj) == 0 {
		return []*elimination{{}}, nil
	}
	g.meter = new(poll.Meter)
	g.meter.Watch(ctx)
	l := limits{message, math.Inf(1), patience}
	spent := 0.0
	var best *elimination
	try := func(e *elimination) {
		if e == nil {
			return
		}
		spent += float64(e.work)
		found = append(found, e)
		if best == nil || e.entries < best.entries {
			best, l.entries = e, e.entries
		}
	}
	natural := make([]int32, len(g.adj))
	for i := range natural {
		natural[i] = int32(i)
	}
	try(g.follow(natural, l))
	start := int32(0)
	for range 2 {
		if g.late != nil {
			break // a sweep does not wait
		}
		start = g.far(start)
		try(g.sweep(start, l))
	}
	r := rand.New(rand.NewPCG(44, 1))
	for k := range restarts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if best == nil && k > 0 && len(g.adj) > quick || k >= 2 && (best == nil && k >= 6 || best != nil && spent > max(quick, best.entries/8)) {
			break
		}
		before := l.work
		e := g.greedy(k%2 == 1, l, r)
		if e == nil {
			spent += float64(before) / restarts
		}
		try(e)
	}
	slices.SortStableFunc(found, func(a, b *elimination) int { return cmp.Compare(a.entries, b.entries) })
	return found, ctx.Err()
}

// common returns the number of entries that two ascending lists share.
func common(a, b []int32) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			i, j, n = i+1, j+1, n+1
		}
	}
	return n
}

// lowerBound returns a lower bound on log₂ of the number of entries of the largest clique of any
// order, by minor-min-width (Gogate and Dechter 2004). It repeatedly merges the variable of the
// smallest clique into the neighbour with which it shares the fewest neighbours (Bodlaender and
// Koster 2011). A merged variable has the smaller number of levels of the two. The search stops
// after work operations.
func (g *graph) lowerBound(work int) (bits float64) {
	own := g.clone()
	own.bits = slices.Clone(g.bits)
	score, gone := make([]float64, len(g.adj)), make([]bool, len(g.adj))
	var queue []place
	push := func(v int32) {
		score[v] = own.weight(v) + own.bits[v]
		queue = heap.Push(queue, place{score: score[v], v: v}, place.before)
		work -= len(own.adj[v]) + 20
	}
	for v := range g.adj {
		push(int32(v))
	}
	var buf []int32
	for len(queue) > 0 && work > 0 {
		var p place
		queue, p = heap.Pop(queue, place.before)
		v := p.v
		if gone[v] || p.score != score[v] {
			continue
		}
		bits = max(bits, p.score)
		gone[v] = true
		near := own.adj[v]
		if len(near) == 0 {
			continue
		}
		u, fewest := near[0], math.MaxInt
		for _, w := range near {
			both := common(near, own.adj[w])
			work -= len(near) + len(own.adj[w])
			if both < fewest {
				u, fewest = w, both
			}
		}
		own.bits[u] = min(own.bits[u], own.bits[v])
		for _, w := range near {
			if w != u {
				buf = union(buf, own.adj[w], []int32{u}, v, v)
				own.adj[w] = append(own.adj[w][:0], buf...)
				work -= len(buf)
			}
		}
		buf = union(buf, own.adj[u], near, u, v)
		own.adj[u] = append(own.adj[u][:0], buf...)
		push(u)
		for _, w := range near {
			if w != u {
				push(w)
			}
		}
		for _, w := range own.adj[u] { // they see other levels at u
			if score[w] != own.weight(w)+own.bits[w] {
				push(w)
			}
		}
	}
	return bits
}
