package engine

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// lettersSource is the source text of letters.go.
//
//go:embed letters/letters.go
var lettersSource string

// lettersText is the source text of text.go in package letters.
//
//go:embed letters/text.go
var lettersText string

// source is the text of a Go program under construction. It avoids text/template, which would
// double the size of the WebAssembly file: the linker keeps every method that a template could
// call.
type source struct {
	// import paths relative to this library's root; a leading dot marks a package of the
	// standard library
	imports []string
	body    strings.Builder
	rest    string // functions written after main
}

// add appends formatted lines to main. A line that consists of the word check becomes an "if err
// != nil" block at the same indentation.
func (p *source) add(lines string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(strings.Trim(lines, "\n")+"\n", args...)) {
		if text := strings.TrimLeft(line, "\t"); text == "check\n" {
			indent := line[:len(line)-len(text)]
			line = indent + "if err != nil {\n" + indent + "\tlog.Fatal(err)\n" + indent + "}\n"
		}
		p.body.WriteString(line)
	}
}

func (p *source) use(paths ...string) { p.imports = append(p.imports, paths...) }

// learn appends the source of package letters to the program.
func (p *source) learn() {
	p.use(".strings", "projection/prior")
	p.rest = body(lettersSource) + body(lettersText)
}

// body returns a Go file's text without its package clause and imports.
func body(source string) string {
	if _, after, ok := strings.Cut(source, "\n)\n"); ok && strings.Contains(source, "\nimport (") {
		return after
	}
	_, after, _ := strings.Cut(source, "\n\n")
	return "\n" + after
}

func (p *source) String() string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	p.use(".context", ".fmt", ".log")
	slices.Sort(p.imports)
	p.imports = slices.Compact(p.imports)
	own := false
	for _, path := range p.imports {
		if standard, ok := strings.CutPrefix(path, "."); ok {
			fmt.Fprintf(&b, "\t%q\n", standard)
			continue
		}
		if !own {
			own = true
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "\t%q\n", "github.com/gibbsite-go/gibbsite/"+path)
	}
	b.WriteString(")\n\nfunc main() {\n\tctx := context.Background()\n" + p.body.String() + "}\n" + p.rest)
	return b.String()
}

// program returns a call that replies with the text of a Go program. The program computes the
// result that the tab shows for the same arguments.
func program[A any](write func(A, context.Context) (*source, error)) func(context.Context, []byte) (any, error) {
	return with(func(ctx context.Context, a A) (string, error) {
		p, err := write(a, ctx)
		if err != nil {
			return "", err
		}
		return p.String(), nil
	})
}

func (l Lattice) program(context.Context) (*source, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	method := methods()[l.Method].source
	p := &source{}
	p.use(".math", "energy/model", "sampler", "sampler/diagnose", "sampler/mcmc")
	if strings.HasPrefix(method, "cluster") {
		p.imports[len(p.imports)-1] = "sampler/mcmc/cluster"
	}
	p.add("\tconst temperature, field = %v, %v", l.Temperature, l.Field)
	p.add("\ttorus := model.Lattice{%d, %d}", l.Side, l.Side)
	if l.Levels == 2 {
		p.use("energy")
		p.add(`
	m, err := model.NewIsing(torus, 1/temperature, field/temperature)
	check
	order := energy.Magnetization`)
	} else {
		p.add(`
	fields := make([]float64, %d)
	fields[0] = field / temperature
	m, err := model.NewPotts(torus, len(fields), 1/temperature, fields)
	check
	order := model.OrderParameter(len(fields))`, l.Levels)
	}
	p.add(`
	trace := diagnose.NewTrace(func(x []int32) float64 { return math.Abs(order(x)) }).Name("|m|")
	chains, err := sampler.NewChains(ctx, m, %s, sampler.Config{
		Chains: %d, Seed: %d, Warmup: %d, Observe: trace.Observe,
	})
	check
	err = chains.Run(ctx, 2000)
	check
	fmt.Println(trace.Summary())`, method, latticeChains, l.Seed, l.warmup())
	return p, nil
}

