package mcmc

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// sparse returns a spin glass with couplings ±β, or β times normal numbers, on a random graph of the
// given mean degree.
func sparse(sites int, degree, beta float64, normal bool, seed uint64) *model.Ising {
	r := rand.New(rand.NewPCG(seed, uint64(10*degree)))
	seen := map[[2]int]bool{}
	var edges []model.Edge
	for len(edges) < int(degree*float64(sites)/2) {
		a, b := r.IntN(sites), r.IntN(sites)
		if a > b {
			a, b = b, a
		}
		if a != b && !seen[[2]int{a, b}] {
			seen[[2]int{a, b}] = true
			w := float64(1 - 2*r.IntN(2))
			if normal {
				w = r.NormFloat64()
			}
			edges = append(edges, model.Edge{I: a, J: b, W: w})
		}
	}
	return exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), beta, 0))
}

// Effective draws of the energy per second of processor time on sparse spin glasses of 2,000 sites,
// three graphs of each kind:
//
//	go test ./sampler/mcmc -run xxx -bench 'SparseGlass/couplings=normal/degree=3/beta=1$' -benchtime 1x -cpu 1
//
// Gibbs stores couplings ±β as bits in blocks of more than a few chains, and then takes a twentieth of
// the time that it takes for normal ones. Forests cost the same for all couplings.
//
// Sixteen chains move in blocks of one, four or all (see [sampler.Config.BlockChains]): large blocks
// make both methods faster. Gibbs and Subgraph make the same number of draws, since chains that stay
// in their valleys have a few effective draws each, however long they are. There must be many: with a
// quarter of the draws, R-hat was below 1.03 on the first graph with couplings ±β, and ESS/s of
// Gibbs was a fifth of its value, because a few chains had not left their valleys. If R-hat exceeds
// about 1.01, compare own-ESS/s, which takes each chain by itself: it shows how fast the chains
// explore the valleys in which they are. Tempering of both, with 1,000 draws, shows what it costs to
// leave them.
func BenchmarkSparseGlass(b *testing.B) {
	const draws, chains, rungs, hottest = 32000, 16, 12, .4
	type glass struct {
		couplings    string
		degree, beta float64
		graph        uint64
	}
	var glasses []glass
	for _, couplings := range []string{"sign", "normal"} {
		for _, degree := range []float64{1.5, 3} {
			for _, beta := range []float64{1, 1.5, 2} {
				for graph := range uint64(3) {
					glasses = append(glasses, glass{couplings, degree, beta, 44 + graph})
				}
			}
		}
	}
	for _, g := range glasses {
		m := sparse(2000, g.degree, g.beta, g.couplings == "normal", g.graph)
		ladder := make([]float64, rungs) // down to the coupling hottest
		for j := range ladder {
			ladder[j] = 1 - (1-hottest/g.beta)*float64(j)/(rungs-1)
		}
		for _, block := range []int{1, 4, 16} {
			for _, method := range []sampler.Method{Gibbs{}, Subgraph{}, Tempering{Base: Gibbs{}, Betas: ladder}, Tempering{Base: Subgraph{}, Betas: ladder}} {
				name, draws := fmt.Sprintf("%T", method), draws
				if t, ok := method.(Tempering); ok {
					name, draws = fmt.Sprintf("%s(%T)", name, t.Base), draws/32
				}
				b.Run(fmt.Sprintf("couplings=%s/degree=%v/beta=%v/graph=%d/block=%d/%s", g.couplings, g.degree, g.beta, g.graph, block, name), func(b *testing.B) {
					for b.Loop() {
						e := make([][]float64, chains)
						ch := exact.Must(sampler.NewChains(b.Context(), m, method, sampler.Config{
							Chains: chains, BlockChains: block, Workers: 1, Seed: 1,
							Observe: func(s, _ int, _ []int32, info *sampler.Info) { e[s] = append(e[s], info.Energy) },
						}))
						require.NoError(b, ch.Run(b.Context(), draws/4))
						for s := range e {
							e[s] = e[s][:0]
						}
						began := exact.CPU()
						require.NoError(b, ch.Run(b.Context(), draws))
						seconds := (exact.CPU() - began).Seconds()
						own := 0.0
						for s := range e {
							own += exact.Must(diagnose.ESSMean(e[s : s+1]))
						}
						b.ReportMetric(exact.Must(diagnose.ESSMean(e))/seconds, "ESS/s")
						b.ReportMetric(own/seconds, "own-ESS/s")
						b.ReportMetric(exact.Must(diagnose.RHat(e)), "R-hat")
						b.ReportMetric(1e9*seconds/float64(chains*draws*2000), "ns/site")
					}
				})
			}
		}
	}
}
