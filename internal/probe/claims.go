package probe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// Claims tests whether the optional methods of a model agree with its energies. It uses x and
// copies of x in which one or two random sites have changed. It tests
//
//   - the energy differences of single sites, and how the model updates them after a change;
//   - the energies that are returned with tables of differences;
//   - whether sites without an edge between them do not interact;
//   - the formula of a special form (torus, matching, pairs, clamp or layers), if the model
//     declares one.
//
// The error names the claim, the sites and both values. A claim is wrong if it is off by more than
// float32 rounding.
//
// Claims takes the time of about ten evaluations of the energy. If the model keeps a table of
// differences, the time to compute one table is added. Claims draws from a random stream of its own
// and does not modify x. If ctx ends, it returns nil.
func Claims(ctx context.Context, m energy.Model, x []int32, seed uint64) error {
	sites, levels := m.Shape()
	if levels < 2 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 0xc1a1))
	c := &change{m: m, x: x, levels: levels, i: r.IntN(sites), j: r.IntN(sites)}
	c.to, c.next = other(r, x[c.i], levels), other(r, x[c.j], levels)
	for k := range c.states { // x, its change at i, at j, and at both
		c.states[k] = slices.Clone(x)
		if k&1 != 0 {
			c.states[k][c.i] = c.to
		}
		if k&2 != 0 && c.j != c.i {
			c.states[k][c.j] = c.next
		}
	}
	m.Energy(c.e[:], slices.Concat(c.states[:]...))
	for _, e := range c.e {
		if math.IsNaN(e) || math.IsInf(e, 0) {
			return nil // differences say nothing here
		}
	}
	for _, check := range []func(*change) error{
		(*change).single, (*change).local, (*change).reported, (*change).strangers, (*change).torus,
		(*change).matching, (*change).pairs, (*change).clamped, (*change).layers,
	} {
		if ctx.Err() != nil {
			return nil
		}
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// other returns a random level other than l.
func other(r *rand.Rand, l int32, levels int) int32 {
	return (l + 1 + int32(r.IntN(levels-1))) % int32(levels)
}

// change describes two changes of the state x: site i to the level to, and site j to the level
// next.
type change struct {
	m        energy.Model
	x        []int32
	levels   int
	i, j     int
	to, next int32
	states   [4][]int32
	e        [4]float64
}

// near reports whether a claimed difference is correct. It allows an error of 2⁻¹⁴ of the
// difference and 2⁻²⁰ of the energies, a few roundings of float32.
func (c *change) near(want, got float64) bool {
	return math.Abs(want-got) <= float64(0x1p-14*(1+math.Abs(want)))+float64(0x1p-20*(math.Abs(c.e[0])+math.Abs(c.e[1])))
}

// difference returns an error unless got is the energy difference of the change at site i.
func (c *change) difference(claim string, got float64) error {
	if want := c.e[1] - c.e[0]; !c.near(want, got) {
		return fmt.Errorf("the model's %s has %v for the change of site %d from level %d to %d, and its Energy %v: see energytest.TestModel", claim, got, c.i, c.x[c.i], c.to, want)
	}
	return nil
}

// energy returns an error unless got is the energy of state k.
func (c *change) energy(claim string, k int, got float64) error {
	if !c.near(c.e[k], got) {
		return fmt.Errorf("the model's %s has the energy %v for a state with level %d at site %d, and its Energy %v: see energytest.TestModel", claim, got, c.states[k][c.i], c.i, c.e[k])
	}
	return nil
}

func (c *change) single() error {
	m, ok := energy.As[energy.Conditional](c.m)
	if !ok {
		return nil
	}
	d := make([]float64, c.levels)
	m.Conditional(d, c.i, c.x)
	return c.difference("Conditional", d[c.to]-d[c.x[c.i]])
}

// local tests the table of single-site energies, before and after a change.
func (c *change) local() error {
	m, ok := energy.As[energy.Local](c.m)
	if !ok || len(c.x)*c.levels > large {
		return nil
	}
	d := make([]float64, len(c.x)*c.levels)
	m.Locals(d, c.x)
	row := d[c.i*c.levels:]
	if err := c.difference("Locals", row[c.to]-row[c.x[c.i]]); err != nil || c.i == c.j {
		return err
	}
	m.Move(d, c.i, c.to, c.x)
	row = d[c.j*c.levels:]
	got, want := row[c.next]-row[c.x[c.j]], c.e[3]-c.e[1]
	if !c.near(want, got) {
		return fmt.Errorf("after Move of site %d from level %d to %d the model's table has %v for the change of site %d from level %d to %d, and its Energy %v: see energytest.TestModel",
			c.i, c.x[c.i], c.to, got, c.j, c.x[c.j], c.next, want)
	}
	return nil
}

// reported tests the energies that tables report.
func (c *change) reported() error {
	var e [1]float64
	if m, ok := energy.As[energy.Binary](c.m); ok {
		h := make([]float32, len(c.x))
		m.Field(e[:], h, c.x)
		if err := c.energy("Field", 0, e[0]); err != nil {
			return err
		}
	}
	if m, ok := energy.As[energy.Incremental](c.m); ok {
		h, cache, next := make([]float32, len(c.x)), make([]float64, m.CacheLen()), make([]float64, m.CacheLen())
		m.FieldFrom(e[:], h, cache, c.x, nil, nil)
		m.FieldFrom(e[:], h, next, c.states[1], cache, c.x)
		if err := c.energy("FieldFrom", 1, e[0]); err != nil {
			return err
		}
	}
	if m, ok := energy.As[energy.Windowed](c.m); ok {
		m.Window(e[:], make([]float32, 3*len(c.x)), c.x, 1)
		if err := c.energy("Window", 0, e[0]); err != nil {
			return err
		}
	}
	if m, ok := energy.As[energy.Differentiable](c.m); ok && len(c.x)*c.levels <= large {
		m.Gradient(e[:], make([]float32, len(c.x)*c.levels), c.x)
		return c.energy("Gradient", 0, e[0])
	}
	return nil
}

// strangers tests that two sites without an edge in the graph do not interact.
func (c *change) strangers() error {
	m, ok := energy.As[energy.Graphical](c.m)
	if !ok || c.i == c.j {
		return nil
	}
	start, adj := m.Graph()
	if _, found := slices.BinarySearch(adj[start[c.i]:start[c.i+1]], int32(c.j)); found {
		return nil
	}
	if a, b := c.e[1]-c.e[0], c.e[3]-c.e[2]; !c.near(a, b) {
		return fmt.Errorf("sites %d and %d are not neighbours by the model's Graph, and the change of the first from level %d to %d costs %v, or %v once the second has changed from %d to %d: see energytest.TestModel",
			c.i, c.j, c.x[c.i], c.to, a, b, c.x[c.j], c.next)
	}
	return nil
}

func (c *change) torus() error {
	m, ok := energy.As[energy.Toroidal](c.m)
	if !ok {
		return nil
	}
	cols, d, ok := m.Torus()
	if !ok || cols < 1 || len(c.x)%cols != 0 {
		return nil
	}
	rows, row, col := len(c.x)/cols, c.i/cols, c.i%cols
	if rows == 1 || cols == 1 {
		return nil // a site is its own neighbour
	}
	up := 0
	for _, at := range [][2]int{{(row + 1) % rows, col}, {(row + rows - 1) % rows, col}, {row, (col + 1) % cols}, {row, (col + cols - 1) % cols}} {
		up += int(c.x[at[0]*cols+at[1]])
	}
	got := d[up]
	if c.to == 0 {
		got = -got
	}
	return c.difference("Torus", got)
}

func (c *change) matching() error {
	m, ok := energy.As[energy.Matching](c.m)
	if !ok {
		return nil
	}
	coupling, field, ok := m.Matching()
	if !ok {
		return nil
	}
	start, adj := m.Graph()
	from, got := c.x[c.i], float64(0)
	for _, j := range adj[start[c.i]:start[c.i+1]] {
		switch c.x[j] {
		case from:
			got += coupling
		case c.to:
			got -= coupling
		}
	}
	return c.difference("Matching", got+field[from]-field[c.to])
}

func (c *change) pairs() error {
	m, ok := energy.As[energy.Pairwise](c.m)
	if !ok {
		return nil
	}
	start, adj, weight, field, ok := m.Pairs()
	if !ok {
		return nil
	}
	got := field[c.i]
	for k := start[c.i]; k < start[c.i+1]; k++ {
		if c.x[adj[k]] == 1 {
			got += weight[k]
		}
	}
	if c.to == 0 {
		got = -got
	}
	return c.difference("Pairs", got)
}

func (c *change) clamped() error {
	m, ok := energy.As[energy.Clamped](c.m)
	if !ok {
		return nil
	}
	inside, _ := m.Unclamped()
	var e [1]float64
	inside.Energy(e[:], c.x)
	return c.energy("Unclamped", 0, e[0])
}

// layers tests the conditionals of a bipartite model with the hidden state of zeros: −E(x) + log
// p(h|x) − log p(x|h) must be equal for x and its change.
func (c *change) layers() error {
	m, ok := energy.As[energy.Bipartite](c.m)
	if !ok {
		return nil
	}
	up, down, h := make([]float32, m.Hidden()), make([]float32, len(c.x)), make([]int32, m.Hidden())
	m.VisibleField(down, h)
	odds := float64(down[c.i])
	if c.to == 0 {
		odds = -odds
	}
	m.HiddenField(up, c.states[1])
	for _, f := range up {
		odds += simd.Softplus(float64(f)) // minus log p(h_j = 0 | x)
	}
	m.HiddenField(up, c.x)
	for _, f := range up {
		odds -= simd.Softplus(float64(f))
	}
	return c.difference("HiddenField and VisibleField", -odds)
}
