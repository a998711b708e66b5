package pretrained

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
)

func readMap(t *testing.T, config map[string]any) (Config, error) {
	b, err := json.Marshal(config)
	require.NoError(t, err)
	return ReadConfig(strings.NewReader(string(b)))
}

// A configuration under which a network computes something else is refused, with the
// key's name.
func TestConfigurationsThatAreRefused(t *testing.T) {
	llada, qwen := variants(t)[0].config(), variants(t)[3].config()
	for _, c := range []struct {
		base map[string]any
		key  string
		v    any
		want string
	}{
		{qwen, "model_type", "qwen3", `"a2d-qwen3"`},
		{qwen, "model_type", "gpt9", "model_type"},
		{qwen, "model_type", nil, "model_type"},
		{qwen, "hidden_act", "gelu", "hidden_act = gelu, want silu"},
		{qwen, "rope_scaling", map[string]any{"type": "yarn"}, "rope_scaling.factor = <nil>"},
		{qwen, "rope_scaling", map[string]any{"type": "longrope", "factor": 4}, "rope_scaling.type = longrope, want one of [default dynamic linear llama3 yarn]"},
		{qwen, "rope_scaling", map[string]any{"rope_type": 3}, "rope_scaling.rope_type = 3"},
		{qwen, "rope_scaling", map[string]any{"rope_type": "linear", "factor": 0.5}, "rope_scaling.factor = 0.5, want ≥ 1"},
		{qwen, "rope_scaling", map[string]any{"rope_type": "linear", "factor": 2, "beta_fast": 3}, "rope_scaling.beta_fast = 3, want none"},
		{qwen, "rope_scaling", map[string]any{"rope_type": "llama3", "factor": 2, "low_freq_factor": 1, "high_freq_factor": 4}, "rope_scaling.original_max_position_embeddings"},
		{qwen, "rope_scaling", map[string]any{"rope_type": "llama3", "factor": 2, "low_freq_factor": 4, "high_freq_factor": 4, "original_max_position_embeddings": 8}, "rope_scaling.low_freq_factor = 4, want less"},
		{qwen, "rope_scaling", map[string]any{"rope_type": "yarn", "factor": 2, "beta_fast": 1, "beta_slow": 2}, "rope_scaling.beta_fast = 1, want ≥ beta_slow = 2"},
		{qwen, "rope_scaling", map[string]any{"rope_type": "yarn", "factor": 2, "truncate": "no"}, "rope_scaling.truncate = no"},
		{qwen, "rope_scaling", "yarn", "rope_scaling = yarn, want an object or null"},
		{qwen, "rope_parameters", map[string]any{"rope_type": "yarn", "rope_theta": 1e6, "factor": -1}, "rope_parameters.factor = -1"},
		{qwen, "rope_parameters", map[string]any{"rope_theta": -1}, "rope_theta = -1"},
		{llada, "rope_scaling", map[string]any{"rope_type": "linear", "factor": 2}, "rope_scaling"},
		{qwen, "use_sliding_window", true, "use_sliding_window = true"},
		{qwen, "quantization_config", map[string]any{"bits": 4}, "quantization_config"},
		{qwen, "vocab_size", nil, "vocab_size"},
		{qwen, "vocab_size", "many", "vocab_size"},
		{qwen, "hidden_size", 20.5, "hidden_size = 20.5"},
		{qwen, "num_hidden_layers", 1e12, "num_hidden_layers"},
		{qwen, "num_attention_heads", 0, "num_attention_heads = 0"},
		{qwen, "num_key_value_heads", 3, "num_attention_heads = 4, want a multiple of num_key_value_heads = 3"},
		{qwen, "head_dim", 5, "head_dim = 5"},
		{qwen, "head_dim", nil, "head_dim = 5 for 4 heads"},
		{qwen, "rope_theta", -1, "rope_theta"},
		{qwen, "mask_token_id", 37, "mask_token_id = 37"},
		{llada, "block_type", "sequential", "block_type = sequential, want llama"},
		{llada, "alibi", true, "alibi"},
		{llada, "scale_logits", true, "scale_logits"},
		{llada, "n_heads", 5, "d_model = 16, want a multiple of n_heads = 5"},
	} {
		config := maps.Clone(c.base)
		config[c.key] = c.v
		_, err := readMap(t, config)
		assert.ErrorContains(t, err, c.want, "%s = %v", c.key, c.v)
	}
	_, err := ReadConfig(strings.NewReader("{"))
	assert.ErrorContains(t, err, "config.json")
	_, err = ReadConfig(strings.NewReader(strings.Repeat(" ", longest+1)))
	assert.ErrorContains(t, err, "more than")
	_, err = ReadConfig(nil)
	assert.Error(t, err)
}

