package mcmc

import (
	"context"
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// BenchmarkBalances makes steps of the methods that weigh every change of a state, and
// of DMALA beside them.
func BenchmarkBalances(b *testing.B) {
	const side, chains = 50, 16
	m := exact.Must(model.NewIsing(model.Lattice{side, side}, 0.2, 0.1))
	methods := map[string]sampler.Method{"dmala": DMALA{StepSize: 0.2}, "gwg": GWG{}, "dlmc": DLMC{StepSize: 0.1}}
	for balance := Barker; balance <= Max; balance++ {
		methods[balance.String()] = LocallyBalanced{Balance: balance}
	}
	for name, method := range methods {
		b.Run(fmt.Sprintf("method=%s", name), func(b *testing.B) {
			k := must(method.Kernel(context.Background(), m, chains))
			x, info, r := make([]int32, chains*side*side), make([]sampler.Info, chains), make([]sampler.Stream, chains)
			for s := range r {
				r[s] = *sampler.NewStream(1, uint64(s))
			}
			if err := k.Reset(x); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				k.Step(info, x, r)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*chains*side*side), "ns/site")
		})
	}
}
