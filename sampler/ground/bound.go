package ground

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/heap"
	"github.com/gibbsite-go/gibbsite/internal/matching"
	"github.com/gibbsite-go/gibbsite/internal/planar"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Certificate is a proven lower bound on the energy of a model. [Bound] has checked the proof.
type Certificate struct {
	// Energy is the bound. No state has a lower energy, up to rounding of the model's energies.
	Energy float64
	Method string // name of the bound: "planar matching", "toroidal matching", "odd cycles" or "roof duality"

	// State is a state of least energy: its energy equals the bound. State is nil if none was
	// constructed.
	State []int32

	// Fixed holds for each site the level that it has in every state of least energy, or −1 if none
	// is known. It is −1 everywhere unless weights and fields are multiples of a common unit.
	Fixed []int32

	q     *quantised
	least int64 // four times the bound minus the energy of state 0, in units
}

// Bound computes a lower bound on the energy of a model of pairs, and checks its proof. A bond is a
// coupled pair of sites. It favours equal levels or opposite levels, and is unsatisfied if the pair
// does not have them. Bound takes the best of these bounds:
//
//   - For a planar graph and for a lattice with periodic boundaries (torus), numbered row by row: a
//     perfect matching of the frustrated faces (Bieche, Maynard, Rammal and Uhry 1980; Thomas and
//     Middleton 2007). A face is frustrated if an odd number of its bonds favour opposite levels.
//     On a planar graph the bound is the lowest energy, and State has this energy. On a torus the
//     bound is the lowest energy over four boundary conditions, one of which is periodic in both
//     directions. State is set if a matching for that one is found.
//   - For other graphs of at most 2¹⁷ bonds: a nearly optimal packing of frustrated closed walks
//     (Barahona and Mahjoub 1986). At least one bond of such a walk is unsatisfied.
//   - For any graph: the roof dual of the quadratic function of bits (Hammer, Hansen and Simeone
//     1984), which also fixes sites. Without fields it is the sum of the lowest energies of the
//     single bonds.
//
// If weights and fields have no common unit, they are rounded, and the largest possible effect of
// rounding is subtracted from the bound.
//
// Bound returns an error if m is not a Pairwise model of finite energies or if ctx ends. Separate
// code checks the dual solution; if this check fails, the error indicates a bug in this package.
func Bound(ctx context.Context, m energy.Model) (*Certificate, error) {
	q, err := quantise(m)
	if err != nil {
		return nil, err
	}
	c, err := q.roof(ctx)
	if err != nil {
		return nil, err
	}
	d, err := q.matched(ctx)
	if err != nil {
		return nil, err
	}
	if d == nil {
		if d, err = q.cycles(ctx); err != nil {
			return nil, err
		}
	}
	if d != nil && d.least >= c.least {
		d.Fixed = c.Fixed
		c = d
	}
	c.q = q
	c.Energy = q.energy(c.least)
	if c.State != nil && q.of(c.State) != c.least {
		return nil, fmt.Errorf("ground: Bound: the state built has %d units, want %d", q.of(c.State), c.least)
	}
	return c, nil
}

// Proves reports whether the energy of x equals the bound. If so, no state has a lower energy than
// x. Proves returns false unless weights and fields are multiples of one unit, up to rounding (2⁻⁴⁰
// of the largest energy difference). It panics unless x holds a level 0 or 1 for each site.
func (c *Certificate) Proves(x []int32) bool {
	return c.q.exact && c.q.of(x) == c.least
}

// quantised is a model whose weights w and fields f are integers in some unit, for bits x and
// spins s:
//
//	E(x) = first + unit·(Σ_i f_i x_i + Σ_{i<j} w_ij x_i x_j) ± lost
//	     = first + unit/4·(Σ_{i<j} w_ij s_i s_j + Σ_i h_i s_i + constant) ± lost,  s = 2x − 1.
type quantised struct {
	start, adj    []int32
	weight, field []int64
	h             []int64
	constant      int64

	first, unit, lost float64
	exact             bool
}

// most is the maximum difference of energies, in units. A million differences still fit an int64.
const most = 1 << 29

