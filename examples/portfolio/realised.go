package main

import "math"

// realised is the performance of weights in periods that were not used for fitting. The weights
// drift with the prices and are reset at regular intervals.
type realised struct {
	Periods    int     `json:"periods"`
	Return     float64 `json:"return"`     // compounded return per year
	Volatility float64 `json:"volatility"` // volatility per year
	Turnover   float64 `json:"turnover"`   // ½Σ_j|x_j − drifted x_j| per year
	// largest violation of a budget under the covariance of these periods
	Largest  float64 `json:"largest_violation"`
	Feasible float64 `json:"feasible"`

	parts []float64 // contribution to the variance as a share of the budget, by asset
}

// realise applies the weights x to rows of returns, resetting them every so many periods. The
// budget is absolute.
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

// kept returns the largest and the mean violation, given the assets' shares of their budgets,
// and the share of assets within the tolerance.
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
