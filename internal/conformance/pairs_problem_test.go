package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/gibbsite-go/gibbsite/problem"
)

// stated is a problem, and the same as functions of the values of its variables.
type stated struct {
	p      *problem.Problem
	x      []problem.Expr
	values [][]float64
	energy func(v []float64) float64
	holds  func(v []float64) bool
}

// variableEntry is a choice of variables.
type variableEntry struct {
	name string
	add  func(s *stated)
}

func (s *stated) variable(e problem.Expr, values ...float64) {
	s.x, s.values = append(s.x, e), append(s.values, values)
}

func variableEntries() []variableEntry {
	return []variableEntry{
		{"bits", func(s *stated) {
			for i := range 6 {
				s.variable(s.p.Binary(fmt.Sprint("b", i)), 0, 1)
			}
		}},
		{"spins and integers", func(s *stated) {
			s.variable(s.p.Spin("s"), -1, 1)
			s.variable(s.p.Integer("n", -2, 2), -2, -1, 0, 1, 2)
			s.variable(s.p.Spin("t"), -1, 1)
			s.variable(s.p.Integer("m", 3, 5), 3, 4, 5)
		}},
		{"categories and bits", func(s *stated) {
			s.variable(s.p.Category("c", "red", "green", "blue"), 0, 1, 2)
			s.variable(s.p.Binary("b"), 0, 1)
			s.variable(s.p.Category("d", "yes", "no"), 0, 1)
			s.variable(s.p.Binary("a"), 0, 1)
		}},
		{"one value", func(s *stated) {
			s.variable(s.p.Integer("one", 7, 7), 7)
			s.variable(s.p.Binary("b"), 0, 1)
			s.variable(s.p.Spin("s"), -1, 1)
		}},
	}
}

// termEntry is a part of an objective or a condition, of which there may be several ways.
type termEntry struct {
	name string
	add  func(s *stated)
}

func (s *stated) objective(e problem.Expr, f func(v []float64) float64) {
	s.p.Objective(e)
	before := s.energy
	s.energy = func(v []float64) float64 { return before(v) + f(v) }
}

func objectiveEntries() []termEntry {
	return []termEntry{
		{"none", func(*stated) {}},
		{"linear", func(s *stated) {
			for i, x := range s.x {
				w := float64(i%3) - 0.75
				s.objective(x.Scale(w), func(v []float64) float64 { return w * v[i] })
			}
		}},
		{"pairs", func(s *stated) {
			n := len(s.x)
			for i := range n - 1 {
				w := float64(1 - 2*(i%2))
				s.objective(s.x[i].Times(s.x[i+1]).Scale(w), func(v []float64) float64 { return w * v[i] * v[i+1] })
			}
			s.objective(s.x[0].Times(s.x[0]).Minus(s.x[n-1]), func(v []float64) float64 { return v[0]*v[0] - v[n-1] })
		}},
		{"a product of three and an indicator", func(s *stated) {
			n := len(s.x)
			s.objective(s.x[0].Times(s.x[1]).Times(s.x[n-1]).Scale(0.5), func(v []float64) float64 { return 0.5 * v[0] * v[1] * v[n-1] })
			s.objective(problem.Equal(s.x[0], s.x[1]).Indicator().Scale(-2), func(v []float64) float64 {
				if v[0] == v[1] {
					return -2
				}
				return 0
			})
		}},
	}
}

func (s *stated) sum() (problem.Expr, func(v []float64) float64) {
	return problem.Sum(s.x...), func(v []float64) (sum float64) {
		for _, x := range v {
			sum += x
		}
		return sum
	}
}

func (s *stated) require(name string, c problem.Condition, f func(v []float64) bool) {
	s.p.Require(name, c)
	before := s.holds
	s.holds = func(v []float64) bool { return before(v) && f(v) }
}

