package constraint

import (
	"fmt"
)

// Row is a sparse row: Σ_k Value[k]·v[Index[k]]. An index may occur twice.
type Row struct {
	Index []int32
	Value []float64
}

// Rows returns the sparse rows of a dense row-major matrix. It panics unless
// columns ≥ 1 divides len(a).
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

// dot returns the row times v, in float64 and in the order of the row.
func (r Row) dot(v []float32) float64 {
	sum := 0.0
	for k, i := range r.Index {
		sum += float64(r.Value[k] * float64(v[i]))
	}
	return sum
}
