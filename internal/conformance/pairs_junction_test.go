package conformance_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/projection/junction"
)

// junctionCase is a combination for sums over a junction tree: what chains have as their
// target.
type junctionCase struct {
	target chainCase
	cfg    junction.Config
	ask    string
}

// What a distribution of a junction tree is asked for.
var junctionAsks = []string{"LogZ", "Marginals", "Joint", "Mean", "Entropy", "Sample", "Best"}

// junctionDraws is how many states are drawn.
const junctionDraws = 1024

func (c *junctionCase) judge(ctx context.Context, scale int, seed uint64) error {
	m, p, e, err := c.target.target()
	if err != nil {
		return refusal{err}
	}
	f, ok := energy.As[energy.Factored](m)
	if !ok {
		return refusal{fmt.Errorf("junction: a user cannot call New with %T, which has no Factors", m)}
	}
	d, err := junction.New(ctx, f, c.cfg)
	if err != nil {
		return refusal{err}
	}
	if p == nil {
		if logZ, err := d.LogZ(ctx); err == nil {
			return fmt.Errorf("LogZ is %v, and no state has a probability", logZ)
		}
		return refusal{fmt.Errorf("junction: LogZ: no state has a probability")}
	}
	sites, levels := m.Shape()
	near := func(what string, got, want float64) error {
		if math.Abs(got-want) > 1e-5*(1+math.Abs(want)) { // models in float32
			return fmt.Errorf("%s is %v, want %v", what, got, want)
		}
		return nil
	}
	logZ := 0.0
	for k, v := range p {
		if v == slices.Max(p) {
			logZ = -e[k] - math.Log(v)
		}
	}
	got, err := d.LogZ(ctx)
	if err != nil {
		return fmt.Errorf("LogZ: %w", err)
	}
	if err := near("log Z", got, logZ); err != nil {
		return err
	}
	states := exact.States(sites, levels)
	sum := func(f func(x []int32) float64) (s float64) {
		for k, x := range states {
			if p[k] > 0 {
				s += p[k] * f(x)
			}
		}
		return s
	}
	switch c.ask {
	case "Marginals":
		q, _, err := d.Marginals(ctx)
		if err != nil {
			return fmt.Errorf("Marginals: %w", err)
		}
		for at, v := range q {
			i, l := at/levels, int32(at%levels)
			want := sum(func(x []int32) float64 { return float64(times(x[i:i+1], l)) })
			if err := near(fmt.Sprintf("the marginal of site %d, level %d", i, l), v, want); err != nil {
				return err
			}
		}
	case "Joint":
		q, err := d.Joint(ctx, []int32{int32(sites - 1), 0})
		if err != nil {
			return fmt.Errorf("Joint: %w", err)
		}
		for at, v := range q[0] {
			last, first := int32(at/levels), int32(at%levels)
			want := sum(func(x []int32) float64 {
				if x[sites-1] == last && x[0] == first {
					return 1
				}
				return 0
			})
			if err := near(fmt.Sprintf("P(x_%d = %d, x_0 = %d)", sites-1, last, first), v, want); err != nil {
				return err
			}
		}
	case "Mean":
		mean, err := d.Mean(ctx, f)
		if err != nil {
			return refusal{err} // of hidden units
		}
		want := 0.0
		for k, v := range p {
			if v > 0 {
				want += v * e[k]
			}
		}
		return near("the mean energy", mean[0], want)
	case "Entropy":
		h, err := d.Entropy(ctx)
		if err != nil {
			return refusal{err}
		}
		want := 0.0
		for _, v := range p {
			if v > 0 {
				want -= v * math.Log(v)
			}
		}
		return near("the entropy", h, want)
	case "Sample":
		src := make([]rand.Source, junctionDraws*scale)
		for s := range src {
			src[s] = rand.NewPCG(seed, uint64(s))
		}
		x := make([]int32, len(src)*sites)
		if err := d.Sample(ctx, x, src); err != nil {
			return fmt.Errorf("Sample: %w", err)
		}
		counts := make([]int, len(p))
		exact.Tally(counts, x, sites, levels)
		for k, n := range counts {
			if n > 0 && p[k] == 0 {
				return fmt.Errorf("%d draws are %v, which has probability zero", n, states[k])
			}
		}
		if v := exact.PValue(counts, p); v < exact.Rate {
			k, _ := laws.WorstCell(counts, p)
			return fmt.Errorf("%d of %d draws are %v, want about %.0f (p-value %.2g)", counts[k], len(src), states[k], p[k]*float64(len(src)), v)
		}
	case "Best":
		x, energies, err := d.Best(ctx, 4)
		if err != nil {
			return refusal{err}
		}
		var order []int
		for k, v := range p {
			if v > 0 {
				order = append(order, k)
			}
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(e[a], e[b]) })
		if len(energies) != min(4, len(order)) {
			return fmt.Errorf("%d best states of %d, want 4", len(energies), len(order))
		}
		seen := map[int]bool{}
		for r, v := range energies {
			k := exact.Index(x[r*sites:(r+1)*sites], levels)
			if seen[k] || p[k] == 0 {
				return fmt.Errorf("best state %d is %v: twice, or of probability zero", r, states[k])
			}
			seen[k] = true
			if err := cmp.Or(near(fmt.Sprintf("the energy of best state %d", r), v, e[order[r]]), near("its energy by the model", e[k], v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// junctionPairing is everything that package junction accepts.
func junctionPairing() pairing {
	arounds, withins := aroundEntries(), withinEntries()
	models, define := pairModels()
	p := pairing{name: "junction", share: 1, again: 1, factors: []factor{
		{"model", namesOf(models, func(e pairModel) string { return e.name })},
		{"around it", namesOf(arounds, func(e aroundEntry) string { return e.name })},
		{"Within", namesOf(withins, func(e withinEntry) string { return e.name })},
		{"Bytes", []string{"0", "1"}},
		{"ask", junctionAsks},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := junctionCase{target: chainCase{base: models[pick[0]], around: arounds[pick[1]], within: withins[pick[2]].a}, ask: junctionAsks[pick[4]]}
		c.cfg.Bytes = int64(pick[3])
		if a := c.target.within; a != nil {
			c.cfg.Within = constraint.Language(a)
		}
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		define(l, pick[0])
		l.define("wrap", "aroundEntries", pick[1])
		l.add("target, _ := energy.As[energy.Factored](exact.Must(wrap(m)))")
		l.define("within", "withinEntries", pick[2])
		l.add("d := exact.Must(junction.New(t.Context(), target, junction.Config{Bytes: %d, Within: within}))", pick[3])
		l.add("// d.%s", junctionAsks[pick[4]])
		return l.String()
	}
	return p
}
