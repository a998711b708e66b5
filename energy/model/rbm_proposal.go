package model

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// coarsest is how far a field for proposals may be from the one of FieldFrom, in nats:
// proposals take half of it, and first order is that far from a difference of energies
// wherever a flip moves an activation by one.
const coarsest = 1. / 8

// ProposalFrom is FieldFrom with a field for proposals, as mcmc.DMALA wants it, in half
// the time: −b_v − Wᵀσ(a) with W and σ(a) − ½ rounded to integers,
//
//	h_i = (−b_v,i − ½Σ_j W_ji) − u_i·Σ_j (W_ji/u_i)·2⁻¹³·(2¹³·(σ(a_j) − ½)),
//
// each of the two brackets in the sum to the nearest, with u_i the smallest power of two
// for which the magnitudes of the W_ji/u_i are below 2¹⁵ and add up to less than 2¹⁹. The
// sum is exact and h the same on every machine. It differs from that of FieldFrom by at
// most
//
//	u_i·hidden/4 + 2⁻¹⁴·(Σ_j |W_ji| + u_i·hidden/2),
//
// rounding to float32 aside, and by some hundredth of that where weights are like noise.
// Where this is more than 1/8 for a site, as it is with weights of great magnitude, h is
// that of FieldFrom for all. Energies and caches are those of FieldFrom in any case.
func (m *RBM) ProposalFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	m.checkFrom(h, next, y, cache, x)
	m.rough.once.Do(m.fix)
	m.evaluate(e, h, nil, next, y, cache, x, m.rough.weights)
}

// fix brings the weights into fixed point, if that is good enough.
func (m *RBM) fix() {
	visible, hidden := len(m.bias.visible), len(m.bias.hidden)
	minus, origin, size := make([]float32, len(m.w)), make([]float32, visible), make([]float64, visible)
	total := make([]float64, visible)
	for j := range hidden {
		for i, w := range m.w[j*visible : (j+1)*visible] {
			minus[j*visible+i] = -w
			total[i] += float64(w)
			size[i] += math.Abs(float64(w))
		}
	}
	for i, b := range m.bias.visible {
		origin[i] = float32(0 - float64(b) - float64(total[i]/2))
	}
	fixed := simd.Fix(minus, origin, visible, hidden)
	for i, s := range size {
		if unit := fixed.Unit(i) * float64(hidden); !(float64(unit/4)+float64((s+float64(unit/2))*0x1p-14) <= coarsest) {
			return
		}
	}
	m.rough.weights = fixed
}