// Newer files keep θ among the parameters of the positions.
func TestRotaryParameters(t *testing.T) {
	config := variants(t)[3].config()
	delete(config, "rope_theta")
	config["rope_parameters"] = map[string]any{"rope_type": "default", "rope_theta": 5e5}
	c, err := readMap(t, config)
	require.NoError(t, err)
	assert.Equal(t, 5e5, c.Base)
}

// opened opens the network in a folder until the end of the test.
func opened(t testing.TB, dir string) *Network {
	net, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, net.Close()) })
	return net
}

// plain is a file system whose files can only be read from their beginning, as in an archive.
type plain struct{ fs.FS }

func (p plain) Open(name string) (fs.File, error) {
	f, err := p.FS.Open(name)
	return struct{ fs.File }{f}, err
}

// A network is the same from a folder and from a file system, whatever its files can do.
func TestOpenFS(t *testing.T) {
	v := variants(t)[3]
	dir := write(t, v.config(), v.tensors(), neural.F32)
	whole := opened(t, dir)
	for _, fsys := range []fs.FS{os.DirFS(dir), plain{os.DirFS(dir)}} {
		net, err := OpenFS(fsys, ".")
		require.NoError(t, err)
		defer func() { require.NoError(t, net.Close()) }()
		assert.Equal(t, whole.Config(), net.Config())
		a, err := whole.Masked(length, Options{})
		require.NoError(t, err)
		b, err := net.Masked(length, Options{})
		require.NoError(t, err)
		assert.Equal(t, predict(t, a, state), predict(t, b, state))
	}
	_, err := OpenFS(os.DirFS(dir), "elsewhere")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "elsewhere/config.json")
}

