package engine_test

import (
	"context"
	"encoding/json"
	"go/format"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/site/engine"
	"github.com/gibbsite-go/gibbsite/site/engine/document"
	"github.com/gibbsite-go/gibbsite/site/engine/lattice"
	"github.com/gibbsite-go/gibbsite/site/engine/minimum"
	"github.com/gibbsite-go/gibbsite/site/engine/pattern"
	"github.com/gibbsite-go/gibbsite/site/engine/repeat"
)

// whole has every tab.
func whole() *engine.Engine {
	return engine.New(lattice.Tab, pattern.Tab, document.Tab, minimum.Tab, repeat.Tab)
}

// call makes a call through JSON, as the browser does.
func call[R any](t *testing.T, e *engine.Engine, name, args string) (reply R, err error) {
	t.Helper()
	r, err := e.Call(t.Context(), name, []byte(args))
	if err != nil {
		return reply, err
	}
	b, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &reply))
	return reply, nil
}

// A nested schema's documents are shorter if the text before the schema is.
func TestFrequenciesFollowTheAverage(t *testing.T) {
	entropy := func(average int) float64 {
		r, err := document.Documents(t.Context(), document.Schema{Schema: `{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#"}}]}`, Length: 20, Model: "text", Average: average, Seed: 1, Samples: 1})
		require.NoError(t, err)
		require.Equal(t, "frequencies", r.Drawn)
		return r.Entropy
	}
	require.Less(t, entropy(2), entropy(200)-0.01)
}

func TestStrings(t *testing.T) {
	e := whole()
	days := `"Pattern":"(19|20)(0[48]|[2468][048]|[13579][26])-02-29","Length":10,"Samples":24,"Seed":1`
	r, err := call[pattern.Strung](t, e, "strings", `{`+days+`,"Model":"uniform"}`)
	require.NoError(t, err)
	assert.Equal(t, "48", r.Count)
	assert.InDelta(t, 5.585, r.Entropy, 1e-3)
	for _, s := range r.Samples {
		assert.Regexp(t, `^(19|20)(0[48]|[2468][048]|[13579][26])-02-29$`, s)
	}
	for i, row := range r.Marginals {
		sum := 0.0
		for _, p := range row {
			sum += p
		}
		assert.InDelta(t, 1, sum, 1e-9, i)
	}
	r, err = call[pattern.Strung](t, e, "strings", `{`+days+`,"Model":"uniform","Fixed":"···6"}`)
	require.NoError(t, err)
	assert.Equal(t, "10", r.Count)
	_, err = call[pattern.Strung](t, e, "strings", `{`+days+`,"Model":"uniform","Fixed":"x"}`)
	assert.ErrorContains(t, err, "free one of them")

	for _, upTo := range []string{"true", "false"} {
		r, err = call[pattern.Strung](t, e, "strings", `{"Pattern":"[A-Z][a-z]+ [A-Z][a-z]+","Length":16,"UpTo":`+upTo+`,"Model":"text","Samples":8,"Seed":1}`)
		require.NoError(t, err)
		for _, s := range r.Samples {
			assert.Regexp(t, `^[A-Z][a-z]+ [A-Z][a-z]+$`, s)
			assert.LessOrEqual(t, len(s), 16)
		}
		assert.Less(t, r.Entropy, r.Bits)
		t.Log(r.Samples, r.Entropy, r.Bits, r.MS)
	}
}