func (q Pattern) program(ctx context.Context) (*source, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	_, alphabet, err := q.narrow(ctx)
	if err != nil {
		return nil, err
	}
	p := &source{}
	p.use("constraint", "constraint/text", "projection", "sampler")
	p.add("\tconst length = %d\n\talphabet := []rune(%q)\n\tv := text.Runes(string(alphabet))", q.Length, string(alphabet))
	if q.UpTo {
		p.add(`
	v.Padding = []int32{int32(len(alphabet))} // fills up shorter strings
	v.Tokens = append(v.Tokens, "")`)
	}
	p.add(`
	language, err := text.Regexp(ctx, %q, v, constraint.Limits{})
	check
	p, err := projection.Path{Language: language}.Compile(ctx, length, len(v.Tokens))
	check
	weights := make([]float32, length*len(v.Tokens)) // 0: all alike`, q.Pattern)
	if strings.Trim(q.Fixed, string(free)) != "" {
		p.use(".math")
		p.add(`
	// A character that is fixed forbids all others there; · is free.
	for i, fixed := range []rune(%q) {
		for t, token := range v.Tokens {
			if i < length && fixed != '·' && token != string(fixed) {
				weights[i*len(v.Tokens)+t] = float32(math.Inf(-1))
			}
		}
	}`, q.Fixed)
	}
	p.add(`
	n, err := p.Count(ctx, weights)
	check
	fmt.Println(n, "strings")
	source := sampler.NewStream(%d, 0)`, q.Seed)
	from := "p"
	if q.Model == "text" {
		from = "c"
		p.learn()
		lines, model := "English", "Learn(lines, alphabet, Fine, float64(max(2, length*2/3)))"
		if strings.TrimSpace(q.Text) != "" {
			lines = fmt.Sprintf(`strings.Split(%q, "\n")`, q.Text)
		}
		if !q.UpTo {
			model = "WithoutEnd(" + model + ")"
		}
		p.add(`
	lines := %s
	model := %s
	c, err := prior.Path{HMM: model, Language: language, Limit: 1 << 25}.Compile(ctx, length, len(v.Tokens))
	check`, lines, model)
	}
	p.add(`
	x := make([]int32, length)
	for range %d {
		_, err := %s.Draw(ctx, x, weights, source)
		check
		fmt.Printf("%%q\n", v.Text(x))
	}`, q.Samples, from)
	return p, nil
}

func (q Schema) program(context.Context) (*source, error) {
	p := &source{}
	p.use("constraint/grammar", "constraint/text", "sampler")
	schema := "`" + q.Schema + "`"
	if strings.ContainsAny(q.Schema, "`\r") {
		schema = fmt.Sprintf("%q", q.Schema)
	}
	p.add("\tconst length = %d\n\tconst schema = %s", q.Length, schema)
	p.add(`
	g, err := grammar.JSONSchema(ctx, []byte(schema), grammar.SchemaConfig{Compact: true, Spelling: grammar.Canonical})
	check
	alphabet := []rune(%q)
	v := text.Runes(string(alphabet))
	v.Padding = []int32{int32(len(alphabet))} // fills up shorter documents
	v.Tokens = append(v.Tokens, "")
	language, err := g.Over(ctx, v)
	check`, string(runes(q.Schema)))
	if q.Model == "text" {
		p.learn()
		p.use("constraint")
		p.add(`
	finite, err := constraint.Compile(ctx, language, len(v.Tokens), constraint.Limits{})
	check
	model := Learn(English, alphabet, Coarse, %d)
	p, err := prior.Path{HMM: model, Language: finite, Limit: 1 << 25}.Compile(ctx, length, len(v.Tokens))
	check`, q.Average)
	} else {
		p.use("projection")
		p.add(`
	p, err := projection.Path{Language: language}.Compile(ctx, length, len(v.Tokens))
	check`)
	}
	p.add(`
	source := sampler.NewStream(%d, 0)
	x := make([]int32, length)
	for range %d {
		_, err := p.Draw(ctx, x, nil, source)
		check
		fmt.Println(v.Text(x))
	}`, q.Seed, q.Samples)
	return p, nil
}

func (q Problem) program(context.Context) (*source, error) {
	format := q.format()
	read, ok := formats[format]
	if !ok {
		return nil, fmt.Errorf("no such format: %q", format)
	}
	p := &source{}
	p.use(".os", "energy/read", "sampler/ground")
	p.add(`
	r, err := os.Open(os.Args[1]) // the file
	check
	defer r.Close()
	%s
	check`, read)
	if strings.HasPrefix(read, "graph") {
		p.use("energy/model")
		p.add(`
	m, err := model.MaxCut(graph)
	check`)
	}
	p.add(`
	s, err := ground.New(m, ground.Config{Seed: %d})
	check
	err = s.Run(ctx, 100)
	check
	x, least := s.Best()
	fmt.Println(least, x)`, q.Seed)
	return p, nil
}
