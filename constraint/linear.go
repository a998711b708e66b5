package constraint

import (
	"fmt"
	"math"
)

// Linear is the system of inequalities g(v) = A·v − B ≤ 0, with sparse rows A[j]:
//
//	g_j(v) = Σ_k A[j].Value[k]·v[A[j].Index[k]] − B[j].
//
// Create a Linear as a struct literal. On reals (Levels = 0), v is the series itself. On tokens
// (Levels ≥ 1), v is the row-major table of sites × Levels probabilities. A token sequence x stands
// for its one-hot table: entry i·Levels + l is 1 if x_i = l and 0 otherwise. If Levels = 0,
// Violation uses the tokens as numbers: v_i = x_i.
type Linear struct {
	A      []Row
	B      []float64
	Levels int
}

// Validate checks the system for vectors v of length n. The slices A and B must have equal lengths,
// as must Index and Value in every row. Indices must lie in 0…n−1, and n must be a multiple of
// Levels. Numbers must be finite, but an entry of B may be +Inf, which means no bound. The error is
// an [*ArgumentError]. It wraps [ErrInfeasible] if a row without coefficients has a negative bound.
func (l Linear) Validate(n int) error {
	switch {
	case l.Levels < 0:
		return &ArgumentError{"Linear", "Levels", l.Levels, "≥ 0"}
	case l.Levels > 0 && n%l.Levels != 0:
		return &ArgumentError{"Linear", "the length of v", n, fmt.Sprintf("a multiple of Levels = %d", l.Levels)}
	case len(l.A) != len(l.B):
		return &ArgumentError{"Linear", "len(B)", len(l.B), fmt.Sprintf("len(A) = %d", len(l.A))}
	}
	for j, r := range l.A {
		if len(r.Index) != len(r.Value) {
			return &ArgumentError{"Linear", fmt.Sprintf("len(A[%d].Value)", j), len(r.Value), fmt.Sprintf("len(Index) = %d", len(r.Index))}
		}
		if b := l.B[j]; math.IsNaN(b) || math.IsInf(b, -1) {
			return &ArgumentError{"Linear", fmt.Sprintf("B[%d]", j), b, "finite or +Inf"}
		}
		zero := true
		for k, i := range r.Index {
			if i < 0 || int(i) >= n {
				return &ArgumentError{"Linear", fmt.Sprintf("A[%d].Index[%d]", j, k), i, fmt.Sprintf("0…%d", n-1)}
			}
			if v := r.Value[k]; math.IsNaN(v) || math.IsInf(v, 0) {
				return &ArgumentError{"Linear", fmt.Sprintf("A[%d].Value[%d]", j, k), v, "finite"}
			}
			zero = zero && r.Value[k] == 0
		}
		if zero && l.B[j] < 0 {
			return infeasible("Linear: row %d is 0 ≤ %v", j, l.B[j])
		}
	}
	return nil
}

// Len returns the number of rows. Each row is one inequality.
func (l Linear) Len() int { return len(l.A) }

// Value stores in g the numbers A·v − B of the inequalities A·v − B ≤ 0. It panics if len(g) ≠
// Len() or if an index lies outside v. Call [Linear.Validate] first to avoid this.
func (l Linear) Value(g []float64, v []float32) {
	l.checkLen("g", len(g), len(l.A))
	for j, r := range l.A {
		sum := 0.0
		l.checkRow(j, len(v))
		for k, i := range r.Index {
			sum += float64(r.Value[k] * float64(v[i]))
		}
		g[j] = sum - l.B[j]
	}
}

// Pull adds to dst the product Aᵀ·w, which is the gradient of Σ_j w_j·(A·v − B)_j. The values of v
// are not used, but v must have the length of dst.
func (l Linear) Pull(dst, v []float32, w []float64) {
	l.checkLen("dst", len(dst), len(v))
	l.checkLen("w", len(w), len(l.A))
	for j, r := range l.A {
		l.checkRow(j, len(dst))
		if w[j] == 0 {
			continue
		}
		for k, i := range r.Index {
			dst[i] += float32(w[j] * r.Value[k])
		}
	}
}

// Violation stores in g the numbers A·v − B of the inequalities A·v − B ≤ 0, for each sequence in
// x. Here v is the one-hot table of the sequence or, if Levels = 0, the tokens as numbers.
func (l Linear) Violation(g []float64, x []int32) {
	eachState(len(l.A), g, x, func(g []float64, x []int32) {
		for j, r := range l.A {
			sum := 0.0
			if len(r.Value) < len(r.Index) {
				panic(fmt.Sprintf("constraint: Linear: len(A[%d].Value) = %d, want %d", j, len(r.Value), len(r.Index)))
			}
			for k, i := range r.Index {
				switch {
				case l.Levels == 0:
					if uint(i) >= uint(len(x)) {
						panic(fmt.Sprintf("constraint: Linear: A[%d].Index[%d] = %d, want 0 … %d", j, k, i, len(x)-1))
					}
					sum += float64(r.Value[k] * float64(x[i]))
				case l.Levels < 0 || int(i)/l.Levels >= len(x) || i < 0:
					panic(fmt.Sprintf("constraint: Linear: A[%d].Index[%d] = %d with Levels = %d, want within %d sites", j, k, i, l.Levels, len(x)))
				case int(x[int(i)/l.Levels]) == int(i)%l.Levels:
					sum += r.Value[k]
				}
			}
			if j >= len(l.B) {
				panic(fmt.Sprintf("constraint: Linear: len(B) = %d, want %d", len(l.B), len(l.A)))
			}
			g[j] = sum - l.B[j]
		}
	})
}

