package ground

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/planar"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Certificate is a lower bound on the energy of a model, with a proof that has been checked.
type Certificate struct {
	Energy float64 // no state has a lower energy, up to rounding of the model's own energies
	Method string  // "planar matching", "toroidal matching", "odd cycles" or "roof duality"

	// State has this energy and is then a ground state; nil if no such state was constructed.
	State []int32

	// Fixed holds the level that a site has in every ground state, or −1 where no such level is
	// known. It is −1 everywhere if weights and fields are not multiples of one unit.
	Fixed []int32

	q     *quantised
	least int64 // four times the energy above that of state 0, in units
}

// Bound returns a lower bound on the energy of a model of pairs. It returns the best of these
// bounds:
//
//   - for a planar graph (with one more vertex if there are fields, joined to the sites that have
//     one) and for a lattice with periodic boundaries: the least weight of unsatisfied bonds whose
//     ends in the dual graph are the frustrated faces, by a perfect matching of these faces
//     (Bieche, Maynard, Rammal and Uhry 1980; Thomas and Middleton 2007). On a planar graph the
//     bound is the lowest energy, and State is a ground state. On a torus it is the lowest energy
//     over four boundary conditions, and State is set if the matching belongs to the periodic one.
//     Sites of a torus are numbered row by row;
//   - for other graphs of at most 2¹⁷ bonds: a nearly optimal packing of frustrated closed walks,
//     by a primal-dual method (Barahona and Mahjoub 1986). Such a walk has an odd number of bonds
//     that favour opposite spins, so at least one bond of the walk is unsatisfied. On the union of
//     two planar graphs the bound is about as good as exact bounds of the two;
//   - for any graph: the roof dual of the quadratic function of bits (Hammer, Hansen and Simeone
//     1984), by a maximal flow. It also fixes sites. Without fields it is the sum of the lowest
//     energies that the single bonds can have.
//
// All bounds are sums of integers: weights and fields that are not multiples of a common unit are
// rounded to multiples of one, and the largest possible effect of the rounding is subtracted from
// the bound.
//
// Before Bound returns, separate code checks the dual solution of the matching, the packing, or the
// flow. An error of this check is a bug in this package. Bound also returns an error if m is not a
// Pairwise model of finite energies or if ctx ends.
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

// Proves reports whether x has the energy of the certificate, so that no state has a lower energy.
// Weights and fields must be multiples of one unit, up to rounding (2⁻⁴⁰ of the largest difference
// of energies); otherwise Proves returns false. It panics unless x has a level 0 or 1 for each
// site.
func (c *Certificate) Proves(x []int32) bool {
	return c.q.exact && c.q.of(x) == c.least
}

// quantised is a model whose weights and fields are integers, for bits and for spins:
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

// most is the maximum of a difference of energies, in units: a million such terms fit an int64.
const most = 1 << 29

func quantise(m energy.Model) (*quantised, error) {
	b := bonds.Of(m)
	if b == nil {
		return nil, errors.New("ground: Bound: the model is not Pairwise, want two levels and pairs")
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
	ulp := 0x1p-53 // relative rounding of multiples of the unit, none for a power of two
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
	q.lost /= 2 // every bond was met twice
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

// energy converts quarters of units to an energy, rounded down.
func (q *quantised) energy(quarters int64) float64 {
	e := q.first + float64(q.unit*(float64(quarters)/4))
	if q.lost > 0 {
		e -= q.lost + float64((math.Abs(q.first)+math.Abs(e))*0x1p-50)
	}
	return e
}

// of returns the energy of a state minus that of state 0, in quarters of units.
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

// frame is a graph of spins with closed walks in which every bond that lies on a cycle occurs
// twice. An additional spin, the last one, represents the field.
type frame struct {
	n     int
	ends  [][2]int32
	w     []int64   // bonds −|w| and +|w|
	faces [][]int32 // of bonds
	total int64     // Σ |w|
}

// frame returns the bonds and fields as a graph without faces.
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

// matched returns the certificate of a matching, or nil if the graph is neither planar nor a torus.
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
	// tries is how many other sets of bonds of least weight are looked at on a torus: each
	// belongs to one of four boundary conditions. The graph G62 of the Gset takes one.
	tries = 16

	// noise is the number of random weights, small parts of a unit, that select a set.
	noise = 1024
)

// another returns a random set of unsatisfied bonds of minimum weight.
func (g *frame) another(ctx context.Context, try uint64) ([]bool, error) {
	r := sampler.NewStream(0, math.MaxUint64-1-try) // of no search

	// The energy of the state is the proof.
	_, bad, err := g.noisy(r).solve(ctx, nil)
	return bad, err
}

// noisy returns a frame in which one of the minimum-weight sets of bonds is lighter than the
// others.
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

// torus returns a graph of n sites as a lattice of rows and columns with periodic boundaries, with
// bonds of weight 0 where the graph has none, or nil if it is not such a graph.
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
			// the bond to the right of i is 2i, the one down is 2i + 1
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

// state returns the state of the first sites spins in which exactly the given bonds are
// unsatisfied, or nil if there is none.
func (g *frame) state(bad []bool, sites int) []int32 {
	type end struct{ to, bond int32 }
	adj := make([][]end, g.n)
	for k, e := range g.ends {
		adj[e[0]], adj[e[1]] = append(adj[e[0]], end{e[1], int32(k)}), append(adj[e[1]], end{e[0], int32(k)})
	}
	s := make([]int8, g.n)
	for root := g.n - 1; root >= 0; root-- { // the spin of the field is up
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
	x := make([]int32, sites)
	for i := range x {
		x[i] = int32(s[i]+1) / 2
	}
	return x
}
