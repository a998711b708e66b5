package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/auto"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc/cluster"
	"github.com/gibbsite-go/gibbsite/sampler/samplertest"
)

// pairModel is a model whose states can be listed in no time.
type pairModel struct {
	name  string
	model energy.Model
}

// ownModels are those of which methods have forms of their own, and those of samplertest.
func ownModels() []pairModel {
	return []pairModel{
		{"Ising torus", exact.Must(model.NewIsing(model.Lattice{3, 3}, 0.3, 0.1))},
		{"Potts ring", exact.Must(model.NewPotts(model.Lattice{4}, 3, 0.4, []float64{0, .1, .3}))},
		{"arbitrary energies", exact.NewRugged(3, 3, 1, 0.5, 2)},
		{"arbitrary energies with holes", exact.NewRugged(3, 3, 1, 0.5, 5).Holed()},
		{"forbidden states of samplertest", samplertest.Models()[2]},
		{"ordinal levels of samplertest", samplertest.Models()[5]},
		{"clamped ring of samplertest", samplertest.Models()[6]},
	}
}

// mostListed is the number of states that a combination may have.
const mostListed = 256

// pairModels are these and, of every type in the registry, the first that is small enough.
func pairModels() (all []pairModel, define func(l *listing, k int)) {
	all = ownModels()
	own := len(all)
	var at []int
	seen := map[string]bool{}
	for k, e := range modelEntries() {
		kind, _, _ := strings.Cut(e.name, " ")
		if sites, levels := e.model.Shape(); !seen[kind] && !strings.HasPrefix(kind, "neural.") && math.Pow(float64(levels), float64(sites)) <= mostListed {
			seen[kind] = true
			all, at = append(all, pairModel{e.name, e.model}), append(at, k)
		}
	}
	return all, func(l *listing, k int) {
		if k < own {
			l.define("m", "ownModels", k)
			return
		}
		l.define("m", "modelEntries", at[k-own])
	}
}

// around is what a user puts around a model. of returns the energy of a state from that
// of the model inside.
type aroundEntry struct {
	name string
	wrap func(m energy.Model) (energy.Model, error)
	of   func(e float64, x []int32) float64
}

