package mcmc

import (
	"context"
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

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
				k := must(method.Kernel(context.Background(), m, chains))
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
