package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// flipJumps are the weights of [DLMC] on two levels, of many sites at a time. With
// ν = σ(−Δ) of the other level and ν' = σ(Δ) of the present one the rate over ν is
//
//	g/ν = 1/√(νν'), 1, 1/max(ν, ν'), 1/min(ν, ν')
//
// for Sqrt, Barker, Min and Max, so that two sigmoids and an exponential will do.
type flipJumps struct {
	balance  Balance
	up, down [flipJumpsBlock]float32 // ν and ν'
	stay     [flipJumpsBlock + 1]float32
	rate     [flipJumpsBlock]float32
	total    [1]float64
}

const flipJumpsBlock = 256

// weigh stores the probabilities of the two levels of every site in w, given the
// differences g of the sites at levels x, and their sums.
func (j *flipJumps) weigh(w []float32, sum []float64, g []float32, x []int32, tau float64) {
	for len(x) > 0 {
		n := min(len(x), flipJumpsBlock)
		j.block(w[:2*n], sum[:n], g[:2*n], x[:n], float32(tau))
		w, sum, g, x = w[2*n:], sum[n:], g[2*n:], x[n:]
	}
}

func (j *flipJumps) block(w []float32, sum []float64, g []float32, x []int32, tau float32) {
	n := len(x)
	up, down, stay := j.up[:n], j.down[:n], j.stay[:n+1]
	for i, l := range x {
		d := g[2*i+1-int(l)]
		up[i], down[i] = -d, d
	}
	simd.SigmoidTo(up, up)
	simd.SigmoidTo(down, down)
	for i, v := range up {
		r := tau
		switch j.balance {
		case Sqrt:
			r = tau / float32(math.Sqrt(float64(v*down[i])))
		case Min:
			r = tau / max(v, down[i])
		case Max:
			r = tau / min(v, down[i])
		}
		j.rate[i], stay[i] = r, -r
		if r != r {
			stay[i] = 0 // what else is in the row is to keep its weight
		}
	}
	stay[n] = 0 // the largest, from which weights are counted: they are e^(−rate)
	simd.Weights(stay, j.total[:], stay, n+1, 0)
	for i, l := range x {
		own, other := 2*i+int(l), 2*i+1-int(l)
		d, r, e := g[other], j.rate[i], stay[i]
		gone := 1 - e
		if r < shortRate {
			gone = float32(r * (1 - float32(r*(0.5-float32(r*(sixth-float32(r*twentyFourth)))))))
		}
		q := float32(up[i] * gone)
		rest := down[i] + float32(up[i]*e)
		switch {
		case d > math.MaxFloat32:
			q = 0
		case d == d:
			q = max(q, weightFloor)
		default:
			rest = d
		}
		w[other], w[own] = q, max(rest, weightFloor)
		sum[i] = float64(w[other]) + float64(w[own])
	}
}

// shortRate is where four terms of 1 − e^(−r) are as good as a float32: r⁴/120 < 2⁻²⁴.
const shortRate = 0.05

const (
	sixth        = float32(1) / 6
	twentyFourth = float32(1) / 24
)
