package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/energy/read"
	"github.com/gibbsite-go/gibbsite/generate"
	"github.com/gibbsite-go/gibbsite/problem"
)

// notations returns jobs with hostile grammars in the notations of Lark and of llama.cpp.
func notations() (all []job) {
	lark := func(name, source string) {
		all = append(all, compiler("ParseLark of "+name, func(ctx context.Context) error {
			_, err := grammar.ParseLark(ctx, source, unlimited())
			return err
		}))
	}
	gbnf := func(name, source string) {
		all = append(all, compiler("ParseGBNF of "+name, func(ctx context.Context) error {
			_, err := grammar.ParseGBNF(ctx, source, unlimited())
			return err
		}))
	}
	lines := func(n int, f func(i int) string) string { return strings.Join(repeated(n, f), "\n") }
	lark("100,000 rules", "start: r0\n"+lines(100000, func(i int) string { return fmt.Sprintf("r%d: \"a\" r%d | \"b%d\"", i, (i+1)%100000, i) }))
	lark("a billion laughs", "start: r0\n"+lines(40, func(i int) string { return fmt.Sprintf("r%d: r%d r%d", i, i+1, i+1) })+"\nr40: \"ha\"")
	lark("a billion laughs of terminals", "start: R0\n"+lines(40, func(i int) string { return fmt.Sprintf("R%d: R%d R%d", i, i+1, i+1) })+"\nR40: \"ha\"")
	lark("counts of counts", `start: (("a"~1000)~1000)~1000`)
	lark("a count of a billion", `start: "a"~1000000000`)
	lark("1000 optional parts", "start: "+strings.Join(repeated(1000, func(i int) string { return fmt.Sprintf(`["%d."]`, i) }), " "))
	lark("20,000 ignored texts", "start: \"a\"+\n"+lines(20000, func(i int) string { return fmt.Sprintf("%%ignore \"i%d.\"", i) }))
	lark("a million open brackets", "start: "+strings.Repeat("[", 1<<20))
	lark("a long pattern", "start: /"+strings.Repeat("(a|b)*a(a|b)", 10)+"{20}/")
	gbnf("100,000 rules", "root ::= r0\n"+lines(100000, func(i int) string { return fmt.Sprintf("r%d ::= \"a\" r%d | \"b%d\"", i, (i+1)%100000, i) }))
	gbnf("a billion laughs", "root ::= r0\n"+lines(40, func(i int) string { return fmt.Sprintf("r%d ::= r%d r%d", i, i+1, i+1) })+"\nr40 ::= \"ha\"")
	gbnf("counts of counts", `root ::= (("a"{1000}){1000}){1000}`)
	gbnf("a count of a billion", `root ::= "a"{1000000000}`)
	gbnf("a million open brackets", "root ::= "+strings.Repeat("(", 1<<20))
	gbnf("100,000 classes", "root ::= "+strings.Join(repeated(100000, func(i int) string { return fmt.Sprintf(`[^%c-\U0010FFFF]`, 'a'+i%26) }), " "))
	gbnf("a class of 100,000 ranges", "root ::= ["+strings.Join(repeated(100000, func(i int) string { return fmt.Sprintf(`\U%08X-\U%08X`, 0x10000+2*i, 0x10000+2*i) }), "")+"]+")
	return all
}

// generators returns jobs that compile hostile descriptions to generators, or draw from generators
// that seldom accept what they draw.
func generators() []job {
	config := generate.Config{Limits: unlimited()}
	schema := func(name, source string, use func(ctx context.Context, g *generate.Generator) error) job {
		return job{"generate: " + name, func() (func(context.Context) error, error) {
			g, err := generate.JSON(context.Background(), []byte(source), generate.Config{})
			return func(ctx context.Context) error { return use(ctx, g) }, err
		}}
	}
	edges := func(ctx context.Context, g *generate.Generator) error { return drain(g.Edges(ctx)) }
	invalid := func(ctx context.Context, g *generate.Generator) error { return drain(g.Invalid(ctx)) }
	properties := strings.Join(repeated(60, func(i int) string { return fmt.Sprintf(`"a%d":{"$ref":"#"}`, i) }), ",")
	wide := strings.Join(repeated(100, func(i int) string { return fmt.Sprintf(`"a%d":{"type":"integer","minimum":%d}`, i, i) }), ",")
	return []job{
		compiler("generate.Regexp of four million states", func(ctx context.Context) error {
			_, err := generate.Regexp(ctx, `(a|b)*a(a|b){21}`, config)
			return err
		}),
		compiler("generate.Regexp of texts of 2³⁰ bytes", func(ctx context.Context) error {
			_, err := generate.Regexp(ctx, `(ab|c)*`, generate.Config{Bytes: 1 << 30})
			return err
		}),
		compiler("generate.Grammar of a billion laughs", func(ctx context.Context) error {
			_, err := generate.Grammar(ctx, strings.Join(repeated(40, func(i int) string { return fmt.Sprintf("r%d = r%d r%d", i, i+1, i+1) }), "\n")+"\nr40 = \"ha\"", config)
			return err
		}),
		compiler("generate.JSON of 20,000 properties", func(ctx context.Context) error {
			_, err := generate.JSON(ctx, []byte(`{"properties":{`+strings.Join(repeated(20000, func(i int) string { return fmt.Sprintf(`"a%d":{}`, i) }), ",")+"}}"), config)
			return err
		}),
		compiler("generate.JSON of a deep schema with a long text", func(ctx context.Context) error {
			_, err := generate.JSON(ctx, []byte(strings.Repeat(`{"items":`, 900)+`{"title":"`+strings.Repeat("t", 1<<20)+`"}`+strings.Repeat("}", 900)), generate.Config{})
			return err
		}),
		{"generate: Draw with weights of 2⁻⁶⁰", func() (func(context.Context) error, error) {
			g, err := generate.Regexp(context.Background(), `[ab]*`, generate.Config{Weight: func(string) float64 { return 0x1p-60 }})
			return func(ctx context.Context) error {
				_, err := g.Draw(ctx, rand.NewPCG(1, 1))
				return err
			}, err
		}},
		schema("Edges of 100 properties", `{"type":"object","properties":{`+wide+`}}`, edges),
		schema("Edges of a schema within itself", `{"type":"object","properties":{`+properties+`}}`, edges),
		schema("Invalid of a schema within itself", `{"properties":{`+properties+`}}`, invalid),
	}
}

