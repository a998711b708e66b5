package mcmc

import (
	"context"
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BenchmarkMetropolis sweeps tori of two sizes, at random and in order.
func BenchmarkMetropolis(b *testing.B) {
	for _, side := range []int{64, 512} {
		for _, scan := range []Scan{Random, Systematic, Chromatic} {
			b.Run(fmt.Sprintf("side=%d/%v", side, scan), func(b *testing.B) {
				m := exact.Must(model.NewIsing(model.Lattice{side, side}, 0.3, 0))
				k := must(Metropolis{Scan: scan}.Kernel(context.Background(), m, 1))
				x, info, r := make([]int32, side*side), make([]sampler.Info, 1), streams(1)
				if err := k.Reset(sampler.Control{}, x); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					k.Step(sampler.Control{}, info, x, r)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*side*side), "ns/update")
			})
		}
	}
}