func requiredEntries() []termEntry {
	return []termEntry{
		{"none", func(*stated) {}},
		{"a sum", func(s *stated) {
			e, f := s.sum()
			s.require("sum", e.Between(1, 8), func(v []float64) bool { return f(v) >= 1 && f(v) <= 8 })
		}},
		{"two differ, or one implies", func(s *stated) {
			s.require("differ", problem.Any(problem.NotEqual(s.x[0], s.x[1]), s.x[1].AtLeast(1)), func(v []float64) bool { return v[0] != v[1] || v[1] >= 1 })
			s.require("implies", problem.Implies(s.x[0].AtLeast(1), s.x[2].AtMost(0)), func(v []float64) bool { return v[0] < 1 || v[2] <= 0 })
		}},
		{"not all", func(s *stated) {
			s.require("not all", problem.Not(problem.All(s.x[0].AtLeast(1), s.x[1].AtLeast(0))), func(v []float64) bool { return v[0] < 1 || v[1] < 0 })
		}},
		{"all differ", func(s *stated) {
			s.require("all differ", problem.AllDifferent(s.x[:3]...), func(v []float64) bool { return v[0] != v[1] && v[0] != v[2] && v[1] != v[2] })
		}},
		{"what no state fulfils", func(s *stated) {
			e, _ := s.sum()
			s.require("never", e.AtLeast(100), func([]float64) bool { return false })
		}},
	}
}

func preferredEntries() []termEntry {
	return []termEntry{
		{"none", func(*stated) {}},
		{"a sum", func(s *stated) {
			e, f := s.sum()
			s.p.Prefer("low", e.AtMost(2), 0.5)
			before := s.energy
			s.energy = func(v []float64) float64 { return before(v) + 0.5*max(0, f(v)-2) }
		}},
		{"that two differ", func(s *stated) {
			s.p.Prefer("differ", problem.NotEqual(s.x[0], s.x[2]), 1.25)
			before := s.energy
			s.energy = func(v []float64) float64 {
				if v[0] == v[2] {
					return before(v) + 1.25
				}
				return before(v)
			}
		}},
	}
}

// problemWay is how a problem is solved.
type problemWay struct {
	name   string
	config problem.Config
}

func problemWays() []problemWay {
	return []problemWay{
		{"of itself", problem.Config{}},
		{"elimination alone", problem.Config{Search: -1}},
		{"search alone", problem.Config{Bytes: 1}},
		{"neither", problem.Config{Bytes: 1, Search: -1, Steps: 20}},
		{"neither, with a penalty", problem.Config{Bytes: 1, Search: -1, Penalty: 4, Steps: 20}},
		{"an unfinished search, with a penalty", problem.Config{Bytes: 1, Search: 3, Penalty: 4, Steps: 20}},
	}
}

// What a problem is asked for.
var problemAsks = []string{"Count", "Minimise", "Minimise, all rows", "Sample", "Sample of a cold state", "Model", "Program"}

const problemDraws = 600

// problemCase is a combination for problems.
type problemCase struct {
	stated
	way problemWay
	ask string
}

