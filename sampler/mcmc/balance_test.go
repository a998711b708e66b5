package mcmc

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The logarithms of rows are those of single differences, of any size and number.
func TestBalancesOfRows(t *testing.T) {
	inf := float32(math.Inf(1))
	g := []float32{0, 0.3, -0.3, 5, -5, 80, -80, 200, -200, 1e30, -3e38, 3e38, inf}
	for len(g) < 200 {
		g = append(g, float32(len(g)%97)/7-6)
	}
	w := make([]float32, len(g))
	for _, b := range balances() {
		b.logs(w, g)
		for i, d := range g {
			want := b.log(float64(d))
			if math.IsInf(want, -1) {
				assert.Equal(t, want, float64(w[i]), "%v, Δ = %v", b, d)
				continue
			}
			assert.InDelta(t, want, float64(w[i]), 3e-7*(1+math.Abs(want)), "%v, Δ = %v", b, d)
		}
		b.logs(w[:3], []float32{1, float32(math.NaN()), -1})
		assert.True(t, math.IsNaN(float64(w[1])), "%v", b)
		assert.InDelta(t, b.log(-1), float64(w[2]), 1e-6, "%v", b)
	}
}

// Barker's weights by sigmoids are those by logarithms, also where those of some moves
// are at leastWeight; where all are, or one is not a number, logarithms take over.
func TestBarkerWeights(t *testing.T) {
	inf := float32(math.Inf(1))
	for name, g := range map[string][]float32{
		"flat": {0.3, -1, 2, 0}, "steep": {90, -200, 3, inf}, "least": {300, 200, 210, inf}, "all least": {30, 31, 200, 90}, "none": {inf, inf, inf, inf},
	} {
		k := table{sites: 4, levels: 2, field: func([]float64, []float32, []int32) {}}
		w, sum := make([]float32, 4), make([]float64, 1)
		k.weigh(w, sum, g, make([]int32, 4), Barker)
		want, total := make([]float64, 4), 0.0
		for i, d := range g {
			want[i] = math.Exp(Barker.log(float64(d)) - Barker.log(float64(min(g[0], g[1], g[2], g[3]))))
			if d < inf {
				want[i] = max(want[i], leastWeight)
			}
			if math.IsNaN(want[i]) {
				want[i] = 0
			}
			total += want[i]
		}
		for i := range g {
			if total == 0 {
				assert.Zero(t, w[i], name)
				continue
			}
			assert.InDelta(t, want[i]/total, float64(w[i])/sum[0], 1e-6*want[i]/total+1e-15, "%s: change %d", name, i)
			assert.Equal(t, g[i] == inf, w[i] == 0, "%s: change %d", name, i)
		}
		g[2] = float32(math.NaN())
		k.weigh(w, sum, g, make([]int32, 4), Barker)
		assert.True(t, math.IsNaN(sum[0]), name)
	}
}
