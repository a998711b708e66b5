package pretrained

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Config holds the sizes and settings of a [Network], as read from its config.json by [ReadConfig].
type Config struct {
	// Type is the model_type of config.json: llada, Dream, a2d-qwen2, a2d-qwen3 or
	// a2d-llama.
	Type string

	// Vocabulary is the number of tokens, including tokens that never occur in texts.
	Vocabulary int

	// Blocks is the number of blocks. Width is the number of features per position between blocks,
	// and Hidden the number of gated units.
	Width, Hidden, Blocks int

	// Heads is the number of query heads, and Groups the number of key and value heads. HeadWidth
	// is the number of entries of each head.
	Heads, Groups, HeadWidth int

	// Length is the maximum number of positions. It is the number in config.json, multiplied by a
	// factor if rope_scaling extends it (dynamic, yarn).
	Length int

	// Base is the base θ of the rotary angles (see layer.Rotary). Epsilon is ε in the norms (see
	// layer.Norm).
	Base, Epsilon float64

	// Tied reports whether the last layer uses the weights of the embedding.
	Tied bool

	// Shifted reports whether the outputs at position i−1 predict position i, as in Dream.
	Shifted bool

	// Mask is the mask token, or −1 if config.json does not name it.
	Mask int32

	family *family
	rope   rope
}

// family describes the networks of one model_type.
type family struct {
	// keys holds the keys of numbers in config.json. fixed lists keys that must have one of
	// the given values, because other values would change the results.
	keys  keys
	fixed map[string][]any

	names   names
	norms   bool // queries and keys have norms
	shifted bool
}

// keys holds the names of numbers in config.json.
type keys struct {
	vocabulary, width, hidden, blocks, heads, groups, length, tied string
}

// names holds the names of tensors; %d is replaced by the number of a block.
type names struct {
	embed, norm, last                        string
	norm1, query, key, value, queryNorm, out string
	keyNorm, norm2, gate, up, down           string
}

var (
	qwenKeys = keys{"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
		"num_key_value_heads", "max_position_embeddings", "tie_word_embeddings"}
	qwenNames = names{
		embed: "model.embed_tokens", norm: "model.norm", last: "lm_head",
		norm1: "model.layers.%d.input_layernorm",
		query: "model.layers.%d.self_attn.q_proj", key: "model.layers.%d.self_attn.k_proj", value: "model.layers.%d.self_attn.v_proj",
		queryNorm: "model.layers.%d.self_attn.q_norm", keyNorm: "model.layers.%d.self_attn.k_norm", out: "model.layers.%d.self_attn.o_proj",
		norm2: "model.layers.%d.post_attention_layernorm",
		gate:  "model.layers.%d.mlp.gate_proj", up: "model.layers.%d.mlp.up_proj", down: "model.layers.%d.mlp.down_proj",
	}
	qwenFixed = map[string][]any{
		"hidden_act": {"silu"}, "use_sliding_window": {false}, "mlp_bias": {false}, "use_mrope": {false},
		"quantization_config": {},
	}
	qwen = &family{keys: qwenKeys, fixed: qwenFixed, names: qwenNames}

	families = map[string]*family{
		"a2d-llama": qwen,
		"a2d-qwen2": qwen,
		"a2d-qwen3": {keys: qwenKeys, fixed: qwenFixed, names: qwenNames, norms: true},
		"Dream":     {keys: qwenKeys, fixed: qwenFixed, names: qwenNames, shifted: true},
		"llada": {
			keys: keys{"embedding_size", "d_model", "mlp_hidden_size", "n_layers", "n_heads", "n_kv_heads", "max_sequence_length", "weight_tying"},
			fixed: map[string][]any{
				"activation_type": {"silu"}, "block_type": {"llama"}, "layer_norm_type": {"rms"}, "rope": {true}, "alibi": {false},
				"attention_layer_norm": {false}, "scale_logits": {false}, "input_emb_norm": {false}, "include_bias": {false},
				"clip_qkv": {}, "rope_scaling": {}, "multi_query_attention": {false}, "bias_for_layer_norm": {false},
				"layer_norm_with_affine": {true}, "quantization_config": {}, "block_group_size": {1.0},
			},
			names: names{
				embed: "model.transformer.wte", norm: "model.transformer.ln_f", last: "model.transformer.ff_out",
				norm1: "model.transformer.blocks.%d.attn_norm",
				query: "model.transformer.blocks.%d.q_proj", key: "model.transformer.blocks.%d.k_proj", value: "model.transformer.blocks.%d.v_proj",
				out:   "model.transformer.blocks.%d.attn_out",
				norm2: "model.transformer.blocks.%d.ff_norm",
				gate:  "model.transformer.blocks.%d.ff_proj", up: "model.transformer.blocks.%d.up_proj", down: "model.transformer.blocks.%d.ff_out",
			},
		},
	}
)

