package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/examples/internal/vocabulary"
)

// patience is the time limit for one schema.
const patience = 20 * time.Second

// began is the time at which the program started.
var began = time.Now()

// results is the report of -maskbench. A validation error rejects a valid instance; an
// invalidation error accepts an invalid one. A schema passes if it compiles and all its
// instances are classified correctly. Times are processor times, including garbage collection,
// where the system reports them. On a busy machine, elapsed time would also measure other
// programs.
type results struct {
	Schemas  int `json:"schemas"`
	Compiled int `json:"compiled"`
	// schemas with formats or keywords that no draft of JSON Schema defines
	Annotated     int    `json:"annotated"`
	Unsupported   int    `json:"unsupported"`
	Validation    int    `json:"validation_errors"`
	Invalidation  int    `json:"invalidation_errors"`
	Passed        int    `json:"passed"`
	CompileMillis spread `json:"compile_ms"`

	Path     *pathResults `json:"path,omitempty"`
	Masks    *maskResults `json:"masks,omitempty"`
	XGrammar *peerResults `json:"xgrammar,omitempty"`

	refused []string
}

// pathResults is the report that -vocab adds to -maskbench unless -masks is set. Every schema is
// compiled to a language over the tokens, as projection.Path needs it. Times are those of
// [grammar.JSONSchema] and [grammar.Grammar.OverPrepared] together. Refused counts schemas whose
// automaton is too large or takes more time than the limit; their times count, too. Errors counts
// schemas whose compilation ends with any other error.
type pathResults struct {
	Compiled int    `json:"compiled"`
	Refused  int    `json:"refused"`
	Errors   int    `json:"errors"`
	Millis   spread `json:"compile_ms"`

	tokens  *grammar.Vocabulary
	slowest string // schema whose compilation took most time
	millis  []float64
	notes   []string // errors of the schemas that did not compile
}

type spread struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// benchmark compiles every schema of a file and checks its instances.
func benchmark(ctx context.Context, o options) (*results, error) {
	f, err := os.Open(o.maskbench)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := &results{}
	var t *tokens
	var v text.Vocabulary
	if o.masks || o.vocab != "" {
		if v, err = vocabulary.Read(o.vocab); err != nil {
			return nil, err
		}
	}
	if o.vocab != "" && !o.masks {
		p, err := grammar.Prepare(v)
		if err != nil {
			return nil, err
		}
		r.Path = &pathResults{tokens: p}
	}
	if o.masks {
		if t, err = newTokens(ctx, v); err != nil {
			return nil, err
		}
		r.Masks = &maskResults{}
		if o.xgrammar != "" {
			peer, stop := context.WithCancel(ctx)
			defer stop() // ends node if an error ends the benchmark first
			if r.XGrammar, err = newPeer(peer, o.xgrammar, t); err != nil {
				return nil, err
			}
		}
	}
	var millis []float64
	in := bufio.NewReaderSize(f, 1<<20)
	for line := 1; ; line++ {
		data, err := in.ReadBytes('\n')
		if len(data) > 1 {
			ms, err := r.schema(ctx, data, t)
			if err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", o.maskbench, line, err)
			}
			millis = append(millis, ms)
		}
		if err != nil { // the end
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if r.Schemas == 0 {
		return nil, fmt.Errorf("%s: no schema", o.maskbench)
	}
	r.CompileMillis = spreadOf(millis)
	if r.Path != nil {
		r.Path.Millis = spreadOf(r.Path.millis)
	}
	if r.Masks != nil {
		r.Masks.finish()
	}
	if r.XGrammar != nil {
		if err := r.XGrammar.finish(); err != nil {
			return nil, fmt.Errorf("-xgrammar: %w", err)
		}
	}
	return r, nil
}

// schema compiles one schema, adds it to the results and returns the processor time of its
// compilation in milliseconds.
func (r *results) schema(ctx context.Context, data []byte, vocabulary *tokens) (millis float64, err error) {
	var c struct {
		Name   string
		Schema json.RawMessage
		Tests  []struct {
			Valid bool
			Data  json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return 0, err
	}
	r.Schemas++
	if r.XGrammar != nil {
		var texts []string
		var valid []bool
		for _, t := range c.Tests {
			texts, valid = append(texts, string(t.Data)), append(valid, t.Valid)
		}
		if err := r.XGrammar.read(string(c.Schema), vocabulary, texts, valid); err != nil {
			return 0, err
		}
	}
	limited, stop := context.WithTimeout(ctx, patience)
	defer stop()
	start := processor()
	g, err := grammar.JSONSchema(limited, c.Schema, grammar.SchemaConfig{Annotations: true})
	millis = float64((processor() - start).Microseconds()) / 1000
	if err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		r.Unsupported++
		r.refused = append(r.refused, fmt.Sprintf("%s: %v", c.Name, err))
		return millis, nil
	}
	r.Compiled++
	if r.Path != nil {
		if err := r.Path.compile(ctx, c.Name, g, millis); err != nil {
			return 0, err
		}
	}
	if len(g.Annotations()) > 0 {
		r.Annotated++
	}
	right := true
	var texts []string
	var accepted []bool
	for _, t := range c.Tests {
		got := g.Accepts(string(t.Data))
		texts, accepted = append(texts, string(t.Data)), append(accepted, got)
		switch {
		case got && !t.Valid:
			r.Invalidation++
			right = false
		case !got && t.Valid:
			r.Validation++
			right = false
		}
	}
	if right {
		r.Passed++
	}
	if vocabulary != nil {
		err = r.Masks.masksOf(ctx, c.Name, g, vocabulary, texts, accepted)
	}
	return millis, err
}

// compile compiles a grammar over the tokens and stores the time, to which it adds millis, the time
// in which the schema was compiled.
func (p *pathResults) compile(ctx context.Context, name string, g *grammar.Grammar, millis float64) error {
	limited, stop := context.WithTimeout(ctx, patience)
	defer stop()
	start := processor()
	_, err := g.OverPrepared(limited, p.tokens)
	millis += float64((processor() - start).Microseconds()) / 1000
	var limit *constraint.LimitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		p.Compiled++
	case errors.As(err, &limit) || errors.Is(err, context.DeadlineExceeded):
		p.Refused++
	default:
		p.Errors++
	}
	if err != nil {
		p.notes = append(p.notes, fmt.Sprintf("%s: %v", name, err))
	}
	if len(p.millis) == 0 || millis > slices.Max(p.millis) {
		p.slowest = name
	}
	p.millis = append(p.millis, millis)
	return nil
}

