package dual_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func ascent(T int) dual.Config {
	return dual.Config{Rule: dual.Ascent{Step: dual.Constant(20 / math.Sqrt(float64(T)))}, Uniform: true}
}

// The figures that the project's list of formulas gives for the ring, with
// their last digit as error: ascent with η = 20/√T, λ̄ over all iterates.
func TestIsingRing(t *testing.T) {
	exact.SkipRepeated(t)
	figures := []struct {
		T, seeds   int
		want, last float64
	}{{250, 40, 1.05, 0.005}, {1000, 20, 0.261, 5e-4}, {4000, 10, 0.064, 5e-4}}
	if !exact.Long() {
		figures = figures[:2]
	}
	var logs [][3]float64
	for _, f := range figures {
		got, se := distance(t, 1, f.T, f.seeds, ascent(f.T))
		t.Logf("T = %d: %.4g ± %.2g", f.T, got, se)
		within(t, f.want, f.last, got, se)
		logs = append(logs, [3]float64{math.Log(float64(f.T)), math.Log(got) / 2, se / (2 * got)})
	}
	// ‖λ̄ − λ*‖ is O(1/√T): with η ∝ 1/√T the transient leaves λ̄ at distance
	// proportional to 1/(ηT).
	last := len(logs) - 1
	run := logs[last][0] - logs[0][0]
	slope, se := (logs[last][1]-logs[0][1])/run, math.Hypot(logs[last][2], logs[0][2])/run
	t.Logf("slope %.3f ± %.3f", slope, se)
	require.InDelta(t, -0.5, slope, 4.9*se)
}
