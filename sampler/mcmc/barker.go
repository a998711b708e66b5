package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// barkerRows multiplies weights by Barker's function g(e^(−d)) = σ(−d), without logarithms.
type barkerRows struct{ pull []float32 }

// barkerEntries is the number of entries multiplied at a time.
const barkerEntries = 1024

func newBarkerRows(cols int) *barkerRows {
	return &barkerRows{make([]float32, max(barkerEntries/cols, 1)*cols)}
}

// multiply multiplies the weights w of the distances of levels by g(e^(−d)) for the differences
// g, and stores the totals of rows in sum. w is 1 for the present level of a site and otherwise
// 0 or at least leastWeight; so are the products, with 0 for a level that is known to have
// probability zero.
func (b *barkerRows) multiply(w []float32, sum []float64, g []float32, cols int) {
	for len(sum) > 0 {
		rows := min(len(sum), len(b.pull)/cols)
		n := rows * cols
		for i, d := range g[:n] {
			b.pull[i] = -d
		}
		simd.SigmoidTo(b.pull[:n], b.pull[:n])
		for i := range rows {
			total := 0.0
			for c := i * cols; c < (i+1)*cols; c++ {
				v := float32(w[c] * b.pull[c])
				if v < leastWeight && w[c] > 0 && g[c] <= math.MaxFloat32 {
					v = leastWeight
				}
				w[c] = v
				total += float64(v)
			}
			sum[i] = total
		}
		w, sum, g = w[n:], sum[rows:], g[n:]
	}
}