func quantise(m energy.Model) (*quantised, error) {
	b := bonds.Of(m)
	if b == nil {
		return nil, fmt.Errorf("ground: Bound: the model is %T, want one of pairs (ground.Pairwise), of two levels and without fixed sites", m)
	}
	sites, _ := m.Shape()
	if err := b.Check(sites); err != nil {
		return nil, fmt.Errorf("ground: Bound: %w", err)
	}
	q := &quantised{start: b.Start, adj: b.Adj, exact: true, weight: make([]int64, len(b.Weight)), field: make([]int64, sites), h: make([]int64, sites)}
	e := make([]float64, 1)
	m.Energy(e, make([]int32, sites))
	if q.first = e[0]; math.IsNaN(q.first) || math.IsInf(q.first, 0) {
		return nil, fmt.Errorf("ground: Bound: the energy of state 0 is %v, want a finite number", q.first)
	}
	reach := b.Reach()
	_, _, unit, ok := b.Integers(most)
	if q.unit = unit; !ok {
		q.unit = math.Ldexp(1, math.Ilogb(reach)-28)
		if q.unit == 0 {
			return nil, fmt.Errorf("ground: Bound: differences of energies up to %v, want larger ones: scale the model", reach)
		}
	}
	// relative rounding error of multiples of the unit; 0 if the unit is a power of two
	ulp := 0x1p-53
	if fraction, _ := math.Frexp(q.unit); fraction == 0.5 {
		ulp = 0
	}
	round := func(v float64) int64 {
		k := math.Round(v / q.unit)
		multiple := float64(k * q.unit)
		q.lost += math.Abs(multiple-v) + float64(math.Abs(multiple)*ulp)
		return int64(k)
	}
	for k, w := range b.Weight {
		q.weight[k] = round(w)
	}
	q.lost /= 2 // every bond was counted twice
	for i, f := range b.Field {
		q.field[i] = round(f)
		q.h[i] = 2 * q.field[i]
		q.constant += 2 * q.field[i]
		for k := b.Start[i]; k < b.Start[i+1]; k++ {
			q.h[i] += q.weight[k]
			if int(b.Adj[k]) > i {
				q.constant += q.weight[k]
			}
		}
	}
	q.exact = ok && q.lost <= reach*rounding
	return q, nil
}

// energy converts quarters of units above state 0 to an energy, rounded down.
func (q *quantised) energy(quarters int64) float64 {
	e := q.first + float64(q.unit*(float64(quarters)/4))
	if q.lost > 0 {
		e -= q.lost + float64((math.Abs(q.first)+math.Abs(e))*0x1p-50)
	}
	return e
}

// of returns the energy of state x minus the energy of state 0, in quarters of units.
func (q *quantised) of(x []int32) int64 {
	if len(x) != len(q.field) {
		panic(fmt.Sprintf("ground: len(x) = %d, want %d", len(x), len(q.field)))
	}
	sum := int64(0)
	for i, l := range x {
		if l == 0 {
			continue
		}
		sum += q.field[i]
		for k := q.start[i]; k < q.start[i+1]; k++ {
			if j := q.adj[k]; int(j) > i && x[j] != 0 {
				sum += q.weight[k]
			}
		}
	}
	return 4 * sum
}

// frame is a graph of spins with its faces. Faces are closed walks such that every bond that lies
// on a cycle occurs twice in them. If there are fields, an additional last spin represents them.
type frame struct {
	n     int
	ends  [][2]int32
	w     []int64   // weight of each bond; a positive weight favours opposite spins
	faces [][]int32 // bonds of each face
	total int64     // sum of |w| over all bonds
}

// frame returns the bonds and fields of q as a graph without faces.
func (q *quantised) frame() *frame {
	g := &frame{n: len(q.field)}
	add := func(i, j int32, w int64) {
		g.ends, g.w = append(g.ends, [2]int32{i, j}), append(g.w, w)
		g.total += max(w, -w)
	}
	for i := range q.field {
		for k := q.start[i]; k < q.start[i+1]; k++ {
			if j := q.adj[k]; int(j) > i && q.weight[k] != 0 {
				add(int32(i), j, q.weight[k])
			}
		}
	}
	for i, h := range q.h {
		if h != 0 {
			g.n = len(q.field) + 1
			add(int32(i), int32(len(q.field)), h)
		}
	}
	return g
}