// Folders whose files do not fit together are refused. Every error names the file, and the tensor
// or the key of config.json.
func TestFoldersThatAreRefused(t *testing.T) {
	v := variants(t)[3]
	v.Tied = false
	const first, second, index = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"
	edit := func(t *testing.T, dir, name string, do func(b []byte) []byte) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), do(b), 0o600))
	}
	replace := func(name, old, new string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			edit(t, dir, name, func(b []byte) []byte {
				require.Contains(t, string(b), old)
				return bytes.Replace(b, []byte(old), []byte(new), 1)
			})
		}
	}
	for name, c := range map[string]struct {
		config  map[string]any // changed keys
		tensors func(all []neural.Tensor) []neural.Tensor
		files   func(t *testing.T, dir string)
		want    []string // nil if the folder is a network
	}{
		"whole":            {},
		"missing file":     {files: func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, second))) }, want: []string{second}},
		"file of an index": {files: replace(index, first, "model-00003.safetensors"), want: []string{"model-00003.safetensors"}},
		"file outside":     {files: replace(index, first, "../x.safetensors"), want: []string{index, `"../x.safetensors"`}},
		"no index":         {files: func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, index))) }, want: []string{"model.safetensors"}},
		"cut file": {files: func(t *testing.T, dir string) { edit(t, dir, second, func(b []byte) []byte { return b[:len(b)-1] }) },
			want: []string{second, `tensor "model.layers.`, "bytes"}},
		"cut header":   {files: func(t *testing.T, dir string) { edit(t, dir, second, func(b []byte) []byte { return b[:100] }) }, want: []string{second, "the header"}},
		"empty file":   {files: func(t *testing.T, dir string) { edit(t, dir, second, func([]byte) []byte { return nil }) }, want: []string{second}},
		"unknown type": {files: replace(first, `"dtype":"F32"`, `"dtype":"I32"`), want: []string{first, `tensor "`, `type "I32"`}},
		"other index":  {files: replace(index, `"model.norm.weight"`, `"model.norm.other"`), want: []string{first, `"model.norm.other"`}},
		"twice": {files: func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, first))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "other.safetensors"), b, 0o600))
			replace(index, first, "other.safetensors")(t, dir)
		}, want: []string{index, `tensor "`, `"other.safetensors"`, "want it in one file"}},

		"missing tensor": {tensors: func(all []neural.Tensor) []neural.Tensor { return all[1:] }, want: []string{index, `no tensor "model.embed_tokens.weight"`, "vocab_size"}},
		"shape": {tensors: func(all []neural.Tensor) []neural.Tensor {
			all[0].Shape, all[0].Data = []int{36, 20}, all[0].Data[:720]
			return all
		}, want: []string{first, `"model.embed_tokens.weight" has shape [36 20], want [37 20], which is [vocab_size hidden_size] in config.json`}},
		"extra tensor": {tensors: func(all []neural.Tensor) []neural.Tensor {
			return append(all, neural.Tensor{Name: "model.layers.0.mlp.extra.weight", Shape: []int{1}, Data: []float32{0}})
		}, want: []string{second, `"model.layers.0.mlp.extra.weight" has no place`}},
		"angles": {tensors: func(all []neural.Tensor) []neural.Tensor {
			return append(all, neural.Tensor{Name: "model.rotary_emb.inv_freq", Shape: []int{1}, Data: []float32{0}})
		}},
		"fewer blocks": {config: map[string]any{"num_hidden_layers": 1}, want: []string{`tensor "model.layers.1.`, "has no place", "num_hidden_layers = 1"}},
		"more blocks":  {config: map[string]any{"num_hidden_layers": 3}, want: []string{index, `no tensor "model.layers.2.`}},
		"heads":        {config: map[string]any{"num_key_value_heads": 4}, want: []string{"k_proj", "num_key_value_heads·head_dim"}},
		"key":          {config: map[string]any{"intermediate_size": nil}, want: []string{"config.json: no key intermediate_size"}},
		"architecture": {config: map[string]any{"model_type": "mamba"}, want: []string{`config.json: model_type = "mamba", want one of Dream,`}},
		"rope":         {config: map[string]any{"rope_scaling": map[string]any{"rope_type": "longrope"}}, want: []string{"config.json: rope_scaling.rope_type = longrope"}},
		"window":       {config: map[string]any{"layer_types": []string{"full_attention", "sliding_attention"}}, want: []string{"config.json: layer_types[1] = sliding_attention"}},
		"layers":       {config: map[string]any{"layer_types": []string{"full_attention", "full_attention"}}},

		"tied, other weights": {config: map[string]any{"tie_word_embeddings": true}, want: []string{`"lm_head.weight" differs from "model.embed_tokens.weight"`, "tie_word_embeddings"}},
		"tied, same weights": {config: map[string]any{"tie_word_embeddings": true}, tensors: func(all []neural.Tensor) []neural.Tensor {
			require.Equal(t, "lm_head.weight", all[2].Name)
			all[2].Data = all[0].Data
			return all
		}},
		"tied, left out":   {config: map[string]any{"tie_word_embeddings": true}, tensors: func(all []neural.Tensor) []neural.Tensor { return slices.Delete(all, 2, 3) }},
		"untied, left out": {tensors: func(all []neural.Tensor) []neural.Tensor { return slices.Delete(all, 2, 3) }, want: []string{index, `no tensor "lm_head.weight"`, "tie_word_embeddings"}},
		"unsaid, left out": {config: map[string]any{"tie_word_embeddings": nil}, tensors: func(all []neural.Tensor) []neural.Tensor { return slices.Delete(all, 2, 3) },
			want: []string{index, `no tensor "lm_head.weight"`, "tie_word_embeddings"}},
		"tied, no answer": {config: map[string]any{"tie_word_embeddings": "yes"}, want: []string{"config.json: tie_word_embeddings = yes, want true or false"}},
	} {
		t.Run(name, func(t *testing.T) {
			config, tensors := v.config(), v.tensors()
			maps.Copy(config, c.config)
			if c.tensors != nil {
				tensors = c.tensors(tensors)
			}
			dir := write(t, config, tensors, neural.F32)
			if c.files != nil {
				c.files(t, dir)
			}
			net, err := Open(dir)
			if err == nil {
				require.NoError(t, net.Close())
			}
			if c.want == nil {
				require.NoError(t, err)
			}
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
	_, err := Load(nil, Config{})
	assert.ErrorContains(t, err, "f = nil")
	_, err = Load(&neural.File{}, Config{})
	assert.ErrorContains(t, err, "ReadConfig")
	_, err = Open(t.TempDir())
	assert.ErrorContains(t, err, "config.json")
}

// The mask token is that of the configuration, of the tokenizer, or of the options.
func TestMaskToken(t *testing.T) {
	v := variants(t)[3]
	config := v.config()
	delete(config, "mask_token_id")
	dir := write(t, config, v.tensors(), neural.F32)
	net := opened(t, dir)
	assert.Equal(t, int32(-1), net.Config().Mask)
	_, err := net.Masked(length, Options{})
	assert.ErrorContains(t, err, "Options.Mask")
	mask := int32(5)
	d, err := net.Masked(length, Options{Mask: &mask})
	require.NoError(t, err)
	assert.Equal(t, mask, d.MaskLevel())

	for _, name := range []any{"<|mask|>", map[string]any{"content": "<|mask|>", "lstrip": false}} {
		put(t, dir, "tokenizer_config.json", map[string]any{"mask_token": name})
		put(t, dir, "tokenizer.json", map[string]any{"added_tokens": []any{
			map[string]any{"id": 30, "content": "<|end|>"}, map[string]any{"id": 36, "content": "<|mask|>"},
		}})
		net := opened(t, dir)
		assert.Equal(t, int32(36), net.Config().Mask)
	}
	put(t, dir, "tokenizer.json", map[string]any{"added_tokens": []any{map[string]any{"id": 37, "content": "<|mask|>"}}})
	_, err = Open(dir)
	assert.ErrorContains(t, err, "has the number 37")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte("{"), 0o600))
	_, err = Open(dir)
	assert.ErrorContains(t, err, "tokenizer.json")
}

