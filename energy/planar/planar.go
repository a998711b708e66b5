package planar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/bonds"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Distribution is the distribution p(x) = exp(−E(x))/Z of an Ising model without a field on a
// planar graph. It is immutable and safe for concurrent use.
type Distribution struct {
	sites  int
	offset float64 // constant c for which the energy is c − Σ K s s
	at     [][2]float64
	ends   [][2]int32 // sites at the two ends of each edge
	k      []float64  // coupling K of each edge
	around [][]int32  // half-edges of each site, ordered by direction from −π to π
	up     []float64  // 1 for an edge that goes up from its first end; −1 for all others
}

// mostCoupling is the largest |K|. Beyond it, cancellation leaves no correct digit.
const mostCoupling = 16

// New returns the distribution of a two-level model with pair interactions, such as model.Ising.
// The field must be zero when the energy is written in spins ±1. Site i is drawn at points[i] in
// the plane, and edges are straight lines between the sites that interact.
//
// New returns an error in these cases:
//
//   - m is not such a model, or a coupling is beyond ±16 nats;
//   - points has the wrong length or a number that is not finite;
//   - the drawing is not planar: edges meet elsewhere than at their ends.
func New(m energy.Model, points [][2]float64) (*Distribution, error) {
	sites, levels, err := check.Shape("planar: New", m, 1, 1)
	if err != nil {
		return nil, err
	}
	b := bonds.Of(m)
	if b == nil || levels != 2 {
		return nil, fmt.Errorf("planar: New: the model is %T of %d levels, want pairs of 2 levels (energy.Pairwise)", m, levels)
	}
	if err := b.Check(sites); err != nil {
		return nil, fmt.Errorf("planar: New: %T: %w", m, err)
	}
	if len(points) != sites {
		return nil, fmt.Errorf("planar: New: len(points) = %d, want %d", len(points), sites)
	}
	d := &Distribution{sites: sites, at: slices.Clone(points), around: make([][]int32, sites)}
	for i, p := range points {
		if !check.Finite(p[0]) || !check.Finite(p[1]) {
			return nil, fmt.Errorf("planar: New: points[%d] = %v, want finite numbers", i, p)
		}
	}
	e := make([]float64, 1)
	m.Energy(e, make([]int32, sites)) // all spins are 1
	d.offset = e[0]
	for i := range sites {
		field, reach := float64(-b.Field[i]/2), math.Abs(b.Field[i])
		for k := b.Start[i]; k < b.Start[i+1]; k++ {
			j, w := b.Adj[k], b.Weight[k]
			field -= float64(w / 4)
			reach += math.Abs(w)
			if int32(i) > j || w == 0 {
				continue
			}
			if math.Abs(w/4) > mostCoupling {
				return nil, fmt.Errorf("planar: New: the coupling of sites %d and %d is %v nats, want at most ±%d; scale the model to a higher temperature", i, j, -w/4, mostCoupling)
			}
			edge := int32(len(d.k))
			d.ends, d.k = append(d.ends, [2]int32{int32(i), j}), append(d.k, -w/4)
			d.offset -= float64(w / 4)
			d.around[i], d.around[j] = append(d.around[i], 2*edge), append(d.around[j], 2*edge+1)
		}
		// A field within the rounding error of the sum counts as 0.
		if math.Abs(field) > 1e-12*reach {
			return nil, fmt.Errorf("planar: New: the field of site %d is %v nats, want 0: a field is one more site that interacts with all, and the graph is no longer planar", i, field)
		}
	}
	if err := d.draw(); err != nil {
		return nil, err
	}
	return d, nil
}

// direction returns the angle in (−π, π] in which a half-edge leaves its site.
func (d *Distribution) direction(h int32) float64 {
	e := d.ends[h/2]
	a, b := d.at[e[h%2]], d.at[e[1-h%2]]
	y := b[1] - a[1]
	if y == 0 {
		y = 0 // turns −0, whose angle may be −π, into 0
	}
	return math.Atan2(y, b[0]-a[0])
}

