package mcmc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/apart"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// scattered is a spin glass on a random graph of the given mean degree, some sites of which
// have many more neighbours.
func scattered(sites int, degree float64, weight func(r *rand.Rand) float64) energy.Model {
	r := rand.New(rand.NewPCG(6, 6))
	edges, seen := []model.Edge{}, map[[2]int]bool{}
	for len(edges) < int(degree*float64(sites)/2) {
		i, j := r.IntN(sites), r.IntN(sites)
		if i < j && !seen[[2]int{i, j}] {
			seen[[2]int{i, j}] = true
			edges = append(edges, model.Edge{I: i, J: j, W: weight(r)})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 0.4, 0.1))
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

// BenchmarkFieldGibbs is a sweep of one chain of a spin glass on a random graph, by local fields and by
// differences that are kept up to date.
func BenchmarkFieldGibbs(b *testing.B) {
	for _, sites := range []int{300, 3000, 30000, 300000} {
		for _, degree := range []float64{4, 8, 15} {
			m := scattered(sites, degree, normal)
			sweep, err := order("Gibbs", systematic, m)
			require.NoError(b, err)
			for name, k := range map[string]sampler.Kernel{
				"fields":      newFieldGibbs(m, 1),
				"differences": apart.New(gibbs{updates: sites, order: sweep, sitewise: newSitewise(newLocals(m, 1)), w: make([]float64, 2), unpolled: 1000}),
			} {
				b.Run(fmt.Sprintf("sites=%d/degree=%v/%s", sites, degree, name), func(b *testing.B) {
					x, info, r := make([]int32, sites), make([]sampler.Info, 1), streams(1)
					require.NoError(b, k.Reset(sampler.Control{}, x))
					for range 5 {
						k.Step(sampler.Control{}, info, x, r)
					}
					for b.Loop() {
						k.Step(sampler.Control{}, info, x, r)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sites), "ns/site")
				})
			}
		}
	}
}
