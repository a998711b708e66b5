package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// annealCase is a combination for walks through temperatures: what chains have as their
// target and method.
type annealCase struct {
	target  chainCase
	method  sampler.Method
	run     string
	base    string
	stages  int
	parts   int
	workers int
}

// The runs of package anneal, and the distributions that they begin with.
var (
	annealRuns  = []string{"AIS", "AIS in populations", "AIS backwards", "AIS backwards in populations", "stepping stones", "minimum"}
	annealBases = []string{"uniform", "independent sites", "of the model itself"}
)

// annealPopulation is the size of a population.
const annealPopulation = 16

func (c *annealCase) judge(ctx context.Context, scale int, seed uint64) error {
	if c.target.within != nil {
		confined, ok := confine(c.method, c.target.within)
		if !ok {
			c.target.within = nil
		} else {
			c.method = confined
		}
	}
	c.method = c.target.outer.make(c.method)
	m, p, e, err := c.target.target()
	if err != nil {
		return refusal{err}
	}
	base, q, err := c.first(m)
	if err != nil {
		return refusal{err}
	}
	switch c.run {
	case "minimum":
		return c.minimum(ctx, m, p, e, seed)
	case "stepping stones":
		return c.stones(ctx, m, base, p, e, scale, seed)
	}
	return c.importance(ctx, m, base, q, p, e, scale, seed)
}

// first is the distribution of the first states, and its probabilities.
func (c *annealCase) first(m energy.Model) (base energy.Model, q []float64, err error) {
	sites, levels := m.Shape()
	switch c.base {
	case "independent sites":
		w := make([]float64, sites*levels)
		for i := range w {
			w[i] = 0.3 * float64(i%3)
		}
		base, err = model.NewIndependent(w, levels)
	case "of the model itself":
		base, err = energy.Scale(m, 0.5)
	}
	if err != nil {
		return nil, nil, err
	}
	q = make([]float64, int(math.Round(math.Pow(float64(levels), float64(sites)))))
	if base != nil {
		for k, e := range exact.Energies(base) {
			q[k] = -e
		}
	}
	if math.IsInf(slices.Max(q), -1) {
		return base, q, nil
	}
	exact.Normalize(q)
	return base, q, nil
}

// importance judges the weights of AIS: their mean, and that of each state.
func (c *annealCase) importance(ctx context.Context, m, base energy.Model, q, p, e []float64, scale int, seed uint64) error {
	sites, levels := m.Shape()
	cfg := anneal.AISConfig{Chains: 256 * scale, Seed: seed, Workers: c.workers, Stages: c.stages, Base: base}
	group := 1
	if c.run == "AIS in populations" || c.run == "AIS backwards in populations" {
		cfg.Population, group = annealPopulation, annealPopulation
	}
	back := c.run == "AIS backwards" || c.run == "AIS backwards in populations"
	if back {
		if p == nil {
			return refusal{errors.New("anneal: a user has no draws where no state has a probability")}
		}
		cfg.Exact = make([]int32, cfg.Chains*sites)
		drawStates(cfg.Exact, p, sites, levels, rand.New(rand.NewPCG(seed, 2)))
	}
	whole, err := anneal.AIS(ctx, m, c.method, cfg)
	if err != nil {
		return refusal{err}
	}
	if p == nil {
		return fmt.Errorf("AIS: log Z is %v, and no state has a probability", whole.Value)
	}
	if c.parts > 1 {
		var all []*anneal.AISResult
		for k := range c.parts {
			part, err := cfg.Part(k, c.parts)
			if err != nil {
				return fmt.Errorf("Part(%d, %d): %w", k, c.parts, err)
			}
			if back {
				part.Exact = cfg.Exact[part.First*sites : (part.First+part.Count)*sites]
			}
			part.Workers = 3
			r, err := anneal.AIS(ctx, m, c.method, part)
			if err != nil {
				return fmt.Errorf("part %d of %d: %w", k, c.parts, err)
			}
			all = append(all, r)
		}
		joined, err := all[0].Join(all[1:]...)
		if err != nil {
			return fmt.Errorf("Join: %w", err)
		}
		if joined.LogZ != whole.LogZ || !slices.Equal(joined.LogWeights, whole.LogWeights) || !slices.Equal(joined.States, whole.States) {
			return fmt.Errorf("%d parts have log Z %v, the whole %v", c.parts, joined.LogZ, whole.LogZ)
		}
	}
	if !c.target.stated() {
		return nil
	}
	// E[w]/Z is 1, and that of the chains at each state its probability: where the walk ends.
	// Backwards E[w]·Z is the probability under the base of the states that a walk begins at.
	logZ, end := 0.0, slices.Clone(p)
	for k, v := range p {
		if v == slices.Max(p) {
			logZ = -e[k] - math.Log(v)
		}
	}
	start := q
	if back {
		start, end, logZ = p, slices.Clone(q), -logZ
		for k, v := range p {
			if v == 0 { // no walk begins there, nor ends
				end[k] = 0
			}
		}
	}
	// A walk that does not move would have these variances. Where few walks begin or end, weights
	// have tails that are too heavy for the test.
	still, total, all := make([]float64, len(end)), 0.0, 0.0
	for k, v := range end {
		if min(start[k], v)*float64(cfg.Chains) < 25 {
			end[k] = 0
		} else if v > 0 {
			still[k] = v * v / start[k]
			total, all = total+v, all+still[k]
		}
	}
	groups := cfg.Chains / group
	near := func(what string, want, still float64, is func(k int) bool) error {
		sum, squares := 0.0, 0.0
		for g := range groups {
			w := 0.0
			for s := g * group; s < (g+1)*group; s++ {
				if is(exact.Index(whole.States[s*sites:(s+1)*sites], levels)) {
					w += math.Exp(whole.LogWeights[s]-logZ) / float64(group)
				}
			}
			sum, squares = sum+w, squares+w*w
		}
		n := float64(groups)
		mean := sum / n
		se := math.Sqrt(max(0, squares/n-mean*mean, still/(16*float64(group))) / n)
		if math.Abs(mean-want) > 7*se+1e-5 {
			return fmt.Errorf("%s is %.4f ± %.4f, want %.4f", what, mean, se, want)
		}
		return nil
	}
	if err := near("E[w]/Z", total, all, func(k int) bool { return end[k] > 0 }); err != nil {
		return err
	}
	for k, x := range exact.States(sites, levels) {
		if end[k] == 0 {
			continue
		}
		if err := near(fmt.Sprintf("the weight of state %v", x), end[k], still[k], func(at int) bool { return at == k }); err != nil {
			return err
		}
	}
	return nil
}