func (r *results) String() string {
	s := fmt.Sprintf("%d schemas: %d compiled, %d with annotations that no draft knows, %d unsupported, %d passed\n%d validation errors, %d invalidation errors\n"+
		"compile, processor time: p50 %.2f ms, p99 %.1f ms, at most %.1f ms\n",
		r.Schemas, r.Compiled, r.Annotated, r.Unsupported, r.Passed, r.Validation, r.Invalidation,
		r.CompileMillis.P50, r.CompileMillis.P99, r.CompileMillis.Max)
	if p := r.Path; p != nil {
		s += fmt.Sprintf("over the tokens: %d compiled, %d refused, %d errors; processor time p50 %.2f ms, p99 %.1f ms, at most %.1f ms (%s)\n",
			p.Compiled, p.Refused, p.Errors, p.Millis.P50, p.Millis.P99, p.Millis.Max, p.slowest)
		for _, x := range p.notes {
			s += x + "\n"
		}
	}
	if m := r.Masks; m != nil {
		s += fmt.Sprintf("masks: %d tokens of %d schemas judged, %d errors, %d undecided\n%d masks: p50 %.1f µs, p99 %.1f µs, at most %.1f µs; prepared for: p50 %.2f ms, p99 %.1f ms, at most %.1f ms\n",
			m.Tokens, m.Schemas, m.Errors, m.Undecided, m.Masks, m.Micros.P50, m.Micros.P99, m.Micros.Max, m.Prepare.P50, m.Prepare.P99, m.Prepare.Max)
		s += "slowest: " + m.worst + "\n"
		for _, x := range m.wrong {
			s += x + "\n"
		}
	}
	if x := r.XGrammar; x != nil {
		s += "\n             compiled  valid refused  invalid accepted  compile p50/p99/max ms  masks p50/p99/max µs\n"
		for _, row := range []struct {
			name                               string
			compiled, validation, invalidation int
			millis, micros                     spread
		}{{"here", r.Compiled, r.Validation, r.Invalidation, r.CompileMillis, r.Masks.Micros}, {"XGrammar", x.Compiled, x.Validation, x.Invalidation, x.CompileMillis, x.Micros}} {
			s += fmt.Sprintf("%-12s %8d  %13d  %16d  %7.2f %7.1f %6.0f  %7.1f %6.0f %6.0f\n", row.name, row.compiled, row.validation, row.invalidation,
				row.millis.P50, row.millis.P99, row.millis.Max, row.micros.P50, row.micros.P99, row.micros.Max)
		}
	}
	for _, x := range r.refused {
		s += x + "\n"
	}
	return s
}
