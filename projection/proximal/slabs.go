package proximal

import (
	"cmp"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// slabs is the system lo ≤ A·z ≤ hi with rows of norm 1, in compressed sparse
// rows. Rows that share no variable with any row but each other, and have a
// closed form, come last: see order.
type slabs struct {
	n      int     // variables
	given  int     // rows as they were given, those left out included
	start  []int32 // row j is start[j] … end[j]−1 of index and value
	end    []int32
	index  []int32   // ascending within a row
	value  []float64 // of norm 1 within a row
	lo, hi []float64 // −Inf or +Inf where a side is open
	norm   []float64 // of the row as it was given
	factor []float64 // ±norm: the row as it was given is factor times this one
	origin []int32   // the number of the row as it was given

	emptyViolation float64 // the violation of the rows without an entry, 0 if there is none
	worst          int     // which of them it is of

	coupled int      // rows 0 … coupled−1 need the iteration
	single  int      // rows coupled … single−1 have their variables to themselves
	groups  []column // the rest are bounds on single variables
}

// column is a run of rows that bound the same variable and nothing else.
type column struct {
	variable int32
	from, to int32     // rows
	knot     []float64 // their finite bounds, ascending
}

// entry is one nonzero of a row under construction.
type entry struct {
	index int32
	value float64
}

// newSlabs sorts, normalises and orders rows. Rows without a bound or without
// an entry are left out.
func newSlabs(n int, s constraint.Slabs) *slabs {
	type row struct {
		entries []entry
		lo, hi  float64
		factor  float64
		origin  int32
	}
	var rows []row
	total, most := 0, 0.0 // the largest bound
	for j := range s.A {
		for _, b := range [2]float64{s.Lower[j], s.Upper[j]} {
			if !math.IsInf(b, 0) {
				most = max(most, math.Abs(b))
			}
		}
	}
	out := &slabs{n: n, given: len(s.A)}
	parent := make([]int32, n) // of components, a forest
	for i := range parent {
		parent[i] = int32(i)
	}
	root := func(i int32) int32 {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for j, r := range s.A {
		e := collect(r)
		lo, hi := s.Lower[j], s.Upper[j]
		if len(e) == 0 {
			// What is left of entries that cancel may be left of the bound, too.
			if far := max(lo, -hi) - float64(cancelled*size(r)*most); far > out.emptyViolation {
				out.emptyViolation, out.worst = far, j
			}
		}
		if len(e) == 0 || math.IsInf(lo, -1) && math.IsInf(hi, 1) {
			continue
		}
		norm := 0.0
		for _, x := range e {
			norm += float64(x.value * x.value)
		}
		norm = math.Sqrt(norm)
		if len(e) == 1 {
			norm = e[0].value // a bound: the row becomes +1
			if norm < 0 {
				lo, hi = hi, lo
			}
		}
		for k := range e {
			e[k].value /= norm
			parent[root(e[k].index)] = root(e[0].index)
		}
		rows = append(rows, row{e, lo / norm, hi / norm, norm, int32(j)})
		total += len(e)
	}
	// Per component: how many rows it has, and whether all are bounds of one
	// variable.
	count, bounds := make([]int, n), make([]int, n)
	for _, r := range rows {
		c := root(r.entries[0].index)
		count[c]++
		if len(r.entries) == 1 {
			bounds[c]++
		}
	}
	class := func(r row) int {
		switch c := root(r.entries[0].index); {
		case bounds[c] == count[c]:
			return 2
		case count[c] == 1:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		if c := cmp.Compare(class(a), class(b)); c != 0 || class(a) < 2 {
			return c
		}
		return cmp.Compare(a.entries[0].index, b.entries[0].index)
	})
	out.start, out.end = make([]int32, 0, len(rows)), make([]int32, 0, len(rows))
	out.index, out.value = make([]int32, 0, total), make([]float64, 0, total)
	for j, r := range rows {
		out.start = append(out.start, int32(len(out.index)))
		for _, x := range r.entries {
			out.index, out.value = append(out.index, x.index), append(out.value, x.value)
		}
		out.end = append(out.end, int32(len(out.index)))
		out.lo, out.hi = append(out.lo, r.lo), append(out.hi, r.hi)
		out.norm, out.factor = append(out.norm, math.Abs(r.factor)), append(out.factor, r.factor)
		out.origin = append(out.origin, r.origin)
		switch class(r) {
		case 0:
			out.coupled = j + 1
			out.single = j + 1
		case 1:
			out.single = j + 1
		case 2:
			out.bound(r.entries[0].index, int32(j))
		}
	}
	for g := range out.groups {
		slices.Sort(out.groups[g].knot)
	}
	return out
}

// bound adds row j, a bound of variable i, to the columns.
func (s *slabs) bound(i, j int32) {
	if k := len(s.groups); k == 0 || s.groups[k-1].variable != i {
		s.groups = append(s.groups, column{variable: i, from: j})
	}
	c := &s.groups[len(s.groups)-1]
	c.to = j + 1
	for _, b := range [2]float64{s.lo[j], s.hi[j]} {
		if !math.IsInf(b, 0) {
			c.knot = append(c.knot, b)
		}
	}
}

// collect returns the nonzeros of a row in ascending order, equal indices added.
// A sum that cancels to rounding errors is zero.
func collect(r constraint.Row) []entry {
	e := make([]entry, len(r.Index))
	for k, i := range r.Index {
		e[k] = entry{i, r.Value[k]}
	}
	slices.SortStableFunc(e, func(a, b entry) int { return cmp.Compare(a.index, b.index) })
	out := e[:0]
	for k := 0; k < len(e); {
		sum, total := entry{index: e[k].index}, 0.0
		for ; k < len(e) && e[k].index == sum.index; k++ {
			sum.value += e[k].value
			total += math.Abs(e[k].value)
		}
		if math.Abs(sum.value) > cancelled*total {
			out = append(out, sum)
		}
	}
	return out
}

// len returns the number of rows.
func (s *slabs) len() int { return len(s.lo) }

// dot returns row j times z.
func (s *slabs) dot(j int, z []float64) float64 {
	from, to := s.start[j], s.end[j]
	index, value := s.index[from:to], s.value[from:to]
	sum := 0.0
	for k, i := range index {
		sum += float64(value[k] * z[i])
	}
	return sum
}

// axpy adds a times row j to z.
func (s *slabs) axpy(j int, a float64, z []float64) {
	from, to := s.start[j], s.end[j]
	index, value := s.index[from:to], s.value[from:to]
	for k, i := range index {
		z[i] += float64(a * value[k])
	}
}

// distance returns by how much t lies outside lo … hi of row j.
func (s *slabs) distance(j int, t float64) float64 {
	return max(t-s.hi[j], s.lo[j]-t, 0)
}

// support returns sup { y·t : lo ≤ t ≤ hi } of row j, the conjugate of its
// indicator.
func (s *slabs) support(j int, y float64) float64 {
	switch {
	case y > 0:
		return y * s.hi[j]
	case y < 0:
		return y * s.lo[j]
	}
	return 0
}

// prox returns the multiplier that u = y + σ·t leads to,
//
//	argmin_p ½(p−u)² + σ·support(p) over −cap ≤ p ≤ cap,
//
// which is soft thresholding at σ·lo and σ·hi, clipped.
func prox(u, sigma, lo, hi, limit float64) float64 {
	switch a, b := u-float64(sigma*hi), u-float64(sigma*lo); {
	case a > 0:
		return min(a, limit)
	case b < 0:
		return max(b, -limit)
	}
	return 0
}

// cancelled is the part of its terms up to which a sum is a rounding error.
const cancelled = 1e-14

// size returns the sum of the absolute values of a row.
func size(r constraint.Row) float64 {
	sum := 0.0
	for _, x := range r.Value {
		sum += math.Abs(x)
	}
	return sum
}
