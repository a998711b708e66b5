package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/generate"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// described is a description of texts, and the texts.
type described struct {
	name   string
	source string
	texts  []string
}

// describedValues are schemas of few values.
func describedValues() []described {
	return []described{
		{"enum", `{"enum":["é","ab",1.5,null]}`, []string{`"é"`, `"ab"`, "1.5", "null"}},
		{"integers", `{"type":"integer","minimum":-2,"maximum":11,"multipleOf":3}`, []string{"0", "3", "6", "9"}},
		{"pattern", `{"type":"string","pattern":"^a*b?$","minLength":1,"maxLength":2}`, []string{`"a"`, `"aa"`, `"b"`, `"ab"`}},
		{"boolean or one", `{"anyOf":[{"type":"boolean"},{"enum":[1,true]}]}`, []string{"true", "false", "1"}},
		{"numbers", `{"type":"number","minimum":0,"exclusiveMaximum":1,"multipleOf":0.25}`, []string{"0", "0.25", "0.5", "0.75"}},
	}
}

// describedAround is what a schema is put into.
type describedAround struct {
	name string
	put  func(d described) described
}

func describedArounds() []describedAround {
	pairs := func(texts []string, same bool) (all []string) {
		for _, a := range texts {
			for _, b := range texts {
				if same || a != b {
					all = append(all, "["+a+","+b+"]")
				}
			}
		}
		return all
	}
	with := func(before string, texts []string, after string) (all []string) {
		for _, s := range texts {
			all = append(all, before+s+after)
		}
		return all
	}
	return []describedAround{
		{"nothing", func(d described) described { return d }},
		{"array of up to two", func(d described) described {
			return described{d.name, `{"type":"array","items":` + d.source + `,"maxItems":2}`, slices.Concat([]string{"[]"}, with("[", d.texts, "]"), pairs(d.texts, true))}
		}},
		{"array of two that differ", func(d described) described {
			return described{d.name, `{"type":"array","items":` + d.source + `,"minItems":2,"maxItems":2,"uniqueItems":true}`, pairs(d.texts, false)}
		}},
		{"required property", func(d described) described {
			return described{d.name, `{"type":"object","properties":{"k":` + d.source + `},"required":["k"],"additionalProperties":false}`, with(`{"k":`, d.texts, "}")}
		}},
		{"optional property", func(d described) described {
			return described{d.name, `{"type":"object","properties":{"k":` + d.source + `},"additionalProperties":false}`, append(with(`{"k":`, d.texts, "}"), "{}")}
		}},
		{"or seven", func(d described) described {
			return described{d.name, `{"anyOf":[` + d.source + `,{"const":7}]}`, append(slices.Clone(d.texts), "7")}
		}},
		{"but the first", func(d described) described {
			return described{d.name, `{"allOf":[` + d.source + `,{"not":{"const":` + d.texts[0] + `}}]}`, slices.Clone(d.texts[1:])}
		}},
		{"tuple", func(d described) described {
			return described{d.name, `{"type":"array","prefixItems":[` + d.source + `,{"const":null}],"minItems":2,"maxItems":2}`, with("[", d.texts, ",null]")}
		}},
	}
}

// What a generator is asked for.
var (
	generateAsks  = []string{"Count", "Draw", "Seeded", "Edges", "Invalid"}
	generateBytes = []int{0, 6, 9}
)

const generateDraws = 400