// matched returns the certificate by a matching, or nil if the graph is neither planar nor a
// torus.
func (q *quantised) matched(ctx context.Context) (*Certificate, error) {
	g := q.frame()
	method := "planar matching"
	faces, ok, err := planar.Faces(ctx, g.n, g.ends)
	if err != nil {
		return nil, err
	}
	if g.faces = faces; !ok {
		method = "toroidal matching"
		if g = g.torus(); g == nil {
			return nil, nil
		}
	}
	unsatisfied, bad, err := g.solve(ctx, g.checkDual)
	if err != nil {
		return nil, fmt.Errorf("ground: Bound: %s: %w", method, err)
	}
	c := &Certificate{Method: method, least: 2*unsatisfied - g.total + q.constant}
	c.State = g.state(bad, len(q.field))
	for try := range uint64(tries) {
		if c.State != nil || g.total > math.MaxInt64/4/(noise*int64(len(g.w))) {
			break
		}
		if bad, err = g.another(ctx, try); err != nil {
			return nil, fmt.Errorf("ground: Bound: %s: %w", method, err)
		}
		if x := g.state(bad, len(q.field)); x != nil && q.of(x) == c.least {
			c.State = x
		}
	}
	return c, nil
}

const (
	// tries is the maximum number of further least-weight sets of unsatisfied bonds that are
	// examined on a torus. Each set belongs to one of four boundary conditions. The graph G62 of
	// the Gset needs one further set.
	tries = 16

	// noise is the number of different random perturbations of a weight, small parts of a unit.
	// They select one of the least-weight sets.
	noise = 1024
)

// another returns a random set of unsatisfied bonds of least weight.
func (g *frame) another(ctx context.Context, try uint64) ([]bool, error) {
	r := sampler.NewStream(0, math.MaxUint64-1-try) // a stream that no search uses

	// No check of the dual solution is needed, because the energy of the state is the proof.
	_, bad, err := g.noisy(r).solve(ctx, nil)
	return bad, err
}

// noisy returns the frame with weights scaled up and perturbed, so that one of the least-weight
// sets of bonds is lighter than the others.
func (g *frame) noisy(r *sampler.Stream) *frame {
	h := *g
	h.w, h.total = make([]int64, len(g.w)), 0
	for k, w := range g.w {
		v := max(w, -w)*noise*int64(len(g.w)) + int64(r.IntN(noise))
		h.total += v
		if h.w[k] = v; w <= 0 {
			h.w[k] = -v
		}
	}
	return &h
}

// torus returns the graph as a lattice of rows and columns with periodic boundaries, or nil if it
// is not such a lattice. Bonds that the graph lacks get weight 0.
func (g *frame) torus() *frame {
	for columns := 3; columns <= g.n/3; columns++ {
		if g.n%columns != 0 || !g.fits(columns) {
			continue
		}
		bonds := make(map[[2]int32]int64, len(g.ends))
		for k, e := range g.ends {
			bonds[[2]int32{min(e[0], e[1]), max(e[0], e[1])}] = g.w[k]
		}
		t := &frame{n: g.n, total: g.total}
		for i := range g.n {
			right, down := i/columns*columns+(i+1)%columns, (i+columns)%g.n
			for _, j := range []int{right, down} {
				t.ends = append(t.ends, [2]int32{int32(i), int32(j)})
				t.w = append(t.w, bonds[[2]int32{int32(min(i, j)), int32(max(i, j))}])
			}
			// Bond 2i joins i to its right neighbour, bond 2i + 1 to the neighbour below.
			t.faces = append(t.faces, []int32{int32(2 * i), int32(2*right + 1), int32(2 * down), int32(2*i + 1)})
		}
		return t
	}
	return nil
}

// fits reports whether every bond joins neighbours on a torus with the given number of columns.
func (g *frame) fits(columns int) bool {
	for _, e := range g.ends {
		i, j := int(e[0]), int(e[1])
		right := func(a, b int) bool { return a/columns*columns+(a+1)%columns == b }
		down := func(a, b int) bool { return (a+columns)%g.n == b }
		if !right(i, j) && !right(j, i) && !down(i, j) && !down(j, i) {
			return false
		}
	}
	return true
}

