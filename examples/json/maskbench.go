package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
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

	Masks *maskResults `json:"masks,omitempty"`

	refused []string
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
	if o.masks {
		v, err := vocabulary.Read(o.vocab)
		if err != nil {
			return nil, err
		}
		if t, err = newTokens(ctx, v); err != nil {
			return nil, err
		}
		r.Masks = &maskResults{}
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
	if r.Masks != nil {
		r.Masks.finish()
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

func (r *results) String() string {
	s := fmt.Sprintf("%d schemas: %d compiled, %d with annotations that no draft knows, %d unsupported, %d passed\n%d validation errors, %d invalidation errors\n"+
		"compile, processor time: p50 %.2f ms, p99 %.1f ms, at most %.1f ms\n",
		r.Schemas, r.Compiled, r.Annotated, r.Unsupported, r.Passed, r.Validation, r.Invalidation,
		r.CompileMillis.P50, r.CompileMillis.P99, r.CompileMillis.Max)
	if m := r.Masks; m != nil {
		s += fmt.Sprintf("masks: %d tokens of %d schemas judged, %d errors, %d undecided\n%d masks: p50 %.1f µs, p99 %.1f µs, at most %.1f µs; prepared for: p50 %.2f ms, p99 %.1f ms, at most %.1f ms\n",
			m.Tokens, m.Schemas, m.Errors, m.Undecided, m.Masks, m.Micros.P50, m.Micros.P99, m.Micros.Max, m.Prepare.P50, m.Prepare.P99, m.Prepare.Max)
		s += "slowest: " + m.worst + "\n"
		for _, x := range m.wrong {
			s += x + "\n"
		}
	}
	for _, x := range r.refused {
		s += x + "\n"
	}
	return s
}
