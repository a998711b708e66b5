package problem_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/energytest"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/problem"
	"github.com/stretchr/testify/require"
)

func small() (*problem.Problem, problem.Expr, problem.Expr) {
	p := problem.New()
	x, c := p.Integer("x", -1, 2), p.Category("colour", "red", "green", "blue")
	p.Objective(x.Times(c.Is("green").Indicator()).Plus(x.Scale(0.5)))
	p.Require("not both", problem.Not(problem.All(x.AtLeast(1), c.Is("blue"))))
	p.Prefer("low", x.AtMost(0), 0.25)
	return p, x, c
}

// Draws of both exact ways have the frequencies of p(x) ∝ exp(−β·E(x)).
func TestSamplesFollowTheirDistribution(t *testing.T) {
	p, _, _ := small()
	ctx := context.Background()
	all, err := p.Minimise(ctx, problem.Config{Rows: 100})
	require.NoError(t, err)
	require.Len(t, all.Rows, 10)
	const n, beta = 40000, 1.5
	z := 0.0
	for _, r := range all.Rows {
		z += math.Exp(-beta * r.Energy)
	}
	for _, c := range []problem.Config{{Beta: beta, Seed: 1}, {Beta: beta, Seed: 2, Search: -1}} {
		s, err := p.Sample(ctx, n, c)
		require.NoError(t, err)
		require.True(t, s.Exact)
		require.Len(t, s.Rows, len(all.Rows), s.Method)
		chi := 0.0
		total := 0
		for i, r := range s.Rows {
			require.InDelta(t, all.Rows[i].Energy, r.Energy, 0) // both are sorted
			total += r.Occurrences
		}
		for _, want := range all.Rows {
			for _, r := range s.Rows {
				if r.String()[:12] == want.String()[:12] && fmt.Sprint(r.Levels) == fmt.Sprint(want.Levels) {
					e := n * math.Exp(-beta*want.Energy) / z
					chi += (float64(r.Occurrences) - e) * (float64(r.Occurrences) - e) / e
				}
			}
		}
		require.Equal(t, n, total)
		require.Less(t, chi, 45.1) // χ² with 9 degrees of freedom: 1e-6
	}
}

func glass(n int) *problem.Problem {
	p := problem.New()
	s := make([]problem.Expr, n*n)
	for i := range s {
		s[i] = p.Spin(fmt.Sprintf("s%d", i))
	}
	for i := range s {
		for k, j := range []int{i/n*n + (i+1)%n, (i + n) % (n * n)} {
			p.Objective(s[i].Times(s[j]).Scale(float64(1 - (i*i+3*k*i+i/7)%2*2)))
		}
	}
	return p
}