// stones judges log Z of stepping stones where chains mix.
func (c *annealCase) stones(ctx context.Context, m, base energy.Model, p, e []float64, scale int, seed uint64) error {
	cfg := anneal.SteppingStoneConfig{Chains: 32, Seed: seed, Workers: c.workers, Stages: c.stages, Warmup: 20, Draws: 40 * scale, Base: base}
	z, err := anneal.SteppingStone(ctx, m, c.method, cfg)
	if err != nil {
		return refusal{err}
	}
	if p == nil {
		return fmt.Errorf("SteppingStone: log Z is %v, and no state has a probability", z)
	}
	if !c.target.stated() || !c.target.movable() {
		return nil
	}
	for k, v := range p {
		if v != slices.Max(p) {
			continue
		}
		if want := -e[k] - math.Log(v); math.Abs(z.Value-want) > 8*z.StdErr+0.02 {
			return fmt.Errorf("SteppingStone: log Z is %.4f ± %.4f, want %.4f", z.Value, z.StdErr, want)
		}
	}
	return nil
}

// minimum judges the best state of simulated annealing.
func (c *annealCase) minimum(ctx context.Context, m energy.Model, p, e []float64, seed uint64) error {
	sites, levels := m.Shape()
	r, err := anneal.New(ctx, m, c.method, anneal.Config{Chains: 9, Seed: seed, Workers: c.workers, Stages: c.stages})
	if err != nil {
		return refusal{err}
	}
	if err := r.Run(ctx, 40); err != nil {
		return refusal{err}
	}
	x, best := r.Best()
	if p == nil {
		return fmt.Errorf("the best state is %v, and no state has a probability", x)
	}
	k := exact.Index(x, levels)
	if p[k] == 0 && !math.IsInf(best, 1) {
		return fmt.Errorf("the best state %v has probability zero", x)
	}
	if math.Abs(best-e[k]) > 1e-5*(1+math.Abs(e[k])) {
		return fmt.Errorf("the best state %v has energy %v, and %v is reported", x, e[k], best)
	}
	if c.target.within != nil && !constraint.Accepts(c.target.within, x) {
		return fmt.Errorf("the best state %v of %d sites is not in the language", x, sites)
	}
	return nil
}