func TestArguments(t *testing.T) {
	v := variants(t)[3]
	net := opened(t, write(t, v.config(), v.tensors(), neural.F32))
	low, high := int32(-1), int32(37)
	for want, opt := range map[string]Options{"Mask = -1": {Mask: &low}, "Mask = 37": {Mask: &high}, "Block = -1": {Block: -1}} {
		_, err := net.Masked(length, opt)
		assert.ErrorContains(t, err, want)
	}
	for _, n := range []int{0, 65} {
		_, err := net.Masked(n, Options{})
		assert.ErrorContains(t, err, "want 1 … 64")
	}
	d, err := net.Masked(length, Options{})
	require.NoError(t, err)
	assert.True(t, d.TimeFree())
	out := make([]float32, length*vocabulary)
	x := append([]int32{}, state...)
	x[2] = 37
	assert.Panics(t, func() {
		_ = d.Denoise(context.Background(), out, energy.Noised[int32]{X: x, Time: []float64{0}, Alpha: []float64{0}})
	})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, d.Denoise(ctx, out, energy.Noised[int32]{X: state, Time: []float64{0}, Alpha: []float64{0}}), context.Canceled)
}

// Numbers that are not finite are an error that names state and position.
func TestNotFinite(t *testing.T) {
	v := variants(t)[3]
	all := v.tensors()
	all[1].Data[0] = float32(math.NaN())
	net := opened(t, write(t, v.config(), all, neural.F32))
	d, err := net.Masked(length, Options{})
	require.NoError(t, err)
	out := make([]float32, length*vocabulary)
	err = d.Denoise(context.Background(), out, energy.Noised[int32]{X: state, Time: []float64{0}, Alpha: []float64{0}})
	assert.ErrorContains(t, err, "state 0: the results of position 1 add up to NaN")
}

// A file that is cut while the network is in use is an error that names tensor and file, and no
// fault of the program. The weights of a whole file are read again.
func TestFileCutWhileInUse(t *testing.T) {
	v := variants(t)[3]
	dir := write(t, v.config(), v.tensors(), neural.F32)
	net := opened(t, dir)
	d, err := net.Masked(length, Options{Workers: 2})
	require.NoError(t, err)
	want := predict(t, d, state)
	path := filepath.Join(dir, "model-00002-of-00002.safetensors")
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	if os.Truncate(path, 0) != nil {
		t.Skip("the system does not cut a file that is mapped")
	}
	out := make([]float32, length*vocabulary)
	other := slices.Repeat([]int32{maskToken}, length)
	err = d.Denoise(context.Background(), out, energy.Noised[int32]{X: other, Time: []float64{0}, Alpha: []float64{0}})
	assert.ErrorContains(t, err, `tensor "model.layers.`)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.Write(whole)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, want, predict(t, d, state))
}
