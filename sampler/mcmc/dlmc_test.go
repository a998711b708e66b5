package mcmc

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/internal/simd"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// jumpRow returns the probabilities that jumps gives the levels of one site: the second
// of two rows.
func jumpRow(b Balance, g []float32, at int32, tau float64) []float64 {
	w, sum := make([]float32, 2*len(g)), make([]float64, 2)
	newJumps(b, len(g)).weigh(w, sum, slices.Concat(make([]float32, len(g)), g), []int32{0, at}, tau)
	p := make([]float64, len(g))
	for l := range p {
		p[l] = float64(w[len(g)+l]) / sum[1]
	}
	return p
}

// TestDLMCOnTwoLevels holds the proposal to the exact law of the two-state jump
// process, the exponential of its rate matrix.
func TestDLMCOnTwoLevels(t *testing.T) {
	for _, b := range balances() {
		for _, d := range []float32{-6, -1, 0, 0.5, 3} {
			for _, tau := range []float64{1e-9, 0.01, 0.7, 5, 400} {
				there, back := math.Exp(b.log(float64(d))), math.Exp(b.log(-float64(d)))
				rates := mat.NewDense(2, 2, []float64{-there, there, back, -back})
				rates.Scale(tau, rates)
				var law mat.Dense
				law.Exp(rates)
				got := jumpRow(b, []float32{0, d}, 0, tau)
				assert.InEpsilon(t, law.At(0, 1), got[1], 2e-6, "%v, Δ = %v, τ = %v", b, d, tau)
				assert.InEpsilon(t, law.At(0, 0), got[0], 2e-6, "%v, Δ = %v, τ = %v", b, d, tau)

				// Many at a time, at either level, in multiples of 2⁻³¹.
				for at := range int32(2) {
					threshold := make([]int32, 1)
					simd.JumpThresholds(threshold, []float32{d * float32(1-2*at)}, []int32{at}, float32(tau), simd.JumpRate(b))
					assert.InDelta(t, law.At(0, 1), float64(threshold[0])*0x1p-31, 0x1p-31+2e-6*law.At(0, 1), "%v, Δ = %v, τ = %v", b, d, tau)
				}
			}
		}
	}
}

// TestDLMCProposal checks rows of more levels against the formula in plain
// arithmetic, and its two limits.
func TestDLMCProposal(t *testing.T) {
	g := []float32{0.7, -1.5, 0, 2, float32(math.Inf(1))}
	for _, b := range balances() {
		z := 0.0
		for _, d := range g {
			z += math.Exp(-float64(d))
		}
		for _, tau := range []float64{1e-12, 0.1, 2, 1e6} {
			p := jumpRow(b, g, 2, tau)
			stay := 1.0
			for l, d := range g {
				if l == 2 {
					continue
				}
				nu := math.Exp(-float64(d)) / z
				want := 0.0
				if nu > 0 {
					want = -nu * math.Expm1(-tau*math.Exp(b.log(float64(d)))/nu)
				}
				stay -= want
				assert.InDelta(t, want, p[l], 2e-6*want, "%v, τ = %v, level %d", b, tau, l)
			}
			assert.InDelta(t, stay, p[2], 2e-6)
			assert.InDelta(t, 1, exact.Sum(p), 2e-6)
			if tau == 1e6 {
				assert.InDelta(t, math.Exp(1.5)/z, p[1], 2e-6)
			}
		}
	}
}

// Differences of any size give probabilities above zero, and only a failed difference
// gives NaN.
func TestDLMCExtremes(t *testing.T) {
	for _, b := range balances() {
		for _, d := range []float32{-3e38, -1e6, -700, 700, 1e6, 3e38} {
			for _, tau := range []float64{1e-4, 1, 1e4} {
				for l, p := range jumpRow(b, []float32{0, d, 1}, 0, tau) {
					require.True(t, p > 0 && p <= 1, "%v, Δ = %v, τ = %v: %v of level %d", b, d, tau, p, l)
				}
			}
		}
		require.True(t, math.IsNaN(jumpRow(b, []float32{0, float32(math.NaN())}, 0, 1)[0]))
	}
}

// What is weighed at a time does not matter, nor how many levels there are.
func TestDLMCRowsAreApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, cols := range []int{3, 7, 600, 2500} {
		const rows = 9
		g, x := make([]float32, rows*cols), make([]int32, rows)
		for i := range g {
			g[i] = float32(3 * r.NormFloat64())
		}
		for i := range x {
			x[i] = r.Int32N(int32(cols))
			g[i*cols+int(x[i])] = 0
		}
		for _, b := range balances() {
			j := newJumps(b, cols)
			w, sum := make([]float32, rows*cols), make([]float64, rows)
			j.weigh(w, sum, g, x, 0.4)
			for i := range x {
				one, total := make([]float32, cols), make([]float64, 1)
				j.weigh(one, total, g[i*cols:(i+1)*cols], x[i:i+1], 0.4)
				require.Equal(t, one, w[i*cols:(i+1)*cols])
				require.Equal(t, total[0], sum[i])
				require.InDelta(t, 1, sum[i], 1e-5)
			}
		}
	}
}

// The twin forgets to reject.
func TestDLMCBrokenTwin(t *testing.T) {
	exact.SkipUnderRace(t)
	m := exact.NewRugged(4, 3, 1, 0.5, 2)
	pi, _ := exact.Law(m)
	k := exact.Must(DLMC{StepSize: 0.3}.Kernel(context.Background(), m, 1)).(*hastings)
	all := exact.States(4, 3)
	twin := exact.NewMatrix(len(all), func(x int, dst []float64) {
		require.NoError(t, k.Reset(sampler.Control{}, all[x]))
		for y := range dst {
			dst[y] = math.Exp(k.proposal.current(all[y], all[x], 0))
		}
	})
	require.LessOrEqual(t, twin.RowError(), 1e-12)
	assert.Greater(t, twin.MaxDiff(pi), 1e-3)
	v, _ := exact.TransitionsPValue(sweeptest.Observed(t, m, DLMC{StepSize: 0.3}, 640, 7), twin)
	assert.Less(t, v, exact.Rate)
}

func TestDLMCAdapts(t *testing.T) {
	exact.SkipUnderRace(t)
	m, err := model.NewIsing(model.Lattice{8, 8}, 0.2, 0)
	require.NoError(t, err)
	c := runs.Run(t, m, DLMC{}, sampler.Config{Chains: 32, Seed: 1, Warmup: 600}, 300)
	assert.InDelta(t, 0.574, c.Stats().Accept, 0.05)
}