// state returns a state in which exactly the bonds in the set bad are unsatisfied, or nil if there
// is no such state. The result holds only the first n spins.
func (g *frame) state(bad []bool, n int) []int32 {
	type end struct{ to, bond int32 }
	adj := make([][]end, g.n)
	for k, e := range g.ends {
		adj[e[0]], adj[e[1]] = append(adj[e[0]], end{e[1], int32(k)}), append(adj[e[1]], end{e[0], int32(k)})
	}
	s := make([]int8, g.n)
	for root := g.n - 1; root >= 0; root-- { // the spin of the field, which is last, is up
		if s[root] != 0 {
			continue
		}
		s[root] = 1
		for queue := []int32{int32(root)}; len(queue) > 0; queue = queue[1:] {
			v := queue[0]
			for _, a := range adj[v] {
				want := s[v]
				if (g.w[a.bond] > 0) != bad[a.bond] { // opposite spins satisfy a bond > 0
					want = -want
				}
				switch s[a.to] {
				case 0:
					s[a.to] = want
					queue = append(queue, a.to)
				case -want:
					return nil
				}
			}
		}
	}
	x := make([]int32, n)
	for i := range x {
		x[i] = int32(s[i]+1) / 2
	}
	return x
}

// packing computes a lower bound on the weight of the unsatisfied bonds of a graph of spins. If a
// closed walk has an odd number of bonds of positive weight (bonds > 0, which favour opposite
// spins), at least one of its bonds is unsatisfied. Let such walks C share the weights w_k of the
// bonds k,
//
//	Σ_{C ∋ k} y_C ≤ |w_k|,  y ≥ 0.
//
// Then unsatisfied bonds weigh at least Σ_C y_C. The largest such sum is the bound by odd cycles
// (Barahona and Mahjoub 1986), a linear program. Shortest paths generate its walks. The
// primal-dual method of Chambolle and Pock (2011), with the step sizes of Pock and Chambolle
// (2011), reduces the gap between the two sides of the program.
type packing struct {
	g          *frame
	meter      poll.Meter
	start      []int32 // per vertex: index of its first arc in ends
	ends       []arc
	walks      [][]int32 // bonds of each walk, ascending and distinct
	met        map[string]bool
	y          []float64 // per walk C: its share y_C of the weights of its bonds
	price      []float64 // per bond: its price in the dual program
	load, next []float64
	most       int       // maximum number of new walks per vertex and round
	uses       []float64 // per bond: number of walks that contain it

	// dist holds the distances found by a search from one vertex. This slice and the following ones
	// are indexed by 2·vertex + parity. The parity is that of the number of bonds > 0 on the path.
	dist  []float64
	last  []int32 // bond by which the entry was reached
	from  []int32
	stamp []int32 // number of the search that reached the entry last
	done  []int32 // number of the search that settled the entry last
	now   int32
	queue []label
}

type arc struct {
	to, bond int32
	odd      int32 // 1 if the weight of the bond is positive, else 0
}

type label struct {
	d float64
	v int32
}

const (
	// mostBonds is the maximum number of bonds of a graph whose odd cycles are packed. It limits
	// time and memory.
	mostBonds = 1 << 17

	packRounds = 12  // maximum number of rounds that generate walks
	packSteps  = 120 // primal-dual steps per round
	// additional rounds of steps at the end, so that shares nearly fit the weights
	packLast = 4
	packGain = 0.002 // relative gain of a round below which it is the last

	settled = 600 // maximum number of vertices with parity that a search settles
	// maximum number of arcs that a search examines, not counting those of its last vertex
	seen = 8 * settled
	// new walks per vertex and round, in addition to the mean number of bonds per vertex
	perVertex = 3

	// elementary operations (see [poll.Every]) per arc examined and per bond of a walk
	lookWork, walkWork = 64, 256
)

