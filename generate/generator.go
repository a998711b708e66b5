package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/projection"
)

// Config holds the options of a [Generator]. The zero value is the recommended setting.
type Config struct {
	// Bytes is the maximum length of a text in bytes. 0 means 64.
	Bytes int

	// Weight returns the relative probability of a text, from 0 to 1. A draw is accepted with this
	// probability and otherwise repeated. Small weights therefore make drawing slow, and a text of
	// weight 0 is never drawn. nil means 1 for all texts.
	Weight func(text string) float64

	// Annotations treats unknown formats of a schema as annotations instead of errors (see
	// [grammar.SchemaConfig]).
	Annotations bool

	// Limits sets the largest size of the automata to which the schema, expression or grammar is
	// compiled.
	Limits constraint.Limits
}

// defaultBytes is the default of Config.Bytes.
const defaultBytes = 64

// Generator draws random texts that match a schema, a regular expression or a grammar. It is safe
// for concurrent use if Config.Weight is.
type Generator struct {
	config Config
	path   *projection.PathProjection
	texts  text.Vocabulary
	schema *node // schema that the generator was made from by JSON; otherwise nil

	// The function is reports whether a text is valid, in any spelling.
	is func(text string) bool
}

// JSON returns a generator of the JSON values described by a schema, each in its canonical spelling
// (grammar.Canonical), which encoding/json can read. The error comes from [grammar.JSONSchema], or
// wraps [constraint.ErrInfeasible] if no text is short enough.
func JSON(ctx context.Context, schema []byte, config Config) (*Generator, error) {
	g, err := grammar.JSONSchema(ctx, schema, grammar.SchemaConfig{Spelling: grammar.Canonical, Annotations: config.Annotations, Limits: config.Limits})
	if err != nil {
		return nil, err
	}
	free, err := grammar.JSONSchema(ctx, schema, grammar.SchemaConfig{AnyOrder: true, Annotations: config.Annotations, Limits: config.Limits})
	if err != nil {
		return nil, err
	}
	x, err := over(ctx, g, config)
	if err != nil {
		return nil, err
	}
	x.is = func(text string) bool { return free.Accepts(text) || g.Accepts(text) }
	x.schema, err = parse(ctx, schema)
	return x, err
}

// Grammar returns a generator of the texts of a grammar, given in the notation of [grammar.Parse].
// The error comes from [grammar.Parse], or wraps [constraint.ErrInfeasible] if no text is short
// enough.
func Grammar(ctx context.Context, source string, config Config) (*Generator, error) {
	g, err := grammar.Parse(ctx, source, config.Limits)
	if err != nil {
		return nil, err
	}
	return over(ctx, g, config)
}

// Regexp returns a generator of the texts that a regular expression matches as a whole. The syntax
// is the same as in package regexp, and the errors are the same as for [text.Regexp].
func Regexp(ctx context.Context, pattern string, config Config) (*Generator, error) {
	v := padded()
	d, err := text.Regexp(ctx, pattern, v, config.Limits)
	if err != nil {
		return nil, err
	}
	return compile(ctx, &Generator{config: config, texts: v, is: func(s string) bool {
		q := d.Start()
		for i := 0; i < len(s) && q >= 0; i++ {
			q = d.Next(q, int32(s[i]))
		}
		return q >= 0 && d.Accepting(q)
	}}, d)
}

// padded returns the vocabulary of all bytes and one padding token.
func padded() text.Vocabulary {
	v := text.Bytes()
	v.Padding = []int32{int32(len(v.Tokens))}
	v.Tokens = append(v.Tokens, "")
	return v
}

func over(ctx context.Context, g *grammar.Grammar, config Config) (*Generator, error) {
	v := padded()
	l, err := g.Over(ctx, v)
	if err != nil {
		return nil, err
	}
	return compile(ctx, &Generator{config: config, texts: v, is: g.Accepts}, l)
}

