package main

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
)

func do(t *testing.T, args ...string) (*report, error) {
	t.Helper()
	o, err := parse(args)
	if err != nil {
		return nil, err
	}
	r, err := run(context.Background(), o)
	if err != nil {
		return nil, err
	}
	return r.(*report), nil
}

const schema = `{"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 99}, "name": {"type": "string", "maxLength": 4}},
	"required": ["age"], "additionalProperties": false}`

func TestSchemaAfterAPrompt(t *testing.T) {
	dir := network(t)
	r, err := do(t, "-model", dir, "-prompt", "A person, the first: ", "-schema", put(t, dir, "schema.json", []byte(schema)), "-tokens", "24", "-n", "20", "-steps", "6")
	if err != nil {
		t.Fatal(err)
	}
	if r.Violations != 0 || !r.Unchanged || len(r.Texts) != 20 {
		t.Errorf("%d violations, unchanged = %v, %d texts", r.Violations, r.Unchanged, len(r.Texts))
	}
	for i, s := range r.Texts {
		rest, ok := strings.CutPrefix(s, "A person, the first: ")
		var v struct {
			Age  *float64
			Name string
		}
		if err := json.Unmarshal([]byte(rest), &v); !ok || err != nil || v.Age == nil || *v.Age != math.Trunc(*v.Age) || *v.Age < 0 || *v.Age > 99 || rest != r.Blanks[i][0] {
			t.Errorf("text %d = %q: %v", i, s, err)
		}
	}
	if p := r.Spans[0].P; !(p > 0 && p < 1) {
		t.Errorf("P = %v, want within 0 … 1", p)
	}
}

func TestPiecesAndChoices(t *testing.T) {
	dir := network(t)
	canvas := put(t, dir, "canvas.json", []byte(`[{"tokens": 3}, {"text": " is "}, {"choice": ["yes", "no", "the end"]}, {"text": ", at "},
		{"regex": "[0-9]{2}:[0-9]{2}", "tokens": 8}, {"text": "<|eot_id|>!"}]`))
	r, err := do(t, "-model", dir, "-canvas", canvas, "-n", "30", "-steps", "5")
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`(?s)^.* is (yes|no|the end), at [0-9]{2}:[0-9]{2}!$`)
	for i, s := range r.Texts {
		if !form.MatchString(s) {
			t.Errorf("text %d = %q", i, s)
		}
	}
	sum := 0.0
	for _, p := range r.Spans[1].Choices {
		sum += p
	}
	if len(r.Spans[1].Choices) != 3 || math.Abs(sum-1) > 1e-6 {
		t.Errorf("choices %v sum to %v", r.Spans[1].Choices, sum)
	}
	if p := r.Spans[0].P; !(p > 0 && p < 1) || r.Violations != 0 || !r.Unchanged {
		t.Errorf("P(a text) = %v, %d violations, unchanged = %v", r.Spans[0].P, r.Violations, r.Unchanged)
	}
	if s := r.String(); !strings.Contains(s, "violations: 0") || !strings.Contains(s, "yes 0.") {
		t.Errorf("the report:\n%s", s)
	}
}

// Blanks match their rules in every order, from left to right or not.
func TestOrders(t *testing.T) {
	dir := network(t)
	canvas := put(t, dir, "canvas.json", []byte(`[{"text": "The "}, {"tokens": 3}, {"text": " is "}, {"schema": `+schema+`, "tokens": 20},
		{"text": " at "}, {"regex": "[0-9]{2}:[0-9]{2}", "tokens": 8}]`))
	form := regexp.MustCompile(`(?s)^The .* is [ \t\r\n]*\{.*"age".*\}[ \t\r\n]* at [0-9]{2}:[0-9]{2}$`)
	seen := map[string]string{}
	for _, args := range []string{"random", "probability", "margin", "entropy", "bound", "remask",
		"random -left 8", "margin -left 8", "random -block 4", "entropy -block 4", "random -block 4 -left 8"} {
		r, err := do(t, append([]string{"-model", dir, "-canvas", canvas, "-n", "4", "-steps", "8", "-order"}, strings.Fields(args)...)...)
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		if r.Violations != 0 || !r.Unchanged || len(r.Texts) != 4 {
			t.Errorf("%s: %d violations, unchanged = %v, %d texts", args, r.Violations, r.Unchanged, len(r.Texts))
		}
		if drawn := !strings.HasPrefix(args, "probability"); (r.Exact == command.Steps) != drawn || !strings.Contains(r.String(), r.Exact) {
			t.Errorf("%s: the report says %q:\n%s", args, r.Exact, r)
		}
		for _, s := range r.Texts {
			if !form.MatchString(s) {
				t.Errorf("%s: text %q", args, s)
			}
		}
		texts := strings.Join(r.Texts, "\x00")
		if other, ok := seen[texts]; ok {
			t.Errorf("%s gives the texts of %s", args, other)
		}
		seen[texts] = args
	}
}

