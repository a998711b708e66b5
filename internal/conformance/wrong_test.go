package conformance_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/constrainttest"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/energytest"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/samplertest"
)

// Wrong models: one of ours, of which one method is replaced.
type (
	wrongConditional struct{ *model.Ising }
	wrongGraph       struct{ energy.Model }
	wrongEdge        struct{ *model.Ising }
	wrongField       struct{ *model.Ising }
	wrongGradient    struct{ *model.Potts }
	wrongLocals      struct{ *model.Potts }
	wrongMove        struct{ *model.Ising }
	wrongTorus       struct{ *model.Ising }
	wrongColumns     struct{ *model.Ising }
	wrongMatching    struct{ *model.Potts }
	wrongPairs       struct{ energy.Pairwise }
	wrongWeights     struct{ energy.Pairwise }
	wrongHidden      struct{ *model.RBM }
	wrongCache       struct{ *model.RBM }
	wrongWindow      struct{ energy.Windowed }
	wrongBatch       struct{ *model.Ising }
	wrongValues      struct{ energy.Windowed }
	wrongRepair      struct{ *model.Markov }
	wrongUnclamped   struct{ energy.Clamped }
)

var (
	wrongLattice = model.Lattice{4, 6}
	hotter       = exact.Must(model.NewIsing(wrongLattice, 0.2, 0.1))
	hotterPotts  = exact.Must(model.NewPotts(model.Lattice{5}, 3, 0.2, []float64{0, .1, .3}))
)

func (m wrongConditional) Conditional(d []float64, site int, x []int32) {
	m.Ising.Conditional(d, site, x)
	for l := range d {
		d[l] *= 2
	}
}

func (m wrongGraph) Graph() (start, adj []int32) { return make([]int32, 6), nil }

func (m wrongEdge) Graph() (start, adj []int32) { // without that of sites 3 and 4
	from, all := m.Ising.Graph()
	start = []int32{0}
	for i := range len(from) - 1 {
		for _, j := range all[from[i]:from[i+1]] {
			if i/6 == int(j)/6 || i%6 != 3 && j%6 != 3 {
				adj = append(adj, j)
			}
		}
		start = append(start, int32(len(adj)))
	}
	return start, adj
}

func (m wrongField) Field(e []float64, h []float32, x []int32) { hotter.Field(e, h, x) }

func (m wrongGradient) Gradient(e []float64, g []float32, x []int32) { hotterPotts.Gradient(e, g, x) }

func (m wrongLocals) Locals(d []float64, x []int32) {
	m.Potts.Locals(d, x)
	for i := 0; i < len(d); i += 3 {
		d[i] += 0.2
	}
}

func (m wrongMove) Move([]float64, int, int32, []int32) {} // a cache that drifts

func (m wrongTorus) Torus() (cols int, d [5]float64, ok bool) { return hotter.Torus() }

func (m wrongColumns) Torus() (cols int, d [5]float64, ok bool) {
	_, d, ok = m.Ising.Torus()
	return 4, d, ok
}

func (m wrongMatching) Matching() (coupling float64, field []float64, ok bool) {
	coupling, field, ok = m.Potts.Matching()
	return -coupling, field, ok
}

func (m wrongPairs) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	start, adj, weight, field, ok = m.Pairwise.Pairs()
	other := make([]float64, len(field))
	return start, adj, weight, other, ok
}

func (m wrongWeights) Pairs() (start, adj []int32, weight, field []float64, ok bool) {
	start, adj, weight, field, ok = m.Pairwise.Pairs()
	half := make([]float64, len(weight))
	for k, w := range weight {
		half[k] = w / 2
	}
	return start, adj, half, field, ok
}

func (m wrongHidden) HiddenField(f []float32, x []int32) {
	m.RBM.HiddenField(f, x)
	for j := range f {
		f[j] *= 2
	}
}

