package twisted

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// The nodes and weights of the 16-point Gauss–Legendre rule on (−1, 1), the
// positive ones (Abramowitz and Stegun 1964, table 25.4); TestTruncated holds them.
var (
	legendreNode = [8]float64{
		0.0950125098376374402, 0.2816035507792589132, 0.4580167776572273863, 0.6178762444026437484,
		0.7554044083550030339, 0.8656312023878317439, 0.9445750230732325761, 0.9894009349916499326,
	}
	legendreWeight = [8]float64{
		0.1894506104550684963, 0.1826034150449235889, 0.1691565193950025382, 0.1495959888165767321,
		0.1246289712555338720, 0.0951585116824927848, 0.0622535239386478929, 0.0271524594117540949,
	}
)

const (
	faint  = 40 // densities below e⁻⁴⁰ of the largest are left out
	pieces = 2  // of each side of the mode: the rule is then good to 1e-10
)

// truncated returns, for z ~ N(0, 1), log P(lo ≤ z ≤ hi) and mean and variance of z
// given that, by quadrature from the mode on outwards: that is as good in the
// tails and for narrow intervals as elsewhere. lo < hi.
func truncated(lo, hi float64) (logp, mean, variance float64) {
	mode := min(max(0, lo), hi)
	var node, weight [4 * pieces * len(legendreNode)]float64
	count, total, first := 0, 0.0, 0.0
	for _, sign := range [2]float64{-1, 1} {
		room := hi - mode
		if sign < 0 {
			room = mode - lo
		}
		// The density falls as e^{−d(d/2 ± mode)} at the distance d.
		out := float64(sign * mode)
		end := min(room, -out+math.Sqrt(float64(out*out)+2*faint))
		if !(end > 0) {
			continue
		}
		step := end / pieces
		for p := range pieces {
			centre := float64((float64(p) + 0.5) * step)
			for k, x := range legendreNode {
				for _, s := range [2]float64{-1, 1} {
					d := centre + float64(s*x*step/2)
					fall := float64(d * (float64(d/2) + out))
					w := float64(legendreWeight[k] * step / 2 * simd.Exp(-fall))
					node[count], weight[count] = sign*d, w
					count++
					total += w
					first += float64(w * float64(sign*d))
				}
			}
		}
	}
	if count == 0 {
		return math.Inf(-1), mode, 0
	}
	mean = first / total
	for k, x := range node[:count] {
		variance += float64(weight[k] * float64((x-mean)*(x-mean)))
	}
	logp = simd.Log(total) - float64(mode*mode/2) - float64(simd.Log(2*math.Pi)/2)
	return logp, mode + mean, variance / total
}
