package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/grammar"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
	"github.com/gibbsite-go/gibbsite/examples/internal/vocabulary"
)

func do[R any](t *testing.T, args ...string) R {
	t.Helper()
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return any(r).(R)
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// node judges a sample of the program's own schema without the grammar.
func node(v any) bool {
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	name, ok := m["name"].(string)
	children, also := m["children"].([]any)
	if !ok || !also || len(name) < 1 || len(name) > 6 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	for k, x := range m {
		size, isNumber := x.(float64)
		if k != "name" && k != "children" && (k != "size" || !isNumber || size < 0 || size > 999 || size != float64(int(size))) {
			return false
		}
	}
	for _, c := range children {
		if !node(c) {
			return false
		}
	}
	return true
}

func TestSamplesAreValid(t *testing.T) {
	r := do[*report](t, "-n", "40", "-length", "56", "-out", t.TempDir())
	picturetest.Album(t, r.Figures(), "lengths")
	if r.Violations != 0 || len(r.Samples) != 40 {
		t.Fatal(r)
	}
	different := map[string]bool{}
	for _, s := range r.Samples {
		var v any
		if err := json.Unmarshal([]byte(s), &v); err != nil || !node(v) {
			t.Errorf("%q: %v", s, err)
		}
		different[s] = true
	}
	if len(different) < 20 || !strings.Contains(r.String(), r.Samples[0]) {
		t.Error(r)
	}
}

func TestVocabularies(t *testing.T) {
	gpt2 := file(t, "vocab.json", `{"{":0,"}":1,"\"":2,"a":3,":":4,"Ġ":5,"1":6,"\":":7,"<|endoftext|>":8,"Ċ":9,"model":10}`)
	schema := file(t, "schema.json", `{"type":"object","required":["a"],"properties":{"a":{"type":"integer"}},"additionalProperties":false}`)
	r := do[*report](t, "-vocab", gpt2, "-schema", schema, "-length", "12", "-n", "20")
	if r.Violations != 0 || r.Tokens != 12 {
		t.Error(r)
	}
	tokenizer := file(t, "tokenizer.json", `{"model":{"vocab":{"▁":0,"{\"a\":":1,"<0x31>":2,"}":3,"é":4}},"added_tokens":[{"id":5,"content":"<s>","special":true}]}`)
	r = do[*report](t, "-vocab", tokenizer, "-schema", schema, "-length", "6", "-n", "20", "-compact")
	if r.Violations != 0 || r.Tokens != 7 {
		t.Error(r)
	}
	for _, bad := range []string{`[`, `{"a":-1}`, `{"model":{"vocab":[[1,2]]}}`, `{"model":{"vocab":3}}`} {
		o, err := parse([]string{"-vocab", file(t, "bad.json", bad)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(context.Background(), o); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	v, err := vocabulary.Parse([]byte(`{"model":{"vocab":[["▁a",0.5],["<0x0A>",1]]}}`))
	if err != nil || v.Tokens[0] != " a" || v.Tokens[1] != "\n" {
		t.Error(v, err)
	}
}

func TestCheck(t *testing.T) {
	schema := file(t, "schema.json", `{"type":"array","items":{"type":"integer"}}`)
	for text, want := range map[string]bool{"[1, 2]\n": true, "[1, null]": false} {
		v := do[*validity](t, "-schema", schema, "-check", file(t, "instance.json", text))
		if v.Valid != want || (v.String() == "valid\n") != want {
			t.Error(text, v)
		}
	}
	if v := do[*validity](t, "-schema", schema, "-compact", "-check", file(t, "instance.json", "[1,2]\n")); !v.Valid {
		t.Error("the newline of the file is no part of the instance")
	}
}

func TestBenchmark(t *testing.T) {
	r := do[*results](t, "-maskbench", file(t, "tests.jsonl", strings.Join([]string{
		`{"name":"a","schema":{"type":"integer"},"tests":[{"valid":true,"data":1},{"valid":false,"data":"1"}]}`,
		`{"name":"b","schema":{"uniqueItems":true},"tests":[]}`,
		`{"name":"c","schema":{"type":"integer"},"tests":[{"valid":true,"data":"1"},{"valid":false,"data":1}]}`,
	}, "\n")))
	if r.Schemas != 3 || r.Compiled != 2 || r.Unsupported != 1 || r.Validation != 1 || r.Invalidation != 1 || r.Passed != 1 {
		t.Error(r)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"compile_ms":{"p50":`) || !strings.Contains(r.String(), "b: grammar: schema: #/uniqueItems") {
		t.Error(string(b), r)
	}
	for _, text := range []string{"", "{"} {
		o, err := parse([]string{"-maskbench", file(t, "bad.jsonl", text)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(context.Background(), o); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestSpelling(t *testing.T) {
	schema := file(t, "schema.json", `{"type":"object","required":["a","b"],"properties":{"a":{"type":"integer","minimum":1,"maximum":120},"b":{"type":"string","maxLength":3}},"additionalProperties":false}`)
	r := do[*report](t, "-schema", schema, "-length", "40", "-n", "30", "-spelling", "canonical")
	for _, s := range r.Samples {
		var v struct {
			A int
			B string
		}
		if err := json.Unmarshal([]byte(s), &v); err != nil || strings.ContainsAny(s, " .\n") {
			t.Errorf("%q: %v", s, err)
		}
	}
	if len(r.Samples) != 30 || r.Violations != 0 {
		t.Error(r)
	}
	if r.Exact == exact(grammar.Free) || !strings.HasPrefix(r.Exact, command.Conditioned) || !strings.Contains(r.String(), r.Exact) {
		t.Errorf("the report says %q:\n%s", r.Exact, r)
	}
}

// maskCases are schemas with what has to be read side by side, and without.
const maskCases = `{"name":"a","schema":{"type":"object","properties":{"a":{"type":"string","maxLength":3},"b":{"enum":["x","yz"]}},"required":["b"]},"tests":[{"valid":true,"data":{"a":"q","b":"x"}},{"valid":false,"data":{"a":"qrst","b":"x"}}]}
{"name":"b","schema":{"not":{"enum":[1,2]},"type":"integer","minimum":0},"tests":[{"valid":true,"data":11},{"valid":false,"data":1}]}
{"name":"c","schema":{"pattern":"^a+$","type":"string"},"tests":[]}
`

func TestMasks(t *testing.T) {
	vocab := map[string]int{"{\"": 256, "\":": 257, "aa": 258, "\"}": 259, "x\"": 260, "[1": 261, "12": 262}
	for b, r := range vocabulary.Printable() {
		vocab[string(r)] = b
	}
	data, err := json.Marshal(vocab)
	if err != nil {
		t.Fatal(err)
	}
	name := file(t, "vocab.json", string(data))
	r := do[*results](t, "-maskbench", file(t, "tests.jsonl", maskCases), "-masks", "-vocab", name)
	m := r.Masks
	if m == nil || m.Tokens < 2*263 || m.Errors != 0 || m.Undecided != 0 || m.Schemas != 3 || m.Masks < 20 || m.Micros.Max <= 0 {
		t.Error(r)
	}
	b, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(b), `"masks":{"tokens":`) || !strings.Contains(string(b), `"us":{"p50":`) {
		t.Error(string(b), err)
	}
	path := do[*results](t, "-maskbench", file(t, "tests.jsonl", maskCases), "-vocab", name)
	b, err = json.Marshal(path)
	if p := path.Path; p == nil || path.Masks != nil || p.Compiled != path.Compiled || p.Refused != 0 || p.Millis.P50 < path.CompileMillis.P50 ||
		err != nil || !strings.Contains(string(b), `"path":{"compiled":`) || !strings.Contains(path.String(), "over the tokens: 3 compiled, 0 refused, 0 errors") {
		t.Error(path, string(b), err)
	}
	if !strings.Contains(r.String(), "0 errors, 0 undecided") {
		t.Error(r)
	}
	tools := do[*toolResults](t, "-tools", "20", "-vocab", name)
	if tools.Tools != 20 || tools.Calls != 20 || tools.Masks < 1000 || tools.CompileMillis <= 0 || tools.Micros.Max < tools.Micros.P50 || !strings.HasPrefix(tools.String(), "20 tools") {
		t.Error(tools)
	}
	o, err := parse([]string{"-tools", "2", "-vocab", file(t, "small.json", `{"{":0}`)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "want one for each") {
		t.Error(err)
	}
}

// Only schemas that exceed a limit count as refused.
func TestPathResults(t *testing.T) {
	prepared, err := grammar.Prepare(text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.JSONSchema(t.Context(), []byte(`{"type":"string","maxLength":100}`), grammar.SchemaConfig{Limits: constraint.Limits{States: 10}})
	if err != nil {
		t.Fatal(err)
	}
	p := &pathResults{tokens: prepared}
	if err := p.compile(t.Context(), "large", g, 0); err != nil || p.Refused != 1 || p.Errors != 0 {
		t.Error(p, err)
	}
	p.tokens = nil
	if err := p.compile(t.Context(), "no tokens", g, 0); err != nil || p.Refused != 1 || p.Errors != 1 || p.Compiled != 0 || len(p.notes) != 2 {
		t.Error(p, err)
	}
}

// A walker notes what does not agree.
func TestWalkerFindsErrors(t *testing.T) {
	v, err := vocabulary.Read("")
	if err != nil {
		t.Fatal(err)
	}
	all, err := newTokens(context.Background(), v)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.JSONSchema(context.Background(), []byte(`{"const":12}`), grammar.SchemaConfig{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := g.Masks(context.Background(), all.prepared)
	if err != nil {
		t.Fatal(err)
	}
	other, err := grammar.JSONSchema(context.Background(), []byte(`{"const":13}`), grammar.SchemaConfig{})
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := other.Over(context.Background(), text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"13": true, "12": false, "1": true} {
		w := &walker{maskResults: &maskResults{}, t: all, m: m, dst: make([]uint32, m.Words()), bytes: bytes}
		list, _ := all.cut(text)
		if err := w.walk(text, list, want, true, nil, nil); err != nil || w.Errors != 1 {
			t.Error(text, w.Errors, err)
		}
	}
	w := &walker{maskResults: &maskResults{}, t: all, m: m, dst: make([]uint32, m.Words()), bytes: bytes, gated: true, found: map[int]int{}}
	if err := w.walk("1", []int32{'1'}, false, true, map[int]bool{1: true}, nil); err != nil || w.Errors != 2 {
		t.Error(w.Errors, w.wrong)
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"-n", "0"}, {"-length", "0"}, {"-steps", "0"}, {"-maskbench", "a", "-check", "b"}, {"-masks"}, {"-xgrammar", "x"}, {"-tools", "-1"}, {"-tools", "2", "-check", "b"}, {"-spelling", "x"}, {"-what"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	for _, args := range [][]string{{"-schema", "missing"}, {"-check", "missing"}, {"-maskbench", "missing"}, {"-tools", "2", "-vocab", "missing"}, {"-maskbench", "missing", "-masks", "-vocab", "missing"}, {"-vocab", "missing"}, {"-length", "3"}} {
		o, err := parse(args)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(context.Background(), o); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}
