package mcmc

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
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

// BenchmarkBalances makes steps of the methods that weigh every change of a state, and
// of DMALA for comparison, on tori of 2, 3 and 7 levels.
func BenchmarkBalances(b *testing.B) {
	const side, chains = 50, 16
	methods := map[string]sampler.Method{"dmala": DMALA{StepSize: 0.2}, "gwg": GWG{}}
	for balance := Sqrt; balance <= Max; balance++ {
		methods["balanced-"+balance.String()] = LocallyBalanced{Balance: balance}
		methods["dlmc-"+balance.String()] = DLMC{StepSize: 0.1, Balance: balance}
		methods["dmala-"+balance.String()] = DMALA{StepSize: 0.2, Balance: balance}
	}
	for levels, m := range map[int]energy.Model{
		2: exact.Must(model.NewIsing(model.Lattice{side, side}, 0.2, 0.1)),
		3: exact.Must(model.NewPotts(model.Lattice{side, side}, 3, 0.4, nil)),
		7: exact.Must(model.NewPotts(model.Lattice{side, side}, 7, 0.4, nil)),
	} {
		for name, method := range methods {
			b.Run(fmt.Sprintf("levels=%d/method=%s", levels, name), func(b *testing.B) {
				k := exact.Must(method.Kernel(context.Background(), m, chains))
				x, info, r := make([]int32, chains*side*side), make([]sampler.Info, chains), make([]sampler.Stream, chains)
				for s := range r {
					r[s] = *sampler.NewStream(1, uint64(s))
				}
				if err := k.Reset(sampler.Control{}, x); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					k.Step(sampler.Control{}, info, x, r)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*side*side), "ns/site")
			})
		}
	}
}
