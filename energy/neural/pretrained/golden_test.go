package pretrained

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// The small networks of testdata/golden.py.
const (
	vocabulary, hidden, blocks, length = 37, 28, 2, 9

	maskToken = 36
)

var state = []int32{3, 36, 36, 17, 0, 36, 35, 8, 36}

// weights is the function of the same name in testdata/golden.py.
func weights(name string, shape ...int) []float32 {
	h := uint32(2166136261)
	for _, b := range []byte(name) {
		h = (h ^ uint32(b)) * 16777619
	}
	n := 1
	for _, k := range shape {
		n *= k
	}
	w := make([]float32, n)
	for i := range w {
		z := h + uint32(i)*0x9E3779B1
		z = (z ^ z>>16) * 0x85EBCA6B
		z = (z ^ z>>13) * 0xC2B2AE35
		u := float64(z^z>>16)/(1<<32) - 0.5
		switch {
		case strings.Contains(name, "norm") || strings.Contains(name, "ln_f"):
			u = 1 + u
		case len(shape) == 2:
			u = u * 4 / math.Sqrt(float64(shape[1]))
		}
		w[i] = float32(u)
	}
	return w
}

// variant is a small network of testdata/golden.json.
type variant struct {
	Type    string      `json:"type"`
	Base    float64     `json:"base"`
	Epsilon float64     `json:"epsilon"`
	Bias    bool        `json:"bias"`
	Tied    bool        `json:"tied"`
	Block   int         `json:"block"`
	Logits  [][]float64 `json:"logits"`
}

//go:embed testdata/golden.json
var golden []byte

func variants(t testing.TB) []variant {
	var all []variant
	require.NoError(t, json.Unmarshal(golden, &all))
	return all
}

// config is what config.json holds.
func (v variant) config() map[string]any {
	if v.Type == "llada" {
		return map[string]any{
			"model_type": v.Type, "embedding_size": vocabulary, "d_model": 16, "mlp_hidden_size": hidden, "n_layers": blocks, "n_heads": 4,
			"n_kv_heads": nil, "max_sequence_length": 64, "weight_tying": v.Tied, "rope_theta": v.Base, "rms_norm_eps": v.Epsilon,
			"mask_token_id": maskToken, "block_type": "llama", "layer_norm_type": "rms", "activation_type": "silu", "rope": true,
		}
	}
	return map[string]any{
		"model_type": v.Type, "vocab_size": vocabulary, "hidden_size": 20, "intermediate_size": hidden, "num_hidden_layers": blocks,
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6, "max_position_embeddings": 64, "tie_word_embeddings": v.Tied,
		"rope_theta": v.Base, "rms_norm_eps": v.Epsilon, "mask_token_id": maskToken, "hidden_act": "silu", "rope_scaling": nil,
	}
}

// tensors are those of the file.
func (v variant) tensors() []neural.Tensor {
	f := families[v.Type]
	n, width, head, groups := f.names, 20, 6, 2
	if v.Type == "llada" {
		width, head, groups = 16, 4, 4
	}
	var all []neural.Tensor
	add := func(name string, shape ...int) {
		all = append(all, neural.Tensor{Name: name, Shape: shape, Data: weights(name, shape...)})
	}
	add(n.embed+".weight", vocabulary, width)
	add(n.norm+".weight", width)
	if !v.Tied {
		add(n.last+".weight", vocabulary, width)
	}
	for i := range blocks {
		at := func(name string) string { return strings.Replace(name, "%d", fmt.Sprint(i), 1) }
		add(at(n.norm1)+".weight", width)
		add(at(n.norm2)+".weight", width)
		for name, out := range map[string]int{n.query: 4 * head, n.key: groups * head, n.value: groups * head} {
			add(at(name)+".weight", out, width)
			if v.Bias {
				add(at(name)+".bias", out)
			}
		}
		add(at(n.out)+".weight", width, 4*head)
		if f.norms {
			add(at(n.queryNorm)+".weight", head)
			add(at(n.keyNorm)+".weight", head)
		}
		add(at(n.gate)+".weight", hidden, width)
		add(at(n.up)+".weight", hidden, width)
		add(at(n.down)+".weight", width, hidden)
	}
	return all
}

// write makes the folder of a model, its weights in two files, and returns its path.
func write(t testing.TB, config map[string]any, tensors []neural.Tensor, dtype neural.DType) string {
	dir := t.TempDir()
	put(t, dir, "config.json", config)
	index := map[string]string{}
	for part, all := range [][]neural.Tensor{tensors[:len(tensors)/2], tensors[len(tensors)/2:]} {
		name := fmt.Sprintf("model-%05d-of-00002.safetensors", part+1)
		var b bytes.Buffer
		require.NoError(t, neural.WriteFile(&b, dtype, all, nil))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
		for _, p := range all {
			index[p.Name] = name
		}
	}
	put(t, dir, "model.safetensors.index.json", map[string]any{"weight_map": index})
	return dir
}

func put(t testing.TB, dir, name string, v any) {
	b, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), b, 0o600))
}

// predict returns the predictions for states.
func predict(t testing.TB, d *Masked, x []int32) []float32 {
	sites, levels := d.Shape()
	n := len(x) / sites
	v := make([]float32, len(x)*levels)
	require.NoError(t, d.Denoise(context.Background(), v, energy.Noised[int32]{X: x, Time: make([]float64, n), Alpha: make([]float64, n)}))
	return v
}

