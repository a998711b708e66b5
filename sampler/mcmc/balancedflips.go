package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// balancedFlips are the flip thresholds of the discrete Langevin proposal under
// another balance than √t: site i flips with odds ε_i·g(t)/g(1), ε_i = e^(−c_i), where
// t = e^(−Δ). With ν = σ(−Δ) and ν' = σ(Δ), t = ν/ν', these are
//
//	2ν, ν/max(ν, ν') and max(ν, ν')/ν'
//
// times ε_i for Barker, Min and Max, so that two sigmoids and a division will do.
type balancedFlips struct {
	balance  Balance
	odds     []float32              // ε, one entry or one per site
	up, down [balancedBlock]float32 // ν and ν'
}

const balancedBlock = 256

func newBalancedFlips(b Balance) *balancedFlips { return &balancedFlips{balance: b} }

// setCost takes the costs c, one entry or one per site.
func (j *balancedFlips) setCost(c []float32) {
	if j.odds == nil {
		j.odds = make([]float32, len(c))
	}
	for i, v := range c {
		j.odds[i] = float32(simd.Exp(-float64(v)))
	}
}

// thresholds stores what [simd.FlipThresholds] does, for the fields h of one state x.
func (j *balancedFlips) thresholds(t []int32, h []float32, x []int32) {
	for from := 0; from < len(x); from += balancedBlock {
		to := min(from+balancedBlock, len(x))
		odds := j.odds
		if len(odds) > 1 {
			odds = odds[from:to]
		}
		j.block(t[from:to], h[from:to], x[from:to], odds)
	}
}

func (j *balancedFlips) block(t []int32, h []float32, x []int32, odds []float32) {
	n := len(x)
	up, down, h, t := j.up[:n], j.down[:n], h[:n], t[:n]
	for i, l := range x {
		d := h[i] * float32(1-2*l)
		up[i], down[i] = -d, d
	}
	simd.SigmoidTo(up, up)
	simd.SigmoidTo(down, down)
	epsilon := odds[0]
	for i, nu := range up {
		if len(odds) > 1 {
			epsilon = odds[i]
		}
		rate, rest := 2*nu, float32(1)
		switch j.balance {
		case Min:
			rate, rest = nu, max(nu, down[i])
		case Max:
			rate, rest = max(nu, down[i]), down[i]
		}
		rate = float32(epsilon * rate)
		t[i] = threshold(rate / (rate + rest))
	}
	for i, l := range x {
		switch d := h[i] * float32(1-2*l); {
		case d != d:
			t[i] = -1
		case d > math.MaxFloat32:
			t[i] = 0
		}
	}
}

// threshold returns q in multiples of 2⁻³¹, as [simd.FlipThresholds] bounds them.
func threshold(q float32) int32 {
	if !(q > 0) { // also 0/0, of no odds to stay and a step size of nearly 0
		return 1
	}
	return int32(min(max(q*(1<<31), 1), 1<<31-1<<7))
}