// newPacking returns a packing without walks. The methods of the packing return early once ctx has
// ended. The meter of the packing then has an error.
func (g *frame) newPacking(ctx context.Context) *packing {
	m := len(g.w)
	p := &packing{g: g, start: make([]int32, g.n+1), met: map[string]bool{}, price: make([]float64, m), load: make([]float64, m), next: make([]float64, m), uses: make([]float64, m)}
	p.meter.Watch(ctx)
	degree := make([]int, g.n)
	touching := make([][]int32, g.n)
	for k, e := range g.ends {
		for _, v := range e {
			degree[v]++
			touching[v] = append(touching[v], int32(k))
		}
	}
	gone := make([]bool, m) // bonds on no cycle, which belong to attached trees
	var leaves []int32
	for v, d := range degree {
		if d == 1 {
			leaves = append(leaves, int32(v))
		}
	}
	for ; len(leaves) > 0; leaves = leaves[1:] {
		for _, k := range touching[leaves[0]] {
			if gone[k] {
				continue
			}
			gone[k] = true
			for _, v := range g.ends[k] {
				if degree[v]--; degree[v] == 1 && v != leaves[0] {
					leaves = append(leaves, v)
				}
			}
		}
	}
	for v, list := range touching {
		for _, k := range list {
			if gone[k] {
				continue
			}
			e := g.ends[k]
			a := arc{to: e[0] + e[1] - int32(v), bond: k}
			if g.w[k] > 0 {
				a.odd = 1
			}
			p.ends = append(p.ends, a)
		}
		p.start[v+1] = int32(len(p.ends))
	}
	p.most = perVertex + m/max(1, g.n)
	p.dist, p.last, p.from, p.stamp = make([]float64, 2*g.n), make([]int32, 2*g.n), make([]int32, 2*g.n), make([]int32, 2*g.n)
	p.done = make([]int32, 2*g.n)
	return p
}

// cycles returns the certificate by odd cycles, or nil if there are too many bonds.
func (q *quantised) cycles(ctx context.Context) (*Certificate, error) {
	g := q.frame()
	if len(g.w) > mostBonds {
		return nil, nil
	}
	p := g.newPacking(ctx)
	for k := range p.price {
		p.price[k] = 1 / float64(g.n) // equal prices, so that short walks come first
	}
	last := 0.0
	for round := range packRounds {
		if p.meter.Poll() != nil || p.generate() == 0 {
			break
		}
		if round == 0 {
			clear(p.price)
		}
		sum := p.improve()
		if round > 1 && sum-last < packGain*sum {
			break
		}
		last = sum
	}
	for range packLast {
		p.improve()
	}
	scale, y := p.whole()
	if err := p.meter.Poll(); err != nil {
		return nil, err
	}
	sum, err := g.checkWalks(&p.meter, p.walks, y, scale)
	if err != nil && p.meter.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("ground: Bound: odd cycles: %w", err)
	}
	unit := int64(0) // common divisor of the weights, and so of the weight of unsatisfied bonds
	for _, w := range g.w {
		unit = gcd(unit, w)
	}
	unit = max(unit, 1)
	unsatisfied := (sum + unit*scale - 1) / (unit * scale) * unit
	return &Certificate{Method: "odd cycles", least: 2*unsatisfied - g.total + q.constant}, nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// generate adds the cheapest walks through each vertex that cost less than 1. It returns the number
// of walks added.
func (p *packing) generate() (found int) {
	for v := range p.g.n {
		if p.start[v] == p.start[v+1] {
			continue
		}
		added, work := p.near(int32(v))
		if found += added; p.meter.Done(work) {
			break
		}
	}
	return found
}