func TestErrors(t *testing.T) {
	e := whole()
	for args, want := range map[string]string{
		`{"Pattern":"[","Length":3,"Samples":1,"Model":"uniform"}`:           "missing closing",
		`{"Pattern":"a","Length":3,"Samples":1,"Model":"uniform"}`:           "nothing of this length is allowed",
		`{"Pattern":"a","Length":0,"Samples":1,"Model":"uniform"}`:           "length = 0, want 1 … 64",
		`{"Pattern":"a","Length":1,"Samples":1000001,"Model":"uniform"}`:     "samples",
		`{"Pattern":"a","Length":1,"Samples":1,"Model":"x"}`:                 `no such model: "x"`,
		`{"Pattern":"(.{99}){99}","Length":9,"Samples":1,"Model":"uniform"}`: "invalid repeat",
		`{`: "unexpected end",
	} {
		_, err := e.Call(t.Context(), "strings", []byte(args))
		assert.ErrorContains(t, err, want, args)
	}
	for name, args := range map[string]string{
		"lattice/run": `{}`, "minimise/run": `{}`, "minimise/bound": `{}`, "nothing": `{}`, "bits": `{"Name":"x"}`,
		"lattice/program": `{"Method":"x"}`, "minimise/program": `{"Format":"x"}`, "strings/program": `{}`,
		"lattice/start":  `{"Levels":2,"Side":4,"Temperature":0,"Method":"gibbs"}`,
		"json":           `{"Schema":"{\"type\":\"x\"}","Length":10,"Model":"text","Average":40,"Samples":1}`,
		"minimise/start": `{"Text":"3 1\n1 9\n"}`,
	} {
		_, err := e.Call(t.Context(), name, []byte(args))
		assert.Error(t, err, name)
		t.Log(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := e.Call(ctx, "strings", []byte(`{"Pattern":".*","Length":9,"Samples":1,"Model":"uniform"}`))
	assert.ErrorIs(t, err, context.Canceled)
}

const person = `{"type":"object","additionalProperties":false,"required":["name","age","mail","tags"],"properties":{
	"name":{"type":"string","pattern":"^[A-Z][a-z]{2,8} [A-Z][a-z]{2,10}$"},"age":{"type":"integer","minimum":18,"maximum":99},
	"mail":{"type":"string","pattern":"^[a-z]{3,10}@[a-z]{3,10}\\.(org|com)$"},
	"tags":{"type":"array","items":{"enum":["red","green","blue"]},"maxItems":3}}}`

func TestDocuments(t *testing.T) {
	e := whole()
	for _, model := range []string{"uniform", "text"} {
		args, err := json.Marshal(document.Schema{Schema: person, Length: 110, Model: model, Average: 60, Seed: 1, Samples: 6})
		require.NoError(t, err)
		r, err := call[document.Written](t, e, "json", string(args))
		require.NoError(t, err)
		assert.False(t, r.Nested)
		assert.Regexp(t, `^[0-9]{40,}$`, r.Count)
		name := regexp.MustCompile(`^[A-Z][a-z]{2,8} [A-Z][a-z]{2,10}$`)
		for _, s := range r.Samples {
			var d struct {
				Name string
				Age  int
			}
			require.NoError(t, json.Unmarshal([]byte(s), &d), s)
			assert.Regexp(t, name, d.Name)
			assert.True(t, 18 <= d.Age && d.Age <= 99)
			t.Log(s)
		}
		t.Log(r.Entropy, r.Bits, r.MS, r.States)
	}
	args, _ := json.Marshal(document.Schema{Schema: tree, Length: 40, Model: "text", Average: 40, Seed: 1, Samples: 6})
	r, err := call[document.Written](t, e, "json", string(args))
	require.NoError(t, err)
	assert.True(t, r.Nested)
	assert.Equal(t, "frequencies", r.Drawn)
	t.Log(r.Samples, r.Count, r.MS)
}

// Every program stands as gofmt would have it, with each error looked at.
func TestPrograms(t *testing.T) {
	words := `"Pattern":"[a-c]{3}","Length":3,"Samples":4,"Seed":1`
	for _, source := range []struct{ tab, args string }{
		{"lattice", `{"Levels":2,"Side":4,"Method":"gibbs","Seed":1,"Temperature":2}`},
		{"lattice", `{"Levels":3,"Side":4,"Method":"sw","Seed":1,"Temperature":2}`},
		{"strings", `{` + words + `,"Model":"uniform","UpTo":true}`},
		{"strings", `{` + words + `,"Model":"text","Fixed":"a","Text":"ab\nc"}`},
		{"json", `{"Schema":"{\n\"const\": 1}","Length":3,"Model":"uniform","Average":40,"Samples":4,"Seed":1}`},
		{"json", `{"Schema":"{}","Length":3,"Model":"text","Average":40,"Samples":4,"Seed":1}`},
		{"json", `{"Schema":"{\"enum\": [\"` + "`" + `\"]}","Length":3,"Model":"text","Average":40,"Samples":4,"Seed":1}`},
		{"minimise", `{"Format":"rudy","Seed":1,"Rounds":10}`},
		{"minimise", `{"Format":"bqm","Seed":1,"Rounds":10}`},
	} {
		program, err := call[string](t, whole(), source.tab+"/program", source.args)
		require.NoError(t, err, source)
		formatted, err := format.Source([]byte(program))
		require.NoError(t, err, program)
		assert.Equal(t, string(formatted), program)
		assert.NotRegexp(t, `(?m)^\s*check$`, program)
		assert.Regexp(t, `err (:?=).*\n\t+if err != nil`, program)
	}
}

func TestCases(t *testing.T) {
	seen := map[string]string{}
	for _, name := range repeat.Cases() {
		r, err := repeat.Run(t.Context(), repeat.Case{Name: name, Seed: 1})
		require.NoError(t, err)
		assert.Empty(t, seen[r.Digest], name)
		seen[r.Digest] = name
		again, err := repeat.Run(t.Context(), repeat.Case{Name: name, Seed: 1})
		require.NoError(t, err)
		assert.Equal(t, r.Digest, again.Digest, name)
		other, err := repeat.Run(t.Context(), repeat.Case{Name: name, Seed: 2})
		require.NoError(t, err)
		assert.NotEqual(t, r.Digest, other.Digest, name)
		t.Log(name, r.MS)
	}
}

func TestMinimise(t *testing.T) {
	for format, text := range problems {
		e := whole()
		args, err := json.Marshal(minimum.Problem{Text: text, Seed: 1})
		require.NoError(t, err)
		s, err := call[minimum.SearchStarted](t, e, "minimise/start", string(args))
		require.NoError(t, err, format)
		assert.Equal(t, format, s.Format)
		f, err := call[minimum.Found](t, e, "minimise/run", `{"Rounds":5,"MS":1e6}`)
		require.NoError(t, err, format)
		assert.Equal(t, 5, f.Rounds)
		b, err := call[minimum.Bounded](t, e, "minimise/bound", `{}`)
		require.NoError(t, err, format)
		if s.Cut {
			assert.Equal(t, 4.0, *f.Cut, format)
			assert.Equal(t, 4.0, *b.Bound)
			assert.Equal(t, "planar matching", b.Method)
		} else {
			assert.Equal(t, -3.0, f.Energy, format)
			assert.Equal(t, -3.0, *b.Bound)
			assert.Equal(t, "01", f.State)
			assert.Equal(t, 2, s.Sites)
			assert.Equal(t, 1, s.Pairs)
		}
	}
}
