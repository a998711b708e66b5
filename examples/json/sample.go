package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture"
	"github.com/gibbsite-go/gibbsite/examples/internal/vocabulary"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// own is the default schema: a tree of any depth.
const own = `{
	"$ref": "#/$defs/node",
	"$defs": {"node": {
		"type": "object",
		"properties": {
			"name": {"type": "string", "pattern": "^[a-z]{1,6}$"},
			"size": {"type": "integer", "minimum": 0, "maximum": 999},
			"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}
		},
		"required": ["name", "children"],
		"additionalProperties": false
	}}
}`

func compile(ctx context.Context, o options) (*grammar.Grammar, error) {
	schema := []byte(own)
	if o.schema != "" {
		var err error
		if schema, err = os.ReadFile(o.schema); err != nil {
			return nil, err
		}
	}
	return grammar.JSONSchema(ctx, schema, grammar.SchemaConfig{Compact: o.compact, Spelling: o.spelling})
}

// check reports whether the instance of -check is in the language.
func check(ctx context.Context, o options) (*validity, error) {
	g, err := compile(ctx, o)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(o.check)
	if err != nil {
		return nil, err
	}
	if (o.compact || o.spelling == grammar.Canonical) && len(data) > 0 && data[len(data)-1] == '\n' { // of the file, not of the instance
		data = data[:len(data)-1]
	}
	return &validity{Valid: g.Accepts(string(data))}, nil
}

// sample draws n values by masked diffusion, conditioned on the schema. The model weighs all
// tokens at a site equally, except padding, which weighs as much as a sixteenth of all tokens
// together. With canonical spelling padding has the same weight as any other token. Over bytes,
// all values then have the same probability.
func sample(ctx context.Context, o options) (*report, error) {
	start := time.Now()
	g, err := compile(ctx, o)
	if err != nil {
		return nil, err
	}
	v, err := vocabulary.Read(o.vocab)
	if err != nil {
		return nil, err
	}
	language, err := g.Over(ctx, v)
	if err != nil {
		return nil, err
	}
	r := &report{N: o.n, Length: o.length, Tokens: len(v.Tokens), Exact: exact(o.spelling)}
	r.States, r.Classes, r.Edges = language.Size()
	r.CompileMS = float64(time.Since(start).Microseconds()) / 1000
	levels := len(v.Tokens)
	logw := make([]float64, o.length*levels)
	for i := range o.length {
		if o.spelling == grammar.Free {
			logw[i*levels+levels-1] = math.Log(float64(levels) / 16)
		}
	}
	independent, err := model.NewIndependent(logw, levels)
	if err != nil {
		return nil, err
	}
	denoiser, err := denoise.NewIndependent(independent, denoise.Absorbing)
	if err != nil {
		return nil, err
	}
	d, err := diffusion.New(ctx, denoiser, diffusion.Masked{Mask: int32(levels)}, diffusion.Config{
		Seed: o.seed, Steps: o.steps, Projector: projection.Path{Language: language, Name: "the schema"}})
	if err != nil {
		return nil, err
	}
	start = time.Now()
	x := make([]int32, o.n*o.length)
	if err := d.Sample(ctx, x); err != nil {
		return nil, err
	}
	r.SampleMS = float64(time.Since(start).Microseconds()) / 1000 / float64(o.n)
	r.judge(x, v, g)
	if o.Dir != "" {
		err = r.draw()
	}
	return r, err
}

// exact says which distribution samples with a spelling follow.
func exact(spelling grammar.Spelling) string {
	if spelling == grammar.Canonical {
		return command.Conditioned + "; the model is uniform over tokens: all valid sequences of tokens, at most -length long, are equally likely"
	}
	return command.Conditioned + "; the model is uniform over tokens other than padding: valid sequences of equally many tokens are equally likely, and shorter ones more likely"
}

// judge counts the samples that are not JSON or not in the language.
func (r *report) judge(x []int32, v text.Vocabulary, g *grammar.Grammar) {
	for ; len(x) > 0; x = x[r.Length:] {
		s := v.Text(x[:r.Length])
		if !json.Valid([]byte(s)) || !g.Accepts(s) {
			r.Violations++
		}
		r.Samples = append(r.Samples, s)
		used := r.Length
		for used > 0 && x[used-1] == int32(len(v.Tokens)-1) { // padding
			used--
		}
		r.used = append(r.used, float64(used))
	}
}

// validity is the report of -check.
type validity struct {
	Valid bool `json:"valid"`
}

func (v *validity) String() string {
	if v.Valid {
		return "valid\n"
	}
	return "not in the language\n"
}

// report is the output of a sampling run.
type report struct {
	N          int      `json:"n"`
	Length     int      `json:"length"`
	Tokens     int      `json:"tokens"`
	States     int      `json:"states"`
	Classes    int      `json:"classes"`
	Edges      int      `json:"edges"`
	CompileMS  float64  `json:"compile_ms"`
	SampleMS   float64  `json:"sample_ms"`
	Violations int      `json:"violations"`
	Exact      string   `json:"exact"` // which distribution the samples follow
	Samples    []string `json:"samples"`

	picture.Album `json:"-"`
	used          []float64 // number of tokens without padding, by sample
}

func (r *report) String() string {
	s := fmt.Sprintf("%d states, %d token classes, %d edges; compiled in %.1f ms, %.1f ms a sample; %d violations of %d\n%s\n\n",
		r.States, r.Classes, r.Edges, r.CompileMS, r.SampleMS, r.Violations, r.N, r.Exact)
	for _, x := range r.Samples {
		s += x + "\n"
	}
	return s
}

// draw adds a plot of the number of tokens per sample.
func (r *report) draw() error {
	p := picture.Panel("tokens of a sample", "samples")
	count := make(plotter.XYs, 0, 2*r.Length+4)
	for n := range r.Length + 1 {
		y := 0.0
		for _, u := range r.used {
			if int(u) == n {
				y++
			}
		}
		count = append(count, plotter.XY{X: float64(n) - 0.5, Y: y}, plotter.XY{X: float64(n) + 0.5, Y: y})
	}
	p.Y.Min = 0
	l, err := picture.Curve(p, 0, count)
	if err != nil {
		return err
	}
	r.Add(&picture.Figure{
		Name: "lengths", Title: "Lengths of the samples", Height: 7 * vg.Centimeter, Panels: []*plot.Plot{p},
		Caption: "Every sample is valid, whatever its length. The option -length alone limits the depth.",
		Legend:  []picture.Entry{{Name: "samples", Mark: l}},
	})
	return nil
}
