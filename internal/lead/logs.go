package lead

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// AddLogs returns log(e^a + e^b).
func AddLogs(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + simd.Log1p(simd.Exp(b-a))
}
