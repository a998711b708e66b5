package mcmc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// BenchmarkWorkers reports how much sooner a run ends with two workers than with
// one, the least of nine runs of about .3 seconds each by turns, and the processor
// time that two take of what one does. It wants two idle cores.
func BenchmarkWorkers(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var edges []model.Edge
	for i := range 800 {
		for range 24 {
			if j := r.IntN(800); j != i {
				edges = append(edges, model.Edge{I: min(i, j), J: max(i, j), W: float64(2*r.IntN(2) - 1)})
			}
		}
	}
	w := make([]float32, 500*784)
	for i := range w {
		w[i] = float32(r.NormFloat64()) * 0.05
	}
	lattice := func(side int) energy.Model {
		return exact.Must(model.NewIsing(model.Lattice{side, side}, 0.44, 0))
	}
	sparse := exact.Must(model.NewIsing(exact.Must(model.NewGraph(800, edges)), 0.2, 0))
	potts := exact.Must(model.NewPotts(model.Lattice{64, 64}, 3, 0.5, nil))
	rbm := exact.Must(model.NewRBM(w, make([]float32, 500), make([]float32, 784)))
	for _, c := range []struct {
		name   string
		m      energy.Model
		method sampler.Method
	}{
		{"lattice5", lattice(5), mcmc.Gibbs{}}, {"lattice6", lattice(6), mcmc.Gibbs{}}, {"lattice64", lattice(64), mcmc.Gibbs{}}, {"lattice256", lattice(256), mcmc.Gibbs{}},
		{"lattice50", lattice(50), mcmc.DMALA{}}, {"lattice256", lattice(256), mcmc.DMALA{}}, {"lattice50", lattice(50), mcmc.Metropolis{}}, {"lattice50", lattice(50), mcmc.GWG{}},
		{"graph800", sparse, mcmc.Gibbs{}}, {"graph800", sparse, mcmc.DMALA{}}, {"potts64", potts, mcmc.Gibbs{}}, {"potts64", potts, mcmc.DMALA{}},
		{"rbm784", rbm, mcmc.BlockGibbs{}}, {"rbm784", rbm, mcmc.DMALA{}}, {"rbm784", rbm, mcmc.Gibbs{}},
	} {
		for _, chains := range []int{4, 64} {
			b.Run(fmt.Sprintf("%s/%T/%d", c.name, c.method, chains), func(b *testing.B) {
				var wall, cpu [3]time.Duration
				draws := 1
				run := func(workers int) (took, busy time.Duration) {
					s := exact.Must(sampler.NewChains(c.m, c.method, sampler.Config{Chains: chains, Workers: workers}))
					require.NoError(b, s.Run(context.Background(), 1))
					began, used := time.Now(), exact.CPU()
					require.NoError(b, s.Run(context.Background(), draws))
					return time.Since(began), exact.CPU() - used
				}
				for took := time.Duration(0); took < 200*time.Millisecond; draws *= 2 {
					took, _ = run(1)
				}
				for b.Loop() {
					for k := range 18 {
						workers := 1 + k%2
						took, busy := run(workers)
						if wall[workers] == 0 || took < wall[workers] {
							wall[workers], cpu[workers] = took, busy
						}
					}
				}
				b.ReportMetric(float64(wall[1])/float64(wall[2]), "x-sooner")
				b.ReportMetric(float64(cpu[2])/float64(cpu[1]), "x-processor")
			})
		}
	}
}