// checkRow panics unless row j has as many values as indices, has a bound, and has only indices
// in 0…n−1.
func (l Linear) checkRow(j, n int) {
	r := l.A[j]
	if len(l.B) != len(l.A) || len(r.Value) != len(r.Index) {
		panic(fmt.Sprintf("constraint: Linear: len(A) = %d, len(B) = %d, A[%d] has %d indices and %d values, want as many", len(l.A), len(l.B), j, len(r.Index), len(r.Value)))
	}
	for k, i := range r.Index {
		if i < 0 || int(i) >= n {
			panic(fmt.Sprintf("constraint: Linear: A[%d].Index[%d] = %d, want 0 … %d", j, k, i, n-1))
		}
	}
}

func (l Linear) checkLen(name string, got, want int) {
	if got != want {
		panic(fmt.Sprintf("constraint: len(%s) = %d, want %d", name, got, want))
	}
}

// checkTable panics unless sites·levels, the number of entries of a table, fits an int32.
func checkTable(sites, levels int) {
	if sites < 0 || levels < 0 || levels > 0 && sites > math.MaxInt32/levels {
		panic(fmt.Sprintf("constraint: Linear: sites × levels = %d × %d, want 0 … %d entries", sites, levels, math.MaxInt32))
	}
}

// Linear returns linear inequalities that bound the expected count under a table v of sites ×
// levels probabilities. The bounds are c.Min and c.Max, in the order of [Count.Violation]. On the
// one-hot table of a sequence, the inequalities hold if and only if the sequence satisfies c.
func (c Count) Linear(sites, levels int) Linear {
	checkTable(sites, levels)
	in := c.membership(levels)
	var r Row
	for i := range sites * levels {
		if in[i%levels] {
			r.Index, r.Value = append(r.Index, int32(i)), append(r.Value, 1)
		}
	}
	l := Linear{Levels: levels}
	if c.Min > 0 {
		l.atLeast(r, float64(c.Min))
	}
	if upper, ok := c.upper(); ok {
		l.A, l.B = append(l.A, r), append(l.B, float64(upper))
	}
	return l
}

// Linear returns linear inequalities that bound the expected sum under a table v of sites × levels
// probabilities. The bounds are the bounds of s, in the order of [Sum.Violation]. A level without a
// weight contributes 0. On the one-hot table of a sequence whose levels all have weights, the
// inequalities hold if and only if the sequence satisfies s. Linear panics if s has a fixed number
// of sites and the given number differs.
func (s *Sum) Linear(sites, levels int) Linear {
	if s.fixed && sites != len(s.rows) {
		panic(fmt.Sprintf("constraint: sites = %d, want %d", sites, len(s.rows)))
	}
	checkTable(sites, levels)
	var r Row
	for i := range sites * levels {
		if w, ok := s.at(i/levels, int32(i%levels)); ok && w != 0 {
			r.Index, r.Value = append(r.Index, int32(i)), append(r.Value, float64(w))
		}
	}
	l := Linear{Levels: levels}
	if s.lower != math.MinInt {
		l.atLeast(r, float64(s.lower))
	}
	if s.upper != math.MaxInt {
		l.A, l.B = append(l.A, r), append(l.B, float64(s.upper))
	}
	return l
}

// atLeast appends the inequality r·v ≥ b to l.
func (l *Linear) atLeast(r Row, b float64) {
	negative := Row{Index: r.Index, Value: make([]float64, len(r.Value))}
	for k, v := range r.Value {
		negative.Value[k] = -v
	}
	l.A, l.B = append(l.A, negative), append(l.B, -b)
}

// Row is a sparse row vector. Its product with a vector v is Σ_k Value[k]·v[Index[k]]. An index
// may occur twice.
type Row struct {
	Index []int32
	Value []float64
}

// Rows returns the sparse rows of a dense row-major matrix with the given number of columns. It
// panics unless columns ≥ 1 and len(a) is a multiple of columns.
func Rows(a []float64, columns int) []Row {
	if columns < 1 || len(a)%columns != 0 {
		panic(fmt.Sprintf("constraint: len(a) = %d, want a multiple of columns = %d ≥ 1", len(a), columns))
	}
	rows := make([]Row, len(a)/columns)
	for i, v := range a {
		if v != 0 {
			r := &rows[i/columns]
			r.Index, r.Value = append(r.Index, int32(i%columns)), append(r.Value, v)
		}
	}
	return rows
}

// dot returns the product of the row and v, summed in float64 in the order of the row's
// entries.
func (r Row) dot(v []float32) float64 {
	sum := 0.0
	for k, i := range r.Index {
		sum += float64(r.Value[k] * float64(v[i]))
	}
	return sum
}