// near adds the cheapest walks through vertex v. Each consists of a bond and of paths from v to
// the two ends of the bond. It returns the number of walks added and the work done, in elementary
// operations.
func (p *packing) near(v int32) (found, work int) {
	const hop = 1e-6 // prefers fewer bonds among walks of equal cost
	type join struct {
		d          float64
		a, b, bond int32
	}
	p.now++
	before := func(a, b label) bool { return a.d < b.d || a.d == b.d && a.v < b.v }
	p.queue = append(p.queue[:0], label{0, 2 * v})
	p.dist[2*v], p.stamp[2*v], p.last[2*v] = 0, p.now, -1
	var best []join
	looks := 0
	for done := 0; len(p.queue) > 0 && done < settled && looks < seen; {
		var at label
		p.queue, at = heap.Pop(p.queue, before)
		if p.done[at.v] == p.now || at.d > p.dist[at.v] {
			continue
		}
		if at.d >= 0.5 || len(best) >= p.most && 2*at.d >= best[p.most-1].d {
			break
		}
		p.done[at.v] = p.now
		done++
		u := at.v / 2
		looks += int(p.start[u+1] - p.start[u])
		for _, a := range p.ends[p.start[u]:p.start[u+1]] {
			cost := p.price[a.bond] + hop
			to := 2*a.to + (at.v&1 ^ a.odd)
			// A path to the other parity of this end closes a walk.
			if other := to ^ 1; p.done[other] == p.now && a.bond != p.last[at.v] {
				if d := at.d + cost + p.dist[other]; d < 1 {
					best = append(best, join{d: d, a: at.v, b: other, bond: a.bond})
					slices.SortFunc(best, func(x, y join) int {
						switch {
						case x.d < y.d:
							return -1
						case x.d > y.d:
							return 1
						}
						return int(x.bond) - int(y.bond)
					})
					best = best[:min(len(best), 2*p.most)]
				}
			}
			if d := at.d + cost; p.stamp[to] != p.now || d < p.dist[to] {
				p.stamp[to], p.dist[to], p.last[to], p.from[to] = p.now, d, a.bond, at.v
				p.queue = heap.Push(p.queue, label{d, to}, before)
			}
		}
	}
	for _, j := range best {
		if found == p.most {
			break
		}
		odd := map[int32]bool{j.bond: true} // bonds that the walk contains an odd number of times
		for _, end := range []int32{j.a, j.b} {
			for at := end; p.last[at] >= 0; at = p.from[at] {
				if k := p.last[at]; odd[k] {
					delete(odd, k)
				} else {
					odd[k] = true
				}
			}
		}
		walk := make([]int32, 0, len(odd))
		for k := range odd {
			walk = append(walk, k)
		}
		slices.Sort(walk)
		work += walkWork * len(walk)
		key := fmt.Sprint(walk)
		if len(walk) == 0 || p.met[key] {
			continue
		}
		p.met[key] = true
		p.walks, p.y = append(p.walks, walk), append(p.y, 0)
		for _, k := range walk {
			p.uses[k]++
		}
		found++
	}
	return found, work + lookWork*looks
}

// improve makes steps of the primal-dual method and returns the sum of the shares of all walks.
func (p *packing) improve() (sum float64) {
	for range packSteps {
		sum = 0
		clear(p.next)
		for c, walk := range p.walks {
			cost := 0.0
			for _, k := range walk {
				cost += p.price[k]
			}
			old := p.y[c]
			p.y[c] = max(0, old+(1-cost)/float64(len(walk)))
			for _, k := range walk {
				p.next[k] += float64(2*p.y[c]) - old
			}
			if sum += p.y[c]; p.meter.Done(4 * len(walk)) {
				return sum
			}
		}
		for k, w := range p.g.w {
			if p.uses[k] > 0 {
				p.price[k] = max(0, p.price[k]+(p.next[k]-float64(max(w, -w)))/p.uses[k])
			}
		}
	}
	return sum
}

// whole returns the shares of the walks as integer multiples of 1/scale units. The shares on each
// bond add up to at most its weight.
func (p *packing) whole() (scale int64, y []int64) {
	scale = 1 << 20
	for scale > 1 && p.g.total > math.MaxInt64/4/scale {
		scale /= 2
	}
	clear(p.load)
	for c, walk := range p.walks {
		for _, k := range walk {
			p.load[k] += p.y[c]
		}
	}
	left := make([]int64, len(p.g.w))
	for k, w := range p.g.w {
		left[k] = max(w, -w) * scale
		p.load[k] /= float64(max(w, -w))
	}
	y = make([]int64, len(p.walks))
	take := func(c int, want int64) {
		if p.meter.Done(4 * len(p.walks[c])) {
			return
		}
		for _, k := range p.walks[c] {
			want = min(want, left[k])
		}
		for _, k := range p.walks[c] {
			left[k] -= want
		}
		y[c] += want
	}
	for c, walk := range p.walks {
		most := 1.0
		for _, k := range walk {
			most = max(most, p.load[k])
		}
		take(c, int64(p.y[c]/most*float64(scale)))
	}
	order := make([]int, len(y)) // the rest of the weights, to short walks first
	for c := range order {
		order[c] = c
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(p.walks[a]) - len(p.walks[b]) })
	for _, c := range order {
		take(c, math.MaxInt64)
	}
	return scale, y
}

