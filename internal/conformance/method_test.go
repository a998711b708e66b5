package conformance_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/conformance"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/momentum"
	"github.com/gibbsite-go/gibbsite/sampler/samplertest"
)

// methodEntry is a line of the registry of methods: "package.Type", and what is special
// about this one. Options say what the doc of the method promises, if that is not to
// leave exp(−E) invariant and to reach every state.
type methodEntry struct {
	name   string
	method sampler.Method
	opt    samplertest.Options
}

// The methods of the module. A new one adds a line.
func methodEntries() []methodEntry {
	none := samplertest.Options{}
	few := constraint.Count{Levels: []int32{1}, Min: 1, Max: 2}
	blocks := [][]int{{0, 1}, {2}, {1, 2}}
	return []methodEntry{
		{"mcmc.Gibbs", mcmc.Gibbs{}, none},
		{"mcmc.Gibbs in order", mcmc.Gibbs{Scan: mcmc.Systematic}, none},
		{"mcmc.Gibbs at random", mcmc.Gibbs{Scan: mcmc.Random}, none},
		{"mcmc.Gibbs by colour", mcmc.Gibbs{Scan: mcmc.Chromatic}, none},
		{"mcmc.Metropolis", mcmc.Metropolis{}, none},
		{"mcmc.Metropolis in order", mcmc.Metropolis{Scan: mcmc.Systematic}, none},
		{"mcmc.Metropolis by colour", mcmc.Metropolis{Scan: mcmc.Chromatic}, none},
		{"mcmc.DMALA", mcmc.DMALA{}, none},
		{"mcmc.DMALA of a long step", mcmc.DMALA{StepSize: 50}, none},
		{"mcmc.DMALA by Barker, exactly", mcmc.DMALA{StepSize: 0.6, Balance: mcmc.Barker, Exact: true}, none},
		{"mcmc.DMALA within a language", mcmc.DMALA{StepSize: 1, Within: few}, within(few)},
		{"mcmc.DMALA within an automaton", mcmc.DMALA{StepSize: 1, Within: noPair()}, within(noPair())},
		{"mcmc.DLMC", mcmc.DLMC{}, none},
		{"mcmc.DLMC of a long step", mcmc.DLMC{StepSize: 2, Balance: mcmc.Max}, none},
		{"mcmc.DMAPS", mcmc.DMAPS{}, none},
		{"mcmc.DMAPS exactly", mcmc.DMAPS{StepSize: 1, Exact: true}, none},
		{"mcmc.GWG", mcmc.GWG{}, none},
		{"mcmc.GWG of two changes", mcmc.GWG{Flips: 2}, none},
		{"mcmc.LocallyBalanced", mcmc.LocallyBalanced{}, none},
		{"mcmc.LocallyBalanced by Min, exactly", mcmc.LocallyBalanced{Balance: mcmc.Min, Exact: true}, none},
		{"mcmc.Paths", mcmc.Paths{}, none},
		{"mcmc.Paths of two", mcmc.Paths{Length: 2, Balance: mcmc.Barker}, none},
		{"mcmc.HammingBall", mcmc.HammingBall{}, none},
		{"mcmc.HammingBall of two sites", mcmc.HammingBall{Block: 2, Radius: 1}, none},
		{"mcmc.BlockGibbs", mcmc.BlockGibbs{Blocks: blocks}, samplertest.Options{Models: threeSites()}},
		{"mcmc.BlockGibbs within a language", mcmc.BlockGibbs{Blocks: [][]int{{0, 1, 2}, {1, 2}}, Within: few}, on(within(few), threeSites())},
		{"mcmc.BlockGibbs of two layers", mcmc.BlockGibbs{}, samplertest.Options{Models: layered()}},
		{"mcmc.PairGibbs", mcmc.PairGibbs{Updates: 2}, none},
		{"mcmc.PairGibbs within a language", mcmc.PairGibbs{Within: few}, within(few)},
		{"mcmc.Subgraph", mcmc.Subgraph{}, on(none, factored())},
		{"mcmc.Subgraph of forests", mcmc.Subgraph{Width: 1}, on(none, factored())},
		{"mcmc.Subgraph of strips", mcmc.Subgraph{Width: 2}, on(none, factored())},
		{"mcmc.Subgraph of forests within a language", mcmc.Subgraph{Width: 1, Within: noPair()}, on(within(noPair()), factored())},
		{"mcmc.Subgraph of strips within a language", mcmc.Subgraph{Width: 3, Within: noPair()}, on(within(noPair()), factored())},
		{"mcmc.Swap", mcmc.Swap{}, samplertest.Options{Class: numbers}},
		{"mcmc.Swap within a language", mcmc.Swap{Within: few}, swapping(few)},
		{"mcmc.Cyclical", mcmc.Cyclical{}, none},
		{"mcmc.Cyclical of a long step", mcmc.Cyclical{StepSize: 2, Period: 5}, none},
		{"mcmc.DULA", mcmc.DULA{StepSize: 1}, samplertest.Options{Models: quadratics(), Target: unadjusted(1), Mix: 400}},
		{"mcmc.DULA of a long step", mcmc.DULA{StepSize: 20}, samplertest.Options{Models: quadratics(), Target: unadjusted(20)}},
		{"mcmc.DULA within a language", mcmc.DULA{StepSize: 1, Within: few}, unstated(within(few), samplertest.Models()[:2])},
		{"mcmc.DULA of a minibatch", mcmc.DULA{Minibatch: true}, unstated(none, []energy.Model{evaluated()})},
		{"mcmc.DUPS", mcmc.DUPS{StepSize: 1}, samplertest.Options{Models: independents()}},
		{"mcmc.Tempering", mcmc.Tempering{Rungs: 3}, settling()},
		{"mcmc.Tempering of Gibbs", mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: []float64{1, 0.5}}, settling()},
		{"mcmc.Tempering of Subgraph", mcmc.Tempering{Base: mcmc.Subgraph{Width: 2}, Betas: []float64{1, 0.5}}, on(settling(), factored()[:3])},
		{"mcmc.Tempering of forests", mcmc.Tempering{Base: mcmc.Subgraph{Width: 1}, Betas: []float64{1, 0.5}}, on(settling(), factored()[:2])},
		{"mcmc.Tempering of Houdayer", mcmc.Tempering{Base: cluster.Houdayer{}, Betas: []float64{1, 0.4}}, settling()},
		{"mcmc.Tempering within a language", mcmc.Tempering{Base: mcmc.DMALA{StepSize: 1, Within: few}, Betas: []float64{1, 0.5}}, settled(within(few))},
		{"cluster.SwendsenWang", cluster.SwendsenWang{}, none},
		{"cluster.Wolff", cluster.Wolff{}, none},
		{"cluster.Wolff of three clusters", cluster.Wolff{Updates: 3}, none},
		{"cluster.Houdayer", cluster.Houdayer{}, settling()},
		{"cluster.Houdayer of DMALA", cluster.Houdayer{Base: mcmc.DMALA{StepSize: 1}}, settling()},
		{"cluster.Houdayer of Tempering", cluster.Houdayer{Base: mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: []float64{1, 0.5}}}, settling()},
		{"cluster.Houdayer of Tempering, three exchanges", cluster.Houdayer{Base: mcmc.Tempering{Base: mcmc.Gibbs{}, Betas: []float64{1, 0.5}}, Exchanges: 3}, settling()},
		{"cluster.Houdayer of Tempering of DMALA, two exchanges", cluster.Houdayer{Base: mcmc.Tempering{Base: mcmc.DMALA{StepSize: 1}, Betas: []float64{1, 0.5}}, Exchanges: 2}, settling()},
		{"momentum.DHAMS", momentum.DHAMS{}, none},
		{"momentum.DHAMS with persistence", momentum.DHAMS{StepSize: 0.8, Persistence: 0.6, Relaxation: 0.5}, settling()},
		{"momentum.DHAMS with a correction", momentum.DHAMS{StepSize: 0.8, Persistence: 0.6, Correction: 0.3}, on(settling(), finite())},
		{"momentum.PDHAMS", momentum.PDHAMS{}, mixing(settling(), 1000)},
		{"momentum.PDHAMS without persistence", momentum.PDHAMS{Persistence: -1, Relaxation: -1}, mixing(none, 1000)},
		{"auto.Method", auto.Method{}, none},
		{"auto.Method of two", auto.Method{Candidates: []sampler.Method{mcmc.Gibbs{}, mcmc.DMALA{}}}, none},
		{"auto.Method of Tempering and Houdayer", auto.Method{Candidates: []sampler.Method{mcmc.Tempering{Rungs: 2}, cluster.Houdayer{}}}, settling()},
		{"auto.Method within a language", auto.Method{Within: few}, within(few)},
	}
}