// annealPairing is everything that package anneal accepts.
func annealPairing() pairing {
	arounds, withins, outers, models := aroundEntries(), withinEntries(), outerEntries(), ownModels()
	var methods []methodEntry // the first of every type: what chains make of the others is judged there
	var at []int
	for k, e := range methodEntries() {
		kind, _, _ := strings.Cut(e.name, " ")
		if !slices.ContainsFunc(methods, func(m methodEntry) bool { return strings.HasPrefix(m.name+" ", kind+" ") }) {
			methods, at = append(methods, e), append(at, k)
		}
	}
	stages, parts := []int{1, 6}, []int{1, 3}
	p := pairing{name: "annealing", share: 1, factors: []factor{
		{"method", namesOf(methods, func(e methodEntry) string { return e.name })},
		{"model", namesOf(models, func(e pairModel) string { return e.name })},
		{"around it", namesOf(arounds, func(e aroundEntry) string { return e.name })},
		{"Within", namesOf(withins, func(e withinEntry) string { return e.name })},
		{"method around it", namesOf(outers, func(e outerEntry) string { return e.name })},
		{"run", annealRuns},
		{"Base", annealBases},
		{"Stages", namesOf(stages, func(n int) string { return fmt.Sprint(n) })},
		{"parts", namesOf(parts, func(n int) string { return fmt.Sprint(n) })},
		{"workers", []string{"1", "3"}},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := annealCase{
			target: chainCase{method: methods[pick[0]], base: models[pick[1]], around: arounds[pick[2]], within: withins[pick[3]].a, outer: outers[pick[4]]},
			method: methods[pick[0]].method, run: annealRuns[pick[5]], base: annealBases[pick[6]], stages: stages[pick[7]], parts: parts[pick[8]], workers: 1 + 2*pick[9],
		}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.define("m", "ownModels", pick[1])
		l.define("wrap", "aroundEntries", pick[2])
		l.add("target := exact.Must(wrap(m))")
		l.define("method", "methodEntries", at[pick[0]])
		l.define("within", "withinEntries", pick[3])
		l.define("outer", "outerEntries", pick[4])
		l.add("method.Within = within // if there is such a field")
		l.add("// %s of outer(method), Stages: %d, Base: %s, %d parts", annealRuns[pick[5]], stages[pick[7]], annealBases[pick[6]], parts[pick[8]])
		return l.String()
	}
	return p
}

// groundCase is a combination for searches of ground states.
type groundCase struct {
	target chainCase
	cfg    ground.Config
	ask    string
}

// What is asked about the ground states of a model.
var groundAsks = []string{"Search", "Search of a given start", "Search, stopped and loaded", "Bound"}

// groundModels are models of pairs that searches have ways of their own for, besides those of
// chains.
func groundModels() []pairModel {
	return []pairModel{
		{"bonds of one weight", exact.Must(model.NewQuadratic(8, unitBonds(8, 20), model.Polynomial{}))},
		{"bonds of one weight and fields of it", exact.Must(model.NewQuadratic(8, unitBonds(8, 18), model.Polynomial{Linear: []float64{1, -1, 0, 2, 0, -2, 1, 0}}))},
		{"forest", exact.Must(model.NewQuadratic(8, unitBonds(8, 6), model.Polynomial{Linear: []float64{.5, -1, .25, 2, 0, -2, 1, 0}}))},
		{"weights without a unit", exact.NewQuadratic(8, 3)},
		{"square lattice", exact.Must(model.NewQuadratic(9, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -1}, {I: 3, J: 4, W: 1}, {I: 4, J: 5, W: 1}, {I: 6, J: 7, W: -1}, {I: 7, J: 8, W: 1},
			{I: 0, J: 3, W: 1}, {I: 1, J: 4, W: 1}, {I: 2, J: 5, W: -1}, {I: 3, J: 6, W: 1}, {I: 4, J: 7, W: -1}, {I: 5, J: 8, W: 1}}, model.Polynomial{}))},
		{"no bonds", exact.Must(model.NewBernoulli([]float64{0.3, -1, 2, 0.1}))},
	}
}

