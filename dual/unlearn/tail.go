package unlearn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// mostShape is the largest tail shape k̂ of these ratios, see [Problem.Tails] for which a sample
// determines the mean (Vehtari, Simpson, Gelman, Yao and Gabry 2024).
const mostShape = 0.7

// TailError reports that a mean over the ratios of [FromRatios] cannot be estimated. The largest
// ratios follow a generalised Pareto distribution of shape k̂ > 0.7, and no sample of reasonable
// size can determine the mean of such ratios.
type TailError struct {
	Formulation Formulation
	Ratios      int // index of the ratios in the arguments of FromRatios
	// tail shape k̂: the shape of a generalised Pareto distribution fitted to the largest ratios
	Shape float64
}

func (e *TailError) Error() string {
	return fmt.Sprintf("unlearn: %v: the tail of ratios[%d] has the shape %.2f, want ≤ %g: their mean is not that of the sample; draw from a distribution with heavier tails than q_%d, or bound the ratios", e.Formulation, e.Ratios, e.Shape, mostShape, e.Ratios+1)
}

// tail fits a generalised Pareto distribution to the tail of n values w, which is the excess of the
// largest min(n/5, 3√n) values over the next smaller value. It replaces these values in w by
// quantiles of the fit, limited to the largest value (Pareto-smoothed importance sampling, Vehtari
// et al. 2024). It returns the shape k̂, or −∞ if there is no tail to fit.
func tail(w []float64) float64 {
	n := len(w)
	m := int(math.Ceil(min(float64(n)/5, 3*math.Sqrt(float64(n)))))
	if m < 5 || m >= n {
		return math.Inf(-1)
	}
	order := make([]int, n)
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case w[a] < w[b]:
			return -1
		case w[a] > w[b]:
			return 1
		}
		return 0
	})
	top := order[n-m:]
	from := w[order[n-m-1]]
	x := make([]float64, m)
	for i, k := range top {
		x[i] = w[k] - from
	}
	if !(x[0] > 0) { // ties at the top: the values are bounded, like those of an indicator
		return math.Inf(-1)
	}
	shape, scale := pareto(x)
	most := w[top[m-1]]
	for i, k := range top {
		p := (float64(i) + 0.5) / float64(m)
		q := -float64(scale * simd.Log1p(-p))
		if shape != 0 {
			q = scale * simd.Expm1(-float64(shape*simd.Log1p(-p))) / shape
		}
		w[k] = min(from+q, most)
	}
	return shape
}

// pareto fits a generalised Pareto distribution to ascending x > 0 (Zhang and Stephens 2009). It
// shrinks the shape towards ½ as if ten more values had this shape.
func pareto(x []float64) (shape, scale float64) {
	n := len(x)
	grid := 30 + int(math.Sqrt(float64(n)))
	quarter := x[(n+2)/4-1]
	theta, logl := make([]float64, grid), make([]float64, grid)
	k := func(t float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += simd.Log1p(-t * v)
		}
		return sum / float64(n)
	}
	for i := range theta {
		theta[i] = 1/x[n-1] + (1-math.Sqrt(float64(grid)/(float64(i)+0.5)))/3/quarter
		kt := k(theta[i])
		logl[i] = float64(n) * (simd.Log(-theta[i]/kt) - kt - 1)
	}
	top, sum, mean := slices.Max(logl), 0.0, 0.0
	for i, l := range logl {
		v := simd.Exp(l - top)
		sum += v
		mean += float64(v * theta[i])
	}
	mean /= sum
	shape = k(mean)
	scale = -shape / mean
	return (float64(shape*float64(n)) + 5) / (float64(n) + 10), scale
}