func (m wrongCache) FieldFrom(e []float64, h []float32, next []float64, y []int32, cache []float64, x []int32) {
	m.RBM.FieldFrom(e, h, next, y, cache, x)
	if x != nil {
		copy(next, cache)
		m.RBM.Field(e, h, x) // of the earlier states
	}
}

func (m wrongWindow) Window(e []float64, g []float32, x []int32, w int) {
	m.Windowed.Window(e, g, x, w)
	for s := range e {
		e[s] *= 2
	}
}

func (m wrongBatch) Energy(e []float64, x []int32) {
	m.Ising.Energy(e, x)
	for s := range e {
		e[s] += 0.1 * float64(s)
	}
}

func (m wrongValues) Values() []float32 { return []float32{-1, 0, 3, .5} }

func (m wrongRepair) Repair([]int32) {}

func (m wrongUnclamped) Unclamped() (energy.Model, []int32) { return hotter, slicesOf(24) }

// slicesOf is a fixed level for the first of n sites.
func slicesOf(n int) []int32 {
	fixed := make([]int32, n)
	for i := range fixed {
		fixed[i] = -1
	}
	fixed[0] = 1
	return fixed
}

// wrongModels are the models, and whether chains find out in warm-up: not what concerns
// proposals alone, and not what is another bug of every call.
func wrongModels() []struct {
	name  string
	model energy.Model
	seen  string // what the error of a run says
	opt   energytest.Options
} {
	ising := exact.Must(model.NewIsing(wrongLattice, 0.4, 0.1))
	none := energytest.Options{}
	ring := exact.Must(model.NewIsing(model.Lattice{5}, 0.4, 0.1))
	potts := exact.Must(model.NewPotts(model.Lattice{5}, 3, 0.7, []float64{0, .1, .3}))
	pairs, _ := energy.As[energy.Pairwise](exact.Must(model.NewDenseQuadratic(6, reals[float64](36, 8), model.Polynomial{Linear: reals[float64](6, 9)})))
	levels := exact.Must(model.NewDenseQuadratic(4, reals[float64](16, 9), model.Polynomial{Values: []float32{-1, 0, .5, 3}}))
	windowed, _ := energy.As[energy.Windowed](levels)
	rbm := exact.Must(model.NewRBM(reals[float32](35, 1), reals[float32](5, 2), reals[float32](7, 3)))
	markov := exact.Must(model.NewMarkov(5, 3, 1, []float64{.5, .5, 0}, []float64{.2, .3, .5, 0, .9, .1, 1, 0, 0}))
	clamped, _ := energy.As[energy.Clamped](exact.Must(energy.Clamp(ising, map[int]int32{0: 1})))
	return []struct {
		name  string
		model energy.Model
		seen  string
		opt   energytest.Options
	}{
		{"Conditional twice the differences", wrongConditional{ising}, "Conditional has", none},
		{"a graph without edges", wrongGraph{ring}, "not neighbours by the model's Graph", none},
		{"a graph without some edges", wrongEdge{ising}, "", none},
		{"the field of another energy", wrongField{ising}, "Field has the energy", none},
		{"the table of another energy", wrongGradient{potts}, "Gradient has the energy", none},
		{"differences of sites that are off", wrongLocals{potts}, "Locals has", none},
		{"a cache that drifts", wrongMove{ising}, "after Move", none},
		{"the torus of another coupling", wrongTorus{ising}, "Torus has", none},
		{"a torus of other columns", wrongColumns{ising}, "Torus has", none},
		{"a matching of another sign", wrongMatching{potts}, "Matching has", none},
		{"pairs without fields", wrongPairs{pairs}, "Pairs has", none},
		{"pairs of half the weights", wrongWeights{pairs}, "Pairs has", none},
		{"hidden units of another model", wrongHidden{rbm}, "HiddenField and VisibleField has", derivatives},
		{"a field of the state before", wrongCache{rbm}, "FieldFrom has the energy", derivatives},
		{"a window of twice the energy", wrongWindow{windowed}, "Window has the energy", none},
		{"an energy that depends on the batch", wrongBatch{ising}, "", none},
		{"values that do not ascend", wrongValues{windowed}, "", none},
		{"repairs that repair nothing", wrongRepair{markov}, "", none},
		{"a clamp of another model", wrongUnclamped{clamped}, "Unclamped has the energy", none},
	}
}