func aroundEntries() []aroundEntry {
	same := func(e float64, _ []int32) float64 { return e }
	half := func(e float64, _ []int32) float64 { return e / 2 }
	fixed := func(e float64, x []int32) float64 {
		if x[1] != 0 {
			return math.Inf(1)
		}
		return e
	}
	priced := func(e float64, x []int32) float64 {
		return e + 0.3*(float64(times(x, 1))-1)
	}
	least := constraint.Count{Levels: []int32{1}, Max: 1}
	return []aroundEntry{
		{"nothing", func(m energy.Model) (energy.Model, error) { return m, nil }, same},
		{"Scale by a half", func(m energy.Model) (energy.Model, error) { return energy.Scale(m, 0.5) }, half},
		{"Scale by nothing", func(m energy.Model) (energy.Model, error) { return energy.Scale(m, 0) }, func(e float64, _ []int32) float64 {
			if math.IsInf(e, 1) {
				return e
			}
			return 0
		}},
		{"Sum with itself", func(m energy.Model) (energy.Model, error) { return energy.Sum(m, m) }, func(e float64, _ []int32) float64 { return 2 * e }},
		{"Sum with independent sites", func(m energy.Model) (energy.Model, error) {
			sites, levels := m.Shape()
			free, err := model.NewIndependent(slices.Repeat([]float64{0.4}, sites*levels), levels)
			if err != nil {
				return nil, err
			}
			return energy.Sum(free, m)
		}, func(e float64, x []int32) float64 { return e - 0.4*float64(len(x)) }},
		{"Clamp", func(m energy.Model) (energy.Model, error) { return energy.Clamp(m, map[int]int32{1: 0}) }, fixed},
		{"Scale of Clamp", func(m energy.Model) (energy.Model, error) {
			c, err := energy.Clamp(m, map[int]int32{1: 0})
			if err != nil {
				return nil, err
			}
			return energy.Scale(c, 0.5)
		}, func(e float64, x []int32) float64 { return half(fixed(e, x), x) }},
		{"Lagrangian", func(m energy.Model) (energy.Model, error) { return pairLagrangian(m, least) }, priced},
		{"Lagrangian at a temperature", func(m energy.Model) (energy.Model, error) {
			l, err := pairLagrangian(m, least)
			if err != nil {
				return nil, err
			}
			return l.AtTemperature(2)
		}, func(e float64, x []int32) float64 { return half(priced(e, x), x) }},
		{"Clamp of Lagrangian", func(m energy.Model) (energy.Model, error) {
			l, err := pairLagrangian(m, least)
			if err != nil {
				return nil, err
			}
			return energy.Clamp(l, map[int]int32{1: 0})
		}, func(e float64, x []int32) float64 { return fixed(priced(e, x), x) }},
		{"Lagrangian of Clamp", func(m energy.Model) (energy.Model, error) {
			c, err := energy.Clamp(m, map[int]int32{1: 0})
			if err != nil {
				return nil, err
			}
			return pairLagrangian(c, least)
		}, func(e float64, x []int32) float64 { return priced(fixed(e, x), x) }},
		{"Sum of Lagrangian and Clamp", func(m energy.Model) (energy.Model, error) {
			l, err := pairLagrangian(m, least)
			if err != nil {
				return nil, err
			}
			c, err := energy.Clamp(m, map[int]int32{1: 0})
			if err != nil {
				return nil, err
			}
			return energy.Sum(l, c)
		}, func(e float64, x []int32) float64 { return priced(e, x) + fixed(e, x) }},
		{"user's wrapper", func(m energy.Model) (energy.Model, error) { return passing{m}, nil }, same},
		{"user's wrapper that knows energies alone", func(m energy.Model) (energy.Model, error) { return struct{ energy.Model }{m}, nil }, same},
	}
}

// passing is a wrapper of a user that passes everything on.
type passing struct{ energy.Model }

func (p passing) As(target any) bool { return energy.AsInto(p.Model, target) }

// pairLagrangian has the multiplier .3 of what a count exceeds.
func pairLagrangian(m energy.Model, c constraint.Count) (*dual.Lagrangian, error) {
	l, err := dual.NewLagrangian(m, c)
	if err != nil {
		return nil, err
	}
	return l, l.SetLambda([]float64{0.3})
}

// withinEntry is a language for the field Within of methods; nil is none.
type withinEntry struct {
	name string
	a    constraint.Automaton
}

func withinEntries() []withinEntry {
	return []withinEntry{
		{"none", nil},
		{"one or two", constraint.Count{Levels: []int32{1}, Min: 1, Max: 2}},
		{"exactly one", constraint.Count{Levels: []int32{1}, Min: 1, Max: 1}},
		{"no two ones in a row", noPair()},
		{"two languages", exact.Must(constraint.Intersect(constraint.Count{Levels: []int32{0}, Min: 1, Max: 3}, noPair()))},
		{"nothing", constraint.Count{Levels: []int32{1}, Min: 9, Max: 9}},
	}
}

// outerEntry is a method that is made of others.
type outerEntry struct {
	name string
	make func(m sampler.Method) sampler.Method
}

