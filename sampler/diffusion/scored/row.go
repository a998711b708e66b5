package scored

import (
	"math"
	"sort"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// row is a row of log-weights made ready for many draws.
type row struct {
	p      []float32
	sum    []float64 // cumulative
	levels int       // that have weight
}

func newRow(levels int) row {
	return row{p: make([]float32, levels), sum: make([]float64, levels)}
}

// load reads the row of a site.
func (r *row) load(v []float32, site int) error {
	var total [1]float64
	v = v[site*len(r.p) : (site+1)*len(r.p)]
	simd.Weights(r.p, total[:], v, len(v), 0)
	if !(total[0] > 0) {
		return &diffusion.PredictionError{Site: site, Empty: total[0] == 0}
	}
	r.levels = 0
	reached := 0.0
	for l, p := range r.p {
		if p > 0 {
			r.levels++
			reached += float64(p)
		}
		r.sum[l] = reached
	}
	return nil
}

// total returns the sum of all weights.
func (r *row) total() float64 { return r.sum[len(r.sum)-1] }

// pick returns the level that u in [0, 1) falls on.
func (r *row) pick(u float64) int32 {
	goal := float64(u * r.total())
	k := sort.SearchFloat64s(r.sum, goal)
	for ; k < len(r.sum) && r.sum[k] <= goal; k++ { // the first whose sum exceeds the goal
	}
	for k = min(k, len(r.sum)-1); r.p[k] == 0; k-- { // rounding at the end
	}
	return int32(k)
}

// pickWeight returns the index that u in [0, 1) falls on under weights whose sum
// is positive.
func pickWeight(w []float64, u float64) int {
	total := 0.0
	for _, v := range w {
		total += v
	}
	goal, reached, last := float64(u*total), 0.0, 0
	for k, v := range w {
		if v > 0 {
			last = k
			if reached += v; reached > goal {
				break
			}
		}
	}
	return last
}

// only leaves weight to one level of a row.
func only(row []float32, level int32) {
	keep := row[level]
	for l := range row {
		row[l] = float32(math.Inf(-1))
	}
	row[level] = keep
}