// foreign reports whether a method refuses all default models.
func (e methodEntry) foreign() bool {
	for _, m := range samplertest.Models() {
		if _, err := e.method.Kernel(context.Background(), m, 1); err == nil {
			return false
		}
	}
	return true
}

// within are the options of a method that is confined to a language.
func within(a constraint.Automaton) samplertest.Options {
	return samplertest.Options{Support: func(x []int32) bool { return constraint.Accepts(a, x) }}
}

// noPair is the language of sequences without two ones in a row.
func noPair() constraint.Automaton {
	return exact.Must(constraint.Avoids([]int32{1, 1}))
}

// on replaces the models.
func on(opt samplertest.Options, models []energy.Model) samplertest.Options {
	opt.Models = models
	return opt
}

// settled are options of methods that keep momenta or other replicas, which Reset does
// not draw from where they end. Twenty steps make them forget it here.
func settled(opt samplertest.Options) samplertest.Options {
	opt.Settle, opt.Draws, opt.Mix = 20, 2048, 150
	return opt
}

func settling() samplertest.Options { return settled(samplertest.Options{}) }

// mixing replaces the number of steps in which a chain forgets where it began.
func mixing(opt samplertest.Options, steps int) samplertest.Options {
	opt.Mix = steps
	return opt
}

// finite are the default models of which every state has probability: with a correction
// DHAMS does not leave a state from which one change leads to a state that has none, as
// the slope of the energy is infinite there.
func finite() []energy.Model {
	var all []energy.Model
	for _, m := range samplertest.Models() {
		if !math.IsInf(slices.Max(exact.Energies(m)), 1) {
			all = append(all, m)
		}
	}
	return all
}

