// Package document is the tab of the playground that counts and draws JSON documents matching a
// JSON Schema.
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
	Bits      float64
	Entropy   float64 // entropy of the draws in bits
	Estimated bool
	States    int  // number of states of the automaton
	Nested    bool // whether the schema allows objects within objects to any depth
	Drawn     string
	Samples   []string
	Digest    string
	MS        float64
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
	if err := errors.Join(engine.Within("length", q.Length, 2, 300), engine.Within("samples", q.Samples, 1, 100), engine.Within("average", q.Average, 2, 10000)); err != nil {
		return nil, err
	}
	if q.Model != "uniform" && q.Model != "text" {
		return nil, fmt.Errorf("no such model: %q", q.Model)
	}
	g, err := grammar.JSONSchema(ctx, []byte(q.Schema), grammar.SchemaConfig{
		Compact: true, Spelling: grammar.Canonical, Limits: constraint.Limits{States: 1 << 14, Bytes: 1 << 28},
	})
	if err != nil {
		return nil, engine.Explain(err)
	}
	alphabet := letters.Runes(q.Schema)
	v := text.Runes(string(alphabet))
	k := len(alphabet) + 1
	v.Tokens, v.Padding = append(v.Tokens, ""), []int32{int32(k - 1)}
	nested, err := g.Over(ctx, v)
	if err != nil {
		return nil, engine.Explain(err)
	}
	r := &Written{Drawn: q.Model}
	var edges int
	r.States, _, edges = nested.Size()
	var l constraint.Language = nested
	finite, err := constraint.Compile(ctx, nested, k, constraint.Limits{States: 1 << 12})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil: // no finite automaton of that size
		r.Nested = true
	default:
		r.States, l = finite.States(), finite
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
		c, err := prior.Path{HMM: hmm, Language: finite, Name: "the schema", Limit: 1 << 25}.Compile(ctx, q.Length, k)
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
			weights = frequencies(alphabet, q.Length, float64(q.Average))
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

// frequencies returns log-weights for sites × (len(alphabet) + 1) symbols, the same at every
// site. Characters have their frequency in the English text, times 1 − 1/average, the probability
// that the text goes on. The last symbol ends and pads the document, and costs nothing.
func frequencies(alphabet []rune, sites int, average float64) []float32 {
	n, sum := map[rune]float64{}, 0.0
	for _, line := range letters.English {
		for _, r := range line {
			n[r]++
			sum++
		}
	}
	k := len(alphabet) + 1
	w := make([]float32, sites*k)
	for i := range sites {
		for t, r := range alphabet {
			w[i*k+t] = float32(math.Log((n[r]+0.5)/(sum+0.5*float64(k))) + math.Log1p(-1/average))
		}
	}
	return w
}

func (q Schema) program(context.Context) (*engine.Source, error) {
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
	language, err := g.Over(ctx, v)
	check`, string(letters.Runes(q.Schema)))
	if q.Model == "text" {
		letters.AddTo(p)
		p.Use("constraint")
		p.Add(`
	finite, err := constraint.Compile(ctx, language, len(v.Tokens), constraint.Limits{})
	check
	model := Learn(English, alphabet, Coarse, %d)
	p, err := prior.Path{HMM: model, Language: finite, Limit: 1 << 25}.Compile(ctx, length, len(v.Tokens))
	check`, q.Average)
	} else {
		p.Use("projection")
		p.Add(`
	p, err := projection.Path{Language: language}.Compile(ctx, length, len(v.Tokens))
	check`)
	}
	p.Add(`
	source := sampler.NewStream(%d, 0)
	x := make([]int32, length)
	for range %d {
		_, err := p.Draw(ctx, x, nil, source)
		check
		fmt.Println(v.Text(x))
	}`, q.Seed, q.Samples)
	return p, nil
}