func compile(ctx context.Context, x *Generator, l constraint.Language) (*Generator, error) {
	switch {
	case x.config.Bytes < 0:
		return nil, &constraint.ArgumentError{Func: "generate", Arg: "Config.Bytes", Value: x.config.Bytes, Want: "≥ 1, or 0 for 64"}
	case x.config.Bytes == 0:
		x.config.Bytes = defaultBytes
	}
	var err error
	if x.path, err = (projection.Path{Language: l}).Compile(ctx, x.config.Bytes, len(x.texts.Tokens)); err == nil {
		_, err = x.path.LogZ(ctx, nil)
	}
	switch {
	case errors.Is(err, constraint.ErrInfeasible):
		return nil, fmt.Errorf("generate: no text of at most Config.Bytes = %d bytes: raise it if there are longer texts: %w", x.config.Bytes, err)
	case err != nil:
		return nil, fmt.Errorf("generate: Config.Bytes = %d: %w", x.config.Bytes, err)
	}
	return x, nil
}

// Count returns the number of texts that the generator can draw if Config.Weight is ignored.
func (x *Generator) Count(ctx context.Context) (*big.Int, error) { return x.path.Count(ctx, nil) }

// Valid reports whether a text matches the schema, expression or grammar from which the generator
// was made. JSON texts may have any spelling and any order of members.
func (x *Generator) Valid(text string) bool { return x.is(text) }

// trials bounds the number of draws until one is accepted.
const trials = 1 << 20

// Draw returns a random text, drawn with random numbers from src. It returns an error if src is nil
// or Config.Weight returns a number outside [0, 1]. It also fails if 2²⁰ texts in a row are
// rejected because of their weights. If the context ends, it returns the context's cause.
func (x *Generator) Draw(ctx context.Context, src rand.Source) (string, error) {
	if check.Nil(src) {
		return "", &constraint.ArgumentError{Func: "Draw", Arg: "src", Value: nil, Want: "a source of random numbers"}
	}
	tokens := make([]int32, x.config.Bytes)
	for range trials {
		if _, err := x.path.Draw(ctx, tokens, nil, src); err != nil {
			return "", err
		}
		s := x.texts.Text(tokens)
		if x.config.Weight == nil {
			return s, nil
		}
		w := x.config.Weight(s)
		if !(w >= 0 && w <= 1) {
			return "", &constraint.ArgumentError{Func: "Draw", Arg: fmt.Sprintf("Config.Weight(%.40q)", s), Value: w, Want: "a number from 0 to 1"}
		}
		if rand.New(src).Float64() < w {
			return s, nil
		}
	}
	return "", &constraint.LimitError{What: "Draw: draws until Config.Weight keeps one", Value: trials, Bound: trials}
}

// Seeded returns the text that is drawn with the given seed. It panics if [Generator.Draw]
// returns an error, which only Config.Weight can cause.
func (x *Generator) Seeded(seed uint64) string {
	s, err := x.Draw(context.Background(), rand.NewPCG(seed, 0))
	if err != nil {
		panic(err)
	}
	return s
}

// Into draws a JSON text with the given seed and decodes it into the value that v points to. An
// error comes from package encoding/json, and means that the type of v cannot hold the drawn value.
func (x *Generator) Into(v any, seed uint64) error { return json.Unmarshal([]byte(x.Seeded(seed)), v) }

// Values generates the arguments of a function that testing/quick checks. It stores a value of type
// types[i] in args[i]. Call it from the function quick.Config.Values, and pass the method Uint64 of
// its *rand.Rand as next. Values are decoded from JSON texts. If the generator was not made by
// [JSON], an argument of type string receives the text itself. Values panics if [Generator.Into]
// returns an error. It also panics if next or one of the types is nil, or if args is shorter than
// types.
func (x *Generator) Values(args []reflect.Value, types []reflect.Type, next func() uint64) {
	check.Must("generate: Generator.Values", "next", next)
	if len(args) < len(types) {
		panic(fmt.Sprintf("generate: Generator.Values: len(args) = %d, want ≥ %d, that of types", len(args), len(types)))
	}
	for i, t := range types {
		check.Must("generate: Generator.Values", fmt.Sprintf("types[%d]", i), t)
		v := reflect.New(t)
		if t.Kind() == reflect.String && x.schema == nil {
			v.Elem().SetString(x.Seeded(next()))
		} else if err := x.Into(v.Interface(), next()); err != nil {
			panic(err)
		}
		args[i] = v.Elem()
	}
}

