package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gibbsite-go/gibbsite/problem"
)

func try(name string, f func(p *problem.Problem) problem.Config) {
	p := problem.New()
	c := f(p)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	t := time.Now()
	s, err := p.Minimise(ctx, c)
	fmt.Printf("%s: %.1fs err=%v\n", name, time.Since(t).Seconds(), err)
	if s != nil && len(s.Rows) > 0 {
		fmt.Printf("   exact=%v method=%s E=%.10g feasible=%v\n", s.Exact, s.Method, s.Rows[0].Energy, s.Rows[0].Feasible())
		fmt.Printf("   %.150s\n", s.Rows[0].String())
	}
	n, err := p.Count(ctx, c)
	fmt.Printf("   count=%v err=%v\n", n, err)
}

func main() {
	for _, n := range []int{8, 10} {
		try(fmt.Sprintf("assignment %dx%d", n, n), func(p *problem.Problem) problem.Config {
			x := make([][]problem.Expr, n)
			var obj []problem.Expr
			for i := range x {
				for j := range n {
					v := p.Binary(fmt.Sprintf("x%d_%d", i, j))
					x[i] = append(x[i], v)
					obj = append(obj, v.Scale(float64((i*7+j*13+i*j*5)%23)))
				}
			}
			p.Objective(problem.Sum(obj...))
			for i := range n {
				p.Require(fmt.Sprintf("row%d", i), problem.Sum(x[i]...).Exactly(1))
				var col []problem.Expr
				for k := range n {
					col = append(col, x[k][i])
				}
				p.Require(fmt.Sprintf("col%d", i), problem.Sum(col...).Exactly(1))
			}
			return problem.Config{}
		})
	}
	try("bigM", func(p *problem.Problem) problem.Config {
		x, y, on := p.Integer("x", 0, 1000), p.Integer("y", 0, 1000), p.Binary("on")
		p.Objective(problem.Sum(x.Scale(-3), y.Scale(-2), on.Scale(500)))
		p.Require("m", x.Minus(on.Scale(1e6)).AtMost(0))
		p.Require("cap", problem.Sum(x, y).AtMost(1200))
		return problem.Config{}
	})
	try("huge", func(p *problem.Problem) problem.Config {
		x, y, z := p.Binary("x"), p.Binary("y"), p.Binary("z")
		p.Objective(problem.Sum(x.Scale(1e9), y.Scale(-1e9), z.Scale(1e-3), x.Times(y).Scale(-1e9)))
		return problem.Config{}
	})
	try("huge constraint", func(p *problem.Problem) problem.Config {
		x, y, z := p.Integer("x", 0, 5), p.Integer("y", 0, 5), p.Integer("z", 0, 5)
		p.Objective(problem.Sum(x, y, z))
		p.Require("a", problem.Sum(x.Scale(1e9), y.Scale(-1e9), z.Scale(1e-3)).Between(1e-3, 2e-3))
		return problem.Config{}
	})
	try("infeasible", func(p *problem.Problem) problem.Config {
		x, y := p.Binary("x"), p.Binary("y")
		p.Require("a", problem.Sum(x, y).AtLeast(2))
		p.Require("b", problem.Sum(x, y).AtMost(1))
		return problem.Config{}
	})
	try("infeasible alone", func(p *problem.Problem) problem.Config {
		x := p.Integer("x", 0, 3)
		p.Require("a", x.AtLeast(4))
		return problem.Config{}
	})
	try("empty", func(p *problem.Problem) problem.Config { return problem.Config{} })
	try("empty objective", func(p *problem.Problem) problem.Config {
		x, y := p.Integer("x", 0, 3), p.Category("c", "r", "g", "b")
		p.Require("a", problem.Any(x.AtLeast(2), y.Is("g")))
		return problem.Config{}
	})
	try("duplicate", func(p *problem.Problem) problem.Config { p.Binary("x"); p.Binary("x"); return problem.Config{} })
	try("duplicate constraint", func(p *problem.Problem) problem.Config {
		x := p.Binary("x")
		p.Require("a", x.AtLeast(1))
		p.Require("a", x.AtMost(1))
		return problem.Config{}
	})
	try("dup label", func(p *problem.Problem) problem.Config { p.Category("x", "a", "a"); return problem.Config{} })
	try("wide int", func(p *problem.Problem) problem.Config {
		x := p.Integer("x", -1<<40, 1<<40)
		p.Objective(x.Times(x))
		return problem.Config{}
	})
	try("wide int 1e6", func(p *problem.Problem) problem.Config {
		x, y := p.Integer("x", 0, 1000000), p.Integer("y", 0, 1000000)
		p.Objective(problem.Sum(x, y))
		p.Require("a", problem.Sum(x.Scale(3), y.Scale(5)).Exactly(1000001))
		return problem.Config{}
	})
	try("reversed", func(p *problem.Problem) problem.Config { p.Integer("x", 3, 2); return problem.Config{} })
	try("empty name", func(p *problem.Problem) problem.Config { p.Binary(""); return problem.Config{} })
	try("0.1+0.2", func(p *problem.Problem) problem.Config {
		x, y, z := p.Binary("x"), p.Binary("y"), p.Binary("z")
		p.Objective(problem.Sum(x, y, z))
		p.Require("a", problem.Sum(x.Scale(.1), y.Scale(.2), z.Scale(-.3)).Exactly(0))
		p.Require("b", problem.Sum(x, y, z).AtLeast(1))
		return problem.Config{}
	})
	try("knapsack50", func(p *problem.Problem) problem.Config {
		var w, v []problem.Expr
		for i := range 50 {
			x := p.Binary(fmt.Sprint("i", i))
			w = append(w, x.Scale(float64(1000+(i*7919)%5003)))
			v = append(v, x.Scale(-float64(1000+(i*104729)%4001)))
		}
		p.Objective(problem.Sum(v...))
		p.Require("w", problem.Sum(w...).AtMost(60000))
		return problem.Config{}
	})
	try("penalty infeasible", func(p *problem.Problem) problem.Config {
		var all []problem.Expr
		for i := range 60 {
			all = append(all, p.Binary(fmt.Sprint("x", i)))
		}
		var q []problem.Expr
		for i := range 60 {
			for j := range i {
				q = append(q, all[i].Times(all[j]).Scale(float64((i*j*31+i+j)%11-5)))
			}
		}
		p.Objective(problem.Sum(q...))
		p.Require("k", problem.Sum(all...).Exactly(7))
		return problem.Config{Search: 1 << 16, Penalty: 100}
	})
}