// numbers is what exchanges of levels conserve.
func numbers(x []int32) int {
	n := 0
	for _, l := range x {
		n += 1 << (4 * l)
	}
	return n
}

func swapping(a constraint.Automaton) samplertest.Options {
	opt := within(a)
	opt.Class = numbers
	return opt
}

// unstated are options of a method whose doc states no distribution.
func unstated(opt samplertest.Options, models []energy.Model) samplertest.Options {
	opt.Target = func(energy.Model) []float64 { return nil }
	opt.Models = models
	return opt
}

// unadjusted is the distribution that DULA's doc states for quadratic energies.
func unadjusted(alpha float64) func(m energy.Model) []float64 {
	return func(m energy.Model) []float64 {
		sites, _ := m.Shape()
		e := exact.Energies(m)
		w := make([]float64, len(e))
		for k := range e {
			w[k] = -e[k]
			for i := range sites {
				delta := e[k^1<<i] - e[k]
				w[k] += math.Log1p(math.Exp(-delta/2 - 1/(2*alpha)))
			}
		}
		exact.Normalize(w)
		return w
	}
}

func quadratics() []energy.Model {
	return []energy.Model{exact.NewQuadratic(5, 5), exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.15, 0.1))}
}

func independents() []energy.Model {
	return []energy.Model{exact.Must(model.NewBernoulli([]float64{0.3, -1, 2, 0.1})), exact.Must(model.NewIndependent(reals[float64](9, 12), 3))}
}

func layered() []energy.Model {
	rbm := exact.Must(model.NewRBM(reals[float32](15, 1), reals[float32](3, 2), reals[float32](5, 3)))
	return []energy.Model{rbm, exact.Must(rbm.Tempered(0.5))}
}

func threeSites() []energy.Model {
	var all []energy.Model
	for _, m := range samplertest.Models() {
		if sites, _ := m.Shape(); sites == 3 {
			all = append(all, m)
		}
	}
	return append(all, exact.NewRugged(3, 2, 1, 0.5, 9))
}

// factored are models of tables over a few sites each, some with wrappers around them.
func factored() []energy.Model {
	glass := exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.4, 0.1))
	chain := exact.Must(model.NewMarkov(4, 3, 1, []float64{.5, .2, .3}, []float64{.2, .3, .5, .1, .8, .1, .6, .2, .2}))
	forced := exact.Must(model.NewMarkov(5, 2, 1, []float64{.5, .5}, []float64{0, 1, .7, .3}))
	tables := exact.Must(read.UAI(strings.NewReader("MARKOV 4 2 3 2 2 4 3 0 1 2 2 2 3 2 3 0 1 1 12 1 2 3 .5 0 1 4 2 1 1 .1 3 4 1 2 3 0 4 1 2 .5 3 3 .7 .3 1")))
	return []energy.Model{
		glass,
		exact.NewQuadratic(5, 5),
		exact.Must(model.NewPotts(model.Lattice{4}, 3, 0.4, []float64{0, .1, .3})),
		chain, forced, tables,
		exact.Must(energy.Clamp(chain, map[int]int32{1: 2})),
		exact.Must(energy.Scale(exact.NewQuadratic(4, 9), 120)),
		lagrangian(exact.Must(model.NewIsing(model.Lattice{4}, 0.3, 0.1))),
	}
}

