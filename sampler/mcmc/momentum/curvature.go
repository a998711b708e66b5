package momentum

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// curvature returns the matrix W of second differences of −E of a two-level or ordinal model,
// sites × sites.
func curvature(m energy.Model) ([]float64, error) {
	sites, levels := m.Shape()
	values := []float32{0, 1}
	if o, ok := energy.As[energy.Ordinal](m); ok && levels != 2 {
		values = o.Values()
	}
	w := make([]float64, sites*sites)
	if levels < 2 {
		return w, nil
	}
	table := energy.Differences(m)
	x, e := make([]int32, sites), make([]float64, 1)
	lowest, next := make([]float32, sites*levels), make([]float32, sites*levels)
	table.Gradient(e, lowest, x)
	// rise returns the difference quotient of −E between levels 0 and 1 of a site.
	first := float64(values[1]) - float64(values[0])
	rise := func(g []float32, i int) float64 {
		return (float64(g[i*levels]) - float64(g[i*levels+1])) / first
	}
	for i := range sites {
		x[i] = 1
		table.Gradient(e, next, x)
		x[i] = 0
		for j := range i {
			v := (rise(next, j) - rise(lowest, j)) / first
			w[i*sites+j], w[j*sites+i] = v, v
		}
		if levels > 2 {
			second := float64(values[2]) - float64(values[0])
			w[i*sites+i] = 2 * (-float64(lowest[i*levels+2])/second - rise(lowest, i)) / (second - first)
		}
	}
	for _, v := range w {
		if !check.Finite(v) {
			return nil, fmt.Errorf("momentum: PDHAMS: curvature at the lowest state of %T = %v, want a finite number: set Curvature, or use DHAMS", m, v)
		}
	}
	return w, nil
}

func checkCurvature(w []float64, sites int) error {
	if len(w) != sites*sites {
		return fmt.Errorf("momentum: PDHAMS: len(Curvature) = %d, want %d (sites × sites)", len(w), sites*sites)
	}
	for i := range sites {
		for j := range i + 1 {
			v, back := w[i*sites+j], w[j*sites+i]
			if math.IsNaN(v) || math.Abs(v) > largest || v != back {
				return fmt.Errorf("momentum: PDHAMS: Curvature[%d][%d] = %v and [%d][%d] = %v, want equal and finite ones, at most %g", i, j, v, j, i, back, largest)
			}
		}
	}
	return nil
}

// largest is the maximum absolute entry of a curvature; the square of an entry does not overflow.
const largest = 1e100

// halvings is the number of bisection steps, which narrow the shift to a thousandth of its
// initial range.
const halvings = 10

// factor returns L with W + (c + margin)·I = LLᵀ. The shift c approximates from above the
// smallest value for which W + c·I is positive semidefinite.
func factor(ctx context.Context, w []float64, sites int, margin float64) (*factored, error) {
	// the least eigenvalue is at most the least diagonal entry, and at least the Gershgorin bound
	low, high := math.Inf(-1), math.Inf(-1)
	for i := range sites {
		off := 0.0
		for j := range sites {
			if j != i {
				off += math.Abs(w[i*sites+j])
			}
		}
		low, high = max(low, -w[i*sites+i]), max(high, off-w[i*sites+i])
	}
	f := &factored{l: make([]float64, sites*(sites+1)/2), sites: sites}
	for range halvings {
		if low == high {
			break
		}
		if err := poll.Err(ctx); err != nil {
			return nil, err
		}
		if middle := low + float64((high-low)/2); f.cholesky(w, middle) {
			high = middle
		} else {
			low = middle
		}
	}
	if !f.cholesky(w, high+margin) {
		return nil, fmt.Errorf("momentum: PDHAMS: the curvature is too ill-conditioned for StepSize: 1/StepSize² = %v is lost next to a shift of %v; want a smaller StepSize", margin, high)
	}
	return f, nil
}

// cholesky stores in f the Cholesky factor of W + shift·I. It returns false if the matrix is not
// positive definite.
func (f *factored) cholesky(w []float64, shift float64) bool {
	for i := range f.sites {
		row := f.row(i)
		for j := range i + 1 {
			other := f.row(j)
			sum := w[i*f.sites+j]
			if i == j {
				sum += shift
			}
			for m := range j {
				sum -= float64(row[m] * other[m])
			}
			if i != j {
				row[j] = sum / other[j]
				continue
			}
			if !(sum > 0) {
				return false
			}
			row[j] = math.Sqrt(sum)
		}
	}
	return true
}
