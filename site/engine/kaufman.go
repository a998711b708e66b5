package engine

import (
	"math"
	"slices"
)

// torusEnergy returns the mean energy per site, in units of the coupling J, of the Ising
// model on a torus of m×n sites at K = J/T without a field: −d ln Z/dK / (mn) of
// Kaufman's partition sum (Phys. Rev. 76, 1232, 1949, equation 66),
//
//	Z = ½ (2 sinh 2K)^{mn/2} · (∏ 2cosh(mγ_odd/2) + ∏ 2sinh(mγ_odd/2) + ∏ 2cosh(mγ_even/2) + ∏ 2sinh(mγ_even/2)),
//
// with products over l = 1, 3, …, 2n − 1 and l = 0, 2, …, 2n − 2, where
// cosh γ_l = cosh 2K·coth 2K − cos(πl/n) and γ_0 = 2K + ln tanh K.
func torusEnergy(m, n int, k float64) float64 {
	sinh, cosh := math.Sinh(2*k), math.Cosh(2*k)
	half := float64(m) / 2
	// for each product: ln |·| and its derivative with respect to K
	var logs, slopes [4]float64
	// a = mγ_0/2, which may be negative
	zero, dzero := half*(2*k+math.Log(math.Tanh(k))), half*(2+2/sinh)
	for r := range n {
		for _, odd := range []int{1, 0} {
			a, da := zero, dzero
			if l := 2*r + odd; l > 0 {
				gamma := math.Acosh(cosh*cosh/sinh - math.Cos(math.Pi*float64(l)/float64(n)))
				a, da = half*gamma, half*2*cosh*(sinh*sinh-1)/(sinh*sinh)/math.Sinh(gamma)
			}
			at := 2 * (1 - odd)
			logs[at] += math.Abs(a) + math.Log1p(math.Exp(-2*math.Abs(a))) // ln 2cosh a
			slopes[at] += da * math.Tanh(a)
			if r == 0 && odd == 0 {
				continue // 2sinh(mγ_0/2) vanishes at the critical point: below
			}
			logs[at+1] += a + math.Log(-math.Expm1(-2*a)) // ln 2sinh a
			slopes[at+1] += da / math.Tanh(a)
		}
	}
	logs[3] += math.Abs(zero) // the last factor without f = ±(1 − e^(−2|a|))
	f, df := math.Copysign(-math.Expm1(-2*math.Abs(zero)), zero), (1+math.Exp(-2*math.Abs(zero)))*dzero
	top, sum, slope := slices.Max(logs[:]), 0.0, 0.0
	for i, l := range logs {
		w := math.Exp(l - top)
		if i < 3 {
			sum, slope = sum+w, slope+w*slopes[i]
		} else {
			sum, slope = sum+f*w, slope+(df+f*slopes[3])*w
		}
	}
	return -(cosh/sinh + slope/sum/float64(m*n))
}

// spontaneous returns the magnetisation |m| of the infinite square lattice without a field, at K
// = J/T (Yang, Phys. Rev. 85, 808, 1952).
func spontaneous(k float64) float64 {
	s := math.Sinh(2 * k)
	if s <= 1 {
		return 0
	}
	return math.Pow(1-math.Pow(s, -4), 1./8)
}