func judgeGenerator(ctx context.Context, d described, size int, weighted bool, ask string, scale int, seed uint64) error {
	slices.Sort(d.texts)
	d.texts = slices.Compact(d.texts) // of unions
	texts := d.texts
	if size > 0 {
		texts = slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return len(s) > size })
	}
	cfg := generate.Config{Bytes: size}
	weight := func(s string) float64 { return 1 / float64(len(s)) }
	if weighted {
		cfg.Weight = weight
	}
	g, err := generate.JSON(ctx, []byte(d.source), cfg)
	if err != nil {
		if schema, ok := errors.AsType[*grammar.SchemaError](err); len(texts) > 0 && !(ok && strings.Contains(schema.Error(), "supported")) {
			return fmt.Errorf("JSON of %s: %w, want a generator of %q", d.source, err, texts)
		}
		return refusal{err}
	}
	for _, s := range d.texts {
		if !g.Valid(s) {
			return fmt.Errorf("%s: %s is not valid", d.source, s)
		}
	}
	known := func(s string) error {
		if !slices.Contains(texts, s) {
			return fmt.Errorf("%s: the text %s is none of %q", d.source, s, texts)
		}
		return nil
	}
	switch ask {
	case "Count":
		n, err := g.Count(ctx)
		if err != nil {
			return fmt.Errorf("Count: %w", err)
		}
		if n.Int64() != int64(len(texts)) {
			return fmt.Errorf("%s: Count is %v, want %d", d.source, n, len(texts))
		}
	case "Draw", "Seeded":
		counts, p := make([]int, len(texts)), make([]float64, len(texts))
		sum := 0.0
		for k, s := range texts {
			if p[k] = 1; weighted {
				p[k] = weight(s)
			}
			sum += p[k]
		}
		for k := range p {
			p[k] /= sum
		}
		src := rand.NewPCG(seed, 3)
		for n := range generateDraws * scale {
			s := ""
			if ask == "Draw" {
				if s, err = g.Draw(ctx, src); err != nil {
					return fmt.Errorf("Draw: %w", err)
				}
			} else {
				s = g.Seeded(seed + uint64(n))
			}
			if err := known(s); err != nil {
				return err
			}
			counts[slices.Index(texts, s)]++
		}
		if v := exact.PValue(counts, p); len(texts) > 1 && v < exact.Rate {
			k, _ := laws.WorstCell(counts, p)
			return fmt.Errorf("%d of %d draws are %s, want about %.0f (p-value %.2g)", counts[k], generateDraws*scale, texts[k], p[k]*float64(generateDraws*scale), v)
		}
	case "Edges":
		var seen []string
		for s, err := range g.Edges(ctx) {
			if err != nil {
				return fmt.Errorf("Edges: %w", err)
			}
			if err := known(s); err != nil {
				return err
			}
			if slices.Contains(seen, s) {
				return fmt.Errorf("%s: the edge %s comes twice", d.source, s)
			}
			seen = append(seen, s)
		}
		length := func(a, b string) int { return len(a) - len(b) }
		if len(seen) == 0 || len(seen[0]) != len(slices.MinFunc(texts, length)) || !slices.ContainsFunc(seen, func(s string) bool { return len(s) == len(slices.MaxFunc(texts, length)) }) {
			return fmt.Errorf("%s: the edges %q lack the shortest or the longest of %q", d.source, seen, texts)
		}
	case "Invalid":
		for x, err := range g.Invalid(ctx) {
			if err != nil {
				return fmt.Errorf("Invalid: %w", err)
			}
			if !json.Valid([]byte(x.Text)) || !strings.HasPrefix(x.Keyword, "#") {
				return fmt.Errorf("%s: %q of %q is not JSON, or names no keyword", d.source, x.Text, x.Keyword)
			}
			if slices.Contains(d.texts, x.Text) || g.Valid(x.Text) {
				return fmt.Errorf("%s: %s is valid, and should break %s", d.source, x.Text, x.Keyword)
			}
		}
	}
	return nil
}

// generatePairing is everything that generators of JSON accept.
func generatePairing() pairing {
	values, arounds := describedValues(), describedArounds()
	around := func(a describedAround) string { return a.name }
	p := pairing{name: "generators", share: 1, again: 1, factors: []factor{
		{"values", namesOf(values, func(d described) string { return d.name })},
		{"in", namesOf(arounds, around)},
		{"in that", namesOf(arounds, around)},
		{"Bytes", namesOf(generateBytes, func(n int) string { return fmt.Sprint(n) })},
		{"Weight", []string{"none", "by length"}},
		{"ask", generateAsks},
	}}
	p.judge = func(ctx context.Context, pick []int, draws int, seed uint64) error {
		d := arounds[pick[2]].put(arounds[pick[1]].put(values[pick[0]]))
		return judgeGenerator(ctx, d, generateBytes[pick[3]], pick[4] == 1, generateAsks[pick[5]], draws, seed)
	}
	p.program = func(pick []int) string {
		l := &listing{}
		l.add("d := describedArounds()[%d].put(describedArounds()[%d].put(describedValues()[%d]))", pick[2], pick[1], pick[0])
		l.add("g := exact.Must(generate.JSON(t.Context(), []byte(d.source), generate.Config{Bytes: %d})) // Weight: %s", generateBytes[pick[3]], []string{"none", "by length"}[pick[4]])
		l.add("// g.%s", generateAsks[pick[5]])
		return l.String()
	}
	return p
}