// draw computes the directions of the edges. It returns an error if the drawing is not planar.
func (d *Distribution) draw() error {
	d.up = make([]float64, len(d.k))
	for k := range d.k {
		if d.up[k] = -1; d.direction(int32(2*k)) > 0 {
			d.up[k] = 1
		}
	}
	for i, ends := range d.around {
		angle := make(map[int32]float64, len(ends))
		for _, h := range ends {
			angle[h] = d.direction(h)
		}
		slices.SortFunc(ends, func(a, b int32) int {
			if angle[a] < angle[b] {
				return -1
			}
			return 1
		})
		for k := 1; k < len(ends); k++ {
			if angle[ends[k]] == angle[ends[k-1]] {
				return fmt.Errorf("planar: New: points: two edges leave site %d in the same direction, to sites %d and %d, want a planar drawing", i, d.far(ends[k-1]), d.far(ends[k]))
			}
		}
	}
	return d.crossings()
}

// far returns the site at the other end of the half-edge h.
func (d *Distribution) far(h int32) int32 { return d.ends[h/2][1-h%2] }

// crossings returns an error if two edges share a point that is not an end of both. It sweeps the
// plane from left to right.
func (d *Distribution) crossings() error {
	type segment struct {
		edge                   int32
		left, right, low, high float64
	}
	all := make([]segment, len(d.ends))
	for k, e := range d.ends {
		a, b := d.at[e[0]], d.at[e[1]]
		if a == b {
			return fmt.Errorf("planar: New: points[%d] = points[%d] = %v, want different places for sites that interact", e[0], e[1], a)
		}
		all[k] = segment{int32(k), min(a[0], b[0]), max(a[0], b[0]), min(a[1], b[1]), max(a[1], b[1])}
	}
	slices.SortFunc(all, func(a, b segment) int {
		switch {
		case a.left < b.left:
			return -1
		case a.left > b.left:
			return 1
		}
		return int(a.edge - b.edge)
	})
	var open []segment
	for _, s := range all {
		keep := open[:0]
		for _, o := range open {
			if o.right < s.left {
				continue
			}
			keep = append(keep, o)
			if o.low <= s.high && s.low <= o.high && d.cross(o.edge, s.edge) {
				a, b := d.ends[o.edge], d.ends[s.edge]
				return fmt.Errorf("planar: New: points: the edges %d–%d and %d–%d cross, want a planar drawing; a torus has none", a[0], a[1], b[0], b[1])
			}
		}
		open = append(keep, s)
	}
	return nil
}

// cross reports whether two edges share a point that is not an end of both.
func (d *Distribution) cross(k, l int32) bool {
	e, f := d.ends[k], d.ends[l]
	for _, a := range e {
		if a == f[0] || a == f[1] {
			return false // edges with a common site have different directions there
		}
	}
	// The sign says on which side of the line through a and b the site c lies.
	side := func(a, b, c int32) float64 {
		p, q, r := d.at[a], d.at[b], d.at[c]
		return float64((q[0]-p[0])*(r[1]-p[1])) - float64((q[1]-p[1])*(r[0]-p[0]))
	}
	return side(e[0], e[1], f[0])*side(e[0], e[1], f[1]) <= 0 && side(f[0], f[1], e[0])*side(f[0], f[1], e[1]) <= 0
}

// LogZ returns log Z = log Σ_x exp(−E(x)). It returns an error if ctx ends, or if terms cancel so
// far that only rounding errors are left.
func (d *Distribution) LogZ(ctx context.Context) (float64, error) {
	logZ, _, err := d.solve(ctx, 1, nil, false)
	return logZ, wrap("LogZ", err)
}

// Energy returns the mean energy under the distribution, in nats. It returns an error if ctx ends,
// or if terms cancel so completely that only rounding errors remain.
func (d *Distribution) Energy(ctx context.Context) (float64, error) {
	e, err := d.energy(ctx, 1)
	return e, wrap("Energy", err)
}

