package pretrained

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
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
	whole, err := Open(dir)
	require.NoError(t, err)
	for _, fsys := range []fs.FS{os.DirFS(dir), plain{os.DirFS(dir)}} {
		net, err := OpenFS(fsys, ".")
		require.NoError(t, err)
		assert.Equal(t, whole.Config(), net.Config())
		a, err := whole.Masked(length, Options{})
		require.NoError(t, err)
		b, err := net.Masked(length, Options{})
		require.NoError(t, err)
		assert.Equal(t, predict(t, a, state), predict(t, b, state))
	}
	_, err = OpenFS(os.DirFS(dir), "elsewhere")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorContains(t, err, "elsewhere/config.json")
}

// Weights that do not fit the configuration are refused, with the tensor's name.
func TestTensorsThatAreRefused(t *testing.T) {
	v := variants(t)[3]
	open := func(change func(all []neural.Tensor) []neural.Tensor) error {
		_, err := Open(write(t, v.config(), change(v.tensors()), neural.F32))
		return err
	}
	assert.NoError(t, open(func(all []neural.Tensor) []neural.Tensor { return all }))
	assert.ErrorContains(t, open(func(all []neural.Tensor) []neural.Tensor { return all[1:] }), `"model.embed_tokens.weight"`)
	assert.ErrorContains(t, open(func(all []neural.Tensor) []neural.Tensor {
		all[0].Shape, all[0].Data = []int{36, 20}, all[0].Data[:720]
		return all
	}), `"model.embed_tokens.weight" has shape [36 20], want [37 20]`)
	assert.ErrorContains(t, open(func(all []neural.Tensor) []neural.Tensor {
		return append(all, neural.Tensor{Name: "model.layers.0.mlp.extra.weight", Shape: []int{1}, Data: []float32{0}})
	}), `"model.layers.0.mlp.extra.weight" has no place`)
	assert.NoError(t, open(func(all []neural.Tensor) []neural.Tensor {
		return append(all, neural.Tensor{Name: "model.rotary_emb.inv_freq", Shape: []int{1}, Data: []float32{0}})
	}))
	_, err := Load(nil, Config{})
	assert.ErrorContains(t, err, "f = nil")
	_, err = Load(&neural.File{}, Config{})
	assert.ErrorContains(t, err, "ReadConfig")
	_, err = Open(t.TempDir())
	assert.ErrorContains(t, err, "config.json")
	dir := t.TempDir()
	put(t, dir, "config.json", v.config())
	_, err = Open(dir)
	assert.ErrorContains(t, err, "model.safetensors")
}

// The mask token is that of the configuration, of the tokenizer, or of the options.
func TestMaskToken(t *testing.T) {
	v := variants(t)[3]
	config := v.config()
	delete(config, "mask_token_id")
	dir := write(t, config, v.tensors(), neural.F32)
	net, err := Open(dir)
	require.NoError(t, err)
	assert.Equal(t, int32(-1), net.Config().Mask)
	_, err = net.Masked(length, Options{})
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
		net, err = Open(dir)
		require.NoError(t, err)
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
	net, err := Open(write(t, v.config(), v.tensors(), neural.F32))
	require.NoError(t, err)
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
	net, err := Open(write(t, v.config(), all, neural.F32))
	require.NoError(t, err)
	d, err := net.Masked(length, Options{})
	require.NoError(t, err)
	out := make([]float32, length*vocabulary)
	err = d.Denoise(context.Background(), out, energy.Noised[int32]{X: state, Time: []float64{0}, Alpha: []float64{0}})
	assert.ErrorContains(t, err, "state 0: the results of position 1 add up to NaN")
}
