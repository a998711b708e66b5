package cluster_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
)

// BenchmarkClusters makes steps of a critical Ising torus.
func BenchmarkClusters(b *testing.B) {
	const side, critical = 256, 0.44068679350977147 // ½ log(1+√2)
	m := exact.Must(model.NewIsing(model.Lattice{side, side}, critical, 0))
	for _, method := range []sampler.Method{cluster.SwendsenWang{}, cluster.Wolff{}} {
		b.Run(fmt.Sprintf("%T", method), func(b *testing.B) {
			k := exact.Must(method.Kernel(context.Background(), m, 1))
			x, info, r := make([]int32, side*side), make([]sampler.Info, 1), []sampler.Stream{*sampler.NewStream(1, 0)}
			if err := k.Reset(sampler.Control{}, x); err != nil {
				b.Fatal(err)
			}
			moved := 0
			for b.Loop() {
				k.Step(sampler.Control{}, info, x, r)
				moved += info[0].Moved
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*side*side), "ns/site")
			b.ReportMetric(float64(moved)/float64(b.N*side*side), "moved/site")
		})
	}
}

// BenchmarkHoudayer makes steps of a block of chains of a spin glass on a square lattice, with
// the processor time of a site of a chain.
func BenchmarkHoudayer(b *testing.B) {
	const side, sites, chains = 40, 1600, 16
	r := sampler.NewStream(1, 1)
	var edges []model.Edge
	for i := range sites {
		for _, j := range []int{i/side*side + (i+1)%side, (i + side) % sites} {
			edges = append(edges, model.Edge{I: min(i, j), J: max(i, j), W: float64(2*r.IntN(2) - 1)})
		}
	}
	m := exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 0.7, 0))
	k := exact.Must(cluster.Houdayer{}.Kernel(context.Background(), m, chains))
	x, info, streams := make([]int32, chains*sites), make([]sampler.Info, chains), make([]sampler.Stream, chains)
	for s := range streams {
		streams[s] = *sampler.NewStream(1, uint64(s))
	}
	if err := k.Reset(sampler.Control{}, x); err != nil {
		b.Fatal(err)
	}
	began := exact.CPU()
	for b.Loop() {
		k.Step(sampler.Control{}, info, x, streams)
	}
	b.ReportMetric(float64((exact.CPU()-began).Nanoseconds())/float64(b.N*chains*sites), "cpu-ns/site")
}

// Tempering of ±J glasses of 32 × 32 spins at β = 2, for ten fixed instances: R-hat of the energy of
// two chains after 12 seconds of processor time, compiling included, without the first third of the
// steps, and the mean energy of a spin in the rest. Rungs go down to β = 1/2.
//
//	go test ./sampler/mcmc/cluster -run xxx -bench GlassTempering -benchtime 1x -cpu 1
func BenchmarkGlassTempering(b *testing.B) {
	const side, beta, instances = 32, 2.0, 10
	const limit = 12 * time.Second
	betas := make([]float64, 8)
	for j := range betas {
		betas[j] = 1 - .75*float64(j)/7
	}
	for _, c := range []struct {
		name string
		base sampler.Method
	}{
		{"gibbs", mcmc.Gibbs{}},
		{"houdayer", cluster.Houdayer{}},
		{"windows", mcmc.Subgraph{}},
		{"houdayer,forests", cluster.Houdayer{Base: mcmc.Subgraph{Width: 1}}},
		{"houdayer,windows", cluster.Houdayer{Base: mcmc.Subgraph{}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var rhats []float64
				mean := 0.0
				for seed := range uint64(instances) {
					m := glass(side, beta, seed)
					e := make([][]float64, 2)
					began := exact.CPU()
					ch := exact.Must(sampler.NewChains(b.Context(), m, mcmc.Tempering{Base: c.base, Betas: betas}, sampler.Config{
						Chains: len(e), Workers: 1, Seed: 1, Warmup: -1,
						Observe: func(s, _ int, _ []int32, info *sampler.Info) { e[s] = append(e[s], info.Energy) },
					}))
					for exact.CPU()-began < limit {
						require.NoError(b, ch.Run(b.Context(), 10))
					}
					sum := 0.0
					for s := range e {
						e[s] = e[s][len(e[s])/3:]
						for _, v := range e[s] {
							sum += v / float64(len(e)*len(e[s]))
						}
					}
					r := exact.Must(diagnose.RHat(e))
					rhats = append(rhats, r)
					mean += sum / (beta * side * side * instances)
					b.Logf("instance %d: R-hat %.3f, energy %.5f, %d steps", seed, r, sum/(beta*side*side), len(e[0])*3/2)
				}
				slices.Sort(rhats)
				b.ReportMetric((rhats[instances/2-1]+rhats[instances/2])/2, "R-hat")
				b.ReportMetric(rhats[instances-1], "worst-R-hat")
				b.ReportMetric(mean, "energy/spin")
			}
		})
	}
}

// glass returns a square ±J spin glass with periodic boundaries.
func glass(side int, beta float64, seed uint64) *model.Ising {
	r := rand.New(rand.NewPCG(44, seed))
	var edges []model.Edge
	for i := range side * side {
		for _, j := range []int{i/side*side + (i+1)%side, (i + side) % (side * side)} {
			edges = append(edges, model.Edge{I: min(i, j), J: max(i, j), W: float64(2*r.IntN(2) - 1)})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(side*side, edges)), beta, 0))
}