// Logits are those of PyTorch, and tokens that show are their own prediction.
func TestGoldenLogits(t *testing.T) {
	for _, v := range variants(t) {
		t.Run(fmt.Sprintf("%s/%d", v.Type, v.Block), func(t *testing.T) {
			net := opened(t, write(t, v.config(), v.tensors(), neural.F32))
			d, err := net.Masked(length, Options{Block: v.Block})
			require.NoError(t, err)
			got := predict(t, d, state)
			largest := 0.0
			for _, row := range v.Logits {
				for _, l := range row {
					largest = max(largest, math.Abs(l))
				}
			}
			for i, l := range state {
				row := got[i*vocabulary : (i+1)*vocabulary]
				for k, p := range row {
					switch {
					case l != maskToken && k == int(l):
						assert.Zero(t, p)
					case l != maskToken || k == maskToken:
						assert.Equal(t, float32(math.Inf(-1)), p)
					default:
						assert.InDelta(t, v.Logits[i][k], p, 2e-6*largest, "position %d, token %d", i, k)
					}
				}
			}
		})
	}
}

// Half precision is that of the file: the same bits as a file of the rounded numbers.
func TestTypesOfFiles(t *testing.T) {
	v := variants(t)[3]
	for _, dtype := range []neural.DType{neural.F16, neural.BF16} {
		half := opened(t, write(t, v.config(), v.tensors(), dtype))
		rounded := v.tensors()
		for _, p := range rounded {
			var b bytes.Buffer
			require.NoError(t, neural.WriteFile(&b, dtype, []neural.Tensor{p}, nil))
			f, err := neural.ReadFile("rounded", bytes.NewReader(b.Bytes()), int64(b.Len()))
			require.NoError(t, err)
			require.NoError(t, f.Read(p.Data, p.Name))
		}
		full := opened(t, write(t, v.config(), rounded, neural.F32))
		a, err := half.Masked(length, Options{})
		require.NoError(t, err)
		b, err := full.Masked(length, Options{})
		require.NoError(t, err)
		assert.Equal(t, predict(t, b, state), predict(t, a, state))
	}
}

// Predictions have the same bits for any number of workers and any batch, and no call
// allocates.
func TestWorkersAndBatches(t *testing.T) {
	v := variants(t)[3]
	net := opened(t, write(t, v.config(), v.tensors(), neural.BF16))
	one, err := net.Masked(length, Options{Workers: 1})
	require.NoError(t, err)
	other := []int32{36, 36, 36, 36, 36, 36, 36, 36, 36}
	shown := []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	want := append(append(predict(t, one, state), predict(t, one, other)...), predict(t, one, shown)...)
	for _, workers := range []int{1, 2, 7} {
		d, err := net.Masked(length, Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, want, predict(t, d, append(append(append([]int32{}, state...), other...), shown...)))
	}
	out := make([]float32, length*vocabulary)
	q := energy.Noised[int32]{X: state, Time: []float64{0}, Alpha: []float64{0}}
	assert.True(t, exact.Race || testing.AllocsPerRun(10, func() {
		_ = one.Denoise(context.Background(), out, q)
	}) == 0)
}

// Activations that are kept from call to call change no bit: predictions for states that change a
// little are those of a denoiser that has seen no other. Blocks before the first change are not
// computed again.
func TestActivationsAreKept(t *testing.T) {
	for _, kind := range []int{0, 3} { // LLaDA, Qwen3
		v := variants(t)[kind]
		net := opened(t, write(t, v.config(), v.tensors(), neural.F32))
		for _, block := range []int{0, 1, 4, length} {
			d, err := net.Masked(length, Options{Block: block, Workers: 2})
			require.NoError(t, err)
			src := rand.New(rand.NewPCG(uint64(kind), uint64(block)))
			x := slices.Repeat([]int32{maskToken}, length)
			for step := range 12 {
				before := slices.Clone(x)
				for range src.IntN(3) {
					x[src.IntN(length)] = []int32{maskToken, int32(src.IntN(vocabulary))}[src.IntN(2)]
				}
				if !slices.Contains(x, maskToken) {
					x[0] = maskToken
				}
				first := 0
				for first < length && x[first] == before[first] {
					first++
				}
				fresh, err := net.Masked(length, Options{Block: block, Workers: 1})
				require.NoError(t, err)
				require.Equal(t, predict(t, fresh, x), predict(t, d, x), "block %d, step %d", block, step)
				switch {
				case step == 0:
				case first == length:
					require.Equal(t, length, d.pass.from)
				case block == 0:
					require.Equal(t, 0, d.pass.from)
				default:
					require.Equal(t, first/block*block, d.pass.from)
				}
			}
			// A call that was stopped keeps nothing that it did not finish.
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			out := make([]float32, length*vocabulary)
			x[length-1] = maskToken
			for i := range length - 1 {
				x[i] = (x[i] + 1) % vocabulary
			}
			require.ErrorIs(t, d.Denoise(ctx, out, energy.Noised[int32]{X: x, Time: []float64{0}, Alpha: []float64{0}}), context.Canceled)
			fresh, err := net.Masked(length, Options{Block: block})
			require.NoError(t, err)
			require.Equal(t, predict(t, fresh, x), predict(t, d, x))
		}
	}
}
