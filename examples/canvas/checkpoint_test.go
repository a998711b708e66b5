package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/neural"
)

// shape is the shape of a network with random weights.
type shape struct {
	llada                                bool // or else the network is an a2d-qwen3
	width, hidden, blocks, heads, groups int
	headWidth                            int
	merges                               int // tokens of several bytes
	unused                               int // tokens at the end that no text uses
	parts                                int // number of .safetensors files
}

// The shape of Qwen3-0.6B: 596 million weights and a vocabulary of 151 936 tokens.
var qwen600M = shape{width: 1024, hidden: 3072, blocks: 28, heads: 16, groups: 8, headWidth: 128, merges: 151387, unused: 289, parts: 4}

// write makes the folder of a model in dir. The same shape gives the same files.
func (s shape) write(t testing.TB, dir string) {
	t.Helper()
	n := writeTokenizer(t, dir, s.merges)
	levels := n + s.unused
	dtype := neural.BF16
	config := map[string]any{
		"model_type": "a2d-qwen3", "vocab_size": levels, "hidden_size": s.width, "intermediate_size": s.hidden, "num_hidden_layers": s.blocks,
		"num_attention_heads": s.heads, "num_key_value_heads": s.groups, "head_dim": s.headWidth, "max_position_embeddings": 40960,
		"tie_word_embeddings": true, "rope_theta": 1000000, "rms_norm_eps": 1e-6, "hidden_act": "silu",
	}
	if s.llada {
		config = map[string]any{
			"model_type": "llada", "embedding_size": levels, "d_model": s.width, "mlp_hidden_size": s.hidden, "n_layers": s.blocks,
			"n_heads": s.heads, "max_sequence_length": 512, "mask_token_id": maskOf(n), "rope_theta": 500000,
		}
	}
	put(t, dir, "config.json", config)
	type tensor struct {
		name  string
		shape []int
	}
	var all []tensor
	add := func(name string, shape ...int) { all = append(all, tensor{name + ".weight", shape}) }
	q, kv := s.heads*s.headWidth, s.groups*s.headWidth
	if s.llada {
		const m = "model.transformer."
		add(m+"wte", levels, s.width)
		add(m+"ln_f", s.width)
		add(m+"ff_out", levels, s.width)
		for i := range s.blocks {
			b := fmt.Sprintf("%sblocks.%d.", m, i)
			add(b+"attn_norm", s.width)
			add(b+"ff_norm", s.width)
			for _, name := range []string{"q_proj", "k_proj", "v_proj", "attn_out"} {
				add(b+name, s.width, s.width)
			}
			add(b+"ff_proj", s.hidden, s.width)
			add(b+"up_proj", s.hidden, s.width)
			add(b+"ff_out", s.width, s.hidden)
		}
	} else {
		add("model.embed_tokens", levels, s.width)
		add("model.norm", s.width)
		for i := range s.blocks {
			b := fmt.Sprintf("model.layers.%d.", i)
			add(b+"input_layernorm", s.width)
			add(b+"post_attention_layernorm", s.width)
			add(b+"self_attn.q_proj", q, s.width)
			add(b+"self_attn.k_proj", kv, s.width)
			add(b+"self_attn.v_proj", kv, s.width)
			add(b+"self_attn.o_proj", s.width, q)
			add(b+"self_attn.q_norm", s.headWidth)
			add(b+"self_attn.k_norm", s.headWidth)
			add(b+"mlp.gate_proj", s.hidden, s.width)
			add(b+"mlp.up_proj", s.hidden, s.width)
			add(b+"mlp.down_proj", s.width, s.hidden)
		}
	}
	total, size := 0, func(shape []int) int {
		n := 1
		for _, k := range shape {
			n *= k
		}
		return n
	}
	for _, p := range all {
		total += size(p.shape)
	}
	src := rand.New(rand.NewPCG(1, 2))
	index := map[string]string{}
	var part []neural.Tensor
	held, written := 0, 0
	flush := func() {
		written++
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", written, s.parts)
		if s.parts == 1 {
			name = "model.safetensors"
		}
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := neural.WriteFile(f, dtype, part, nil); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for _, p := range part {
			index[p.Name] = name
		}
		part, held = nil, 0
	}
	for _, p := range all {
		// uniform with variance 1 for norms and embeddings, and otherwise 1/(number of inputs)
		scale := float32(math.Sqrt(12))
		if len(p.shape) == 2 && !strings.Contains(p.name, "wte") {
			scale /= float32(math.Sqrt(float64(p.shape[1])))
		}
		data := make([]float32, size(p.shape))
		for i := range data {
			data[i] = scale * (src.Float32() - .5)
		}
		part = append(part, neural.Tensor{Name: p.name, Shape: p.shape, Data: data})
		if held += len(data); held*s.parts >= total && written < s.parts-1 {
			flush()
		}
	}
	flush()
	if s.parts > 1 {
		put(t, dir, "model.safetensors.index.json", map[string]any{"weight_map": index})
	}
}

