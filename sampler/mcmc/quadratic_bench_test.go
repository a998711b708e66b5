package mcmc

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// A dense Quadratic of 625 sites with couplings of standard deviation .02 · 2 and
// 256 chains on one core, warmed up: the ms of a step of all chains.
func BenchmarkDenseQuadratic(b *testing.B) {
	const n, chains = 625, 256
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		values []float32
		grain  float64
	}{{"spins", []float32{-1, 1}, 0}, {"bits", nil, 0}, {"float32", []float32{-1, 1}, 1}} {
		q := make([]float64, n*n)
		for i := range q {
			q[i] = 0.02 * r.NormFloat64()
			if c.grain > 0 {
				q[i] = float64(int(q[i]*1024)) / 1024
			}
		}
		m, err := model.NewDenseQuadratic(n, q, model.Polynomial{Values: c.values})
		if err != nil {
			b.Fatal(err)
		}
		for name, method := range map[string]sampler.Method{"dmala": DMALA{}, "gibbs": Gibbs{}} {
			b.Run("method="+name+"/values="+c.name, func(b *testing.B) {
				ch, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: chains, Seed: 1, Warmup: 200, Workers: 1})
				if err != nil {
					b.Fatal(err)
				}
				if err := ch.Run(context.Background(), 1); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					if err := ch.Run(context.Background(), 1); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/step")
				b.ReportMetric(ch.Stats().Moved, "moved/step")
			})
		}
	}
}