func outerEntries() []outerEntry {
	return []outerEntry{
		{"itself", func(m sampler.Method) sampler.Method { return m }},
		{"in a struct of a user", func(m sampler.Method) sampler.Method { return struct{ sampler.Method }{m} }},
		{"Tempering", func(m sampler.Method) sampler.Method { return mcmc.Tempering{Base: m, Betas: []float64{1, 0.5}} }},
		{"Tempering to zero", func(m sampler.Method) sampler.Method { return mcmc.Tempering{Base: m, Betas: []float64{1, 0.5, 0}} }},
		{"Tempering of tuned rungs", func(m sampler.Method) sampler.Method { return mcmc.Tempering{Base: m, Rungs: 3} }},
		{"Houdayer", func(m sampler.Method) sampler.Method { return cluster.Houdayer{Base: m} }},
		{"Tempering of Houdayer", func(m sampler.Method) sampler.Method {
			return mcmc.Tempering{Base: cluster.Houdayer{Base: m}, Betas: []float64{1, 0.5}}
		}},
		{"auto of it alone", func(m sampler.Method) sampler.Method { return auto.Method{Candidates: []sampler.Method{m}} }},
		{"auto of two", func(m sampler.Method) sampler.Method {
			return auto.Method{Candidates: []sampler.Method{m, mcmc.DMALA{StepSize: 1, Within: languageOf(m)}}}
		}},
		{"Tempering of auto", func(m sampler.Method) sampler.Method {
			return mcmc.Tempering{Base: auto.Method{Candidates: []sampler.Method{m}}, Betas: []float64{1, 0.5}}
		}},
	}
}

