package problem_test

import (
	"context"
	"fmt"
	"math"

	"github.com/gibbsite-go/gibbsite/problem"
)

func Example() {
	p := problem.New()
	x, y := p.Integer("x", 0, 9), p.Integer("y", 0, 9)
	p.Objective(x.Times(y).Minus(x))
	p.Require("budget", problem.Sum(x, y).AtLeast(7))
	ctx := context.Background()
	best, err := p.Minimise(ctx, problem.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := p.Count(ctx, problem.Config{})
	fmt.Println(best.Rows[0], "of", n, err)
	fmt.Println(p.Names())
	// Output:
	// x=9 y=0 energy=-9 of 72 <nil>
	// [x y]
}

// A Sudoku: rows, columns and boxes hold every digit once.
func Example_sudoku() {
	clues := "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
	p := problem.New()
	groups := map[string][]problem.Expr{}
	for i, c := range clues {
		row, column := i/9, i%9
		cell := p.Integer(fmt.Sprintf("r%dc%d", row+1, column+1), 1, 9)
		for _, g := range []string{fmt.Sprint("row ", row), fmt.Sprint("column ", column), fmt.Sprint("box ", row/3, column/3)} {
			groups[g] = append(groups[g], cell)
		}
		if c != '.' {
			p.Require("clue", cell.Exactly(float64(c-'0')))
		}
	}
	for name, cells := range groups {
		p.Require(name, problem.AllDifferent(cells...))
	}
	s, err := p.Minimise(context.Background(), problem.Config{Rows: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	row, _ := s.Values(problem.Number(0))
	fmt.Println(len(row), "solution; the first row is")
	for c := 1; c <= 9; c++ {
		v, _ := s.Rows[0].Label(fmt.Sprintf("r1c%d", c))
		fmt.Print(v)
	}
	// Output:
	// 1 solution; the first row is
	// 534678912
}

// Colours for the states of Australia, neighbours different.
func ExampleProblem_colouring() {
	p := problem.New()
	state := map[string]problem.Expr{}
	for _, name := range []string{"WA", "NT", "SA", "Q", "NSW", "V", "T"} {
		state[name] = p.Category(name, "red", "green", "blue")
	}
	for _, b := range [][2]string{{"WA", "NT"}, {"WA", "SA"}, {"NT", "SA"}, {"NT", "Q"}, {"SA", "Q"}, {"SA", "NSW"}, {"SA", "V"}, {"Q", "NSW"}, {"NSW", "V"}} {
		p.Require(b[0]+"–"+b[1], problem.NotEqual(state[b[0]], state[b[1]]))
	}
	p.Require("coast", state["SA"].Is("blue"))
	n, err := p.Count(context.Background(), problem.Config{})
	fmt.Println(n, "colourings", err)
	s, err := p.Sample(context.Background(), 1, problem.Config{Seed: 1})
	if err == nil {
		label, _ := s.Rows[0].Label("SA")
		fmt.Println("South Australia is", label)
	}
	// Output:
	// 6 colourings <nil>
	// South Australia is blue
}

// What to carry: the most value within a weight.
func ExampleSampleSet_knapsack() {
	items := []struct {
		name          string
		weight, value float64
	}{{"map", 9, 150}, {"compass", 13, 35}, {"water", 153, 200}, {"sandwich", 50, 160}, {"glucose", 15, 60}, {"tin", 68, 45}, {"banana", 27, 60}, {"camera", 32, 30}, {"coat", 42, 70}}
	p := problem.New()
	var weight, value problem.Expr
	for _, i := range items {
		take := p.Binary(i.name)
		weight, value = weight.Plus(take.Scale(i.weight)), value.Plus(take.Scale(i.value))
	}
	p.Objective(value.Scale(-1))
	p.Require("what a back bears", weight.AtMost(270))
	s, err := p.Minimise(context.Background(), problem.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	w, _ := s.Values(weight)
	v, _ := s.Values(value)
	fmt.Println("weight", w[0], "value", v[0], "exact", s.Exact)
	// Output:
	// weight 267 value 665 exact true
}

// Three jobs on one machine: they do not overlap, and late ones cost.
func ExampleCondition_scheduling() {
	jobs := []struct {
		name          string
		duration, due float64
		weight        float64
	}{{"cut", 3, 4, 2}, {"paint", 2, 3, 3}, {"pack", 4, 9, 1}}
	p := problem.New()
	var start []problem.Expr
	for i, j := range jobs {
		s := p.Integer(j.name, 0, 9)
		start = append(start, s)
		p.Prefer(j.name+" in time", s.Plus(problem.Number(j.duration)).AtMost(j.due), j.weight)
		for k, o := range jobs[:i] {
			p.Require(o.name+" and "+j.name, problem.Any(
				s.Minus(start[k]).AtLeast(o.duration),
				start[k].Minus(s).AtLeast(j.duration)))
		}
	}
	p.Require("paint dries before packing", problem.Implies(start[1].AtLeast(1), start[2].Minus(start[1]).AtLeast(3)))
	s, err := p.Minimise(context.Background(), problem.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Rows[0])
	// Output:
	// cut=2 paint=0 pack=5 energy=2 violates cut in time
}

// The largest cut of a wheel.
func ExampleRow_maxCut() {
	const rim = 7
	p := problem.New()
	hub := p.Spin("hub")
	var s []problem.Expr
	for i := range rim {
		s = append(s, p.Spin(fmt.Sprint(i)))
	}
	cut := func(a, b problem.Expr) problem.Expr { // 1 if a ≠ b
		return problem.NotEqual(a, b).Indicator()
	}
	var total problem.Expr
	for i := range rim {
		total = total.Plus(cut(s[i], s[(i+1)%rim]), cut(hub, s[i]))
	}
	p.Objective(total.Scale(-1))
	best, err := p.Minimise(context.Background(), problem.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("cut", -best.Rows[0].Energy, "of", 2*rim, "edges; exact:", best.Exact)
	// Output:
	// cut 10 of 14 edges; exact: true
}

// A regression on at most two of five columns, each with a coefficient −1, 0 or 1.
func Example_sparseRegression() {
	columns := [][]float64{{1, 0, 2, 1, 3, 1}, {0, 1, 1, 2, 0, 1}, {2, 1, 0, 0, 1, 1}, {1, 1, 1, 1, 0, 2}, {0, 3, 1, 0, 1, 0}}
	target := []float64{0.9, -1.1, 1.2, -0.8, 3.1, 0.1} // column 0 minus column 1, and noise
	p := problem.New()
	var used problem.Expr
	residual := make([]problem.Expr, len(target))
	for i, y := range target {
		residual[i] = problem.Number(-y)
	}
	for j, x := range columns {
		b := p.Integer(fmt.Sprintf("b%d", j), -1, 1)
		used = used.Plus(problem.Not(b.Exactly(0)).Indicator())
		for i := range target {
			residual[i] = residual[i].Plus(b.Scale(x[i]))
		}
	}
	for _, r := range residual {
		p.Objective(r.Times(r))
	}
	p.Require("sparse", used.AtMost(2))
	s, err := p.Sample(context.Background(), 1000, problem.Config{Seed: 2, Beta: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the likeliest has squared error", math.Round(100*s.Rows[0].Energy)/100, "and b0, b1 =", s.Rows[0].Levels[0]-1, s.Rows[0].Levels[1]-1)
	// Output:
	// the likeliest has squared error 0.12 and b0, b1 = 1 -1
}