// shown returns bytes as vocabulary files write them.
func shown(s string) string {
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

// marks are the added tokens, in the order of their numbers.
var marks = []string{"<|endoftext|>", "<|mdm_mask|>", "<|eot_id|>", "<|start_header_id|>"}

// maskOf returns the mask token of a tokenizer with n tokens.
func maskOf(n int) int { return n - len(marks) + 1 }

// writeTokenizer writes a byte-level tokenizer with the given number of merges and returns its
// number of tokens. The first merges are a few words and parts of JSON, and the others join random
// earlier tokens to at most eight bytes.
func writeTokenizer(t testing.TB, dir string, merges int) int {
	t.Helper()
	vocab := make(map[string]int, 256+merges)
	var tokens, rules []string
	known := map[string]bool{}
	add := func(s string) {
		vocab[shown(s)] = len(tokens)
		tokens, known[s] = append(tokens, s), true
	}
	for c := range 256 {
		add(string([]byte{byte(c)}))
	}
	join := func(a, b string) {
		if len(rules) < merges && !known[a+b] {
			add(a + b)
			rules = append(rules, shown(a)+" "+shown(b))
		}
	}
	for _, w := range []string{"ye", "yes", "no", "th", "the", "  ", `":`} {
		join(w[:len(w)-1], w[len(w)-1:])
	}
	src := rand.New(rand.NewPCG(3, 4))
	const common = ` etaoinshrdlucETAOINS0123456789{}[]":,.-` // first letters of the random tokens
	for len(rules) < merges {
		a := tokens[src.IntN(len(tokens))]
		if src.IntN(4) == 0 {
			a = string(common[src.IntN(len(common))])
		}
		b := tokens[src.IntN(len(tokens))]
		if src.IntN(4) == 0 {
			b = string(common[src.IntN(len(common))])
		}
		if len(a)+len(b) <= 8 {
			join(a, b)
		}
	}
	var added []any
	for i, s := range marks {
		added = append(added, map[string]any{"id": len(tokens) + i, "content": s, "special": true})
	}
	put(t, dir, "tokenizer.json", map[string]any{
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "add_prefix_space": false}, "added_tokens": added,
		"model": map[string]any{"type": "BPE", "vocab": vocab, "merges": rules},
	})
	put(t, dir, "tokenizer_config.json", map[string]any{"pad_token": "<|endoftext|>", "mask_token": "<|mdm_mask|>"})
	return len(tokens) + len(marks)
}

// put writes a file of a folder and returns its path.
func put(t testing.TB, dir, name string, v any) string {
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
func network(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	shape{llada: true, width: 16, hidden: 24, blocks: 2, heads: 2, groups: 2, headWidth: 8, merges: 7, unused: 9, parts: 1}.write(t, dir)
	return dir
}