func TestChat(t *testing.T) {
	dir := network(t)
	r, err := do(t, "-model", dir, "-prompt", "Is 7 a prime?", "-chat", "-choice", "yes,no")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Texts[0], "user<|end_header_id|>\n\nIs 7 a prime?") || !r.Unchanged {
		t.Errorf("text %q", r.Texts[0])
	}
}

func TestErrors(t *testing.T) {
	dir := network(t)
	bad := put(t, dir, "bad.json", []byte(`[{"text": "a"}]`))
	two := put(t, dir, "two.json", []byte(`[{"text": "a", "regex": "b"}]`))
	none := put(t, dir, "none.json", []byte(`[{"regex": "b"}]`))
	many := put(t, dir, "many.json", []byte(`[{"choice": ["b"], "tokens": 3}]`))
	odd := put(t, dir, "odd.json", []byte(`[{"txt": "a"}]`))
	for want, args := range map[string][]string{
		"-model names no folder":        {"-prompt", "a"},
		"want one; put several blanks":  {"-model", dir, "-regex", "a", "-choice", "b"},
		"excludes -prompt":              {"-model", dir, "-canvas", bad, "-regex", "a"},
		"none of them a blank":          {"-model", dir, "-canvas", bad},
		"piece 0 has 2 of text":         {"-model", dir, "-canvas", two},
		"tokens = 0, want ≥ 1":          {"-model", dir, "-canvas", none},
		"want none with text or choice": {"-model", dir, "-canvas", many},
		`unknown field "txt"`:           {"-model", dir, "-canvas", odd},
		"-tokens = 0":                   {"-model", dir, "-tokens", "0"},
		"-block = -1":                   {"-model", dir, "-block", "-1"},
		"-left = -1":                    {"-model", dir, "-left", "-1"},
		"multiple of -block = 4":        {"-model", dir, "-left", "6", "-block", "4"},
		`-order = "first"`:              {"-model", dir, "-order", "first"},
		"excludes -left and -block":     {"-model", dir, "-order", "remask", "-left", "4"},
		"-n = 0":                        {"-model", dir, "-n", "0"},
		"-steps = 0":                    {"-model", dir, "-steps", "0"},
		"unexpected argument":           {"-model", dir, "x"},
		"no such file":                  {"-model", filepath.Join(dir, "nothing")},
		`no token named "<pad>"`:        {"-model", dir, "-pad", "<pad>"},
		"infeasible":                    {"-model", dir, "-regex", "a{9}b", "-tokens", "3"},
		"want 1 … 512":                  {"-model", dir, "-tokens", "600"},
	} {
		_, err := do(t, args...)
		if want == "infeasible" {
			want = "no sequence satisfies the constraint"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}

// P of the choices and of each of them are sums over the sequences of a blank, of the network's own
// prediction with positions independent.
func TestChoicesByEnumeration(t *testing.T) {
	dir := network(t)
	choices := []string{"yes", "no", "the", "a b"}
	r, err := do(t, "-model", dir, "-prompt", "Is it? ", "-choice", strings.Join(choices, ","), "-tokens", "3")
	if err != nil {
		t.Fatal(err)
	}
	o, err := parse([]string{"-model", dir})
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
	model, err := net.Masked(r.Tokens, pretrained.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := tok.Encode(nil, "Is it? ")
	from := len(x)
	for len(x) < r.Tokens {
		x = append(x, model.MaskLevel())
	}
	v := make([]float32, r.Tokens*r.Vocabulary)
	if err := model.Denoise(t.Context(), v, energy.Noised[int32]{X: x, Time: []float64{1}, Alpha: []float64{0}}); err != nil {
		t.Fatal(err)
	}
	total := 0.0
	weight := make(map[string]float64)
	for _, s := range choices {
		w := tok.Encode(nil, s)
		for len(w) < r.Tokens-from {
			w = append(w, pad)
		}
		p := 1.0
		for i, l := range w {
			row, sum := v[(from+i)*r.Vocabulary:][:r.Vocabulary], 0.0
			for _, e := range row {
				sum += math.Exp(float64(e))
			}
			p *= math.Exp(float64(row[l])) / sum
		}
		weight[s] = p
		total += p
	}
	if got := r.Spans[0].P; math.Abs(got-total) > 1e-12*total {
		t.Errorf("P(a choice) = %v, want %v", got, total)
	}
	for _, s := range choices {
		if got, want := r.Spans[0].Choices[s], weight[s]/total; math.Abs(got-want) > 1e-12 {
			t.Errorf("P(%s) = %v, want %v", s, got, want)
		}
	}
}
