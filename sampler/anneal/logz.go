package anneal

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// LogZ is an estimate of log Z, Z = Σ_x exp(−E(x)) over all levels^sites states.
type LogZ struct {
	Value float64 // in nats

	// StdErr is the standard error of Value to first order. It says nothing of
	// modes that no chain has met.
	StdErr float64
}

// logMeanExp returns log((1/n) Σ exp(l_i)) and the relative standard error
// √(Σ(w/w̄−1)²/(n(n−1))) of the mean of the w_i = exp(l_i), the same bits on every
// processor; −Inf and NaN if all l_i are −Inf.
func logMeanExp(l []float64) (mean, relative float64) {
	top := math.Inf(-1)
	for _, v := range l {
		top = max(top, v)
	}
	if math.IsInf(top, -1) {
		return top, math.NaN()
	}
	n := float64(len(l))
	sum := 0.0
	for _, v := range l {
		sum += simd.Exp(v - top)
	}
	w := sum / n
	squares := 0.0
	for _, v := range l {
		d := simd.Exp(v-top)/w - 1
		squares += float64(d * d)
	}
	return top + simd.Log(w), math.Sqrt(squares / float64(n*max(n-1, 1)))
}
