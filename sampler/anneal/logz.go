package anneal

import (
	"fmt"
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

// mostStages bounds the temperatures of a run: each builds kernels anew.
const mostStages = 1 << 24

// stages returns the inverse temperatures of a schedule at t = 0, 1/n, …, 1.
func stages(caller string, schedule Schedule, n int) ([]float64, error) {
	if n > mostStages {
		return nil, fmt.Errorf("anneal: %sConfig.Stages = %d, want ≤ %d", caller, n, mostStages)
	}
	betas := make([]float64, n+1)
	for k := range betas {
		betas[k] = schedule(float64(k) / float64(n))
		switch {
		case k == 0 && betas[k] != 0:
			return nil, fmt.Errorf("anneal: %s: Schedule(0) = %v, want 0", caller, betas[k])
		case k > 0 && !(betas[k] > betas[k-1] && betas[k] <= 1):
			return nil, fmt.Errorf("anneal: %s: Schedule(%d/%d) = %v, want within (%v, 1]", caller, k, n, betas[k], betas[k-1])
		}
	}
	if betas[n] != 1 {
		return nil, fmt.Errorf("anneal: %s: Schedule(1) = %v, want 1", caller, betas[n])
	}
	return betas, nil
}

// Power returns the schedule β(t) = t^a from 0 to 1, a > 0. With a > 1 most
// temperatures are hot ones.
func Power(a float64) Schedule {
	return func(t float64) float64 {
		if t <= 0 {
			return 0
		}
		return simd.Exp(a * simd.Log(t))
	}
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