// Where no exact way is open, answers say so.
func TestWideProblems(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	p := glass(6)
	narrow := problem.Config{Bytes: 1 << 10, Seed: 1, Chains: 4}
	exact, err := p.Minimise(ctx, problem.Config{})
	require.NoError(t, err)
	require.True(t, exact.Exact)
	require.Equal(t, "elimination", exact.Method)
	found, err := p.Minimise(ctx, narrow)
	require.NoError(t, err)
	require.Equal(t, "ground.Search, proven by toroidal matching", found.Method)
	require.Equal(t, exact.Rows[0].Energy, found.Rows[0].Energy)
	s, err := p.Sample(ctx, 400, problem.Config{Bytes: 1 << 10, Beta: 0.2})
	require.NoError(t, err)
	require.False(t, s.Exact)
	require.NotNil(t, s.Summary)
	total := 0
	for _, r := range s.Rows {
		total += r.Occurrences
	}
	require.Equal(t, 400, total)

	// with a condition: refused, unless given what a violation costs
	even := problem.Sum(p.Variable("s0"), p.Variable("s7"), p.Variable("s14"), p.Variable("s21"), p.Variable("s28")).Exactly(1)
	p.Require("five", even)
	narrow.Search = -1
	_, err = p.Minimise(ctx, narrow)
	require.ErrorContains(t, err, "no exact way, and no Config.Penalty")
	require.ErrorAs(t, err, new(*energy.WidthError))
	_, err = p.Sample(ctx, 10, narrow)
	require.ErrorContains(t, err, "Config.Penalty")
	n, err := p.Count(ctx, narrow) // the objective makes the graph wide, not the condition
	require.NoError(t, err)
	require.Equal(t, 10.0*(1<<31), n)
	narrow.Penalty = 20
	found, err = p.Minimise(ctx, narrow)
	require.NoError(t, err)
	require.Equal(t, "annealing", found.Method) // Search is −1
	require.True(t, found.Rows[0].Feasible())
	exact, err = p.Minimise(ctx, problem.Config{})
	require.NoError(t, err)
	require.LessOrEqual(t, exact.Rows[0].Energy, found.Rows[0].Energy)
	narrow.Penalty = 0.01
	s, err = p.Sample(ctx, 100, narrow)
	require.NoError(t, err)
	broken := s.Filter(func(r problem.Row) bool { return !r.Feasible() })
	require.NotEmpty(t, broken.Rows)
	require.Equal(t, []string{"five"}, broken.Rows[0].Violated)

	// a search that does not end has feasible states, which it does not call optimal
	narrow.Penalty, narrow.Search = 0, 1<<18
	found, err = p.Minimise(ctx, narrow)
	require.NoError(t, err)
	require.False(t, found.Exact)
	require.True(t, found.Rows[0].Feasible())
}

// A long sum is counted: 60 bits, of which 30 are 1 and no two neighbours.
func TestCounters(t *testing.T) {
	p := problem.New()
	var x []problem.Expr
	for i := range 60 {
		x = append(x, p.Binary(fmt.Sprintf("x%d", i)))
		if i > 0 {
			p.Require("apart", problem.Sum(x[i-1:]...).AtMost(1))
		}
	}
	total := problem.Sum(x...)
	p.Require("half", total.Between(29, 30))
	n, err := p.Count(context.Background(), problem.Config{})
	require.NoError(t, err)
	require.Equal(t, 31.0+4960, n) // C(31, 30) + C(32, 29)
	p.Objective(total)
	p.Require("logic", problem.Implies(x[0].Exactly(1), problem.Sum(x[20:]...).AtMost(19)))
	s, err := p.Minimise(context.Background(), problem.Config{})
	require.NoError(t, err)
	require.Equal(t, 29.0, s.Rows[0].Energy)
	require.Equal(t, "elimination", s.Method)
}

