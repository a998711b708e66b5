package main

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/sorted"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/junction"
	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/sampler/ground"
)

// compiler returns a job that needs no preparation.
func compiler(name string, work func(ctx context.Context) error) job {
	return job{name, func() (func(context.Context) error, error) { return work, nil }}
}

// hostile returns jobs with inputs that demand much of a compiler, which the compiler's limits
// must bound.
func hostile() []job {
	rules := strings.Join(repeated(100000, func(i int) string { return fmt.Sprintf("r%d = \"a\" r%d | \"b%d\"", i, (i+1)%100000, i) }), "\n")
	all := []job{
		compiler("Compile of Count with a million tokens", func(ctx context.Context) error {
			_, err := constraint.Compile(ctx, wide{constraint.Count{Levels: []int32{1}, Min: 100, Max: 200}}, 1<<20, unlimited())
			return err
		}),
		compiler("Concat of many places to begin", func(ctx context.Context) error {
			some := constraint.Count{Levels: []int32{0}, Min: 10, Max: 2000}
			_, err := constraint.Concat(ctx, 2, unlimited(), constraint.Any{}, some, some, some)
			return err
		}),
		{"NewDFA of 4 million transitions", func() (func(context.Context) error, error) {
			next, end := random(1<<16, 64)
			return func(ctx context.Context) error {
				_, err := constraint.NewDFA(ctx, 64, next, end)
				return err
			}, nil
		}},
		{"NewDFA of 16 million transitions of a chain", func() (func(context.Context) error, error) {
			const states, levels = 1 << 18, 64
			next := make([]int32, states*levels)
			for i := range next {
				next[i] = int32(min(i/levels+1, states-1))
			}
			end := make([]bool, states)
			end[states-1] = true
			return func(ctx context.Context) error {
				_, err := constraint.NewDFA(ctx, levels, next, end)
				return err
			}, nil
		}},
		{"Words of 200,000 words", func() (func(context.Context) error, error) {
			r, list := rand.New(rand.NewPCG(1, 1)), make([]string, 200000)
			for i := range list {
				list[i] = fmt.Sprintf("%x", r.Uint64())
			}
			return func(ctx context.Context) error {
				_, err := text.Words(ctx, text.Bytes(), unlimited(), " ", list...)
				return err
			}, nil
		}},
		compiler("WordCount of a million words", func(ctx context.Context) error {
			_, err := text.WordCount(ctx, text.Bytes(), unlimited(), text.Range{Min: 1000000, Max: 2000000}, " ")
			return err
		}),
		compiler("Characters of a million runes", func(ctx context.Context) error {
			_, err := text.Characters(ctx, text.Bytes(), unlimited(), text.Range{Min: 1000000, Max: 2000000})
			return err
		}),
		compiler("Contains of 200 long words", func(ctx context.Context) error {
			_, err := text.Contains(ctx, text.Bytes(), unlimited(), repeated(200, func(i int) string { return strings.Repeat(fmt.Sprint(i), 1000) })...)
			return err
		}),
		compiler("Regexp of nested counts", func(ctx context.Context) error {
			_, err := text.Regexp(ctx, `((a{30}){30}|b{900}|(ab?){800})*`, text.Bytes(), unlimited())
			return err
		}),
		compiler("Regexp of 1600 counts", func(ctx context.Context) error {
			_, err := text.Regexp(ctx, strings.Repeat("a{0,1000}", 1600), text.Bytes(), unlimited())
			return err
		}),
		compiler("Regexp of a class of 100,000 classes", func(ctx context.Context) error {
			_, err := text.Regexp(ctx, "["+strings.Repeat(`\pL`, 100000)+"]", text.Bytes(), unlimited())
			return err
		}),
		compiler("Regexp of 900 alternatives anywhere", func(ctx context.Context) error {
			_, err := text.Regexp(ctx, "(.*("+strings.Join(repeated(900, func(i int) string { return fmt.Sprintf("%d.%d", i, i*i) }), "|")+").*){3}", text.Bytes(), unlimited())
			return err
		}),
		compiler("Regexp of 20,000 distinct characters", func(ctx context.Context) error {
			_, err := text.Regexp(ctx, strings.Join(repeated(20000, func(i int) string { return string(rune(0x4e00 + i)) }), ""), text.Bytes(), unlimited())
			return err
		}),
		compiler("Regexp of 3000 overlapping classes", func(ctx context.Context) error {
			_, err := text.Regexp(ctx, strings.Join(repeated(3000, func(i int) string { return fmt.Sprintf(`[\x{%x}-\x{%x}]`, 0x4e00+i, 0x5e00+2*i) }), ""), text.Bytes(), unlimited())
			return err
		}),
		compiler("Parse of 100,000 rules", func(ctx context.Context) error {
			_, err := grammar.Parse(ctx, rules, constraint.Limits{})
			return err
		}),
		compiler("Parse of a billion laughs", func(ctx context.Context) error {
			_, err := grammar.Parse(ctx, strings.Join(repeated(40, func(i int) string { return fmt.Sprintf("r%d = r%d r%d", i, i+1, i+1) }), "\n")+"\nr40 = \"ha\"", unlimited())
			return err
		}),
		compiler("Parse of counts of counts", func(ctx context.Context) error {
			_, err := grammar.Parse(ctx, `s = (("a"{1000}){1000}){1000}`, unlimited())
			return err
		}),
	}
	laughs := repeated(29, func(i int) string {
		return fmt.Sprintf(`"l%d":{"anyOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`, i, i+1, min(i+2, 29))
	})
	properties := strings.Join(repeated(20000, func(i int) string { return fmt.Sprintf(`"a%d":{}`, i) }), ",")
	for name, source := range map[string]string{
		"29 levels of anyOf":   `{"$ref":"#/$defs/l0","$defs":{` + strings.Join(laughs, ",") + `,"l29":{"type":"object","patternProperties":{"^a":{"type":"integer"}}}}}`,
		"anyOf of 60 required": `{"anyOf":[` + strings.Join(repeated(60, func(i int) string { return fmt.Sprintf(`{"required":["a%d"]}`, i) }), ",") + "]}",
		"20,000 properties":    `{"properties":{` + properties + "}}",
		"20 ifs": `{"allOf":[` + strings.Join(repeated(20, func(i int) string {
			return fmt.Sprintf(`{"if":{"properties":{"a%d":{"const":1}}},"then":{"required":["b%d"]}}`, i, i)
		}), ",") + "]}",
		"24 oneOfs": `{"allOf":[` + strings.Join(repeated(24, func(i int) string {
			return fmt.Sprintf(`{"oneOf":[{"required":["a%d"]},{"required":["b%d"]}]}`, i, i)
		}), ",") + "]}",
		"a long array of long strings": `{"type":"array","items":{"type":"string","minLength":16000000},"minItems":1000}`,
		"20,000 texts":                 `{"enum":[` + strings.Join(repeated(20000, func(i int) string { return fmt.Sprintf(`"text %d"`, i) }), ",") + "]}",
		"a number of 10⁶ digits":       `{"const":` + strings.Repeat("9", 1000000) + "}",
		"100,000 numbers":              `{"enum":[` + strings.Join(repeated(100000, func(i int) string { return fmt.Sprint(i) }), ",") + "]}",
		"counts of counts":             `{"pattern":"^(a{1000}){1000}$"}`,
	} {
		all = append(all, compiler("JSONSchema of "+name, func(ctx context.Context) error {
			_, err := grammar.JSONSchema(ctx, []byte(source), grammar.SchemaConfig{})
			return err
		}))
	}
	return append(all, sums()...)
}

