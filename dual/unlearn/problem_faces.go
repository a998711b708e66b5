package unlearn

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/tilt"
)

// maxFaces is the largest number of states with probability that Global takes:
// it looks at every set of them.
const maxFaces = 20

// Global returns the optimum of min KL(p‖q) subject to KL(p‖q_1) ≥ b on a small space. It
// also works beyond b_crit, where no multiplier yields the optimum: the optimum then lies
// on a face of the simplex, that is, among the distributions on a subset of the states.
// Cost and Value are as for [ReverseKL]; Lambda is nil.
//
// The set {KL(p‖q_1) ≥ b} is not convex, so every face is searched. Within a face, a
// stationary point is q^{1/(1−λ)} q_1^{−λ/(1−λ)} restricted to the face. It is a minimum
// only if λ < 1, or on an edge, where the bound alone leaves finitely many points. The
// search takes time 2^n for n states of positive q, at most 20.
//
// It returns an error if there is more than one distribution to move away from, more than
// 20 states, or a bound that no distribution satisfies (the largest KL is at the least
// likely state of q_1).
func (u *Problem) Global(b float64) (*Solution, error) {
	if err := u.check(ReverseKL); err != nil {
		return nil, err
	}
	if len(u.away) != 1 {
		return nil, fmt.Errorf("unlearn: Global: %d distributions, want 1", len(u.away))
	}
	var support []int
	most := 0.0
	for k, q := range u.q {
		if q > 0 {
			support = append(support, k)
			most = max(most, -simd.Log(u.away[0][k]))
		}
	}
	if n := len(support); n > maxFaces {
		return nil, fmt.Errorf("unlearn: Global: %d states with probability, want ≤ %d", n, maxFaces)
	}
	if !(b <= most) {
		return nil, fmt.Errorf("unlearn: Global: b = %v, want ≤ %v, the largest KL(p‖q_1) of a distribution on the support of q", b, most)
	}
	best := &Solution{Cost: math.Inf(1)}
	try := func(p []float64) {
		if cost := KL(p, u.q); cost < best.Cost {
			best = &Solution{P: p, Cost: cost, Value: []float64{KL(p, u.away[0])}}
		}
	}
	for set := uint(1); set < 1<<len(support); set++ {
		face := make([]int, 0, bits.OnesCount(set))
		for k, state := range support {
			if set&(1<<k) != 0 {
				face = append(face, state)
			}
		}
		u.tilts(face, b, try)
		if len(face) == 2 {
			u.edge(face, b, try)
		}
	}
	return best, nil
}

// tilts tries the distributions ∝ q·(q/q_1)^t on a face, t ≥ 0, whose KL(p‖q_1)
// grows with t: t = 0 if that is enough, else the one that meets the bound.
func (u *Problem) tilts(face []int, b float64, try func([]float64)) {
	tilted := func(t float64) []float64 {
		w := make([]float64, len(face))
		for i, k := range face {
			w[i] = simd.Log(u.q[k]) + float64(t*simd.Log(u.q[k]/u.away[0][k]))
		}
		tilt.Normalize(w)
		p := make([]float64, len(u.q))
		for i, k := range face {
			p[k] = w[i]
		}
		return p
	}
	enough := func(t float64) bool { return KL(tilted(t), u.away[0]) >= b }
	if enough(0) {
		try(tilted(0))
		return
	}
	hi := 1.0
	for !enough(hi) {
		if hi *= 2; hi > 1<<40 { // the distribution has frozen: beyond this face's b_crit
			return
		}
	}
	try(tilted(bisect(0, hi, enough)))
}

// edge tries the distributions on two states that meet the bound, one on either
// side of q_1's own.
func (u *Problem) edge(face []int, b float64, try func([]float64)) {
	i, j := face[0], face[1]
	mixed := func(a float64) []float64 {
		p := make([]float64, len(u.q))
		p[i], p[j] = a, 1-a
		return p
	}
	enough := func(a float64) bool { return KL(mixed(a), u.away[0]) >= b }
	center := u.away[0][i] / (u.away[0][i] + u.away[0][j])
	if enough(0) {
		try(mixed(bisect(center, 0, enough)))
	}
	if enough(1) {
		try(mixed(bisect(center, 1, enough)))
	}
}

// bisect returns the point nearest to no, on the way from no to yes, where ok
// becomes true.
func bisect(no, yes float64, ok func(float64) bool) float64 {
	if ok(no) {
		return no
	}
	for {
		mid := no + float64((yes-no)/2)
		if mid == no || mid == yes {
			return yes
		}
		if ok(mid) {
			yes = mid
		} else {
			no = mid
		}
	}
}
