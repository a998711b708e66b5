package ground

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// web returns a random graph of a mean degree with fields.
func web(sites int, degree float64, seed uint64, w func(r *rand.Rand) float64) *model.Quadratic {
	r := rand.New(rand.NewPCG(44, seed))
	var terms []model.Edge
	for i := range sites {
		terms = append(terms, model.Edge{I: i, J: i, W: w(r)})
	}
	for met := map[[2]int]bool{}; len(terms) < sites+int(degree*float64(sites)/2); {
		if a, b := r.IntN(sites), r.IntN(sites); a < b && !met[[2]int{a, b}] {
			met[[2]int{a, b}] = true
			terms = append(terms, model.Edge{I: a, J: b, W: w(r)})
		}
	}
	return exact.Must(model.NewQuadratic(sites, terms, model.Polynomial{}))
}

// checkForest draws forests, with the other sites fixed, and compares frequencies with those
// of e^(−beta·E), in units of the system.
func checkForest[T number](t *testing.T, m energy.Model, g *system[T], beta, unit float64, seed uint64) {
	t.Helper()
	forests := newForests(g)
	require.NotEmpty(t, forests)
	r := words{stream: *sampler.NewStream(seed, 1)}
	r.at = len(r.buf)
	had := make([]bool, g.sites())
	var d gardener[T]
	for _, f := range forests[:3] {
		x := newSpins(g)
		x.random(g, sampler.NewStream(seed, 2))
		const draws = 20000
		seen := make([]float64, 1<<len(f))
		for range draws {
			d.draw(g, x, f, beta, &r)
			at := 0
			for k, b := range f {
				had[b.site] = true
				if x.s[b.site] < 0 {
					at |= 1 << k
				}
			}
			seen[at]++
		}
		p, sum := make([]float64, len(seen)), 0.0
		for at := range p {
			for k, b := range f {
				if (x.s[b.site] < 0) != (at>>k&1 == 1) {
					x.flip(g, int(b.site))
				}
			}
			p[at] = math.Exp(-beta / unit * energyOf(m, x))
			sum += p[at]
		}
		chi, free, rest, few := 0.0, -1.0, 0.0, 0.0
		for at, v := range p { // states of fewer than ten draws together
			if want := draws * v / sum; want < 10 {
				rest, few = rest+want, few+seen[at]
			} else {
				chi += (seen[at] - want) * (seen[at] - want) / want
				free++
			}
		}
		if rest >= 10 {
			chi += (few - rest) * (few - rest) / rest
			free++
		}
		require.Greater(t, mathext.GammaIncRegComp(free/2, chi/2), 1e-7, "%d sites, χ² = %v of %v", len(f), chi, free)
	}
	for i, h := range had {
		require.True(t, h, "site %d", i)
	}
}

// Forests are drawn from their distribution given the other sites. The 24 p-values are below
// 1e-7 with probability 2.4e-6.
func TestForest(t *testing.T) {
	exact.SkipUnderRace(t)
	for seed := range uint64(4) {
		m := web(8, 2.2, seed, func(r *rand.Rand) float64 { return float64(r.IntN(7) - 3) })
		g, unit := integers(t, m)
		checkForest(t, m, g, 0.4, unit, seed)
		n := web(8, 2.2, seed, (*rand.Rand).NormFloat64)
		checkForest(t, n, reals(n), 0.8, 1, seed)
	}
	lattice, _ := integers(t, glass(6, false, 1))
	require.Empty(t, newForests(lattice), "a lattice is not sparse")
}

// On trees a forest is the whole tree.
func TestTrees(t *testing.T) {
	exact.SkipUnderRace(t)
	const sites = 400
	r := rand.New(rand.NewPCG(44, 6))
	var edges []model.Edge
	least := 0.0
	for i := 1; i < sites; i++ {
		w := float64(r.IntN(5) - 2)
		edges = append(edges, model.Edge{I: r.IntN(i), J: i, W: w})
		least -= math.Abs(w)
	}
	m := exact.Must(model.NewIsing(exact.Must(model.NewGraph(sites, edges)), 1, 0))
	s := exact.Must(New(m, Config{Seed: 1, Chains: 1}))
	require.NoError(t, s.Run(t.Context(), 1))
	_, e := s.Best()
	require.InDelta(t, least, e, 1e-9)
}