// most is the largest value of each number of a Config, so that products do not overflow an int.
const most = 1 << 24

// ReadConfig reads a config.json from r. It returns an error if a key is missing or out of range,
// or selects a computation that this package does not support. The error names the key.
func ReadConfig(r io.Reader) (Config, error) {
	return readConfig("config.json", r)
}

func readConfig(name string, r io.Reader) (Config, error) {
	fail := func(format string, args ...any) (Config, error) {
		return Config{}, fault(name, format, args...)
	}
	if err := check.Given("pretrained: ReadConfig", "r", r); err != nil {
		return Config{}, err
	}
	all, err := readObject(name, r)
	if err != nil {
		return Config{}, err
	}
	kind, _ := all["model_type"].(string)
	f := families[kind]
	if f == nil {
		known := strings.Join(slices.Sorted(maps.Keys(families)), ", ")
		cure := ""
		if families["a2d-"+kind] != nil {
			cure = fmt.Sprintf("; a network of type %q predicts the next token and has to be trained for masks first, then it is an %q", kind, "a2d-"+kind)
		}
		return fail("model_type = %s, want one of %s%s", check.Quote(kind), known, cure)
	}
	c := Config{Type: kind, Shifted: f.shifted, family: f, Mask: -1}
	for _, key := range slices.Sorted(maps.Keys(f.fixed)) {
		if v, ok := all[key]; ok && v != nil && !slices.Contains(f.fixed[key], v) {
			return fail("%s = %s, want %s", key, check.Clip(fmt.Sprint(v)), wanted(f.fixed[key]))
		}
	}
	whole := &wholes{name: name, all: all}
	get := whole.get
	number := func(key string, absent float64) float64 {
		v, ok := all[key]
		if p, nested := all["rope_parameters"].(map[string]any); key == "rope_theta" && nested && p[key] != nil {
			v, ok = p[key]
		}
		if !ok || v == nil {
			return absent
		}
		x, isNumber := v.(float64)
		if err == nil && (!isNumber || !(x > 0)) {
			err = fmt.Errorf("pretrained: %s: %s = %s, want a number > 0", name, key, check.Clip(fmt.Sprint(v)))
		}
		return x
	}
	k := f.keys
	c.Vocabulary = get(k.vocabulary, 2, 0)
	c.Width = get(k.width, 1, 0)
	c.Hidden = get(k.hidden, 1, 0)
	c.Blocks = get(k.blocks, 1, 0)
	c.Heads = get(k.heads, 1, 0)
	c.Groups = get(k.groups, 1, c.Heads)
	c.HeadWidth = get("head_dim", 2, c.Width/max(c.Heads, 1))
	c.Length = get(k.length, 1, 0)
	c.Base = number("rope_theta", 10000)
	c.Epsilon = number("rms_norm_eps", 1e-6)
	c.Mask = int32(get("mask_token_id", 0, -1))
	if err := cmp.Or(whole.err, err); err != nil {
		return Config{}, err
	}
	if v := all[k.tied]; v != nil {
		tied, ok := v.(bool)
		if !ok {
			return fail("%s = %s, want true or false", k.tied, check.Clip(fmt.Sprint(v)))
		}
		c.Tied = tied
	}
	if layers, ok := all["layer_types"].([]any); ok {
		for i, kind := range layers {
			if kind != "full_attention" {
				return fail("layer_types[%d] = %s, want full_attention", i, check.Clip(fmt.Sprint(kind)))
			}
		}
	}
	for _, key := range []string{"rope_scaling", "rope_parameters"} {
		p, nested := all[key].(map[string]any)
		switch {
		case all[key] == nil || c.rope.kind != "" && c.rope.kind != ropeDefault:
			continue
		case !nested:
			return fail("%s = %s, want an object or null", key, check.Clip(fmt.Sprint(all[key])))
		}
		if c.rope, err = readRope(key, p, c.Length); err != nil {
			return fail("%w", err)
		}
	}
	if c.rope.kind == "" {
		c.rope, _ = readRope("", nil, c.Length) // cannot fail without an object
	}
	c.Length = min(most, c.rope.longest(c.Length))
	switch {
	case c.Heads%c.Groups != 0:
		return fail("%s = %d, want a multiple of %s = %d", k.heads, c.Heads, k.groups, c.Groups)
	case all["head_dim"] == nil && c.Width%c.Heads != 0:
		return fail("%s = %d, want a multiple of %s = %d", k.width, c.Width, k.heads, c.Heads)
	case c.HeadWidth%2 != 0 || c.HeadWidth*c.Heads > most:
		return fail("head_dim = %d for %d heads, want an even number, and at most %d in all", c.HeadWidth, c.Heads, most)
	case int(c.Mask) >= c.Vocabulary:
		return fail("mask_token_id = %d, want less than %s = %d", c.Mask, k.vocabulary, c.Vocabulary)
	}
	return c, nil
}

