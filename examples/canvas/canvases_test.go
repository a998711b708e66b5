package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
)

// wide is a small network over a vocabulary of 131 072 tokens.
var wide = shape{llada: true, width: 32, hidden: 48, blocks: 2, heads: 2, groups: 2, headWidth: 16, merges: 130000, unused: 812, parts: 2}

// Canvases of random prompts and rules hold what their rules say, judged by packages encoding/json
// and regexp and by a reading of the schemas that shares nothing with the compiler, and keep their
// prompts. GIBBSITE_CANVASES asks for more of them, and GIBBSITE_CHECKPOINT for another model:
//
//	GIBBSITE_CANVASES=10000 go -C examples test -run TestCanvases -timeout 0 ./canvas
func TestCanvases(t *testing.T) {
	count, each := 9, 3
	if s := os.Getenv("GIBBSITE_CANVASES"); s != "" {
		var err error
		if count, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
		each = min(25, max(1, count/20))
	}
	dir := os.Getenv("GIBBSITE_CHECKPOINT")
	if dir == "" {
		dir = t.TempDir()
		wide.write(t, dir)
	}
	o, err := parse([]string{"-model", dir, "-n", fmt.Sprint(each), "-steps", "3"})
	if err != nil {
		t.Fatal(err)
	}
	tok, pad, err := tokenizer(o)
	if err != nil {
		t.Fatal(err)
	}
	net, err := pretrained.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer net.Close()
	src := rand.New(rand.NewPCG(5, 6))
	done, violations := 0, 0
	for round := 0; done < count; round++ {
		pieces := randomPieces(src, round%3)
		o.seed = uint64(round)
		r, err := fill(t.Context(), o, pieces, tok, pad, net)
		if err != nil {
			b, _ := json.Marshal(pieces)
			t.Fatalf("round %d, %s: %v", round, b, err)
		}
		if r.Violations > 0 || !r.Unchanged || len(r.Texts) != each {
			t.Errorf("round %d: %d violations, unchanged = %v, %d texts", round, r.Violations, r.Unchanged, len(r.Texts))
		}
		for i := range r.Texts {
			if why := unfit(pieces, r.Texts[i], r.Blanks[i]); why != "" {
				violations++
				t.Errorf("round %d: %q: %s", round, r.Texts[i], why)
			}
		}
		done += len(r.Texts)
	}
	t.Logf("%d canvases over %d tokens, %d violations", done, net.Config().Vocabulary, violations)
}

// randomPieces returns a canvas: a prompt and a blank with a schema, a prompt with a blank for a
// pattern and one for a choice, or a text with several holes.
func randomPieces(r *rand.Rand, kind int) []piece {
	text := func() piece {
		words := []string{"The", " answer", " is", "é", " 42", "日本", "\n", "🙂", " {", `"`, " of", " the", "  "}
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString(words[r.IntN(len(words))])
		}
		s := b.String()
		return piece{Text: &s}
	}
	pattern := func() piece {
		all := []string{`[0-9]{2}:[0-5][0-9]`, `(the|an?) [a-z]{3,12}`, `[A-Z][a-z]*( [A-Z][a-z]*){0,2}`, `-?(0|[1-9][0-9]*)(\.[0-9]+)?`,
			`[^"\n]{4,}`, `(?:[a-z]+@[a-z]+\.(org|net))`, `é{2}.?`, `(ab|ba)*`}
		return piece{Regex: &all[r.IntN(len(all))], Tokens: 6 + r.IntN(10)}
	}
	choice := func() piece {
		all := []string{"yes", "no", "maybe", "the end", "42", "日本", `"quoted"`, "  ", "none of the above"}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return piece{Choice: all[:1+r.IntN(len(all))]}
	}
	schema := func() piece {
		b, err := json.Marshal(randomSchema(r, 2))
		if err != nil {
			panic(err)
		}
		return piece{Schema: b, Tokens: 32 + r.IntN(16)}
	}
	switch kind {
	case 0:
		return []piece{text(), schema()}
	case 1:
		return []piece{text(), pattern(), text(), choice()}
	}
	all := []piece{{Tokens: 1 + r.IntN(4)}, text(), pattern(), text(), {Tokens: 1 + r.IntN(4)}, text(), choice(), pattern()}
	if r.IntN(2) == 0 {
		all[2] = schema()
	}
	return all[r.IntN(2):]
}