// confine sets the field Within of a method unless it is set; ok is false if there is no
// such field.
func confine(m sampler.Method, a constraint.Automaton) (confined sampler.Method, ok bool) {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Struct {
		return m, false
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	f := c.FieldByName("Within")
	if !f.IsValid() || !f.IsNil() {
		return m, false
	}
	f.Set(reflect.ValueOf(a))
	return c.Interface().(sampler.Method), true
}

// languageOf returns what the fields Within of a method, or of one inside it, confine
// chains to.
func languageOf(m sampler.Method) constraint.Automaton {
	v := reflect.ValueOf(m)
	if v.Kind() != reflect.Struct {
		return nil
	}
	if f := v.FieldByName("Within"); f.IsValid() && !f.IsNil() {
		return f.Interface().(constraint.Automaton)
	}
	if f := v.FieldByName("Base"); f.IsValid() && !f.IsNil() {
		return languageOf(f.Interface().(sampler.Method))
	}
	return nil
}

// chainCase is a combination for chains.
type chainCase struct {
	method  methodEntry
	base    pairModel
	around  aroundEntry
	within  constraint.Automaton
	outer   outerEntry
	warm    int
	start   string
	workers int
	gen     sampler.Generator
}

// How chains come to draws of their target.
var chainStarts = []string{"from Init", "by SetStates", "by Retarget", "by Load"}

// settledSteps is how many steps replicas take that started from one state.
const settledSteps = 24

// target returns the model of a case, its distribution as the parts document it, and its
// energies.
func (c *chainCase) target() (m energy.Model, p, e []float64, err error) {
	sites, levels := c.base.model.Shape()
	e = exact.Energies(c.base.model)
	if m, err = c.around.wrap(c.base.model); err != nil {
		return nil, nil, nil, err
	}
	p = make([]float64, len(e))
	top := math.Inf(-1)
	for k, x := range exact.States(sites, levels) {
		e[k] = c.around.of(e[k], x)
		if p[k] = -e[k]; c.within != nil && !constraint.Accepts(c.within, x) || c.method.opt.Support != nil && !c.method.opt.Support(x) {
			p[k] = math.Inf(-1)
		}
		top = max(top, p[k])
	}
	if math.IsInf(top, -1) {
		return m, nil, e, nil
	}
	exact.Normalize(p)
	return m, p, e, nil
}

// steps returns after how many steps states are counted.
func (c *chainCase) settle() int {
	if strings.Contains(c.outer.name, "Tempering") || strings.Contains(c.outer.name, "Houdayer") {
		return settledSteps + c.method.opt.Settle/2
	}
	return c.method.opt.Settle
}

// stated reports whether the documentation states the distribution: that of methods
// without an acceptance step is approximate.
func (c *chainCase) stated() bool {
	return !strings.HasPrefix(c.method.name, "mcmc.DULA") && !strings.HasPrefix(c.method.name, "mcmc.DUPS")
}

func (c *chainCase) judge(ctx context.Context, scale int, seed uint64) error {
	method := c.method.method
	if c.within != nil {
		if confined, ok := confine(method, c.within); ok {
			method = confined
		} else {
			c.within = nil // the method has no such field
		}
	}
	method = c.outer.make(method)
	m, p, e, err := c.target()
	if err != nil {
		return refusal{err}
	}
	sites, levels := m.Shape()
	chains := 512 * scale // TestMethods judges each method on its own by more
	if c.settle() > 1 {
		chains = 128 * scale // each of them takes many steps
	}
	if p == nil {
		return c.nowhere(ctx, m, method)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	x := make([]int32, chains*sites)
	drawStates(x, p, sites, levels, r)
	cfg := sampler.Config{Chains: chains, Seed: seed, Warmup: -1, Workers: c.workers, Generator: c.gen, Init: x}
	if c.warm > 0 {
		cfg.Warmup = c.warm
	}
	if err := c.lives(ctx, m, method, cfg); err != nil {
		return err
	}
	ch, err := c.begin(ctx, m, method, cfg, x)
	if err != nil {
		return err
	}
	moved := 0.0
	for i, n := range []int{1 + c.settle(), 3} {
		if err := ch.Run(ctx, n); !c.stated() && errors.Is(err, sampler.ErrZero) {
			return refusal{err}
		} else if err != nil {
			return fmt.Errorf("chains.Run: %w", err)
		}
		moved += ch.Stats().Moved
		counts := make([]int, len(p))
		exact.Tally(counts, ch.States(), sites, levels)
		for k, n := range counts {
			if n > 0 && p[k] == 0 {
				return fmt.Errorf("%d chains are at %v, which has probability zero", n, exact.States(sites, levels)[k])
			}
		}
		if err := c.reports(ch, e, sites, levels); err != nil {
			return err
		}
		if !c.stated() {
			continue
		}
		if v := exact.PValue(counts, p); v < exact.Rate/2 {
			k, _ := laws.WorstCell(counts, p)
			return fmt.Errorf("run %d: %d of %d chains are at %v, want about %.0f (p-value %.2g)", i, counts[k], chains, exact.States(sites, levels)[k], p[k]*float64(chains), v)
		}
	}
	if moved == 0 && slices.Max(p) < 0.9 && c.movable() {
		return fmt.Errorf("no chain of %d moves", chains)
	}
	return nil
}

// movable reports whether the method can leave most states.
func (c *chainCase) movable() bool {
	return c.within == nil && c.method.opt.Support == nil && c.method.opt.Class == nil && !strings.Contains(c.base.name+c.around.name, "Clamp") &&
		!strings.Contains(c.base.name, "clamped") && !strings.Contains(c.base.name, "holes") && !strings.Contains(c.base.name, "forbidden")
}

// nowhere judges chains whose target has no state.
func (c *chainCase) nowhere(ctx context.Context, m energy.Model, method sampler.Method) error {
	ch, err := sampler.NewChains(ctx, m, method, sampler.Config{Chains: 4, Warmup: -1})
	if err == nil {
		err = ch.Run(ctx, 2)
	}
	if err == nil {
		return fmt.Errorf("chains run, and no state has a probability: they are at %v", ch.States())
	}
	return refusal{err}
}

// begin returns chains that are at draws x of their target.
func (c *chainCase) begin(ctx context.Context, m energy.Model, method sampler.Method, cfg sampler.Config, x []int32) (*sampler.Chains, error) {
	from := m
	if c.start == "by Retarget" {
		if other, err := energy.Scale(m, 0.7); err == nil {
			from = other
		}
	}
	ch, err := sampler.NewChains(ctx, from, method, cfg)
	if err != nil {
		return nil, refusal{err}
	}
	if c.start == "from Init" && c.warm == 0 {
		return ch, nil
	}
	if err := ch.Run(ctx, 1); !c.stated() && errors.Is(err, sampler.ErrZero) {
		return nil, refusal{err} // as ErrZero states of kernels that accept everything
	} else if err != nil {
		return nil, fmt.Errorf("chains.Run: %w", err)
	}
	if c.start == "by Retarget" {
		if err := sampler.Retarget(ctx, ch, m); err != nil {
			return nil, fmt.Errorf("sampler.Retarget: %w", err)
		}
	}
	if err := ch.SetStates(x); err != nil {
		return nil, fmt.Errorf("chains.SetStates: %w", err)
	}
	if c.start == "by Load" {
		var file bytes.Buffer
		if err := ch.Save(&file); err != nil {
			return nil, fmt.Errorf("chains.Save: %w", err)
		}
		cfg.Init = nil
		if ch, err = sampler.NewChains(ctx, m, method, cfg); err != nil {
			return nil, fmt.Errorf("chains again, without Init: %w", err)
		}
		if err := ch.Load(ctx, &file); err != nil {
			return nil, fmt.Errorf("chains.Load: %w", err)
		}
	}
	return ch, nil
}

// reports compares the energies that kernels report with those of the states.
func (c *chainCase) reports(ch *sampler.Chains, e []float64, sites, levels int) error {
	for i, info := range ch.Info() {
		x := ch.States()[i*sites : (i+1)*sites]
		want := e[exact.Index(x, levels)]
		if math.Abs(info.Energy-want) > 1e-5*(1+math.Abs(want)) { // models in float32
			return fmt.Errorf("chain %d at %v reports the energy %v, want %v", i, x, info.Energy, want)
		}
		if !(info.Accept >= 0 && info.Accept <= 1+1e-9) {
			return fmt.Errorf("chain %d reports the acceptance probability %v", i, info.Accept)
		}
	}
	return nil
}

// lives compares a run with one of other workers that stops, is saved and goes on.
func (c *chainCase) lives(ctx context.Context, m energy.Model, method sampler.Method, cfg sampler.Config) error {
	sites, _ := m.Shape()
	cfg.Chains, cfg.Workers, cfg.Init = 9, 1, cfg.Init[:9*sites]
	whole, err := sampler.NewChains(ctx, m, method, cfg)
	if err != nil {
		return refusal{err}
	}
	if err := whole.Run(ctx, 5); !c.stated() && errors.Is(err, sampler.ErrZero) {
		return refusal{err} // as ErrZero states of kernels that accept everything
	} else if err != nil {
		return fmt.Errorf("nine chains: %w", err)
	}
	cfg.Workers = 3
	first, err := sampler.NewChains(ctx, m, method, cfg)
	if err != nil {
		return fmt.Errorf("again: %w", err)
	}
	if err := first.Run(ctx, 2); err != nil {
		return fmt.Errorf("nine chains, two draws: %w", err)
	}
	var file bytes.Buffer
	if err := first.Save(&file); err != nil {
		return fmt.Errorf("chains.Save: %w", err)
	}
	second, err := sampler.NewChains(ctx, m, method, cfg)
	if err == nil {
		err = second.Load(ctx, &file)
	}
	if err == nil {
		err = second.Run(ctx, 3)
	}
	if err != nil {
		return fmt.Errorf("nine chains, saved and loaded: %w", err)
	}
	if !slices.Equal(whole.States(), second.States()) {
		return fmt.Errorf("three workers, saved after two draws and loaded: %v, want %v", second.States(), whole.States())
	}
	return nil
}

// drawStates stores states that are drawn from p.
func drawStates(x []int32, p []float64, sites, levels int, r *rand.Rand) {
	for ; len(x) > 0; x = x[sites:] {
		u, k := r.Float64(), 0
		for k < len(p)-1 && u >= p[k] || p[k] == 0 {
			u -= p[k]
			k = (k + 1) % len(p)
		}
		exact.State(x[:sites], k, levels)
	}
}

// namesOf are the names of the entries of a registry.
func namesOf[T any](all []T, name func(T) string) []string {
	var names []string
	for _, e := range all {
		names = append(names, name(e))
	}
	return names
}

// chainPairing is everything that chains accept.
func chainPairing() pairing {
	methods, arounds, withins, outers := methodEntries(), aroundEntries(), withinEntries(), outerEntries()
	models, define := pairModels()
	generators := []string{"Philox4x32", "ARS4x32"}
	p := pairing{name: "chains", share: 4, factors: []factor{
		{"method", namesOf(methods, func(e methodEntry) string { return e.name })},
		{"model", namesOf(models, func(e pairModel) string { return e.name })},
		{"around it", namesOf(arounds, func(e aroundEntry) string { return e.name })},
		{"Within", namesOf(withins, func(e withinEntry) string { return e.name })},
		{"method around it", namesOf(outers, func(e outerEntry) string { return e.name })},
		{"warm-up", []string{"none", "8 steps"}},
		{"start", chainStarts},
		{"workers", []string{"1", "3"}},
		{"generator", generators},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := chainCase{
			method: methods[pick[0]], base: models[pick[1]], around: arounds[pick[2]], within: withins[pick[3]].a, outer: outers[pick[4]],
			warm: 8 * pick[5], start: chainStarts[pick[6]], workers: 1 + 2*pick[7], gen: sampler.Generator(pick[8]),
		}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		define(l, pick[1])
		l.define("wrap", "aroundEntries", pick[2])
		l.add("target := exact.Must(wrap(m))")
		l.define("method", "methodEntries", pick[0])
		if pick[3] > 0 {
			l.define("within", "withinEntries", pick[3])
			l.add("method.Within = within // if there is such a field")
		}
		l.define("outer", "outerEntries", pick[4])
		l.add("ch := exact.Must(sampler.NewChains(t.Context(), target, outer(method), sampler.Config{Chains: 1024, Warmup: %d, Workers: %d, Generator: sampler.%s}))", []int{-1, 8}[pick[5]], 1+2*pick[7], generators[pick[8]])
		l.add("require.NoError(t, ch.Run(t.Context(), 4)) // %s, at draws of the target", chainStarts[pick[6]])
		return l.String()
	}
	return p
}

// A kernel that is wrong in one combination alone is found.
func TestChainPairsFindABrokenMethod(t *testing.T) {
	c := chainCase{method: methodEntry{"broken", brokenMethod{}, samplertest.Options{}}, base: ownModels()[2], around: aroundEntries()[0], outer: outerEntries()[0], start: "from Init", workers: 1}
	require.ErrorContains(t, c.judge(t.Context(), 1, 1), "p-value")
	c.around = aroundEntries()[2] // a flat target
	require.NoError(t, c.judge(t.Context(), 1, 1))
}

// brokenMethod draws one site uniformly.
type brokenMethod struct{}

func (brokenMethod) Kernel(_ context.Context, m energy.Model, _ int) (sampler.Kernel, error) {
	return &brokenKernel{m: m}, nil
}

type brokenKernel struct {
	sampler.Base
	m energy.Model
}

func (k *brokenKernel) Reset(sampler.Control, []int32) error { return nil }

func (k *brokenKernel) Step(_ sampler.Control, info []sampler.Info, x []int32, r []sampler.Stream) int {
	sites, levels := k.m.Shape()
	for s := range info {
		x[s*sites+r[s].IntN(sites)] = int32(r[s].IntN(levels))
		var e [1]float64
		k.m.Energy(e[:], x[s*sites:(s+1)*sites])
		info[s] = sampler.Info{Energy: e[0], Accept: 1, Moved: 1}
	}
	return 1
}
