package proximal

import (
	"cmp"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// slabs is the system lo ≤ A·z ≤ hi with rows of norm 1, in compressed sparse row format. Some
// rows have a closed-form solution, because they share no variable with the rest of the system.
// These rows come last.
type slabs struct {
	n      int     // number of variables
	given  int     // number of rows as given by the user, including omitted ones
	start  []int32 // the entries of row j are start[j] … end[j]−1 of index and value
	end    []int32
	index  []int32   // variables of the entries, ascending within a row
	value  []float64 // values of the entries; each row has norm 1
	lo, hi []float64 // bounds; −Inf or +Inf where there is none
	norm   []float64 // norm of each row as given
	factor []float64 // ±norm: the row as given is factor times this row
	origin []int32   // index of each row as given

	emptyViolation float64 // largest violation of a row without entries, 0 if there is none
	worst          int     // index of the row with that violation

	coupled int      // rows 0 … coupled−1 need the iteration
	single  int      // rows coupled … single−1 share no variable with any other row
	groups  []column // the remaining rows, which bound single variables
}

// column is a sequence of rows that bound the same variable and contain no other variable.
type column struct {
	variable int32
	from, to int32     // the rows are from … to−1
	knot     []float64 // finite bounds of the rows of the column, in ascending order
}

// entry is a nonzero entry of a row under construction.
type entry struct {
	index int32
	value float64
}

// newSlabs sorts, normalises and orders rows. Rows without a bound or without an entry are
// omitted.
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

// bound adds row j, which bounds variable i alone, to the columns.
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

// collect returns the nonzero entries of a row in ascending order of index, with equal indices
// added. A sum that cancels to the size of rounding errors counts as zero.
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

// dot returns the product of row j and z.
func (s *slabs) dot(j int, z []float64) float64 {
	from, to := s.start[j], s.end[j]
	index, value := s.index[from:to], s.value[from:to]
	sum := 0.0
	for k, i := range index {
		sum += float64(value[k] * z[i])
	}
	return sum
}

// axpy adds row j, multiplied by the number a, to z.
func (s *slabs) axpy(j int, a float64, z []float64) {
	from, to := s.start[j], s.end[j]
	index, value := s.index[from:to], s.value[from:to]
	for k, i := range index {
		z[i] += float64(a * value[k])
	}
}

// distance returns the amount by which t lies outside the bounds of row j, or 0.
func (s *slabs) distance(j int, t float64) float64 {
	return max(t-s.hi[j], s.lo[j]-t, 0)
}

// support returns sup { y·t : lo ≤ t ≤ hi } for the bounds of row j. This is the conjugate of
// the indicator function of the interval.
func (s *slabs) support(j int, y float64) float64 {
	switch {
	case y > 0:
		return y * s.hi[j]
	case y < 0:
		return y * s.lo[j]
	}
	return 0
}

// prox returns the multiplier that results from u = y + σ·t,
//
//	argmin_p ½(p−u)² + σ·support(p) over −limit ≤ p ≤ limit.
//
// This is soft thresholding at σ·lo and σ·hi, followed by clipping.
func prox(u, sigma, lo, hi, limit float64) float64 {
	switch a, b := u-float64(sigma*hi), u-float64(sigma*lo); {
	case a > 0:
		return min(a, limit)
	case b < 0:
		return max(b, -limit)
	}
	return 0
}

// cancelled is the size of a sum, relative to its terms, below which the sum counts as a
// rounding error.
const cancelled = 1e-14

// size returns the sum of the absolute values of a row.
func size(r constraint.Row) float64 {
	sum := 0.0
	for _, x := range r.Value {
		sum += math.Abs(x)
	}
	return sum
}