// randomSchema returns a schema of the kinds that fits reads.
func randomSchema(r *rand.Rand, depth int) any {
	kind := r.IntN(8)
	if depth == 0 {
		kind = r.IntN(5)
	}
	switch kind {
	case 0:
		low := r.IntN(100) - 50
		return map[string]any{"type": "integer", "minimum": low, "maximum": low + r.IntN(1000)}
	case 1:
		return map[string]any{"type": "string", "minLength": r.IntN(3), "maxLength": 3 + r.IntN(5)}
	case 2:
		return map[string]any{"type": "string", "pattern": []string{"^[a-z]{1,4}$", "^[0-9]{2}-[0-9]{2}$", "x"}[r.IntN(3)], "maxLength": 6}
	case 3:
		return map[string]any{"enum": []any{"a", 1, nil, true, "é"}[:1+r.IntN(5)]}
	case 4:
		return map[string]any{"type": []string{"boolean", "null", "number"}[r.IntN(3)]}
	case 5:
		low := r.IntN(2)
		return map[string]any{"type": "array", "items": randomSchema(r, depth-1), "minItems": low, "maxItems": low + r.IntN(2)}
	case 6:
		return map[string]any{"anyOf": []any{randomSchema(r, depth-1), randomSchema(r, depth-1)}}
	}
	properties, required := map[string]any{}, []string{}
	for _, name := range []string{"a", "bc", "é"}[:1+r.IntN(3)] {
		properties[name] = randomSchema(r, depth-1)
		if len(required) == 0 || r.IntN(3) == 0 && depth < 2 {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// unfit returns how a text violates its pieces, or "".
func unfit(pieces []piece, text string, blanks []string) string {
	for i, p := range pieces {
		want := ""
		switch {
		case p.Text != nil:
			want = *p.Text
		case len(blanks) == 0:
			return "a blank is missing"
		default:
			want, blanks = blanks[0], blanks[1:]
		}
		rest, ok := strings.CutPrefix(text, want)
		if !ok {
			return fmt.Sprintf("piece %d is not %q", i, want)
		}
		text = rest
		switch {
		case p.Schema != nil:
			var s, v any
			if err := decode(p.Schema, &s); err != nil {
				return err.Error()
			}
			if err := decode([]byte(want), &v); err != nil {
				return fmt.Sprintf("piece %d: %v", i, err)
			}
			if !fits(s.(map[string]any), v) {
				return fmt.Sprintf("piece %d does not fit %s", i, p.Schema)
			}
		case p.Regex != nil:
			if !regexp.MustCompile(`\A(?:` + *p.Regex + `)\z`).MatchString(want) {
				return fmt.Sprintf("piece %d does not match %s", i, *p.Regex)
			}
		case p.Choice != nil:
			if !slices.Contains(p.Choice, want) {
				return fmt.Sprintf("piece %d is none of %q", i, p.Choice)
			}
		}
	}
	if text != "" {
		return fmt.Sprintf("%q is left over", text)
	}
	return ""
}

// decode reads one JSON text whose numbers keep their digits.
func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%q has more than one value", b)
	}
	return nil
}

// fits reports whether a value fits a schema of randomSchema.
func fits(s map[string]any, v any) bool {
	if all, ok := s["anyOf"].([]any); ok {
		return slices.ContainsFunc(all, func(s any) bool { return fits(s.(map[string]any), v) })
	}
	number := func(v any) *big.Rat {
		n, ok := v.(json.Number)
		if !ok {
			return nil
		}
		// JSON allows exponents that a big.Rat would expand to gigabytes.
		if f, err := n.Float64(); err != nil || math.Abs(f) > 1e300 || f != 0 && math.Abs(f) < 1e-300 {
			return nil
		}
		q, _ := new(big.Rat).SetString(n.String())
		return q
	}
	if all, ok := s["enum"].([]any); ok {
		return slices.ContainsFunc(all, func(w any) bool {
			if a, b := number(w), number(v); a != nil && b != nil {
				return a.Cmp(b) == 0
			}
			return w == v
		})
	}
	size := func(key string, n int) bool {
		q := number(s[key])
		return q == nil || q.Cmp(big.NewRat(int64(n), 1)) >= 0
	}
	least := func(key string, n int) bool {
		q := number(s[key])
		return q == nil || q.Cmp(big.NewRat(int64(n), 1)) <= 0
	}
	switch s["type"] {
	case "integer":
		q := number(v)
		return q != nil && q.IsInt() && q.Cmp(number(s["minimum"])) >= 0 && q.Cmp(number(s["maximum"])) <= 0
	case "number":
		_, ok := v.(json.Number)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "null":
		return v == nil
	case "string":
		text, ok := v.(string)
		n := len([]rune(text))
		pattern, _ := s["pattern"].(string)
		return ok && least("minLength", n) && size("maxLength", n) && regexp.MustCompile(pattern).MatchString(text)
	case "array":
		list, ok := v.([]any)
		return ok && least("minItems", len(list)) && size("maxItems", len(list)) &&
			!slices.ContainsFunc(list, func(v any) bool { return !fits(s["items"].(map[string]any), v) })
	case "object":
		object, ok := v.(map[string]any)
		if !ok {
			return false
		}
		for _, name := range s["required"].([]any) {
			if _, ok := object[name.(string)]; !ok {
				return false
			}
		}
		for name, v := range object {
			of, ok := s["properties"].(map[string]any)[name]
			if !ok || !fits(of.(map[string]any), v) {
				return false
			}
		}
		return true
	}
	panic(fmt.Sprintf("no judge for %v", s))
}