func TestWrongProblemsAreNamed(t *testing.T) {
	ctx := context.Background()
	other := problem.New().Binary("z")
	for want, build := range map[string]func(p *problem.Problem, x problem.Expr){
		`two variables have the name "x"`:        func(p *problem.Problem, _ problem.Expr) { p.Spin("x") },
		"a variable has no name":                 func(p *problem.Problem, _ problem.Expr) { p.Binary("") },
		"range 3 … 2":                            func(p *problem.Problem, _ problem.Expr) { p.Integer("i", 3, 2) },
		"at most 65536 values":                   func(p *problem.Problem, _ problem.Expr) { p.Integer("i", math.MinInt, math.MaxInt) },
		"0 labels":                               func(p *problem.Problem, _ problem.Expr) { p.Category("c") },
		`label "a" occurs twice`:                 func(p *problem.Problem, _ problem.Expr) { p.Category("c", "a", "a") },
		`no variable has the name "y"`:           func(p *problem.Problem, _ problem.Expr) { p.Objective(p.Variable("y")) },
		"a variable belongs to another problem":  func(p *problem.Problem, _ problem.Expr) { p.Objective(other) },
		"variables of two problems are combined": func(p *problem.Problem, x problem.Expr) { p.Objective(x.Times(other)) },
		"the number NaN is not finite":           func(p *problem.Problem, x problem.Expr) { p.Objective(x.Plus(problem.Number(math.NaN()))) },
		"Scale: w = +Inf":                        func(p *problem.Problem, x problem.Expr) { p.Objective(x.Scale(math.Inf(1))) },
		"Objective: the sum of magnitudes overflows": func(p *problem.Problem, x problem.Expr) {
			p.Objective(x.Scale(1e308).Plus(x.Times(x).Scale(1e308), problem.Number(1e308)))
		},
		`Require: "r": a sum between NaN and 1`: func(p *problem.Problem, x problem.Expr) { p.Require("r", x.Between(math.NaN(), 1)) },
		`"x" has no label "q"`:                  func(p *problem.Problem, x problem.Expr) { c := p.Category("c", "a"); p.Require("r", c.Is("q")) },
		"the expression is no category":         func(p *problem.Problem, x problem.Expr) { p.Require("r", x.Is("a")) },
		`Prefer: "s": weight = -1`:              func(p *problem.Problem, x problem.Expr) { p.Prefer("s", x.AtMost(0), -1) },
	} {
		p := problem.New()
		build(p, p.Binary("x"))
		_, err := p.Minimise(ctx, problem.Config{})
		want = strings.Replace(want, `"x" has no`, `"c" has no`, 1)
		require.ErrorContains(t, err, want)
		require.Equal(t, err, p.Err())
	}
	p := problem.New()
	_, err := p.Count(ctx, problem.Config{})
	require.ErrorContains(t, err, "there are no variables")
	x := p.Binary("x")
	for want, c := range map[string]problem.Config{
		"Rows = -1": {Rows: -1}, "Search = -2": {Search: -2}, "Penalty = -1": {Penalty: -1}, "Beta = NaN": {Beta: math.NaN()},
	} {
		_, err := p.Sample(ctx, 1, c)
		require.ErrorContains(t, err, want)
	}
	_, err = p.Sample(ctx, 0, problem.Config{})
	require.ErrorContains(t, err, "n = 0, want")
	p.Require("never", x.AtLeast(2))
	_, err = p.Minimise(ctx, problem.Config{})
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	_, err = p.Minimise(ctx, problem.Config{Search: -1})
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	ended, cancel := context.WithCancelCause(ctx)
	cancel(errors.New("enough"))
	_, err = glass(6).Minimise(ended, problem.Config{})
	require.Error(t, err)
}

// The models of a problem have the energy of its rows, and what else they offer agrees.
func TestModels(t *testing.T) {
	p, _, _ := small()
	hard, err := p.Model(math.Inf(1))
	require.NoError(t, err)
	s, err := p.Minimise(context.Background(), problem.Config{Rows: 100})
	require.NoError(t, err)
	exact, err := energy.Enumerate(context.Background(), hard)
	require.NoError(t, err)
	z := 0.0
	for _, r := range s.Rows {
		e := make([]float64, 1)
		hard.Energy(e, r.Levels)
		require.InDelta(t, r.Energy, e[0], 1e-12)
		z += math.Exp(-r.Energy)
	}
	require.InDelta(t, math.Log(z), exact.LogZ, 1e-12)
	require.NoError(t, energytest.TestModel(context.Background(), hard, energytest.Options{}))
	soft, err := p.Model(3)
	require.NoError(t, err)
	require.NoError(t, energytest.TestModel(context.Background(), soft, energytest.Options{}))
	_, err = p.Model(math.NaN())
	require.ErrorContains(t, err, "penalty = NaN")

	quadratic, err := glass(3).Model(0)
	require.NoError(t, err)
	require.IsType(t, &model.Quadratic{}, quadratic)
	e := make([]float64, 2)
	quadratic.Energy(e, append(make([]int32, 9), 1, 1, 1, 1, 1, 1, 1, 1, 1))
	require.Equal(t, e[0], e[1])
}

