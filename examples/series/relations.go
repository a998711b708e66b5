package main

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// relation states that a channel is an affine function of others in every row: x_channel =
// offset + Σ_i weight_i·x_{of_i}, in the written values.
type relation struct {
	channel int
	of      []int
	weight  []float64
	offset  float64
}

// value returns the value of the channel computed from the others.
func (r *relation) value(row []float64) float64 {
	v := r.offset
	for i, c := range r.of {
		v += r.weight[i] * row[c]
	}
	return v
}

// enoughRows is the minimum number of complete rows per channel for detecting a relation.
const enoughRows = 5

// relations finds channels that depend on earlier ones, from rows × channels with some NaN. For
// every channel, half holds half a unit of its last digit.
func relations(rows [][]float64, channels []int, half []float64) (all []relation) {
	dependent := map[int]bool{}
	for k, c := range channels {
		var base []int
		for _, b := range channels[:k] {
			if !dependent[b] {
				base = append(base, b)
			}
		}
		if len(base) == 0 {
			continue
		}
		if r, ok := relate(rows, c, base, half); ok {
			all = append(all, r)
			dependent[c] = true
		}
	}
	return all
}

// relate fits channel c by the channels in base, and reports whether the fit is exact up to
// rounding.
func relate(rows [][]float64, c int, base []int, half []float64) (r relation, ok bool) {
	for _, b := range base { // a copy, or a change of units, needs no others
		if len(base) > 1 {
			if r, ok = relate(rows, c, []int{b}, half); ok {
				return r, true
			}
		}
	}
	var whole [][]float64
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		sum := row[c]
		for _, b := range base {
			sum += row[b]
		}
		if !math.IsNaN(sum) {
			whole = append(whole, row)
			low, high = min(low, row[c]), max(high, row[c])
		}
	}
	n := len(base) + 1
	if len(whole) < enoughRows*n || !(high > low) {
		return r, false
	}
	gram, cross := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
	scale := make([]float64, n)
	for i := range scale {
		for _, row := range whole {
			v := 1.0
			if i > 0 {
				v = row[base[i-1]]
			}
			scale[i] = max(scale[i], math.Abs(v))
		}
		if scale[i] == 0 {
			return r, false
		}
	}
	for _, row := range whole {
		x := make([]float64, n)
		x[0] = 1
		for i, b := range base {
			x[i+1] = row[b] / scale[i+1]
		}
		gram.SymRankOne(gram, 1, mat.NewVecDense(n, x))
		for i, v := range x {
			cross.SetVec(i, cross.AtVec(i)+v*row[c])
		}
	}
	var chol mat.Cholesky
	var fit mat.VecDense
	if !chol.Factorize(gram) || chol.SolveVecTo(&fit, cross) != nil {
		return r, false
	}
	// Weights that somebody chose are short; what they leave is the offset.
	r = relation{channel: c}
	slack := half[c]
	for i, b := range base {
		w := math.Round(fit.AtVec(i+1)/scale[i+1]*1e4) / 1e4
		if w == 0 {
			continue
		}
		r.of, r.weight = append(r.of, b), append(r.weight, w)
		slack += math.Abs(w) * half[b]
	}
	if len(r.of) == 0 {
		return r, false
	}
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range whole {
		d := row[c] - r.value(row)
		least, most = min(least, d), max(most, d)
	}
	if r.offset = (least + most) / 2; math.Abs(r.offset) <= slack*1.0000001 {
		r.offset = 0
	} else {
		r.offset = math.Round(r.offset*1e4) / 1e4
	}
	slack = slack*1.0000001 + 1e-12*max(math.Abs(low), math.Abs(high))
	if least-r.offset < -slack || most-r.offset > slack || slack > (high-low)/20 {
		return r, false
	}
	return r, true
}
