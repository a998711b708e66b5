package diagnose

import (
	"math"
	"slices"
)

// moments holds the number of some values, their mean and the sum of their squared deviations from
// the mean.
type moments struct {
	n, mean, squares float64
}

// add includes the value v (Welford 1962).
func (m *moments) add(v float64) {
	m.n++
	d := v - m.mean
	m.mean += d / m.n
	m.squares += d * (v - m.mean)
}

// merge includes the values that o summarises (Chan, Golub and LeVeque 1983).
func (m *moments) merge(o moments) {
	if o.n == 0 {
		return
	}
	n, d := m.n+o.n, o.mean-m.mean
	m.mean += d * (o.n / n)
	m.squares += o.squares + d*d*(m.n*o.n/n)
	m.n = n
}

// variance returns the variance of the values with divisor n − 1.
func (m *moments) variance() float64 { return m.squares / (m.n - 1) }

// meanSD returns the mean and the standard deviation (divisor S − 1) of all
// draws together.
func meanSD(draws [][]float64) (mean, sd float64) {
	var all moments
	for _, x := range draws {
		m, v := meanVariance(x)
		all.merge(moments{float64(len(x)), m, v * float64(len(x)-1)})
	}
	return all.mean, math.Sqrt(all.squares / (all.n - 1))
}

// meanVariance returns the mean of x and its variance, with divisor n − 1, or 0 if n = 1. It makes
// two passes, because the difference of a sum of squares and a squared sum would cancel. A constant
// x has variance 0 exactly.
func meanVariance(x []float64) (mean, variance float64) {
	// The mean is computed relative to x[0], so that a constant has no rounding error.
	for _, v := range x {
		mean += v - x[0]
	}
	mean = x[0] + mean/float64(len(x))
	if len(x) == 1 {
		return mean, 0
	}
	for _, v := range x {
		variance += float64((v - mean) * (v - mean))
	}
	return mean, variance / float64(len(x)-1)
}

// sorted returns the draws of all chains in ascending order.
func sorted(draws [][]float64) []float64 {
	all := slices.Concat(draws...)
	slices.Sort(all)
	return all
}

// quantile returns the p-quantile of ascending. It interpolates linearly between order statistics,
// definition 7 of Hyndman and Fan 1996, which is also the default of R.
func quantile(ascending []float64, p float64) float64 {
	at := float64(len(ascending)-1) * p
	low := int(at)
	below := ascending[low]
	if h := at - float64(low); h > 0 && ascending[low+1] != below {
		return (1-h)*below + h*ascending[low+1]
	}
	return below
}
