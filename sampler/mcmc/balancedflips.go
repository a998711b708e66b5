package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// balancedFlips makes the flip thresholds of the discrete Langevin proposal for a
// balance other than √t: site i flips with odds e^(−c_i)·g(t)/g(1), t = e^(−Δ). For Min
// and Max these are
//
//	e^(−c − max(Δ, 0)) and e^(−c − min(Δ, 0)),
//
// and for Barker they make the probability, with o = 2e^(−c),
//
//	o·σ(−Δ)/(1 + o·σ(−Δ)) = o/(1+o)·σ(−Δ + log(1+o)),
//
// so that [simd.FlipThresholds] serves for all.
type balancedFlips struct {
	balance Balance
	cost    []float32              // c, or −log(1+o), one entry or one per site
	share   []int64                // o/(1+o) in multiples of 2⁻³¹, of Barker
	d       [balancedBlock]float32 // differences
	zero    [balancedBlock]int32
}

const balancedBlock = 256

func newBalancedFlips(b Balance) *balancedFlips { return &balancedFlips{balance: b} }

// setCost takes the costs c, one entry or one per site.
func (j *balancedFlips) setCost(c []float32) {
	if j.cost == nil {
		j.cost, j.share = make([]float32, len(c)), make([]int64, len(c))
	}
	copy(j.cost, c)
	if j.balance != Barker {
		return
	}
	for i, v := range c {
		o := 2 * simd.Exp(-float64(v))
		j.cost[i] = float32(-simd.Log1p(o))
		j.share[i] = int64(o / (1 + o) * (1 << 31))
	}
}

// thresholds stores what [simd.FlipThresholds] does, for the fields h of one state x.
func (j *balancedFlips) thresholds(t []int32, h []float32, x []int32) {
	if j.balance == Barker {
		simd.FlipThresholds(t, h, x, 1, j.cost)
		j.shares(t)
		return
	}
	for from := 0; from < len(x); from += balancedBlock {
		to := min(from+balancedBlock, len(x))
		cost := j.cost
		if len(cost) > 1 {
			cost = cost[from:to]
		}
		j.rest(t[from:to], h[from:to], x[from:to], cost)
	}
}

// shares multiplies thresholds by share. A positive threshold stays at least 1; others do not
// change.
func (j *balancedFlips) shares(t []int32) {
	share := j.share[0]
	for i, v := range t {
		if len(j.share) > 1 {
			share = j.share[i]
		}
		s := int32(int64(v) * share >> 31)
		if s == 0 && v > 0 {
			s = 1
		}
		t[i] = s
	}
}

// rest is thresholds for Min and Max.
func (j *balancedFlips) rest(t []int32, h []float32, x []int32, cost []float32) {
	const infinite = 0x7f800000
	n := len(x)
	d, h := j.d[:n], h[:n]
	keep := int32(0) // signs of what stays
	if j.balance == Max {
		keep = -1
	}
	for i, l := range x {
		v := math.Float32bits(h[i]) ^ uint32(l)<<31
		if v&(1<<31-1) < infinite { // mostly
			v &^= uint32(int32(v)>>31 ^ keep)
		} else if v == infinite|1<<31 && j.balance == Min {
			v = 0
		}
		d[i] = math.Float32frombits(v)
	}
	simd.FlipThresholds(t, d, j.zero[:n], 1, cost)
}