// checkWalks returns the sum of the shares y of the walks, in parts 1/scale of a unit. It returns
// an error unless every walk is closed and has an odd number of bonds > 0. It also returns an error
// if the shares on a bond add up to more than its weight, or if the context of the meter ends.
func (g *frame) checkWalks(meter *poll.Meter, walks [][]int32, y []int64, scale int64) (sum int64, err error) {
	load := make([]int64, len(g.w))
	odd := map[int32]bool{}
	for c, walk := range walks {
		if y[c] < 0 {
			return 0, fmt.Errorf("check: walk %d has the share %d", c, y[c])
		}
		if meter.Done(walkWork * len(walk)) {
			return 0, meter.Err()
		}
		positive := 0
		clear(odd)
		for i, k := range walk {
			if i > 0 && walk[i-1] >= k {
				return 0, fmt.Errorf("check: walk %d has bond %d twice or out of order", c, k)
			}
			if g.w[k] > 0 {
				positive++
			}
			load[k] += y[c]
			for _, v := range g.ends[k] {
				odd[v] = !odd[v]
			}
		}
		for v, is := range odd {
			if is {
				return 0, fmt.Errorf("check: walk %d is open at vertex %d", c, v)
			}
		}
		if positive%2 == 0 {
			return 0, fmt.Errorf("check: walk %d has %d bonds > 0, want an odd number", c, positive)
		}
		sum += y[c]
	}
	for k, w := range g.w {
		if load[k] > max(w, -w)*scale {
			return 0, fmt.Errorf("check: bond %d carries %d of %d", k, load[k], max(w, -w)*scale)
		}
	}
	return sum, nil
}

