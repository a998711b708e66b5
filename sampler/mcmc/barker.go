package mcmc

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// barkerRows multiplies weights by Barker's function, whose g(e^(−d)) = σ(−d) is computed
// as such, not by its logarithm.
type barkerRows struct{ pull []float32 }

// barkerEntries is how many entries are multiplied at a time.
const barkerEntries = 1024

func newBarkerRows(cols int) *barkerRows {
	return &barkerRows{make([]float32, max(barkerEntries/cols, 1)*cols)}
}

// multiply takes the weights w of the distances of levels, 1 for the level that a site has, at least
// weightFloor or 0, and the differences g. Products are at least weightFloor, too, but 0
// for a level that is known to have probability zero; sum becomes their totals.
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
				if v < weightFloor && w[c] > 0 && g[c] <= math.MaxFloat32 {
					v = weightFloor
				}
				w[c] = v
				total += float64(v)
			}
			sum[i] = total
		}
		w, sum, g = w[n:], sum[rows:], g[n:]
	}
}