func TestSampleSets(t *testing.T) {
	p, x, c := small()
	s, err := p.Minimise(context.Background(), problem.Config{Rows: 3})
	require.NoError(t, err)
	require.Equal(t, "x=-1 colour=green energy=-1.5", s.Rows[0].String())
	v, err := s.Values(x.Plus(c.Scale(10)))
	require.NoError(t, err)
	require.Equal(t, []float64{9, -1, 19}, v)
	_, err = s.Values(problem.New().Binary("x"))
	require.ErrorContains(t, err, "another problem")
	n, ok := s.Rows[0].Number("colour")
	require.True(t, ok)
	require.Equal(t, 1.0, n)
	_, ok = s.Rows[0].Number("size")
	require.False(t, ok)
	_, ok = problem.Row{}.Label("x")
	require.False(t, ok)

	require.NoError(t, s.Append(s))
	require.Len(t, s.Rows, 3)
	require.Equal(t, 2, s.Rows[1].Occurrences)
	other, _, _ := small()
	foreign, err := other.Minimise(context.Background(), problem.Config{})
	require.NoError(t, err)
	require.ErrorContains(t, s.Append(foreign), "different problems")
	s.Sort(func(a, b problem.Row) int { return cmp.Compare(b.Energy, a.Energy) })
	require.Equal(t, -1.5, s.Rows[2].Energy)

	var b bytes.Buffer
	require.NoError(t, s.WriteCSV(&b))
	lines, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"x", "colour", "energy", "occurrences", "violated"}, lines[0])
	require.Equal(t, []string{"-1", "green", "-1.5", "2", ""}, lines[3])

	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.Contains(t, string(text), `{"values":{"x":-1,"colour":"green"},"energy":-1.5,"occurrences":2,"feasible":true,"violated":[]}`)

	b.Reset()
	require.NoError(t, s.WriteDimod(&b))
	var set struct {
		Type       string
		SampleData struct {
			Data  [][]int
			Shape []int
		} `json:"sample_data"`
		Vectors map[string]struct{ Data []any }
		Labels  []string `json:"variable_labels"`
		Kind    string   `json:"variable_type"`
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &set))
	require.Equal(t, "SampleSet", set.Type)
	require.Equal(t, []int{3, 2}, set.SampleData.Shape)
	require.Equal(t, []int{-1, 1}, set.SampleData.Data[2])
	require.Equal(t, -1.5, set.Vectors["energy"].Data[2])
	require.Equal(t, "INTEGER", set.Kind)
	require.Equal(t, []string{"x", "colour"}, set.Labels)
}

// A problem that becomes a program and is read again has the same lowest energy and number
// of feasible states.
func TestProgramsOfProblems(t *testing.T) {
	ctx := context.Background()
	translated := 0
	for seed := range uint64(30) {
		tw := randomTwin(rand.New(rand.NewPCG(seed, 47)))
		r, err := tw.p.Program()
		if err != nil {
			require.Regexp(t, "which no comparison has|not a power of it", err.Error())
			continue
		}
		q, err := problem.Read(r)
		require.NoError(t, err, "seed %d", seed)
		want := tw.enumerate()
		n, err := q.Count(ctx, problem.Config{})
		require.NoError(t, err)
		require.Equal(t, float64(len(want)), n, "seed %d", seed)
		if len(want) == 0 {
			continue
		}
		best := math.Inf(1)
		for _, e := range want {
			best = min(best, e)
		}
		s, err := q.Minimise(ctx, problem.Config{})
		require.NoError(t, err)
		require.InDelta(t, best, s.Rows[0].Energy, 1e-9, "seed %d", seed)
		translated++
	}
	require.Greater(t, translated, 8)

	p := problem.New()
	x := p.Integer("x", 0, 4)
	p.Objective(x.Exactly(2).Indicator())
	_, err := p.Program()
	require.ErrorContains(t, err, `a function of the integer "x" is not a power of it, want one of at most 8: write it`)
	_, err = problem.Read(nil)
	require.ErrorContains(t, err, "r = nil")
	_, err = problem.Read(&read.Program{})
	require.ErrorContains(t, err, "no variables")
	_, err = problem.Read(&read.Program{Variables: []read.Variable{{Name: "x", Upper: 1 << 30}}})
	require.ErrorContains(t, err, "at most 65536 values")
}