// states lists the levels of all states, their values and whether they are feasible.
func (c *problemCase) states(f func(level []int32, v []float64)) {
	level, v := make([]int32, len(c.values)), make([]float64, len(c.values))
	for {
		for i, l := range level {
			v[i] = c.values[i][l]
		}
		f(level, v)
		i := len(level) - 1
		for ; i >= 0; i-- {
			if level[i]++; int(level[i]) < len(c.values[i]) {
				break
			}
			level[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// row compares a row with the functions.
func (c *problemCase) row(r problem.Row) error {
	v := make([]float64, len(r.Levels))
	for i, l := range r.Levels {
		v[i] = c.values[i][l]
	}
	if want := c.energy(v); math.Abs(r.Energy-want) > 1e-9 {
		return fmt.Errorf("the row %v has energy %v, want %v", r, r.Energy, want)
	}
	if r.Feasible() != c.holds(v) {
		return fmt.Errorf("the row %v: feasible is %t, want %t", r, r.Feasible(), c.holds(v))
	}
	return nil
}

func (c *problemCase) judge(ctx context.Context, scale int, seed uint64) error {
	if err := c.p.Err(); err != nil {
		return refusal{err}
	}
	energies := map[string]float64{} // of feasible states
	least := math.Inf(1)
	c.states(func(level []int32, v []float64) {
		if c.holds(v) {
			energies[fmt.Sprint(level)] = c.energy(v)
			least = min(least, c.energy(v))
		}
	})
	cfg := c.way.config
	cfg.Seed = seed
	// answered reports that there is no answer to judge.
	answered := func(err error) (bool, error) {
		if none := errors.Is(err, &problem.InfeasibleError{}) || errors.As(err, new(*problem.InfeasibleError)); none != (len(energies) == 0) && (err == nil || none) {
			if cfg.Penalty > 0 && err == nil {
				return true, nil // states that violate conditions
			}
			return true, fmt.Errorf("%d states are feasible, and the error is %v", len(energies), err)
		}
		if err != nil {
			return true, refusal{err}
		}
		return false, nil
	}
	rows := func(s *problem.SampleSet) error {
		last := math.Inf(-1)
		for _, r := range s.Rows {
			if err := c.row(r); err != nil {
				return err
			}
			if r.Energy < last-1e-9 && s.Exact {
				return fmt.Errorf("rows are not in order: %v after %v", r.Energy, last)
			}
			last = r.Energy
			if !r.Feasible() && (s.Exact || cfg.Penalty == 0) {
				return fmt.Errorf("the row %v violates %q", r, r.Violated)
			}
		}
		return nil
	}
	switch c.ask {
	case "Count":
		n, err := c.p.Count(ctx, cfg)
		if err != nil {
			return refusal{err}
		}
		if n != float64(len(energies)) {
			return fmt.Errorf("Count is %v, want %d", n, len(energies))
		}
	case "Minimise", "Minimise, all rows":
		if cfg.Rows = 1; c.ask == "Minimise, all rows" {
			cfg.Rows = len(energies) + 3
		}
		s, err := c.p.Minimise(ctx, cfg)
		if done, err := answered(err); done {
			return err
		}
		if err := rows(s); err != nil {
			return err
		}
		if s.Exact && (len(s.Rows) != min(cfg.Rows, len(energies)) || math.Abs(s.Rows[0].Energy-least) > 1e-9) {
			return fmt.Errorf("%d exact rows from %v on, want %d from %v on", len(s.Rows), s.Rows[0], min(cfg.Rows, len(energies)), least)
		}
		if len(s.Rows) == 0 {
			return errors.New("no row and no error")
		}
	case "Sample", "Sample of a cold state":
		if c.ask != "Sample" {
			cfg.Beta = 3
		}
		n := problemDraws * scale
		s, err := c.p.Sample(ctx, n, cfg)
		if done, err := answered(err); done {
			return err
		}
		if err := rows(s); err != nil {
			return err
		}
		var p []float64
		var counts []int
		total, beta := 0, max(cfg.Beta, 1)
		seen := map[string]int{}
		for _, r := range s.Rows {
			seen[fmt.Sprint(r.Levels)] += r.Occurrences
			total += r.Occurrences
		}
		if total != n {
			return fmt.Errorf("%d draws in all rows, want %d", total, n)
		}
		if !s.Exact {
			return nil
		}
		for _, at := range sortedNames(energies) {
			p, counts = append(p, -beta*energies[at]), append(counts, seen[at])
		}
		exact.Normalize(p)
		if v := exact.PValue(counts, p); v < exact.Rate {
			k, _ := laws.WorstCell(counts, p)
			return fmt.Errorf("%d of %d draws are %s, want about %.0f (p-value %.2g)", counts[k], n, sortedNames(energies)[k], p[k]*float64(n), v)
		}
	case "Model":
		for _, penalty := range []float64{0, math.Inf(1)} {
			m, err := c.p.Model(penalty)
			if err != nil {
				return refusal{err}
			}
			if err := c.model(m, penalty); err != nil {
				return err
			}
		}
	case "Program":
		written, err := c.p.Program()
		if err != nil {
			return refusal{err}
		}
		again, err := problem.Read(written)
		if err != nil {
			return refusal{err}
		}
		n, err := again.Count(ctx, cfg)
		if err != nil {
			return refusal{err}
		}
		if n != float64(len(energies)) && len(c.p.Names()) == len(again.Names()) {
			return fmt.Errorf("read from its program it has %v feasible states, want %d", n, len(energies))
		}
		if s, err := again.Minimise(ctx, problem.Config{}); len(energies) > 0 && (err != nil || math.Abs(s.Rows[0].Energy-least) > 1e-9) {
			return fmt.Errorf("read from its program, its lowest energy is %v (%v), want %v", s, err, least)
		}
	}
	return nil
}

// model compares the energies of all states.
func (c *problemCase) model(m energy.Model, penalty float64) (err error) {
	sites, levels := m.Shape()
	if sites != len(c.values) {
		return fmt.Errorf("the model has %d sites, want %d", sites, len(c.values))
	}
	e := make([]float64, 1)
	c.states(func(level []int32, v []float64) {
		want := c.energy(v)
		if penalty > 0 && !c.holds(v) {
			want = math.Inf(1)
		}
		m.Energy(e, level)
		if (e[0] != want && math.Abs(e[0]-want) > 1e-9 || math.IsNaN(e[0])) && err == nil {
			err = fmt.Errorf("the model with penalty %v has energy %v at %v, want %v", penalty, e[0], level, want)
		}
	})
	for i, values := range c.values {
		if len(values) < levels && err == nil {
			x := make([]int32, sites)
			x[i] = int32(len(values))
			if m.Energy(e, x); !math.IsInf(e[0], 1) {
				err = fmt.Errorf("variable %d has %d values, and the energy at %v is %v", i, len(values), x, e[0])
			}
		}
	}
	return err
}

// problemPairing is everything that problems accept.
func problemPairing() pairing {
	variables, objectives, required, preferred, ways := variableEntries(), objectiveEntries(), requiredEntries(), preferredEntries(), problemWays()
	term := func(e termEntry) string { return e.name }
	p := pairing{name: "problems", share: 1, again: 1, factors: []factor{
		{"variables", namesOf(variables, func(e variableEntry) string { return e.name })},
		{"objective", namesOf(objectives, term)},
		{"required", namesOf(required, term)},
		{"preferred", namesOf(preferred, term)},
		{"way", namesOf(ways, func(w problemWay) string { return w.name })},
		{"ask", problemAsks},
		{"workers", []string{"1", "3"}},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		c := problemCase{way: ways[pick[4]], ask: problemAsks[pick[5]]}
		c.p, c.energy, c.holds = problem.New(), func([]float64) float64 { return 0 }, func([]float64) bool { return true }
		c.way.config.Workers = 1 + 2*pick[6]
		variables[pick[0]].add(&c.stated)
		objectives[pick[1]].add(&c.stated)
		required[pick[2]].add(&c.stated)
		preferred[pick[3]].add(&c.stated)
		return c.judge(ctx, draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.add("s := &stated{p: problem.New(), energy: func([]float64) float64 { return 0 }, holds: func([]float64) bool { return true }}")
		for k, list := range []string{"variableEntries", "objectiveEntries", "requiredEntries", "preferredEntries"} {
			l.add("%s()[%d].add(s)", list, pick[k])
		}
		l.add("cfg := problemWays()[%d].config // %s", pick[4], ways[pick[4]].name)
		l.add("// s.p.%s", problemAsks[pick[5]])
		return l.String()
	}
	return p
}