// sums returns jobs of long exact sums, searches and imports.
func sums() []job {
	return []job{
		compiler("prior.Path.Bind of 400 distinct tokens", func(ctx context.Context) error {
			return bind(ctx, 400, 40)
		}),
		{"prior.Path.Bind of 4000 hidden states", func() (func(context.Context) error, error) {
			const h = 4000
			uniform := slices.Repeat([]float64{1.0 / h}, h)
			p := prior.Path{HMM: prior.HMM{Start: uniform, Trans: slices.Repeat(uniform, h), Emit: slices.Repeat([]float64{0.5}, 2*h)}, Language: constraint.Count{Levels: []int32{1}, Max: 9}}
			return func(ctx context.Context) error {
				_, err := p.Bind(ctx, 100, 2, 1)
				return err
			}, nil
		}},
		compiler("Path of a million tokens", func(ctx context.Context) error {
			_, err := projection.Path{Language: wide{constraint.Count{Levels: []int32{1}, Min: 500, Max: 500}}, Limit: math.MaxInt32}.Compile(ctx, 1000, 1<<20)
			return err
		}),
		{"junction.New and LogZ of a lattice of 24×24", func() (func(context.Context) error, error) {
			m, err := model.NewIsing(model.Lattice{24, 24}, 0.2, 0.1)
			return func(ctx context.Context) error {
				d, err := junction.New(ctx, m, junction.Config{})
				if err == nil {
					_, err = d.LogZ(ctx)
				}
				return err
			}, err
		}},
		{"ground.Bound of a glass of 300×300", func() (func(context.Context) error, error) {
			r, q := rand.New(rand.NewPCG(1, 1)), []model.Edge(nil)
			const n = 300
			for i := range n * n {
				if i%n < n-1 {
					q = append(q, model.Edge{I: i, J: i + 1, W: r.NormFloat64()})
				}
				if i+n < n*n {
					q = append(q, model.Edge{I: i, J: i + n, W: r.NormFloat64()})
				}
			}
			m, err := model.NewQuadratic(n*n, q, model.Polynomial{})
			return func(ctx context.Context) error {
				_, err := ground.Bound(ctx, m)
				return err
			}, err
		}},
		compiler("Enumerate of 2²⁷ states", func(ctx context.Context) error {
			_, err := energy.Enumerate(ctx, energy.Func{Sites: 27, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) }})
			return err
		}),
		compiler("sorted.Build without end", func(ctx context.Context) error {
			folder, err := os.MkdirTemp("", "deadline")
			if err != nil {
				return err
			}
			defer os.RemoveAll(folder)
			_, err = sorted.Build(ctx, filepath.Join(folder, "words"), 1<<20, endless())
			return err
		}),
	}
}

