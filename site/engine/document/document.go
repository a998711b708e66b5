// Package document implements a tab of the playground. The tab counts the JSON documents that match
// a JSON Schema, and shows random ones.
package document

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/prior"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/letters"
)

// Schema requests random documents that match a JSON Schema.
type Schema struct {
	Schema string
	Length int    // maximum number of characters
	Model  string // "uniform" over documents, or "text" for readable strings
	// mean length, in characters, of the model's texts before the schema restricts them
	Average int
	Seed    uint64
	Samples int
}

// Written is the reply to a [Schema].
type Written struct {
	// number of matching documents; "" if counting takes too long, in which case only Bits is
	// given
	Count     string
	Bits      float64 // log₂ of the number of matching documents
	Entropy   float64 // entropy of the draws in bits
	Estimated bool    // whether Entropy is an estimate, the mean of −log₂ P over the draws
	States    int     // number of states of the automaton
	Nested    bool    // whether the schema allows objects within objects to any depth
	Drawn     string  // distribution of the samples: "uniform", "text" or "frequencies"
	Samples   []string
	Digest    string  // hash of the samples
	MS        float64 // time of the call in milliseconds
}

// countable is the maximum work of an exact count, in edges × length². Counting at this size
// takes some seconds.
const countable = 1 << 23

// Tab registers the calls that count and draw documents matching a JSON Schema.
func Tab(e *engine.Engine) {
	engine.Handle(e, "json", Documents)
	engine.HandleProgram(e, "json", Schema.program)
}

// Documents compiles the schema, counts the matching documents and draws samples. Every JSON
// value is counted once, by its canonical text.
func Documents(ctx context.Context, q Schema) (*Written, error) {
	began := time.Now()
	if err := q.check(); err != nil {
		return nil, err
	}
	d, err := q.compile(ctx)
	if err != nil {
		return nil, err
	}
	r := &Written{Drawn: q.Model, Nested: d.finite == nil}
	alphabet, v, k := d.alphabet, d.vocabulary, len(d.alphabet)+1
	var edges int
	r.States, _, edges = d.nested.Size()
	var l constraint.Language = d.nested
	if d.finite != nil {
		r.States, l = d.finite.States(), d.finite
	}
	p, err := projection.Path{Language: l, Name: "the schema"}.Compile(ctx, q.Length, k)
	if err != nil {
		return nil, engine.Explain(err)
	}
	z, err := p.LogZ(ctx, nil)
	if err != nil {
		return nil, engine.Explain(err)
	}
	r.Bits = z / math.Ln2
	if !r.Nested || edges*q.Length*q.Length <= countable {
		n, err := p.Count(ctx, nil)
		if err != nil {
			return nil, engine.Explain(err)
		}
		r.Count = n.String()
	}

	x := make([]int32, q.Samples*q.Length)
	source := sampler.NewStream(q.Seed, 0)
	if q.Model == "text" && !r.Nested {
		hmm := letters.Learn(letters.English, alphabet, letters.Coarse, float64(q.Average))
		c, err := prior.Path{HMM: hmm, Language: d.finite, Name: "the schema", Limit: 1 << 25}.Compile(ctx, q.Length, k)
		if err != nil {
			return nil, engine.Explain(err)
		}
		r.Estimated = true
		if r.Entropy, err = letters.Draw(ctx, c, x, nil, source); err != nil {
			return nil, err
		}
	} else {
		var weights []float32
		if q.Model == "text" {
			r.Drawn = "frequencies" // of characters, one by one: sums over pairs need a finite automaton
			weights = letters.Frequencies(letters.English, alphabet, q.Length, float64(q.Average))
		}
		if _, err := p.Sample(ctx, x, weights, source); err != nil {
			return nil, engine.Explain(err)
		}
		h, err := p.Entropy(ctx, weights)
		if err != nil {
			return nil, engine.Explain(err)
		}
		r.Entropy = h / math.Ln2
	}
	for s := range q.Samples {
		r.Samples = append(r.Samples, v.Text(x[s*q.Length:(s+1)*q.Length]))
	}
	r.Digest = engine.Digest(x)
	r.MS = engine.Milliseconds(began)
	return r, nil
}

