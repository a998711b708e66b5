package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// job is one run: the condition on its samples, and a check that does not use the constraint's
// code.
type job struct {
	name, what string
	projector  diffusion.Projector // constraint; nil for none
	holds      func(line string) bool
	parts      []demand // single demands that holds combines; nil if there is only one
}

// Default conditions of the runs.
const (
	ownRegex   = `2[0-3]:[0-5][0-9]:00 error (disk|job) .*[0-9]+ .*` // default of -regex for the generated log
	plainRegex = `[A-Z].*[.]`                                        // default of -regex for other data
	// ownSchema is the default of -schema.
	ownSchema = `{
	"type": "object",
	"properties": {
		"level": {"enum": ["info", "warn", "error"]},
		"text": {"type": "string", "pattern": "^[a-z][a-z ]{3,20}$"}
	},
	"required": ["level", "text"],
	"additionalProperties": false
}`
)

// exact says which distribution the samples of a run follow.
func exact(run string, temperature float64) string {
	switch run {
	case gibbs, gwg, dula, dlp:
		return "samples follow no stated distribution: they are states of chains after -moves moves"
	case "free", left, infill:
		if temperature != 1 {
			return command.Tempered
		}
		if run == infill {
			return "exact in each step, which reveals one token; the samples follow the model given the visible bytes as far as its predictions agree with one another"
		}
		return command.Free
	}
	if temperature != 1 {
		return command.Changed("the temperature", command.Steps)
	}
	return command.Steps
}

// jobs compiles the languages of the chosen runs.
func jobs(ctx context.Context, l *lines, wanted map[string]bool, o options) ([]job, error) {
	v := l.vocabulary()
	var all []job
	if wanted["free"] {
		all = append(all, job{name: "free", what: "nothing", holds: func(string) bool { return true }})
	}
	if wanted["regex"] {
		pattern := o.regex
		if pattern == "" && l.own {
			pattern = ownRegex
		} else if pattern == "" {
			pattern = plainRegex
		}
		language, err := text.Regexp(ctx, pattern, v, constraint.Limits{})
		if err != nil {
			return nil, fmt.Errorf("-regex: %w", err)
		}
		judge, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
		if err != nil {
			return nil, fmt.Errorf("-regex: %w", err)
		}
		all = append(all, job{name: "regex", what: pattern, projector: projection.Path{Language: language, Name: "the pattern"}, holds: judge.MatchString})
	}
	if wanted["words"] {
		parts, err := o.asked.demands(ctx, v, o.regex)
		if err != nil {
			return nil, err
		}
		j, err := together(ctx, parts, l)
		if err != nil {
			return nil, err
		}
		all = append(all, j)
	}
	if wanted["schema"] {
		schema := []byte(ownSchema)
		if o.schema != "" {
			var err error
			if schema, err = os.ReadFile(o.schema); err != nil {
				return nil, err
			}
		}
		g, err := grammar.JSONSchema(ctx, schema, grammar.SchemaConfig{Compact: true})
		if err != nil {
			return nil, fmt.Errorf("-schema: %w", err)
		}
		language, err := g.Over(ctx, v)
		if err != nil {
			return nil, fmt.Errorf("-schema: %w", err)
		}
		all = append(all, job{name: "schema", what: "the JSON Schema", projector: projection.Path{Language: language, Name: "the schema"},
			holds: func(s string) bool { return json.Valid([]byte(s)) && g.Accepts(s) }})
	}
	return all, nil
}
