package planar

import (
	"context"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// front is the remaining matrix of a part of the graph after elimination. A half-edge is one end of
// an edge; the remaining rows are the half-edges whose edges lead out of the part.
type front struct {
	left, right *front  // the two parts that were merged; nil for a single site
	site        int32   // the site of a part that is a single site
	nodes       []int32 // half-edges of the rows, the eliminated ones first
	gone        int     // number of eliminated half-edges
	a           []float64
}

// solver computes the Pfaffian of one matrix.
type solver struct {
	d     *Distribution
	meter poll.Meter
	// Factor of each half-edge: tanh K or coth K for the first end of an edge, 1 for the other.
	scale []float64
	// Scratch for one front: a mark or the row of each of its half-edges. All are 0 between merges.
	place  []int32
	order  []int32 // half-edges in the order of elimination
	pivots []float64
	keep   bool // whether the eliminated rows are kept for the backward pass
}

// solve returns log Z at inverse temperature beta. For edges with turned[e], tanh K is replaced by
// coth K and log tanh |K| is added to log Z; nil turns no edge. If pairs is true, values holds the
// mean product of the spins of every edge. Otherwise it holds one number, the sign of Z.
func (d *Distribution) solve(ctx context.Context, beta float64, turned []bool, pairs bool) (logZ float64, values []float64, err error) {
	s := &solver{d: d, scale: make([]float64, 2*len(d.k)), place: make([]int32, 2*len(d.k)), keep: pairs}
	s.meter.Watch(ctx)
	defer s.meter.Unwatch()
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	logZ = float64(float64(d.sites)*math.Ln2) - float64(beta*d.offset)
	t := make([]float64, len(d.k))
	sign := 1.0
	for e, k := range d.k {
		k *= beta
		t[e] = math.Tanh(k)
		// Add log cosh K, computed without overflow.
		logZ += math.Abs(k) + math.Log1p(math.Exp(-2*math.Abs(k))) - math.Ln2
		s.scale[2*e], s.scale[2*e+1] = t[e], 1
		if turned != nil && turned[e] {
			s.scale[2*e] = 1 / t[e]
			logZ += math.Log(math.Abs(t[e]))
		}
		sign *= d.up[e]
	}
	all := make([]int32, d.sites)
	for i := range all {
		all[i] = int32(i)
	}
	var root *front
	if len(all) > 0 {
		if root, err = s.dissect(all); err != nil {
			return 0, nil, err
		}
	}
	for _, p := range s.pivots {
		if p == 0 || math.IsNaN(p) || math.IsInf(p, 0) {
			return 0, nil, errRounding
		}
		logZ += math.Log(math.Abs(p))
		sign *= math.Copysign(1, p)
	}
	sign *= parity(s.order)
	if turned == nil && sign < 0 {
		return 0, nil, errRounding
	}
	if !pairs {
		return logZ, []float64{sign}, nil
	}
	values = make([]float64, len(d.k))
	if root != nil {
		err = s.backwards(root, nil, t, values)
	}
	return logZ, values, err
}

// parity returns the sign (1 or −1) of a permutation.
func parity(order []int32) float64 {
	sign, seen := 1.0, make([]bool, len(order))
	for i := range order {
		for j := order[i]; !seen[j]; j = order[j] {
			seen[j] = true
			if j != int32(i) && !seen[order[j]] {
				sign = 0 - sign
			}
		}
	}
	return sign
}

// dissect eliminates all edges within a set of sites and returns their front. It reorders sites.
func (s *solver) dissect(sites []int32) (*front, error) {
	if len(sites) == 1 {
		nodes := s.d.around[sites[0]]
		n := len(nodes)
		f := &front{site: sites[0], nodes: nodes, a: make([]float64, n*n)}
		for i := range nodes {
			for j := i + 1; j < n; j++ {
				f.a[i*n+j] = float64(s.scale[nodes[i]] * s.scale[nodes[j]])
			}
		}
		return f, nil
	}
	// Cut the box across its longer side.
	low, high := s.d.at[sites[0]], s.d.at[sites[0]]
	for _, i := range sites {
		for c, v := range s.d.at[i] {
			low[c], high[c] = min(low[c], v), max(high[c], v)
		}
	}
	c := 0
	if high[1]-low[1] > high[0]-low[0] {
		c = 1
	}
	slices.SortFunc(sites, func(a, b int32) int {
		p, q := s.d.at[a], s.d.at[b]
		switch {
		case p[c] < q[c] || p[c] == q[c] && p[1-c] < q[1-c]:
			return -1
		case p == q:
			return int(a - b)
		}
		return 1
	})
	left, err := s.dissect(sites[:len(sites)/2])
	if err != nil {
		return nil, err
	}
	right, err := s.dissect(sites[len(sites)/2:])
	if err != nil {
		return nil, err
	}
	return s.merge(left, right)
}

// merge eliminates the edges between two parts and returns the front of their union.
func (s *solver) merge(left, right *front) (*front, error) {
	f := &front{left: left, right: right}
	p, q := left.nodes[left.gone:], right.nodes[right.gone:]
	for k, h := range p {
		s.place[h] = int32(k + 1)
	}
	var rest []int32
	for _, h := range q {
		if s.place[h^1] > 0 {
			f.nodes = append(f.nodes, h^1, h)
		} else {
			rest = append(rest, h)
		}
	}
	for _, h := range p {
		s.place[h] = 0
	}
	f.gone = len(f.nodes)
	for _, h := range f.nodes {
		s.place[h] = 1
	}
	for _, h := range p {
		if s.place[h] == 0 {
			f.nodes = append(f.nodes, h)
		}
	}
	f.nodes = append(f.nodes, rest...)
	n := len(f.nodes)
	for k, h := range f.nodes {
		s.place[h] = int32(k)
	}
	f.a = make([]float64, n*n)
	for _, from := range []*front{left, right} {
		own, m := from.nodes[from.gone:], len(from.nodes)
		for i, h := range own {
			for j := i + 1; j < len(own); j++ {
				v := from.a[(from.gone+i)*m+from.gone+j]
				a, b := int(s.place[h]), int(s.place[own[j]])
				if a > b {
					a, b, v = b, a, 0-v
				}
				f.a[a*n+b] = v
			}
		}
		if !s.keep {
			from.a, from.nodes = nil, nil
		}
	}
	for k := 0; k < f.gone; k += 2 {
		v := s.d.up[f.nodes[k]/2]
		if f.nodes[k]%2 == 1 {
			v = 0 - v
		}
		f.a[k*n+k+1] += v
	}
	for _, h := range f.nodes {
		s.place[h] = 0
	}
	if !s.keep {
		f.left, f.right = nil, nil
	}
	return f, s.eliminate(f)
}

// eliminate eliminates the first f.gone rows of a front in pairs. The second row of a pair is
// chosen by the largest entry in the first. Only entries above the diagonal are stored.
func (s *solver) eliminate(f *front) error {
	n, a := len(f.nodes), f.a
	for k := 0; k < f.gone; k += 2 {
		best := k + 1
		for j := k + 2; j < f.gone; j++ {
			if math.Abs(a[k*n+j]) > math.Abs(a[k*n+best]) {
				best = j
			}
		}
		f.swap(k+1, best)
		u, v, p := a[k*n:(k+1)*n], a[(k+1)*n:(k+2)*n], a[k*n+k+1]
		s.pivots = append(s.pivots, p)
		for i := k + 2; i < n; i++ {
			c, d := v[i]/p, u[i]/p
			if c == 0 && d == 0 {
				continue
			}
			row, x, y := a[i*n+i+1:(i+1)*n], u[i+1:], v[i+1:]
			x, y = x[:len(row)], y[:len(row)]
			for j := range row {
				row[j] += float64(c*x[j]) - float64(d*y[j])
			}
		}
		if s.meter.Done((n - k) * (n - k)) {
			return s.meter.Poll()
		}
	}
	s.order = append(s.order, f.nodes[:f.gone]...)
	return nil
}

// swap exchanges the rows p ≤ q of the matrix, and the same columns.
func (f *front) swap(p, q int) {
	if p == q {
		return
	}
	n, a := len(f.nodes), f.a
	f.nodes[p], f.nodes[q] = f.nodes[q], f.nodes[p]
	for i := range p {
		a[i*n+p], a[i*n+q] = a[i*n+q], a[i*n+p]
	}
	for i := p + 1; i < q; i++ {
		a[p*n+i], a[i*n+q] = 0-a[i*n+q], 0-a[p*n+i]
	}
	a[p*n+q] = 0 - a[p*n+q]
	for i := q + 1; i < n; i++ {
		a[p*n+i], a[q*n+i] = a[q*n+i], a[p*n+i]
	}
}

// backwards stores in values the mean products of spins for the edges whose first end is in the
// part f. inverse is the inverse of the whole matrix at the remaining rows of f, and t holds tanh K
// of every edge.
func (s *solver) backwards(f *front, inverse, t, values []float64) error {
	n := len(f.nodes)
	if f.left == nil {
		for k, h := range f.nodes {
			if h%2 == 1 {
				continue
			}
			d := 0.0 // ∂ log Pf/∂ tanh K
			for j, b := range f.nodes {
				v := float64(inverse[j*n+k] * s.scale[b])
				switch {
				case j > k:
					d += v
				case j < k:
					d -= v
				}
			}
			e := h / 2
			values[e] = t[e] + float64((1-float64(t[e]*t[e]))*d)
		}
		return nil
	}
	if s.meter.Done(2 * n * n * (f.gone + 1)) {
		return s.meter.Poll()
	}
	g := make([]float64, n*n)
	for i := f.gone; i < n; i++ {
		copy(g[i*n+f.gone:(i+1)*n], inverse[(i-f.gone)*(n-f.gone):])
	}
	for k := f.gone - 2; k >= 0; k -= 2 {
		u, v, p := f.a[k*n:(k+1)*n], f.a[(k+1)*n:(k+2)*n], f.a[k*n+k+1]
		first, second := g[k*n:(k+1)*n], g[(k+1)*n:(k+2)*n]
		for i := k + 2; i < n; i++ {
			c, d := v[i]/p, u[i]/p
			row := g[i*n+k+2 : (i+1)*n]
			x, y := first[k+2:n], second[k+2:n]
			x, y = x[:len(row)], y[:len(row)]
			for j, w := range row {
				x[j] += float64(c * w)
				y[j] -= float64(d * w)
			}
		}
		q := 0.0
		for j := k + 2; j < n; j++ {
			q -= float64(second[j] * v[j]) // u·g = −p·second
		}
		first[k+1] = float64(q/p) - 1/p
		second[k] = 0 - first[k+1]
		for i := k + 2; i < n; i++ {
			g[i*n+k], g[i*n+k+1] = 0-first[i], 0-second[i]
		}
	}
	for k, h := range f.nodes {
		s.place[h] = int32(k)
	}
	parts := []*front{f.left, f.right}
	blocks := make([][]float64, 2)
	for c, part := range parts {
		own := part.nodes[part.gone:]
		blocks[c] = make([]float64, len(own)*len(own))
		for i, h := range own {
			row := g[int(s.place[h])*n:]
			for j, b := range own {
				blocks[c][i*len(own)+j] = row[s.place[b]]
			}
		}
	}
	g, f.a = nil, nil
	for c, part := range parts {
		if err := s.backwards(part, blocks[c], t, values); err != nil {
			return err
		}
		blocks[c] = nil
	}
	return nil
}
