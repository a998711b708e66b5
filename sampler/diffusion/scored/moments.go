package scored

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// moments are the sums of weights and of their squares, in a unit that grows.
type moments struct {
	top         float64 // log of the unit
	sum, square float64
	n           int
}

// add counts a log-weight.
func (m *moments) add(logW float64) {
	if m.n++; math.IsInf(logW, -1) {
		return
	}
	if m.sum == 0 || logW > m.top {
		scale := 0.0
		if m.sum > 0 {
			scale = simd.Exp(m.top - logW)
		}
		m.sum *= scale
		m.square = float64(m.square*scale) * scale
		m.top = logW
	}
	v := simd.Exp(logW - m.top)
	m.sum += v
	m.square += float64(v * v)
}

func (m *moments) addAll(logW []float64) {
	for _, l := range logW {
		m.add(l)
	}
}

// mean returns the log of the mean weight and its relative standard error.
func (m *moments) mean() (logMean, stderr float64) {
	n := float64(m.n)
	if m.n == 0 {
		return math.NaN(), math.NaN()
	}
	if m.sum == 0 {
		return math.Inf(-1), math.NaN()
	}
	spread := float64(n*m.square)/float64(m.sum*m.sum) - 1
	return m.top + simd.Log(m.sum/n), math.Sqrt(max(0, spread) / (n - 1))
}