// fault returns an error about the file name. A name may contain %, so it is no part of the format.
func fault(name, format string, args ...any) error {
	return fmt.Errorf("pretrained: %s: %w", name, fmt.Errorf(format, args...))
}

// readObject reads a JSON object from r.
func readObject(name string, r io.Reader) (map[string]any, error) {
	b, err := io.ReadAll(io.LimitReader(r, longest+1))
	if err != nil {
		return nil, fmt.Errorf("pretrained: %s: %w", name, err)
	}
	if len(b) > longest {
		return nil, fmt.Errorf("pretrained: %s: more than %d bytes", name, longest)
	}
	var all map[string]any
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&all); err != nil {
		return nil, fmt.Errorf("pretrained: %s: %w", name, err)
	}
	return all, nil
}

// wholes reads whole numbers from an object until the first error.
type wholes struct {
	name string
	all  map[string]any
	err  error
}

// get returns the number under a key, which must be at least least. If the key is missing or null,
// it returns absent, unless that is 0.
func (w *wholes) get(key string, least, absent int) int {
	v := w.all[key]
	if v == nil && absent != 0 {
		return absent
	}
	n, number := v.(float64)
	if w.err == nil && v == nil {
		w.err = fmt.Errorf("pretrained: %s: no key %s, want a whole number of %d … %d", w.name, key, least, most)
	}
	if w.err == nil && (!number || n != float64(int(n)) || n < float64(least) || n > most) {
		w.err = fmt.Errorf("pretrained: %s: %s = %s, want a whole number of %d … %d", w.name, key, check.Clip(fmt.Sprint(v)), least, most)
	}
	return int(n)
}

// longest is the largest size of config.json in bytes.
const longest = 1 << 24

func wanted(values []any) string {
	if len(values) == 0 {
		return "null"
	}
	return fmt.Sprint(values[0])
}
