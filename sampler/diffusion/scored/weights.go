package scored

import (
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// capFor returns the log of the least c with Σ(W−c)₊ ≤ excess·ΣW, of log-weights
// one of which is finite.
func capFor(logW []float64, excess float64) float64 {
	w := make([]float64, len(logW))
	top, total := slices.Max(logW), 0.0
	for i, l := range logW {
		w[i] = simd.Exp(l - top)
	}
	slices.Sort(w)
	for _, v := range w {
		total += v
	}
	allowed := float64(excess * total)
	for k := len(w) - 1; k > 0; k-- {
		// Lowering c from w[k] to w[k−1] cuts off the weights from k on.
		cut := float64((w[k] - w[k-1]) * float64(len(w)-k))
		if cut > allowed {
			return top + simd.Log(w[k]-allowed/float64(len(w)-k))
		}
		allowed -= cut
	}
	return top + simd.Log(w[0]-allowed/float64(len(w)))
}

// ratio estimates Ea/Eb from pairs.
type ratio struct{ a, b, aa, ab, bb float64 }

func (r *ratio) add(a, b float64) {
	r.join(ratio{a, b, float64(a * a), float64(a * b), float64(b * b)})
}

func (r *ratio) join(o ratio) {
	r.a += o.a
	r.b += o.b
	r.aa += o.aa
	r.ab += o.ab
	r.bb += o.bb
}

// share returns Σa/Σb and its standard error, NaN without a b.
func (r *ratio) share() (share, stderr float64) {
	share = r.a / r.b
	squares := r.aa - float64(2*share*r.ab) + float64(float64(share*share)*r.bb)
	return share, math.Sqrt(max(0, squares)) / r.b
}
