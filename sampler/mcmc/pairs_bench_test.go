package mcmc

import (
	"context"
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Kernels that hold the magnetisation of a torus at zero, per site and chain.
func BenchmarkWithin(b *testing.B) {
	for _, side := range []int{8, 32} {
		m, err := model.NewIsing(model.Lattice{side, side}, 0.3, 0)
		if err != nil {
			b.Fatal(err)
		}
		n := side * side
		half := constraint.Count{Levels: []int32{1}, Min: n / 2, Max: n / 2}
		for _, method := range []sampler.Method{DMALA{StepSize: 0.2, Within: half}, PairGibbs{Within: half}, Swap{Within: half}} {
			b.Run(fmt.Sprintf("%T/%d", method, n), func(b *testing.B) {
				const chains = 8
				k := must(method.Kernel(context.Background(), m, chains))
				x, info, r := make([]int32, chains*n), make([]sampler.Info, chains), make([]sampler.Stream, chains)
				for s := range r {
					r[s] = *sampler.NewStream(1, uint64(s))
					if err := k.(sampler.Starter).Start(x[s*n:(s+1)*n], &r[s]); err != nil {
						b.Fatal(err)
					}
				}
				if err := k.Reset(sampler.Control{}, x); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					k.Step(sampler.Control{}, info, x, r)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*n), "ns/site")
			})
		}
	}
}
