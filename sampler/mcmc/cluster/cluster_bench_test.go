package cluster_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
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
	over := func(base sampler.Method) sampler.Method { return mcmc.Tempering{Base: base, Betas: betas} }
	for _, c := range []struct {
		name   string
		method sampler.Method
	}{
		{"gibbs", over(mcmc.Gibbs{})},
		{"houdayer", over(cluster.Houdayer{})},
		{"houdayer,travelling", cluster.Houdayer{Base: over(mcmc.Gibbs{})}},
		{"windows", over(mcmc.Subgraph{})},
		{"houdayer,forests", over(cluster.Houdayer{Base: mcmc.Subgraph{Width: 1}})},
		{"houdayer,windows", over(cluster.Houdayer{Base: mcmc.Subgraph{}})},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				var rhats []float64
				mean := 0.0
				for seed := range uint64(instances) {
					m := glass(side, beta, seed)
					e := make([][]float64, 2)
					began := exact.CPU()
					ch := exact.Must(sampler.NewChains(b.Context(), m, c.method, sampler.Config{
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

// Tempering of ±J glasses of 8 × 8 × 8 spins, for twenty fixed instances: round trips between T = 2
// and T = 1/2 per second of processor time, without and with exchanges of clusters. The medians over
// the instances are reported, also of the ratio of the two. Both methods have the same ladder of
// temperatures, a geometric series, and the same engine. The number of exchanges, 24, was chosen on
// the instances of seeds 0 and 1; the benchmark uses those of seeds 2 … 21. CUBE_SECONDS is the time
// for each method and instance after a start of a third of it.
//
//	go test ./sampler/mcmc/cluster -run xxx -bench CubeTempering -benchtime 1x -cpu 1 -timeout 1h
func BenchmarkCubeTempering(b *testing.B) {
	limit, instances := cubes(3)
	plain := cubeLadder()
	methods := [2]sampler.Method{plain, cluster.Houdayer{Base: plain, Exchanges: 24}}
	for b.Loop() {
		var rates [3][]float64 // of the two methods, and their ratio
		for seed := range instances {
			var chains [2]*sampler.Chains
			for m, method := range methods {
				chains[m] = exact.Must(sampler.NewChains(b.Context(), cube(8, 2, uint64(seed)+2), method, sampler.Config{Chains: sampler.BlockSize, Workers: 1, Seed: 1, Warmup: -1}))
			}
			run := func(limit float64) (took [2]time.Duration, trips, steps [2]int) {
				for m, c := range chains {
					trips[m], steps[m] = -roundTrips(c), -mcmc.Ladders(c)[0].Steps
				}
				for took[0].Seconds() < limit { // by turns, because other programs slow both down
					for m, c := range chains {
						began := exact.CPU()
						for exact.CPU()-began < 50*time.Millisecond {
							require.NoError(b, c.Run(b.Context(), 10))
						}
						took[m] += exact.CPU() - began
					}
				}
				for m, c := range chains {
					trips[m] += roundTrips(c)
					steps[m] += mcmc.Ladders(c)[0].Steps
				}
				return took, trips, steps
			}
			run(limit / 3)
			took, trips, steps := run(limit)
			line := fmt.Sprintf("instance %d:", seed)
			for m := range methods {
				rates[m] = append(rates[m], float64(trips[m])/took[m].Seconds())
				line += fmt.Sprintf(" %.0f round trips a second, %d steps of %.0f µs;", rates[m][seed], steps[m], float64(took[m].Microseconds())/float64(steps[m]))
			}
			rates[2] = append(rates[2], rates[1][seed]/rates[0][seed])
			b.Log(line)
		}
		for m, unit := range []string{"plain-trips/s", "cluster-trips/s", "ratio"} {
			b.ReportMetric(median(rates[m]), unit)
		}
	}
}

// The same glasses and methods by what a user of the states gains: effective samples, per second of
// processor time, of the square of the overlap with a state of an earlier run at β = 1. Those of a
// sum over the two replicas of a chain count twice. The medians over the instances are reported: of
// tempering alone, and the ratios of one exchange and of 24 exchanges a step to it.
//
//	go test ./sampler/mcmc/cluster -run xxx -bench CubeOverlap -benchtime 1x -cpu 1 -timeout 1h
func BenchmarkCubeOverlap(b *testing.B) {
	limit, instances := cubes(8)
	plain := cubeLadder()
	methods := [3]sampler.Method{plain, cluster.Houdayer{Base: plain}, cluster.Houdayer{Base: plain, Exchanges: 24}}
	for b.Loop() {
		var rates [len(methods)][]float64
		for seed := range instances {
			m := cube(8, 2, uint64(seed)+2)
			config := sampler.Config{Chains: 8, BlockChains: 8, Workers: 1, Seed: 1, Warmup: -1}
			before := exact.Must(sampler.NewChains(b.Context(), m, plain, config))
			require.NoError(b, before.Run(b.Context(), 3000))
			sites, _ := m.Shape()
			target := before.States()[:sites]
			overlap := func(x []int32) float64 {
				sum := len(x)
				for i, l := range x {
					sum -= 2 * int(l^target[i])
				}
				return float64(sum*sum) / float64(len(x)*len(x))
			}
			for at, method := range methods {
				series := make([][]float64, config.Chains)
				config.Observe = func(s, _ int, x []int32, info *sampler.Info) {
					v := overlap(x)
					if at > 0 {
						_, _, y := info.Rungs.Rung(1)
						v += overlap(y)
					}
					series[s] = append(series[s], v)
				}
				c := exact.Must(sampler.NewChains(b.Context(), m, method, config))
				began := exact.CPU()
				for (exact.CPU() - began).Seconds() < limit {
					require.NoError(b, c.Run(b.Context(), 20))
				}
				took := (exact.CPU() - began).Seconds()
				steps := len(series[0])
				for s := range series {
					series[s] = series[s][steps/5:]
				}
				rate := exact.Must(diagnose.ESSMean(series)) / (.8 * took)
				if at > 0 {
					rate *= 2 / rates[0][seed]
				}
				rates[at] = append(rates[at], rate)
			}
			b.Logf("instance %d: %.1f effective samples a second; one exchange a step: %.2f times as many; 24: %.2f", seed, rates[0][seed], rates[1][seed], rates[2][seed])
		}
		for at, unit := range []string{"plain-ESS/s", "one-ratio", "many-ratio"} {
			b.ReportMetric(median(rates[at]), unit)
		}
	}
}

// cubes returns the seconds for each method and instance, and the number of instances.
func cubes(seconds float64) (limit float64, instances int) {
	limit, instances = seconds, 20
	if s := os.Getenv("CUBE_SECONDS"); s != "" {
		limit = exact.Must(strconv.ParseFloat(s, 64))
	}
	if s := os.Getenv("CUBE_INSTANCES"); s != "" {
		instances = exact.Must(strconv.Atoi(s))
	}
	return limit, instances
}

// cubeLadder returns tempering from T = 1/2 to T = 2, for models of β = 2.
func cubeLadder() mcmc.Tempering {
	betas := make([]float64, 16)
	for j := range betas {
		betas[j] = math.Pow(.25, float64(j)/float64(len(betas)-1))
	}
	return mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: betas}
}

// median sorts v and returns its median.
func median(v []float64) float64 {
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// roundTrips returns the number of round trips of all replicas.
func roundTrips(c *sampler.Chains) (n int) {
	for _, l := range mcmc.Ladders(c) {
		n += l.RoundTrips
	}
	return n
}

// cube returns a cubic ±J spin glass with periodic boundaries.
func cube(side int, beta float64, seed uint64) *model.Ising {
	r := rand.New(rand.NewPCG(46, seed))
	var edges []model.Edge
	for i := range side * side * side {
		x, y, z := i%side, i/side%side, i/side/side
		for _, j := range []int{i - x + (x+1)%side, i + ((y+1)%side-y)*side, i + ((z+1)%side-z)*side*side} {
			edges = append(edges, model.Edge{I: min(i, j), J: max(i, j), W: float64(2*r.IntN(2) - 1)})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(side*side*side, edges)), beta, 0))
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