// energy returns the mean energy at inverse temperature beta.
func (d *Distribution) energy(ctx context.Context, beta float64) (float64, error) {
	_, pair, err := d.solve(ctx, beta, nil, true)
	e := d.offset
	for k, c := range pair {
		e -= float64(d.k[k] * c)
	}
	return e, err
}

// HeatCapacity returns the variance of the energy under the distribution, in nats². If the energy
// is β·H, this is β² times the variance of H. The result is computed from differences of mean
// energies at nearby temperatures and is accurate to about nine digits. HeatCapacity returns an
// error if ctx ends, or if terms cancel so completely that only rounding errors remain.
func (d *Distribution) HeatCapacity(ctx context.Context) (float64, error) {
	const h = 1.0 / 128
	sum := 0.0
	// The derivative is a central difference of eighth order (Fornberg 1988).
	for k, c := range []float64{4. / 5, -1. / 5, 4. / 105, -1. / 280} {
		step := float64(h * float64(k+1))
		high, err := d.energy(ctx, 1+step)
		if err != nil {
			return 0, wrap("HeatCapacity", err)
		}
		low, err := d.energy(ctx, 1-step)
		if err != nil {
			return 0, wrap("HeatCapacity", err)
		}
		sum += float64(c * (low - high) / h)
	}
	return sum, nil
}

// Correlation returns the mean product E[s_i s_j] of the spins s_i and s_j = ±1 at two sites. It
// returns an error if a site is out of range, if ctx ends, or if terms cancel so completely that
// only rounding errors remain.
//
// The mean is a ratio of two partition functions. In the denominator, an edge with coupling K
// between spins s and s′ has the factor cosh K·(1 + s·s′·tanh K). In the numerator, each edge on a
// path between the two sites has the factor sinh K·(1 + s·s′·coth K) instead.
func (d *Distribution) Correlation(ctx context.Context, i, j int) (float64, error) {
	for _, v := range []int{i, j} {
		if v < 0 || v >= d.sites {
			return 0, fmt.Errorf("planar: Correlation: site %d, want 0 … %d", v, d.sites-1)
		}
	}
	path, connected := d.path(int32(i), int32(j))
	if !connected {
		// The two sites are in different connected parts, and flipping one part changes the sign.
		return 0, nil
	}
	logZ, _, err := d.solve(ctx, 1, nil, false)
	if err != nil {
		return 0, wrap("Correlation", err)
	}
	turned := make([]bool, len(d.k))
	sign := 1.0
	for _, e := range path {
		turned[e] = true
		sign *= math.Copysign(1, d.k[e])
	}
	with, s, err := d.solve(ctx, 1, turned, false)
	if err != nil {
		return 0, wrap("Correlation", err)
	}
	return max(-1, min(float64(sign*s[0]*math.Exp(with-logZ)), 1)), nil
}

func wrap(caller string, err error) error {
	if err != nil {
		return fmt.Errorf("planar: %s: %w", caller, err)
	}
	return nil
}

// errRounding means that rounding errors are as large as the result because of cancellation.
var errRounding = errors.New("rounding errors have cancelled the sum; scale the model to a higher temperature")

// path returns the edges of a shortest path from site i to site j. ok is false if there is none.
func (d *Distribution) path(i, j int32) (edges []int32, ok bool) {
	// For each site, the half-edge that leads back; −1 at i, −2 if not yet reached.
	from := make([]int32, d.sites)
	for v := range from {
		from[v] = -2
	}
	from[i] = -1
	queue := []int32{i}
	for at := 0; at < len(queue) && from[j] == -2; at++ {
		for _, h := range d.around[queue[at]] {
			if v := d.far(h); from[v] == -2 {
				from[v] = h ^ 1
				queue = append(queue, v)
			}
		}
	}
	if from[j] == -2 {
		return nil, false
	}
	for v := j; from[v] >= 0; v = d.far(from[v]) {
		edges = append(edges, from[v]/2)
	}
	return edges, true
}
