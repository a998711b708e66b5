package cluster_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
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
