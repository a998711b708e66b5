package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// canvas is the text with its blanks as tokens.
type canvas struct {
	clamp []int32 // fixed token at each position, −1 in blanks
	spans projection.Spans
	// per span: whether a text satisfies the rule, checked without its tokens
	judges []func(s string) bool
	names  []string
	pad    int32
	words  [][][]int32 // tokens of each choice, by span; nil for spans without choices
	choice [][]string
}

// report is the program's output.
type report struct {
	Texts      []string   `json:"texts"`
	Blanks     [][]string `json:"blanks"` // contents of the blanks, by text
	Unchanged  bool       `json:"prompt_unchanged"`
	Violations int        `json:"violations"`
	Exact      string     `json:"exact"` // which distribution the texts follow
	Spans      []span     `json:"spans"`
	Tokens     int        `json:"tokens"`
	Vocabulary int        `json:"vocabulary"`
	LoadMS     float64    `json:"load_ms"`
	CompileMS  float64    `json:"compile_ms"`
	SampleMS   float64    `json:"sample_ms"` // milliseconds per text
}

// span describes one blank under the model's first prediction, made while all blanks are masked.
// In this prediction the positions are independent.
type span struct {
	Language string             `json:"language"`
	Tokens   int                `json:"tokens"`
	P        float64            `json:"p"`       // probability of the language
	Entropy  float64            `json:"entropy"` // entropy in nats, given the language
	Choices  map[string]float64 `json:"choices,omitempty"`
}

// tokenizer reads tokenizer.json in the model's folder and returns the tokenizer and the padding
// token.
func tokenizer(o options) (*text.BPE, int32, error) {
	path := filepath.Join(o.model, "tokenizer.json")
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("-model: %w", err)
	}
	defer f.Close()
	t, err := text.ReadTokenizer(f)
	if err != nil {
		return nil, 0, fmt.Errorf("-model: %s: %w", path, err)
	}
	names := []string{o.pad}
	if o.pad == "" {
		if names, err = padding(filepath.Join(o.model, "tokenizer_config.json")); err != nil {
			return nil, 0, err
		}
	}
	for _, name := range names {
		if token, ok := t.Mark(name); ok {
			return t, token, nil
		}
	}
	return nil, 0, fmt.Errorf("-pad: no token named %q among the added tokens of %s; name one with -pad", strings.Join(names, ", "), path)
}

