package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
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

// put writes a file of a folder and returns its path.
func put(t *testing.T, dir, name string, v any) string {
	t.Helper()
	b, ok := v.([]byte)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// network makes the folder of a small random LLaDA over bytes, some words and marks.
func network(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	vocab := map[string]int{}
	shown := func(s string) string { // as vocabulary files write bytes
		var b strings.Builder
		for _, c := range []byte(s) {
			if '!' <= c && c <= '~' || 0xa1 <= c && c <= 0xac || 0xae <= c {
				b.WriteRune(rune(c))
				continue
			}
			n := 256
			for d := range int(c) {
				if !('!' <= d && d <= '~' || 0xa1 <= d && d <= 0xac || 0xae <= d) {
					n++
				}
			}
			b.WriteRune(rune(n))
		}
		return b.String()
	}
	for c := range 256 {
		vocab[shown(string([]byte{byte(c)}))] = c
	}
	var merges []string
	for _, w := range []string{"ye", "yes", "no", "th", "the", "  ", `":`} {
		vocab[shown(w)] = len(vocab)
		merges = append(merges, shown(w[:len(w)-1])+" "+shown(w[len(w)-1:]))
	}
	n := len(vocab)
	mark := func(i int, s string) map[string]any {
		return map[string]any{"id": n + i, "content": s, "special": true}
	}
	put(t, dir, "tokenizer.json", map[string]any{
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false},
		"added_tokens":  []any{mark(0, "<|endoftext|>"), mark(1, "<|mdm_mask|>"), mark(2, "<|eot_id|>"), mark(3, "<|start_header_id|>")},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	})
	put(t, dir, "tokenizer_config.json", map[string]any{"pad_token": "<|endoftext|>"})
	levels := n + 9 // some that no text uses, as in published networks
	put(t, dir, "config.json", map[string]any{
		"model_type": "llada", "embedding_size": levels, "d_model": 16, "mlp_hidden_size": 24, "n_layers": 2, "n_heads": 2,
		"max_sequence_length": 512, "mask_token_id": n + 1, "rope_theta": 500000,
	})
	src := rand.New(rand.NewPCG(1, 2))
	var all []neural.Tensor
	add := func(name string, shape ...int) {
		p := neural.Tensor{Name: "model.transformer." + name + ".weight", Shape: shape}
		size, scale := 1, 1.0
		for _, k := range shape {
			size *= k
		}
		if len(shape) == 2 && name != "wte" {
			scale = 1 / math.Sqrt(float64(shape[1]))
		}
		for range size {
			p.Data = append(p.Data, float32(scale*src.NormFloat64()))
		}
		all = append(all, p)
	}
	add("wte", levels, 16)
	add("ln_f", 16)
	add("ff_out", levels, 16)
	for i := range 2 {
		b := fmt.Sprintf("blocks.%d.", i)
		add(b+"attn_norm", 16)
		add(b+"ff_norm", 16)
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "attn_out"} {
			add(b+name, 16, 16)
		}
		add(b+"ff_proj", 24, 16)
		add(b+"up_proj", 24, 16)
		add(b+"ff_out", 16, 24)
	}
	var f bytes.Buffer
	if err := neural.WriteFile(&f, neural.BF16, all, nil); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "model.safetensors", f.Bytes())
	return dir
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
			Age  *int
			Name string
		}
		if err := json.Unmarshal([]byte(rest), &v); !ok || err != nil || v.Age == nil || *v.Age < 0 || *v.Age > 99 || rest != r.Blanks[i][0] {
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

// P of the choices and of each of them are sums over the sequences of a blank, of the
// network's own prediction with positions independent: given that it is a choice to 1e-9, of
// all sequences to 1e-7, for the weights of whole rows are added up in single precision.
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
	if got := r.Spans[0].P; math.Abs(got-total) > 1e-7*total {
		t.Errorf("P(a choice) = %v, want %v", got, total)
	}
	for _, s := range choices {
		if got, want := r.Spans[0].Choices[s], weight[s]/total; math.Abs(got-want) > 1e-9 {
			t.Errorf("P(%s) = %v, want %v", s, got, want)
		}
	}
}
