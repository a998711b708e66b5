package gibbsite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// The benchmarks of this file stand behind the figures in README.md. A step
// moves every chain once; run them with
//
//	go test -run '^$' -bench . -benchtime 2s .

const benchChains = 100

// seededRBM is a machine of 784 visible and 500 hidden units with weights
// N(0, 0.05²) and biases N(0, 0.5²).
func seededRBM(b *testing.B) *energy.RBM {
	r := rand.New(rand.NewPCG(1, 784))
	normal := func(n int, sd float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(sd * r.NormFloat64())
		}
		return v
	}
	m, err := energy.NewRBM(normal(500*784, 0.05), normal(500, 0.5), normal(784, 0.5))
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func torus(b *testing.B, side int) *energy.Ising {
	m, err := energy.NewIsing(energy.Lattice{side, side}, 0.2, 0.2)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// steps benchmarks one step of 100 chains on one worker, and the effective
// sample size of the mean level that the steps of the benchmark brought.
func steps(b *testing.B, m energy.Model, method sampler.Method) {
	trace := sampler.NewTrace(benchChains, energy.Magnetization)
	measured := false
	observe := func(chain, draw int, x []int32, info *sampler.Info) {
		if measured {
			trace.Observe(chain, draw, x, info)
		}
	}
	ch, err := sampler.NewChains(m, method, sampler.Config{Chains: benchChains, Seed: 1, Warmup: 200, Workers: 1, Observe: observe})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	if err := ch.Run(ctx, 1); err != nil {
		b.Fatal(err)
	}
	measured = true
	for b.Loop() {
		if err := ch.Run(ctx, 1); err != nil {
			b.Fatal(err)
		}
	}
	elapsed := b.Elapsed()
	sites, _ := m.Shape()
	perStep := float64(elapsed.Nanoseconds()) / float64(b.N)
	b.ReportMetric(perStep/1e6, "ms/step")
	b.ReportMetric(perStep/float64(benchChains*sites), "ns/site")
	s := trace.Summary()
	s.Seconds = elapsed.Seconds()
	if e := s.ESSPerSecond(0); e.Defined() {
		b.ReportMetric(e.Value, "ESS/s")
	}
}

func BenchmarkDMALA(b *testing.B) {
	for _, side := range []int{5, 50, 100} {
		b.Run(fmt.Sprintf("model=torus/side=%d", side), func(b *testing.B) { steps(b, torus(b, side), sampler.DMALA{}) })
	}
	b.Run("model=rbm/784x500", func(b *testing.B) { steps(b, seededRBM(b), sampler.DMALA{}) })
}

func BenchmarkGibbs(b *testing.B) {
	for _, side := range []int{5, 50} {
		b.Run(fmt.Sprintf("model=torus/side=%d", side), func(b *testing.B) { steps(b, torus(b, side), sampler.Gibbs{Scan: sampler.Chromatic}) })
	}
}

func BenchmarkBlockGibbs(b *testing.B) {
	b.Run("model=rbm/784x500", func(b *testing.B) { steps(b, seededRBM(b), sampler.BlockGibbs{}) })
}

func BenchmarkGWG(b *testing.B) {
	b.Run("model=torus/side=50", func(b *testing.B) { steps(b, torus(b, 50), sampler.GWG{}) })
}