// padding returns the names of the tokens that may fill the unused end of a blank, the preferred
// one first.
func padding(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var settings map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(b, &settings)
	}
	if err != nil {
		return nil, fmt.Errorf("-model: %s: %w", path, err)
	}
	var names []string
	for _, key := range []string{"pad_token", "eos_token"} {
		var name string // as a text, or as an object with one
		if json.Unmarshal(settings[key], &name) != nil {
			var object struct{ Content string }
			if json.Unmarshal(settings[key], &object) == nil {
				name = object.Content
			}
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// lay converts the pieces to a canvas and compiles the rules of the blanks.
func lay(ctx context.Context, t *text.BPE, pieces []piece, pad int32, chat func(string) (string, error)) (*canvas, error) {
	c := &canvas{pad: pad}
	v := t.Vocabulary()
	nested := v // whose padding is that of the language
	nested.Padding = []int32{pad}
	nested.Forbidden = slices.DeleteFunc(slices.Clone(v.Forbidden), func(t int32) bool { return t == pad })
	var prepared *grammar.Vocabulary
	for i, p := range pieces {
		if p.Text != nil {
			s, err := chat(*p.Text)
			if err != nil {
				return nil, err
			}
			c.clamp = t.EncodeMarked(c.clamp, s)
			continue
		}
		path := projection.Path{Padded: true, Pad: pad}
		var judge func(string) bool
		var words [][]int32
		switch {
		case p.Schema != nil:
			g, err := grammar.JSONSchema(ctx, p.Schema, grammar.SchemaConfig{})
			if err != nil {
				return nil, fmt.Errorf("piece %d: %w", i, err)
			}
			if prepared == nil {
				if prepared, err = grammar.Prepare(nested); err != nil {
					return nil, err
				}
			}
			l, err := g.OverPrepared(ctx, prepared)
			if err != nil {
				return nil, fmt.Errorf("piece %d: %w", i, err)
			}
			path = projection.Path{Language: l, Name: "schema"}
			judge = func(s string) bool { return json.Valid([]byte(s)) && g.Accepts(s) }
		case p.Choice == nil: // anything is a text, too
			pattern := `(?s:.*)`
			if p.Regex != nil {
				pattern = *p.Regex
			}
			d, err := text.Regexp(ctx, pattern, v, constraint.Limits{})
			if err != nil {
				return nil, fmt.Errorf("piece %d: %w", i, err)
			}
			whole, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
			if err != nil {
				return nil, fmt.Errorf("piece %d: %w", i, err)
			}
			path.Language, path.Name, judge = d, "regex "+pattern, whole.MatchString
		default:
			l := new(constraint.Lexicon)
			for _, s := range p.Choice {
				w := t.Encode(nil, s)
				if len(w) == 0 {
					return nil, fmt.Errorf("piece %d: a choice without a letter", i)
				}
				words, p.Tokens = append(words, w), max(p.Tokens, len(w))
				l.Add(w)
			}
			path.Language, path.Name = l, "choice"
			judge = func(s string) bool { return slices.Contains(p.Choice, s) }
		}
		c.spans = append(c.spans, projection.Span{From: len(c.clamp), To: len(c.clamp) + p.Tokens, Path: path})
		c.judges, c.names = append(c.judges, judge), append(c.names, path.Name)
		c.words, c.choice = append(c.words, words), append(c.choice, p.Choice)
		for range p.Tokens {
			c.clamp = append(c.clamp, -1)
		}
	}
	return c, nil
}

// write loads the model and draws the texts.
func write(ctx context.Context, o options) (*report, error) {
	pieces, err := o.pieces()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	t, pad, err := tokenizer(o)
	if err != nil {
		return nil, err
	}
	net, err := pretrained.Open(o.model)
	if err != nil {
		return nil, fmt.Errorf("-model: %w", err)
	}
	defer net.Close()
	loaded := milliseconds(start)
	r, err := fill(ctx, o, pieces, t, pad, net)
	if err != nil {
		return nil, err
	}
	r.LoadMS = loaded
	return r, nil
}

// fill draws the texts from a loaded model.
func fill(ctx context.Context, o options, pieces []piece, t *text.BPE, pad int32, net *pretrained.Network) (*report, error) {
	r := &report{Vocabulary: net.Config().Vocabulary, Exact: o.exact()}
	if n := len(t.Vocabulary().Tokens); n > r.Vocabulary {
		return nil, fmt.Errorf("-model: the tokenizer has %d tokens, the network %d", n, r.Vocabulary)
	}
	start := time.Now()
	c, err := lay(ctx, t, pieces, pad, func(s string) (string, error) {
		if !o.chat {
			return s, nil
		}
		return net.Config().Chat(pretrained.Message{Role: "user", Content: s})
	})
	if err != nil {
		return nil, err
	}
	r.Tokens = len(c.clamp)
	model, err := net.Masked(r.Tokens, pretrained.Options{Block: o.block})
	if err != nil {
		return nil, err
	}
	bound, err := c.spans.Compile(ctx, r.Tokens, r.Vocabulary)
	if err != nil {
		return nil, err
	}
	r.CompileMS = milliseconds(start)
	if r.Spans, err = c.first(ctx, model, bound); err != nil {
		return nil, err
	}
	d, err := diffusion.New(ctx, model, o.process(model.MaskLevel(), c.clamp), diffusion.Config{
		Seed: o.seed, Steps: o.steps, Clamp: c.clamp, Projector: c.spans, Batch: 1,
	})
	if err != nil {
		return nil, err
	}
	start = time.Now()
	x := make([]int32, o.n*r.Tokens)
	if err := d.Sample(ctx, x); err != nil {
		return nil, err
	}
	r.SampleMS = milliseconds(start) / float64(o.n)
	c.judge(r, x, t)
	return r, nil
}

func milliseconds(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }

// first describes each blank under the model's first prediction.
func (c *canvas) first(ctx context.Context, model *pretrained.Masked, bound *projection.SpansProjection) ([]span, error) {
	x := slices.Clone(c.clamp)
	for i, l := range x {
		if l < 0 {
			x[i] = model.MaskLevel()
		}
	}
	sites, levels := model.Shape()
	v := make([]float32, sites*levels)
	if err := model.Denoise(ctx, v, energy.Noised[int32]{X: x, Time: []float64{1}, Alpha: []float64{0}}); err != nil {
		return nil, err
	}
	all := make([]span, len(c.spans))
	for i, s := range c.spans {
		rows := v[s.From*levels : s.To*levels]
		e := bound.Span(i)
		free, err := projection.Path{Language: constraint.Any{}}.Compile(ctx, s.To-s.From, levels)
		if err != nil {
			return nil, err
		}
		total, err := free.LogZ(ctx, rows)
		if err != nil {
			return nil, err
		}
		z, err := e.LogZ(ctx, rows)
		if err != nil {
			return nil, err
		}
		all[i] = span{Language: c.names[i], Tokens: s.To - s.From, P: math.Exp(z - total)}
		if all[i].Entropy, err = e.Entropy(ctx, rows); err != nil {
			return nil, err
		}
		for k, w := range c.words[i] {
			for len(w) < s.To-s.From {
				w = append(w, c.pad)
			}
			p, err := e.LogProb(ctx, w, rows)
			if err != nil {
				return nil, err
			}
			if all[i].Choices == nil {
				all[i].Choices = map[string]float64{}
			}
			all[i].Choices[c.choice[i][k]] = math.Exp(p)
		}
	}
	return all, nil
}

// judge decodes the samples and counts the blanks that violate their rules.
func (c *canvas) judge(r *report, x []int32, t *text.BPE) {
	r.Unchanged = true
	for ; len(x) > 0; x = x[len(c.clamp):] {
		for i, l := range c.clamp {
			if l >= 0 && x[i] != l {
				r.Unchanged = false
			}
		}
		var whole strings.Builder
		var blanks []string
		at := 0
		for i, s := range c.spans {
			whole.WriteString(t.Decode(x[at:s.From]))
			at = s.To
			end := s.To
			for end > s.From && x[end-1] == c.pad {
				end--
			}
			b := t.Decode(x[s.From:end])
			if !c.judges[i](b) {
				r.Violations++
			}
			blanks = append(blanks, b)
			whole.WriteString(b)
		}
		whole.WriteString(t.Decode(x[at:len(c.clamp)]))
		r.Texts, r.Blanks = append(r.Texts, whole.String()), append(r.Blanks, blanks)
	}
}

// String returns the report as text.
func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d tokens of a vocabulary of %d; loaded in %.0f ms, rules compiled in %.0f ms, %.0f ms a text\n", r.Tokens, r.Vocabulary, r.LoadMS, r.CompileMS, r.SampleMS)
	b.WriteString("The first prediction, in which positions are independent, gives the blanks:\n")
	for i, s := range r.Spans {
		fmt.Fprintf(&b, "  %d: %s, at most %d tokens: P = %.3g, entropy %.3g nats", i+1, s.Language, s.Tokens, s.P, s.Entropy)
		for _, name := range sorted(s.Choices) {
			fmt.Fprintf(&b, ", %s %.3g", name, s.Choices[name])
		}
		b.WriteByte('\n')
	}
	for _, s := range r.Texts {
		fmt.Fprintf(&b, "%s\n", s)
	}
	fmt.Fprintf(&b, "violations: %d\nfixed tokens unchanged: %v\n%s\n", r.Violations, r.Unchanged, r.Exact)
	return b.String()
}

func sorted(m map[string]float64) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if m[a] != m[b] {
			return int(math.Copysign(1, m[b]-m[a]))
		}
		return strings.Compare(a, b)
	})
	return names
}
