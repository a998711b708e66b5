package main

import "math"

// realised is what weights do in periods that nothing was fitted to: they drift with the
// prices and are set again every so many periods.
type realised struct {
	Periods    int     `json:"periods"`
	Return     float64 `json:"return"`            // compounded, a year
	Volatility float64 `json:"volatility"`        // a year
	Turnover   float64 `json:"turnover"`          // ½Σ_j|x_j − drifted x_j|, a year
	Largest    float64 `json:"largest_violation"` // of the budgets, by the covariance of these periods
	Feasible   float64 `json:"feasible"`

	parts []float64 // of the budgets, by asset
}

// realise follows the weights x through rows of returns. Budgets are absolute.
func realise(x []float64, rows [][]float64, every int, year, budget float64) *realised {
	n, periods := len(x), float64(len(rows))
	f := &realised{Periods: len(rows), parts: make([]float64, n)}
	w, mean := append([]float64(nil), x...), make([]float64, n)
	growth, sum, squares, fixed := 0.0, 0.0, 0.0, 0.0
	for t, row := range rows {
		r := dot(w, row)
		growth += math.Log1p(r)
		sum += r / periods
		squares += r * r / periods
		fixed += dot(x, row) / periods
		for j, v := range row {
			w[j] *= (1 + v) / (1 + r)
			mean[j] += v / periods
		}
		if (t+1)%every == 0 && t+1 < len(rows) {
			for j := range w {
				f.Turnover += math.Abs(x[j]-w[j]) / 2
				w[j] = x[j]
			}
		}
	}
	for _, row := range rows {
		r := dot(x, row) - fixed
		for j, v := range row {
			f.parts[j] += x[j] * (v - mean[j]) * r / (periods - 1) / budget
		}
	}
	f.Return = math.Expm1(growth * year / periods)
	f.Volatility = math.Sqrt(max(0, squares-sum*sum) * periods / (periods - 1) * year)
	f.Turnover *= year / periods
	f.Largest, _, f.Feasible = kept(f.parts)
	return f
}

// kept returns the largest violation of parts of budgets, the mean one, and the part of the
// assets within the tolerance.
func kept(parts []float64) (largest, mean, feasible float64) {
	within := 0
	for _, c := range parts {
		largest = max(largest, c-1)
		mean += max(0, c-1) / float64(len(parts))
		if c <= 1+tolerance {
			within++
		}
	}
	return largest, mean, float64(within) / float64(len(parts))
}