// Where no exact way is open, Minimise returns as many rows as it is asked for, each once,
// and they are near those of lowest energy.
func TestRowsOfWideProblems(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(4, 6))
	p := problem.New()
	x := make([]problem.Expr, 18)
	for i := range x {
		x[i] = p.Binary(fmt.Sprintf("x%d", i))
		p.Objective(x[i].Scale(float64(r.IntN(41) - 20)))
		for j := range i {
			p.Objective(x[i].Times(x[j]).Scale(float64(r.IntN(21) - 10)))
		}
	}
	want, err := p.Minimise(ctx, problem.Config{Rows: 20})
	require.NoError(t, err)
	require.True(t, want.Exact)
	for _, required := range []bool{false, true} {
		c := problem.Config{Rows: 20, Bytes: 1 << 10, Search: 1 << 20, Seed: 3}
		if required {
			p.Require("many", problem.Sum(x...).AtLeast(1))
			c.Search = 1 << 18
		}
		got, err := p.Minimise(ctx, c)
		require.NoError(t, err)
		require.Contains(t, got.Method, "neighbourhoods")
		require.Len(t, got.Rows, 20)
		met := map[string]bool{}
		for k, row := range got.Rows {
			require.GreaterOrEqual(t, row.Energy, want.Rows[k].Energy)
			require.False(t, met[fmt.Sprint(row.Levels)])
			met[fmt.Sprint(row.Levels)] = true
		}
		require.Equal(t, want.Rows[0].Energy, got.Rows[0].Energy)
		again, err := p.Minimise(ctx, c)
		require.NoError(t, err)
		require.Equal(t, got.Rows[19].Levels, again.Rows[19].Levels)
	}
}

// A bound that the best state meets proves it.
func TestProvenRows(t *testing.T) {
	ctx := context.Background()
	found, err := glass(6).Minimise(ctx, problem.Config{Bytes: 1 << 10, Seed: 1})
	require.NoError(t, err)
	require.True(t, found.Exact)
	require.Equal(t, "ground.Search, proven by toroidal matching", found.Method)

	p := problem.New() // clauses that can all hold
	r := rand.New(rand.NewPCG(5, 6))
	x := make([]problem.Expr, 40)
	for i := range x {
		x[i] = p.Binary(fmt.Sprintf("x%d", i))
	}
	for k := range 100 {
		at := r.Perm(len(x))[:3]
		p.Prefer(fmt.Sprint(k), problem.Sum(x[at[0]], x[at[1]].Scale(-1), x[at[2]]).AtLeast(0), float64(1+k%3))
	}
	found, err = p.Minimise(ctx, problem.Config{Bytes: 1 << 10, Seed: 1})
	require.NoError(t, err)
	require.Equal(t, 0.0, found.Rows[0].Energy)
	require.True(t, found.Exact)
}

// Levels that roof duality fixes leave a smaller problem, whose answer is that of the whole.
func TestReducedProblems(t *testing.T) {
	exact.SkipUnderRace(t)
	ctx := context.Background()
	reduced, whole := 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 10))
		p := problem.New()
		x := make([]problem.Expr, 12)
		for i := range x {
			if seed%2 == 0 {
				x[i] = p.Binary(fmt.Sprintf("x%d", i))
			} else {
				x[i] = p.Spin(fmt.Sprintf("s%d", i))
			}
			p.Objective(x[i].Scale(float64(r.IntN(25) - 12)))
			for j := range i {
				if r.IntN(2) == 0 {
					p.Objective(x[i].Times(x[j]).Scale(float64(r.IntN(9) - 4)))
				}
			}
		}
		want, err := p.Minimise(ctx, problem.Config{})
		require.NoError(t, err)
		got, err := p.Minimise(ctx, problem.Config{Search: -1, Bytes: 64, Steps: 20, Seed: seed})
		require.NoError(t, err)
		require.Equal(t, want.Rows[0].Energy, got.Rows[0].Energy, "seed %d, %s", seed, got.Method)
		if strings.HasPrefix(got.Method, "roof duality") {
			reduced++
		}
		if got.Method == "roof duality" {
			require.True(t, got.Exact)
			whole++
		}
	}
	require.Greater(t, reduced, 10)
	require.Greater(t, whole, 2)
}