func (c *groundCase) judge(ctx context.Context, _ int, seed uint64) error {
	m, p, e, err := c.target.target()
	if err != nil {
		return refusal{err}
	}
	sites, levels := m.Shape()
	c.cfg.Seed = seed
	least := slices.Min(e)
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*(1+math.Abs(b)) }
	if c.ask == "Bound" {
		b, err := ground.Bound(ctx, m)
		if err != nil {
			return refusal{err}
		}
		if p == nil {
			return fmt.Errorf("a bound of %v, and no state has a probability", b.Energy)
		}
		if b.Energy > least+1e-6*(1+math.Abs(least)) {
			return fmt.Errorf("a bound of %v (%s), and the lowest energy is %v", b.Energy, b.Method, least)
		}
		for k, x := range exact.States(sites, levels) {
			is := near(e[k], least)
			if !is && b.Proves(x) {
				return fmt.Errorf("%v is said to be a ground state, with energy %v and not %v", x, e[k], least)
			}
			for i, l := range b.Fixed {
				if is && l >= 0 && x[i] != l {
					return fmt.Errorf("%v is a ground state, and site %d is fixed at %d", x, i, l)
				}
			}
		}
		if b.State != nil && !near(e[exact.Index(b.State, levels)], least) {
			return fmt.Errorf("the state %v has energy %v, want %v", b.State, e[exact.Index(b.State, levels)], least)
		}
		return nil
	}
	const rounds = 6
	if c.ask == "Search of a given start" {
		c.cfg.Init = make([]int32, sites)
		c.cfg.Init[0] = 1
	}
	s, err := ground.New(m, c.cfg)
	if err != nil {
		return refusal{err}
	}
	if p == nil {
		return errors.New("a search, and no state has a probability")
	}
	if err := s.Run(ctx, rounds); err != nil {
		return fmt.Errorf("Run: %w", err)
	}
	x, best := s.Best()
	if at := e[exact.Index(x, levels)]; !near(best, at) || !near(best, least) {
		return fmt.Errorf("the best state %v is said to have energy %v and has %v; the lowest is %v", x, best, at, least)
	}
	if c.ask != "Search, stopped and loaded" {
		return nil
	}
	c.cfg.Workers = 3
	return savedAndLoaded(ctx, func() (searching, error) { return ground.New(m, c.cfg) }, rounds, fmt.Sprint(x, s.Energies()))
}

// groundPairing is everything that package ground accepts.
func groundPairing() pairing {
	arounds := aroundEntries()
	own := groundModels()
	models, define := pairModels()
	models = append(own, models...)
	p := pairing{name: "ground", share: 1, again: 1, factors: []factor{
		{"model", namesOf(models, func(e pairModel) string { return e.name })},
		{"around it", namesOf(arounds, func(e aroundEntry) string { return e.name })},
		{"ask", groundAsks},
		{"Chains", []string{"1", "3"}},
		{"Sweeps", []string{"1", "50"}},
		{"workers", []string{"1", "3"}},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := groundCase{target: chainCase{base: models[pick[0]], around: arounds[pick[1]]}, ask: groundAsks[pick[2]],
			cfg: ground.Config{Chains: 1 + 2*pick[3], Sweeps: 1 + 49*pick[4], Workers: 1 + 2*pick[5]}}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		if k := pick[0]; k < len(own) {
			l.define("m", "groundModels", k)
		} else {
			define(l, k-len(own))
		}
		l.define("wrap", "aroundEntries", pick[1])
		l.add("target := exact.Must(wrap(m))")
		l.add("s := exact.Must(ground.New(target, ground.Config{Chains: %d, Sweeps: %d, Workers: %d}))", 1+2*pick[3], 1+49*pick[4], 1+2*pick[5])
		l.add("// %s", groundAsks[pick[2]])
		return l.String()
	}
	return p
}

// searching is a search that is saved.
type searching interface {
	keeper
	Run(ctx context.Context, n int) error
	Best() ([]int32, float64)
	Energies() []float64
}

// savedAndLoaded makes a search in two pieces, with a checkpoint between them.
func savedAndLoaded(ctx context.Context, begin func() (searching, error), rounds int, want string) error {
	first, err := begin()
	if err == nil {
		err = first.Run(ctx, rounds/2)
	}
	var file bytes.Buffer
	if err == nil {
		err = first.Save(&file)
	}
	var second searching
	if err == nil {
		second, err = begin()
	}
	if err == nil {
		err = second.Load(ctx, &file)
	}
	if err == nil {
		err = second.Run(ctx, rounds-rounds/2)
	}
	if err != nil {
		return fmt.Errorf("saved and loaded: %w", err)
	}
	x, _ := second.Best()
	if got := fmt.Sprint(x, second.Energies()); got != want {
		return fmt.Errorf("saved after %d rounds and loaded: %s, want %s", rounds/2, got, want)
	}
	return nil
}

// A kernel that does not leave its target invariant is found, and one that does is not.
func TestAnnealPairsFindABrokenMethod(t *testing.T) {
	c := annealCase{target: chainCase{base: ownModels()[2], around: aroundEntries()[0], outer: outerEntries()[0]}, run: "AIS", base: "uniform", stages: 6, parts: 1, workers: 1}
	c.method = brokenMethod{}
	require.ErrorContains(t, c.judge(t.Context(), 8, 1), "want")
	c.run = "AIS in populations"
	require.ErrorContains(t, c.judge(t.Context(), 8, 1), "want")
	c.method = mcmc.Metropolis{}
	require.NoError(t, c.judge(t.Context(), 8, 1))
}