// bind binds a Markov chain to the language of the sequences without two equal consecutive
// tokens.
func bind(ctx context.Context, tokens, sites int) error {
	uniform := make([]float64, tokens)
	for i := range uniform {
		uniform[i] = 1 / float64(tokens)
	}
	trans := make([]float64, 0, tokens*tokens)
	for range tokens {
		trans = append(trans, uniform...)
	}
	_, err := prior.Path{HMM: prior.Markov(uniform, trans), Language: distinct(tokens), Limit: math.MaxInt32}.Bind(ctx, sites, tokens, 1)
	return err
}

// distinct is the language of the sequences without two equal consecutive tokens. Its value is
// the number of tokens.
type distinct int

func (d distinct) States() int { return int(d) + 1 }
func (d distinct) Start() int  { return int(d) }
func (d distinct) Next(state int, token int32) int {
	if state == int(token) {
		return -1
	}
	return int(token)
}
func (d distinct) Accepting(int) bool { return true }

// wide is a language that hides which tokens it does not distinguish.
type wide struct{ constraint.Automaton }

// random returns the table of a random automaton.
func random(states, levels int) (next []int32, end []bool) {
	r := rand.New(rand.NewPCG(1, 1))
	next, end = make([]int32, states*levels), make([]bool, states)
	for i := range next {
		next[i] = int32(r.IntN(states))
	}
	end[states-1] = true
	return next, end
}

// repeated returns n texts, computed by f.
func repeated(n int, f func(i int) string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = f(i)
	}
	return all
}

// endless yields random sequences of ten tokens without end.
func endless() iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		r, x := rand.New(rand.NewPCG(1, 1)), make([]int32, 10)
		for {
			for i := range x {
				x[i] = int32(r.IntN(1 << 20))
			}
			if !yield(x) {
				return
			}
		}
	}
}