// wrongKernel changes one site at a time by Metropolis' rule, unless it is wrong.
type wrongKernel struct {
	sampler.Base
	how           string
	m             energy.Model
	sites, levels int
	e             []float64
	f             [1]float64
	last          int
}

type wrongMethod struct{ how string }

func (w wrongMethod) Name() string { return "wrong " + w.how }

func (w wrongMethod) Kernel(_ context.Context, m energy.Model, chains int) (sampler.Kernel, error) {
	if m == nil || chains < 1 || chains > sampler.BlockSize {
		return nil, fmt.Errorf("wrong: %d chains", chains)
	}
	k := &wrongKernel{how: w.how, m: m, e: make([]float64, chains)}
	k.sites, k.levels = m.Shape()
	k.Keep(k.e)
	return k, nil
}

func (k *wrongKernel) Reset(_ sampler.Control, x []int32) error {
	if k.how == "stale" && k.e[0] != 0 {
		return nil
	}
	k.m.Energy(k.e, x)
	return sampler.CheckStart(k.e)
}

func (k *wrongKernel) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
	for s := range info {
		src := &r[s]
		y := x[s*k.sites : (s+1)*k.sites]
		n := k.sites
		if k.how == "a site that stays" && n > 1 {
			n--
		}
		i := src.IntN(n)
		if k.how == "position" {
			i, k.last = k.last%n, k.last+1
		}
		from := y[i]
		y[i] = int32(src.IntN(k.levels))
		if k.how == "drift" && src.IntN(4) > 0 {
			y[i] = int32(k.levels - 1)
		}
		e := k.f[:]
		k.m.Energy(e, y)
		delta := e[0] - k.e[s]
		switch k.how {
		case "half":
			delta /= 2
		case "backwards":
			delta = -delta
		case "always":
			delta = min(delta, 1e9) * 0
		}
		a := math.Min(1, math.Exp(-delta))
		info[s] = sampler.Info{Accept: a}
		if !(e[0] > math.Inf(-1)) {
			info[s], a = sampler.Info{Invalid: 1}, 0
		}
		if src.Float64() < a {
			k.e[s] = e[0]
			if y[i] != from && k.how != "moved" {
				info[s].Moved = 1
			}
		} else {
			y[i] = from
		}
		if info[s].Energy = k.e[s]; k.how == "report" {
			info[s].Energy += 0.01
		}
	}
	return 1
}

var wrongKernels = []string{"half", "backwards", "always", "a site that stays", "drift", "moved", "report", "position", "stale"}

// wrongDenoiser is a table, unless it is wrong.
type wrongDenoiser struct {
	*denoise.Table
	how string
}

func (d wrongDenoiser) Denoise(ctx context.Context, v []float32, q energy.Noised[int32]) error {
	if err := d.Table.Denoise(ctx, v, q); err != nil {
		return err
	}
	for i := range v {
		switch {
		case d.how == "sharp":
			v[i] *= 1.5
		case d.how == "batch" && i >= 9 && i%3 == 0:
			v[i] += 0.01
		case d.how == "time" && i%3 == 0:
			v[i] += float32(q.Time[i/9]) / 4
		case d.how == "level" && i%3 == 1:
			v[i] += 0.1
		case d.how == "number":
			v[i] = float32(math.NaN())
		}
	}
	return nil
}

func (d wrongDenoiser) TimeFree() bool { return true }

// wrongLanguage has one or two ones, unless it is wrong.
type wrongLanguage struct {
	constraint.Automaton
	how   string
	calls *int
}

func (a wrongLanguage) Accepting(state int) bool {
	if a.how == "accepts" {
		return true
	}
	return a.Automaton.Accepting(state)
}