// around are models with a Lagrangian around them, at multipliers above zero.
func around() []energy.Model {
	return []energy.Model{
		lagrangian(exact.Must(model.NewIsing(model.Lattice{5}, 0.3, 0.1))),
		lagrangian(exact.NewRugged(3, 3, 1, 0.5, 2)),
		weighted(exact.Must(model.NewIsing(model.Lattice{4}, 0.3, 0.1))),
	}
}

// kinds are models that some methods have kernels of their own for.
func kinds() []energy.Model {
	return append(layered()[:1:1],
		exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1)),
		exact.Must(model.NewDenseQuadratic(5, reals[float64](25, 8), model.Polynomial{})),
		exact.Must(model.NewMarkov(4, 3, 1, []float64{.5, .2, .3}, []float64{.2, .3, .5, .1, .8, .1, .6, .2, .2})),
		exact.Must(model.NewPotts(model.Lattice{4}, 3, 0.4, []float64{0, .1, .3})),
	)
}

func TestMethods(t *testing.T) {
	for _, e := range methodEntries() {
		t.Run(e.name, func(t *testing.T) {
			if strings.Contains(e.name, " of ") || strings.Contains(e.name, " within ") {
				exact.SkipRepeated(t) // its parts are judged in every form
			}
			opt := e.opt
			opt.Report = t.Logf
			if opt.Models == nil {
				opt.Models = append(samplertest.Models(), around()...)
				if !testing.Short() {
					opt.Models = append(opt.Models, kinds()...)
				}
			}
			if opt.Draws == 0 {
				opt.Draws = 8192 // of which .02 of a probability of ½ is almost four deviations
			}
			if !exact.Long() {
				opt.Draws = min(opt.Draws, 4096) // the same of .03
			}
			if testing.Short() || exact.Race {
				opt.Draws = min(opt.Draws, 2048)
			}
			if err := samplertest.TestMethod(t.Context(), e.method, opt); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The kernels of methods within a language say which states are in it, whatever is around them.
func TestConfinedKernels(t *testing.T) {
	for _, e := range methodEntries() {
		if e.opt.Support == nil {
			continue
		}
		models := e.opt.Models
		if models == nil {
			models = samplertest.Models()
		}
		for _, outer := range outerEntries() {
			for _, m := range models {
				k, err := outer.make(e.method).Kernel(t.Context(), m, 2)
				if err != nil {
					continue
				}
				c, ok := sampler.As[sampler.Confined](k)
				require.True(t, ok, "%s, %s", e.name, outer.name)
				sites, levels := m.Shape()
				for _, x := range exact.States(sites, levels) {
					require.Equal(t, e.opt.Support(x), c.Allows(x), "%s, %s: %v", e.name, outer.name, x)
				}
			}
		}
	}
}

// A method that is not in the registry is named.
func TestMethodsAreRegistered(t *testing.T) {
	m := exact.Must(loaded())
	var names []string
	for _, e := range methodEntries() {
		names = append(names, e.name)
	}
	for _, line := range conformance.Missing(exact.Must(m.Implementing("sampler", "Method")), names, "sampler.Method", "method_test.go") {
		t.Error(line)
	}
	lines := conformance.Missing([]string{"mcmc.Invented"}, names, "sampler.Method", "method_test.go")
	require.Equal(t, []string{"conformance: mcmc.Invented implements sampler.Method and is not registered in internal/conformance/method_test.go"}, lines)
}

// A seed gives the same draws in every release, on every machine and instruction set.
func TestGoldenMethods(t *testing.T) {
	var b strings.Builder
	for _, e := range methodEntries() {
		opt := e.opt
		if !e.foreign() {
			opt.Models = nil
		}
		sum, err := samplertest.Digest(t.Context(), e.method, opt)
		require.NoError(t, err, e.name)
		fmt.Fprintf(&b, "%s: %016x\n", e.name, sum)
	}
	exact.Golden(t, "testdata/conformance.golden", b.String())
}