func (q Schema) check() error {
	if q.Model != "uniform" && q.Model != "text" {
		return fmt.Errorf("no such model: %q", q.Model)
	}
	return errors.Join(engine.Within("length", q.Length, 2, 300), engine.Within("samples", q.Samples, 1, 100), engine.Within("average", q.Average, 2, 10000))
}

// documents is a compiled schema over the characters of an alphabet.
type documents struct {
	alphabet   []rune
	vocabulary text.Vocabulary // one token per character, and a last one for padding
	nested     *grammar.Language
	finite     *constraint.DFA // nil if the schema has no small finite automaton, as one that nests without bound
}

func (q Schema) compile(ctx context.Context) (*documents, error) {
	g, err := grammar.JSONSchema(ctx, []byte(q.Schema), grammar.SchemaConfig{
		Compact: true, Spelling: grammar.Canonical, Limits: constraint.Limits{States: 1 << 14, Bytes: 1 << 28},
	})
	if err != nil {
		return nil, engine.Explain(err)
	}
	d := &documents{alphabet: letters.Runes(q.Schema)}
	v, k := text.Runes(string(d.alphabet)), len(d.alphabet)+1
	v.Tokens, v.Padding = append(v.Tokens, ""), []int32{int32(k - 1)}
	d.vocabulary = v
	if d.nested, err = g.Over(ctx, v); err != nil {
		return nil, engine.Explain(err)
	}
	finite, err := constraint.Compile(ctx, d.nested, k, constraint.Limits{States: 1 << 12})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		d.finite = finite
	}
	return d, nil
}

func (q Schema) program(ctx context.Context) (*engine.Source, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	d, err := q.compile(ctx)
	if err != nil {
		return nil, err
	}
	p := &engine.Source{}
	p.Use("constraint/grammar", "constraint/text", "sampler")
	schema := "`" + q.Schema + "`"
	if strings.ContainsAny(q.Schema, "`\r") {
		schema = fmt.Sprintf("%q", q.Schema)
	}
	p.Add("\tconst length = %d\n\tconst schema = %s", q.Length, schema)
	p.Add(`
	g, err := grammar.JSONSchema(ctx, []byte(schema), grammar.SchemaConfig{Compact: true, Spelling: grammar.Canonical})
	check
	alphabet := []rune(%q)
	v := text.Runes(string(alphabet))
	v.Padding = []int32{int32(len(alphabet))} // fills up shorter documents
	v.Tokens = append(v.Tokens, "")
	nested, err := g.Over(ctx, v)
	check`, string(d.alphabet))
	language, weights := "nested", "nil"
	if d.finite != nil {
		language = "finite"
		p.Use("constraint")
		p.Add(`
	finite, err := constraint.Compile(ctx, nested, len(v.Tokens), constraint.Limits{})
	check`)
	}
	if q.Model == "text" && d.finite != nil {
		letters.AddTo(p)
		p.Add(`
	model := Learn(English, alphabet, Coarse, %d)
	p, err := prior.Path{HMM: model, Language: finite, Limit: 1 << 25}.Compile(ctx, length, len(v.Tokens))
	check`, q.Average)
	} else {
		p.Use("projection")
		p.Add(`
	p, err := projection.Path{Language: %s}.Compile(ctx, length, len(v.Tokens))
	check`, language)
		if q.Model == "text" {
			letters.AddFrequenciesTo(p)
			weights = "weights"
			p.Add("\tweights := Frequencies(English, alphabet, length, %d)", q.Average)
		}
	}
	p.Add(`
	source := sampler.NewStream(%d, 0)
	x := make([]int32, length)
	for range %d {
		_, err := p.Draw(ctx, x, %s, source)
		check
		fmt.Println(v.Text(x))
	}`, q.Seed, q.Samples, weights)
	return p, nil
}
