package model

import (
	"fmt"
	"math"
	"slices"
)

// TorusIsing returns the exact log Z and the mean energy per site of an Ising model, in nats. The
// model is on a torus of m × n sites, without a field. It is NewIsing(Lattice{m, n}, k, 0), with
// the distribution
//
//	p(x) ∝ exp(k·Σ s_i s_j),
//
// where the sum is over pairs of neighbouring spins s = ±1. TorusIsing takes O(n) time.
//
// The formula is equation 66 of Kaufman (Phys. Rev. 76, 1232, 1949),
//
//	Z = ½ (2 sinh 2k)^{mn/2} · (∏ 2cosh(mγ_odd/2) + ∏ 2sinh(mγ_odd/2)
//		+ ∏ 2cosh(mγ_even/2) + ∏ 2sinh(mγ_even/2)).
//
// The products with γ_odd run over γ_l for l = 1, 3, …, 2n − 1. The products with γ_even run over
// γ_l for l = 0, 2, …, 2n − 2. Here cosh γ_l = cosh 2k·coth 2k − cos(πl/n) and γ_0 = 2k + ln tanh
// k. The mean energy per site is −k·(d log Z/dk)/(mn).
//
// TorusIsing returns an error unless both sides are at least 3 and k is in (0, 100].
func TorusIsing(m, n int, k float64) (logZ, perSite float64, err error) {
	if m < 3 || n < 3 {
		return 0, 0, fmt.Errorf("model: TorusIsing: m, n = %d, %d, want ≥ 3", m, n)
	}
	if !(k > 0 && k <= 100) {
		return 0, 0, fmt.Errorf("model: TorusIsing: k = %v, want 0 < k ≤ 100", k)
	}
	sinh, cosh := math.Sinh(2*k), math.Cosh(2*k)
	half := float64(m) / 2
	var logs, slopes [4]float64                                                // of each product: ln |·| and its derivative by k
	zero, dzero := half*(float64(2*k)+math.Log(math.Tanh(k))), half*(2+2/sinh) // a = mγ_0/2, of either sign
	for r := range n {
		for _, odd := range []int{1, 0} {
			a, da := zero, dzero
			if l := 2*r + odd; l > 0 {
				gamma := math.Acosh(float64(cosh*(cosh/sinh)) - math.Cos(math.Pi*float64(l)/float64(n)))
				a, da = float64(half*gamma), float64(m)*cosh*(1-1/sinh/sinh)/math.Sinh(gamma)
			}
			at := 2 * (1 - odd)
			logs[at] += math.Abs(a) + math.Log1p(math.Exp(-2*math.Abs(a))) // ln 2cosh a
			slopes[at] += float64(da * math.Tanh(a))
			if r == 0 && odd == 0 {
				continue // 2sinh(mγ_0/2) vanishes at the critical point: below
			}
			logs[at+1] += a + math.Log(-math.Expm1(-2*a)) // ln 2sinh a
			slopes[at+1] += da / math.Tanh(a)
		}
	}
	logs[3] += math.Abs(zero) // the last factor without f = ±(1 − e^(−2|a|))
	f, df := math.Copysign(-math.Expm1(-2*math.Abs(zero)), zero), float64((1+math.Exp(-2*math.Abs(zero)))*dzero)
	top, sum, slope := slices.Max(logs[:]), 0.0, 0.0
	for i, l := range logs {
		w := math.Exp(l - top)
		if i < 3 {
			sum, slope = sum+w, slope+float64(w*slopes[i])
		} else {
			sum, slope = sum+float64(f*w), slope+float64(w*(df+float64(f*slopes[3])))
		}
	}
	sites := float64(m) * float64(n)
	logZ = float64(sites/2*math.Log(2*sinh)) + top + math.Log(sum) - math.Ln2
	return logZ, -k * (cosh/sinh + slope/sum/sites), nil
}