// extremes holds the weights of bytes for the first edges. Each edge is a text with the largest
// sum of weights. A weight of −1 for all bytes selects a short text.
var extremes = []func(b int) float64{
	func(int) float64 { return -1 },                      // the shortest
	func(int) float64 { return 1 },                       // the longest
	func(b int) float64 { return one(b >= 0x80) - 1e-3 }, // beyond ASCII, but short
	func(b int) float64 { return one(b == '\\') - 1e-3 }, // escapes
	func(b int) float64 { return one(b == '9') - 1e-3 },
	func(b int) float64 { return one(b == '-') - 1e-3 },
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Edges yields edge cases. They are the shortest text, the longest text, and texts with as many
// non-ASCII characters, escapes, nines or minus signs as possible. For a schema, numbers, lengths
// and counts also reach each minimum and maximum. Each enum takes its first and its last value.
// Each optional property is present in one text and absent from another. No text is repeated. If
// ctx ends, the sequence ends with its error.
func (x *Generator) Edges(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		seen := map[string]bool{}
		tokens := make([]int32, x.config.Bytes)
		levels := len(x.texts.Tokens)
		v := make([]float32, x.config.Bytes*levels)
		for _, weight := range extremes {
			for i := range v {
				if b := i % levels; b < levels-1 {
					v[i] = float32(weight(b))
				} else {
					v[i] = 0
				}
			}
			if _, err := x.path.MAP(ctx, tokens, v); err != nil {
				yield("", err)
				return
			}
			if s := x.texts.Text(tokens); !seen[s] {
				if seen[s] = true; !yield(s, nil) {
					return
				}
			}
		}
		if x.schema == nil {
			return
		}
		for m := range x.schema.mutations(ctx, limits) {
			s, err := x.one(ctx, m)
			if err != nil {
				yield("", err)
				return
			}
			if s != "" && !seen[s] && x.is(s) {
				if seen[s] = true; !yield(s, nil) {
					return
				}
			}
		}
		if err := context.Cause(ctx); err != nil {
			yield("", err)
		}
	}
}

// Instance is a text that violates one keyword of a schema.
type Instance struct {
	Text    string
	Keyword string // JSON pointer to the keyword, for instance "#/properties/a/minimum"
}

// Invalid yields texts that the schema rejects. Each violates one keyword and satisfies all others.
// A keyword that cannot be violated in this way is skipped. Other validators should reject these
// texts for the same reason. The sequence is empty unless the generator was returned by [JSON]. If
// the context ends, the sequence ends with the context's error.
func (x *Generator) Invalid(ctx context.Context) iter.Seq2[Instance, error] {
	return func(yield func(Instance, error) bool) {
		if x.schema == nil {
			return
		}
		for m := range x.schema.mutations(ctx, negations) {
			s, err := x.one(ctx, m)
			if err != nil {
				yield(Instance{}, err)
				return
			}
			if s != "" && !x.is(s) && !yield(Instance{s, m.keyword}, nil) {
				return
			}
		}
		if err := context.Cause(ctx); err != nil {
			yield(Instance{}, err)
		}
	}
}

// one draws a text of the modified schema m. It returns "" if there is no text within the
// limits.
func (x *Generator) one(ctx context.Context, m mutation) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", err
	}
	c := x.config
	c.Weight = nil
	g, err := grammar.JSONSchema(ctx, m.schema, grammar.SchemaConfig{Spelling: grammar.Canonical, Annotations: true, Limits: c.Limits})
	if err != nil {
		return "", context.Cause(ctx)
	}
	y, err := over(ctx, g, c)
	if err != nil {
		return "", context.Cause(ctx)
	}
	return y.Draw(ctx, rand.NewPCG(uint64(len(m.schema)), uint64(math.MaxUint32)))
}