// dualGraph is the graph whose vertices are the faces of a frame and whose edges are its bonds.
type dualGraph struct {
	adj [][]dualEdge

	distance []int64 // scratch of method reach, per face
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

// frustrated reports, for each face, whether it has an odd number of bonds > 0. An odd number of
// the bonds of such a face is unsatisfied in every state.
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

// reach calls f with the faces whose distance from a given face is at most radius, nearest first,
// until f returns false (Dijkstra 1959).
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

// solve returns the least weight of unsatisfied bonds that the frustrated faces require, and a
// set of such bonds. Every face has a radius. The matching omits a pair of faces if neither is
// within the other's radius. The dual variables of the matching show which radii are too short,
// and these radii then grow. If check is not nil, it examines the dual solution.
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
	// initially the distance to the nearest other frustrated face
	radius := make([]int64, len(face))
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
			if poll.Err(ctx) != nil {
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
		for i, v := range p { // no face beyond this distance has a tight edge to this one
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

// potentials returns, for each vertex, the sum of the dual variables of the vertex and of all
// sets that contain it.
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
// dual graph, paths between pairs of frustrated faces. Let y be the variables of faces and z
// those of sets of faces, all in halves. The weight of these paths is at least Σ y + Σ z if z ≥
// 0, all sets are odd, and every two frustrated faces u, v have a distance of at least y_u + y_v
// + Σ z, where the last sum is over the sets that contain one of u and v.
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
	sets := make([][]int, len(face)) // per frustrated face: the sets that contain it
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
	around := make([]int64, len(face)) // per frustrated face: its value plus the values of its sets
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
	// per face: neighbours and the weights of the bonds to them
	next := make([][][2]int64, len(g.faces))
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
	holds := make([]int, len(m.Sets)) // per set: index of the last face found to be a member
	for k := range holds {
		holds[k] = -1
	}
	for i, f := range face {
		if poll.Err(ctx) != nil {
			return context.Cause(ctx)
		}
		for _, k := range sets[i] {
			holds[k] = i
		}
		limit := around[i] + largest // twice a distance, beyond which the condition always holds
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

// flow is a flow network. Arcs 2k and 2k+1 are opposite to each other.
type flow struct {
	head     []int32 // per vertex: its first arc; −1 if it has none
	next     []int32
	to       []int32
	capacity []int64
	carried  []int64 // per arc: flow; negative if the opposite arc carries the flow

	level, at []int32
	meter     poll.Meter
}

// newFlow returns a network without arcs. It has capacity for the given number of them.
func newFlow(vertices, arcs int) *flow {
	n := &flow{
		head: make([]int32, vertices), level: make([]int32, vertices), at: make([]int32, vertices),
		next: make([]int32, 0, arcs), to: make([]int32, 0, arcs), capacity: make([]int64, 0, arcs), carried: make([]int64, 0, arcs),
	}
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

// arcWork is the work of adding, following or checking an arc, in elementary operations (see
// [poll.Every]).
const arcWork = 32

// levels stores in level the distance of each vertex from the source over arcs with residual
// capacity, or −1 for an unreachable vertex. It stops early if the context of the meter ends.
func (n *flow) levels(source int32) {
	for v := range n.level {
		n.level[v] = -1
	}
	n.level[source] = 0
	for queue := []int32{source}; len(queue) > 0; queue = queue[1:] {
		for a := n.head[queue[0]]; a >= 0 && !n.meter.Done(arcWork); a = n.next[a] {
			if v := n.to[a]; n.level[v] < 0 && n.residual(a) > 0 {
				n.level[v] = n.level[queue[0]] + 1
				queue = append(queue, v)
			}
		}
	}
}

// maximise increases the flow from source to sink to its maximum (Dinic 1970). It returns an error
// only if the context of the meter ends.
func (n *flow) maximise(source, sink int32) error {
	var way []int32
	for {
		n.levels(source)
		if err := n.meter.Poll(); err != nil {
			return err
		}
		if n.level[sink] < 0 {
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
			if n.meter.Done(arcWork) {
				return n.meter.Err()
			}
			if a < 0 { // dead end
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

// roof returns the certificate by the roof dual, with the sites that it fixes. The energy is
// written as a constant plus a sum of terms a·u·v, a > 0, of literals u and v: bits, their
// complements, and the constants 1 and 0. Vertex 2i represents x_i, vertex 2i+1 represents 1 − x_i,
// and the last two vertices represent 1 and 0. Each term gives two arcs of capacity a: from u to
// the complement of v, and from v to the complement of u. A flow of 2φ from 1 to 0 proves that the
// sum is at least φ. If the flow is maximal, every literal that can be reached from 1 is true in
// every minimum (Boros and Hammer 2002).
func (q *quantised) roof(ctx context.Context) (*Certificate, error) {
	sites := len(q.field)
	one := int32(2 * sites)
	net := newFlow(2*sites+2, 2*len(q.adj)+4*sites) // four arcs for each pair and for each site
	net.meter.Watch(ctx)
	term := func(u, v int32, a int64) {
		net.arc(u, v^1, a)
		net.arc(v, u^1, a)
	}
	linear := append([]int64{}, q.field...)
	for i := range q.field {
		if net.meter.Done(arcWork * int(q.start[i+1]-q.start[i])) {
			return nil, net.meter.Err()
		}
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
	if err := net.maximise(one, one+1); err != nil {
		return nil, err
	}
	value, err := net.check(one, one+1)
	if err != nil && net.meter.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("ground: Bound: roof duality: %w", err)
	}
	c := &Certificate{Method: "roof duality", least: 4*constant + 2*value, Fixed: make([]int32, sites)}
	net.levels(one)
	if err := net.meter.Poll(); err != nil {
		return nil, err
	}
	for i := range sites {
		c.Fixed[i] = -1
		up, down := net.level[2*i] >= 0, net.level[2*i+1] >= 0
		switch {
		case up && down:
			return nil, fmt.Errorf("ground: Bound: roof duality: site %d is fixed at both levels", i)
		case !q.exact: // not fixed, because the result may be due to rounding
		case up:
			c.Fixed[i] = 1
		case down:
			c.Fixed[i] = 0
		}
	}
	return c, nil
}

// check returns the value of the flow from source to sink. It returns an error unless every arc
// carries at most its capacity and the flow is conserved at every other vertex. It also returns an
// error if the context of the meter ends.
func (n *flow) check(source, sink int32) (value int64, err error) {
	net := make([]int64, len(n.head))
	for a := 0; a < len(n.to); a += 2 {
		if n.meter.Done(arcWork) {
			return 0, n.meter.Err()
		}
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