// drain goes through a sequence to its end or its first error.
func drain[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// problems returns jobs of problems that are small to write and large to solve.
func problems() []job {
	solve := func(name string, build func(p *problem.Problem), work func(ctx context.Context, p *problem.Problem) error) job {
		return job{"problem: " + name, func() (func(context.Context) error, error) {
			p := problem.New()
			build(p)
			return func(ctx context.Context) error { return work(ctx, p) }, p.Err()
		}}
	}
	bits := func(p *problem.Problem, n int) []problem.Expr {
		x := make([]problem.Expr, n)
		for i := range x {
			x[i] = p.Binary(fmt.Sprint("x", i))
		}
		return x
	}
	minimise := func(c problem.Config) func(ctx context.Context, p *problem.Problem) error {
		return func(ctx context.Context, p *problem.Problem) error {
			_, err := p.Minimise(ctx, c)
			return err
		}
	}
	count := func(ctx context.Context, p *problem.Problem) error {
		_, err := p.Count(ctx, problem.Config{})
		return err
	}
	sample := func(n int) func(ctx context.Context, p *problem.Problem) error {
		return func(ctx context.Context, p *problem.Problem) error {
			_, err := p.Sample(ctx, n, problem.Config{})
			return err
		}
	}
	weighted := func(x []problem.Expr) problem.Expr {
		terms := make([]problem.Expr, len(x))
		for i := range x {
			terms[i] = x[i].Scale(float64(i*i%997 + 1))
		}
		return problem.Sum(terms...)
	}
	return []job{
		solve("Sample of 2³¹−1 draws of three bits", func(p *problem.Problem) { bits(p, 3) }, sample(math.MaxInt32)),
		solve("Sample of 2³¹−1 draws by elimination", func(p *problem.Problem) { bits(p, 100) }, sample(math.MaxInt32)),
		solve("Count under a sum of 20,000 weights", func(p *problem.Problem) {
			p.Require("weight", weighted(bits(p, 20000)).AtMost(1e6))
		}, count),
		solve("Minimise a knapsack of 2000 integers of 1000 values", func(p *problem.Problem) {
			x := make([]problem.Expr, 2000)
			for i := range x {
				x[i] = p.Integer(fmt.Sprint("x", i), 0, 999)
			}
			p.Require("weight", weighted(x).AtMost(1e6))
			p.Objective(problem.Sum(x...).Scale(-1))
		}, minimise(problem.Config{})),
		solve("Minimise 500,000 products", func(p *problem.Problem) {
			s := problem.Sum(bits(p, 1000)...)
			p.Objective(s.Times(s))
		}, minimise(problem.Config{})),
		solve("Minimise with a penalty over 20,000 bits", func(p *problem.Problem) {
			x := bits(p, 20000)
			p.Require("some", problem.Sum(x...).Between(100, 200))
			some := problem.Sum(x[:300]...)
			p.Objective(some.Times(some))
		}, minimise(problem.Config{Penalty: 1, Search: -1})),
		solve("Minimise where 150 integers differ", func(p *problem.Problem) {
			x := make([]problem.Expr, 150)
			for i := range x {
				x[i] = p.Integer(fmt.Sprint("x", i), 0, 149)
			}
			p.Require("all", problem.AllDifferent(x...))
		}, minimise(problem.Config{})),
		solve("Count where 12 integers are pigeons of 11 holes", func(p *problem.Problem) {
			x := make([]problem.Expr, 12)
			for i := range x {
				x[i] = p.Integer(fmt.Sprint("x", i), 0, 10)
			}
			p.Require("all", problem.AllDifferent(x...))
		}, count),
		solve("Minimise alternatives of tables of a million entries", func(p *problem.Problem) {
			x := make([]problem.Expr, 20)
			for i := range x {
				x[i] = p.Integer(fmt.Sprint("x", i), 0, 999)
			}
			for i := range x {
				for j := range i {
					p.Prefer(fmt.Sprint(i, j), problem.Any(x[i].Times(x[j]).Exactly(5), problem.NotEqual(x[i], x[j])), 1)
				}
			}
		}, minimise(problem.Config{Search: -1})),
		{"problem.Read of a product of 30,000 bits", func() (func(context.Context) error, error) {
			r := &read.Program{}
			var product []int
			for i := range 30000 {
				r.Variables = append(r.Variables, read.Variable{Name: fmt.Sprint("x", i), Upper: 1})
				product = append(product, i)
			}
			r.Objective = []read.Monomial{{W: 1, Of: product}}
			return func(ctx context.Context) error {
				_, err := problem.Read(r)
				return err
			}, nil
		}},
	}
}