func (a wrongLanguage) Next(state int, token int32) int {
	switch *a.calls++; {
	case a.how == "range" && token == 1:
		return a.States() + 3
	case a.how == "token" && token == 2:
		return a.Automaton.Next(state, 1)
	case a.how == "calls" && *a.calls%7 == 0:
		return -1
	case a.how == "dead" && token == 0:
		return -1
	}
	return a.Automaton.Next(state, token)
}

func (a wrongLanguage) Start() int {
	if a.how == "start" {
		return 1
	}
	return a.Automaton.Start()
}

// The public test packages catch every wrong model, kernel, denoiser and language, and
// accept the right one that each is made of.
func TestWrongPartsAreCaught(t *testing.T) {
	ctx, caught := t.Context(), 0
	catch := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s is not caught", what)
			return
		}
		caught++
		t.Logf("%s: %v", what, err)
	}
	for _, w := range wrongModels() {
		catch(w.name, energytest.TestModel(ctx, w.model, w.opt))
	}
	opt := samplertest.Options{Models: samplertest.Models()[:4], Draws: 8192}
	require.NoError(t, samplertest.TestMethod(ctx, wrongMethod{""}, opt))
	for _, how := range wrongKernels {
		catch("kernel: "+how, samplertest.TestMethod(ctx, wrongMethod{how}, opt))
	}
	rugged := exact.NewRugged(3, 2, 1, 0, 9)
	table := exact.Must(denoise.NewTable(rugged, denoise.Absorbing))
	known := diffusiontest.DenoiserOptions{Joint: listed(rugged, true)}
	require.NoError(t, diffusiontest.TestDenoiser(ctx, wrongDenoiser{table, ""}, known))
	for _, how := range []string{"sharp", "batch", "time", "level", "number"} {
		catch("denoiser: "+how, diffusiontest.TestDenoiser(ctx, wrongDenoiser{table, how}, known))
	}
	few := exact.Must(constraint.Intersect(counted(1, 1, 2), constraint.Complement(exact.Must(constraint.Contains([]int32{2, 2})))))
	accepts := constrainttest.Options{Accepts: func(x []int32) bool { return times(x, 1) >= 1 && times(x, 1) <= 2 && !occurs(x, []int32{2, 2}) }}
	language := func(how string) error {
		return constrainttest.TestAutomaton(ctx, wrongLanguage{few, how, new(int)}, accepts)
	}
	require.NoError(t, constrainttest.TestAutomaton(ctx, few, accepts))
	for _, how := range []string{"accepts", "range", "token", "calls", "dead", "start"} {
		catch("language: "+how, language(how))
	}
	t.Logf("%d caught", caught)
	require.GreaterOrEqual(t, caught, 30)
}

// What a model claims wrongly ends the first run, in warm-up, with an error that names the
// claim, the site and both values. Right models are left alone.
func TestChainsCheckClaims(t *testing.T) {
	for _, w := range wrongModels() {
		if w.seen == "" {
			continue
		}
		sites, _ := w.model.Shape()
		init := make([]int32, sites)
		init[0] = 1
		ch, err := sampler.NewChains(t.Context(), w.model, mcmc.Metropolis{}, sampler.Config{Chains: 16, Warmup: 50, Init: init})
		require.NoError(t, err, w.name)
		err = ch.Run(t.Context(), 10)
		require.ErrorContains(t, err, w.seen, w.name)
		require.ErrorContains(t, err, "warm-up, chain ", w.name)
		require.ErrorContains(t, err, ": see energytest.TestModel", w.name)
	}
	for _, e := range modelEntries() {
		for seed := range uint64(4) {
			ch := exact.Must(sampler.NewChains(t.Context(), e.model, mcmc.Metropolis{}, sampler.Config{Chains: 5, Warmup: 3, Seed: seed}))
			require.NoError(t, ch.Run(t.Context(), 1), e.name)
		}
	}
}
