package pretrained

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// window is a case of testdata/series.json.
type window struct {
	Config map[string]any `json:"config"`
	Step   int            `json:"step"`
	Alpha  float64        `json:"alpha"`
	Want   []float64      `json:"want"`
}

//go:embed testdata/series.json
var goldenSeries []byte

func windows(t testing.TB) (all []window) {
	require.NoError(t, json.Unmarshal(goldenSeries, &all))
	return all
}

func (c window) size(key string) int { return int(c.Config[key].(float64)) }

// levels are the signal levels of the cosine schedule of Diffusion-TS.
func (c window) levels() []float32 {
	n, product := c.size("timesteps"), 1.0
	bar := func(i int) float64 {
		return math.Pow(math.Cos((float64(i)/float64(n)+0.008)/1.008*math.Pi/2), 2)
	}
	out := make([]float32, n)
	for i := range out {
		product *= 1 - min(1-bar(i+1)/bar(i), 0.999)
		out[i] = float32(product)
	}
	return out
}

// tensors are those of the file.
func (c window) tensors() (all []neural.Tensor) {
	add, linear := adders(&all)
	rows, channels, d := c.size("seq_length"), c.size("feature_size"), c.size("d_model")
	hidden := c.size("mlp_hidden_times") * d
	all = append(all, neural.Tensor{Name: "alphas_cumprod", Shape: []int{c.size("timesteps")}, Data: c.levels()})
	add("betas", c.size("timesteps"))
	linear("model.emb.sequential.1", d, channels, 3)
	linear("model.inverse.sequential.1", channels, d, 3)
	add("model.combine_s.weight", channels, d, c.size("kernel_size"))
	add("model.combine_m.weight", 1, c.size("n_layer_dec"), 1)
	add("model.pos_enc.pe", 1, rows, d)
	add("model.pos_dec.pe", 1, rows, d)
	block := func(name string, norms, attentions []string) {
		for _, norm := range norms {
			linear(name+norm+".linear", 2*d, d)
		}
		for _, a := range attentions {
			for _, part := range []string{"query", "key", "value", "proj"} {
				linear(name+a+"."+part, d, d)
			}
		}
		add(name+"ln2.weight", d)
		add(name+"ln2.bias", d)
		linear(name+"mlp.0", hidden, d)
		linear(name+"mlp.2", d, hidden)
	}
	for i := range c.size("n_layer_enc") {
		block(fmt.Sprintf("model.encoder.blocks.%d.", i), []string{"ln1"}, []string{"attn"})
	}
	for i := range c.size("n_layer_dec") {
		name := fmt.Sprintf("model.decoder.blocks.%d.", i)
		block(name, []string{"ln1", "ln1_1"}, []string{"attn1", "attn2"})
		linear(name+"proj", 2*rows, rows, 1)
		linear(name+"trend.trend.0", 3, rows, 3)
		linear(name+"trend.trend.3", channels, d, 3)
		linear(name+"linear", channels, d)
	}
	return all
}

// adders returns functions that append to all a tensor, and the weights and biases of a layer.
func adders(all *[]neural.Tensor) (add func(name string, shape ...int), linear func(name string, out, in int, kernel ...int)) {
	add = func(name string, shape ...int) {
		*all = append(*all, neural.Tensor{Name: name, Shape: shape, Data: weights(name, shape...)})
	}
	return add, func(name string, out, in int, kernel ...int) {
		add(name+".weight", append([]int{out, in}, kernel...)...)
		add(name+".bias", out)
	}
}

// folder is a folder of a network, as a file system.
func folder(t testing.TB, config map[string]any, tensors []neural.Tensor) fstest.MapFS {
	var b bytes.Buffer
	require.NoError(t, neural.WriteFile(&b, neural.F32, tensors, nil))
	text, err := json.Marshal(config)
	require.NoError(t, err)
	return fstest.MapFS{"config.json": {Data: text}, "model.safetensors": {Data: b.Bytes()}}
}

// input is the window of testdata/series.py.
func (c window) input() []float32 {
	x := weights("x", c.size("seq_length"), c.size("feature_size"), 1)
	for i := range x {
		x[i] *= 4
	}
	return x
}

// Predictions are those of PyTorch, for every state of a batch, without allocation.
func TestGoldenSeries(t *testing.T) {
	for _, c := range windows(t) {
		s, err := OpenSeriesFS(folder(t, c.Config, c.tensors()), ".")
		require.NoError(t, err)
		assert.Equal(t, []int{c.size("seq_length"), c.size("feature_size")}, []int{s.Length(), s.Channels()})
		x := c.input()
		q := energy.Noised[float32]{X: append(make([]float32, len(x)), x...), Time: make([]float64, 2), Alpha: []float64{0.3, c.Alpha}}
		v := make([]float32, 2*len(x))
		require.NoError(t, s.Denoise(context.Background(), v, q))
		largest := 0.0
		for _, w := range c.Want {
			largest = max(largest, math.Abs(w))
		}
		for i, w := range c.Want {
			assert.InDelta(t, w, v[len(x)+i], 1e-5*largest, "%v, step %d, entry %d", c.Config, c.Step, i)
		}
		assert.True(t, exact.Race || testing.AllocsPerRun(3, func() { _ = s.Denoise(context.Background(), v, q) }) == 0)

		before := slices.Clone(v)
		q.Clean = make([]bool, len(v))
		q.Clean[len(x)] = true
		require.NoError(t, s.Denoise(context.Background(), v, q))
		before[len(x)] = x[0]
		assert.Equal(t, before, v)
	}
}

// The network of the example, of which other tests make use, has the tensors of the list above.
func TestFolderOfTheExample(t *testing.T) {
	text, err := os.ReadFile("testdata/diffusion-ts/config.json")
	require.NoError(t, err)
	var c window
	require.NoError(t, json.Unmarshal(text, &c.Config))
	files := folder(t, c.Config, c.tensors())
	exact.Golden(t, "energy/neural/pretrained/testdata/diffusion-ts/model.safetensors", string(files["model.safetensors"].Data))
}

// The step of a signal level is its place in the file, and between two places by log-odds.
func TestStepsOfSeries(t *testing.T) {
	c := windows(t)[0]
	s, err := OpenSeriesFS(folder(t, c.Config, c.tensors()), ".")
	require.NoError(t, err)
	levels := c.levels()
	odds := func(a float32) float64 { return math.Log(float64(a) / (1 - float64(a))) }
	for i, a := range levels {
		assert.InDelta(t, i, s.net.(*diffusionTS).step(float64(a)), 1e-9)
		if i > 0 {
			middle := (odds(a) + odds(levels[i-1])) / 2
			assert.InDelta(t, float64(i)-0.5, s.net.(*diffusionTS).step(1/(1+math.Exp(-middle))), 1e-6)
		}
	}
	assert.Equal(t, []float64{0, 49}, []float64{s.net.(*diffusionTS).step(1), s.net.(*diffusionTS).step(0)})
	v, x := make([]float32, 24), make([]float32, 24)
	for _, a := range []float64{-0.1, 1.1, math.NaN()} {
		assert.ErrorContains(t, s.Denoise(context.Background(), v, energy.Noised[float32]{X: x, Time: []float64{0}, Alpha: []float64{a}}), "state 0: ᾱ = ")
	}
	x[3] = float32(math.NaN())
	assert.ErrorContains(t, s.Denoise(context.Background(), v, energy.Noised[float32]{X: x, Time: []float64{0}, Alpha: []float64{0.5}}), "state 0: the outputs add up to NaN")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, s.Denoise(ctx, v, energy.Noised[float32]{X: x, Time: []float64{0}, Alpha: []float64{0.5}}), context.Canceled)
}

// What the package does not compute is refused, with the name of the key or tensor.
func TestSeriesThatAreRefused(t *testing.T) {
	c := windows(t)[3]
	open := func(config map[string]any, tensors []neural.Tensor) error {
		_, err := OpenSeriesFS(folder(t, config, tensors), ".")
		return err
	}
	for want, change := range map[string]map[string]any{
		"config.json: no key seq_length, want a whole number of 3": {"seq_length": nil},
		"config.json: seq_length = 2, want":                        {"seq_length": 2},
		"config.json: d_model = 7, want an even multiple":          {"d_model": 7},
		"d_model = 6, want an even multiple of n_heads = 4":        {"n_heads": 4},
		"block_activate = GELU2, want GELU":                        {"block_activate": "GELU2"},
		"kernel_size = 4 with padding_size = 2":                    {"kernel_size": 4},
		"kernel_size = 5 with padding_size = 1":                    {"padding_size": 1},
		`tensor "model.combine_s.weight" has shape [3 6 5], want [3 6 1], which is [feature_size d_model kernel_size]`: {"kernel_size": nil, "padding_size": nil},
		`tensor "alphas_cumprod" has shape [50], want [1000], which is [timesteps]`:                                    {"timesteps": nil},
		`no tensor "model.combine_m.weight"`: {"": "combine_m"},
		`tensor "model.decoder.blocks.2.attn1.key.bias" has no place in a Diffusion-TS network with n_layer_dec = 2`:   {"n_layer_dec": 2, "": "fewer"},
		`no tensor "model.encoder.blocks.1.ln1.linear.weight", want one of shape [12 6], which is [2·d_model d_model]`: {"n_layer_enc": 2},
		`tensor "model.extra" has no place`:                    {"": "extra"},
		`tensor "alphas_cumprod": the number of step 7 is not`: {"": "levels"},
		"the larger of seq_length and n_heads":                 {"seq_length": 1 << 24, "mlp_hidden_times": 1 << 24},
		"3 × d_model = [16777216 16777216 16777216]":           {"seq_length": 1 << 24, "mlp_hidden_times": 1 << 24, "d_model": 1 << 24, "n_heads": 1},
		"seq_length and feature_size = [3 4096 16777216]":      {"seq_length": 1 << 12, "feature_size": 1 << 24},
	} {
		config, tensors := maps.Clone(c.Config), c.tensors()
		maps.Copy(config, change)
		switch config[""] {
		case "combine_m":
			tensors = slices.DeleteFunc(tensors, func(t neural.Tensor) bool { return strings.Contains(t.Name, "combine_m") })
		case "fewer":
			for i := range tensors {
				if strings.Contains(tensors[i].Name, "combine_m") {
					tensors[i] = neural.Tensor{Name: tensors[i].Name, Shape: []int{1, 2, 1}, Data: []float32{1, 1}}
				}
			}
		case "extra":
			tensors = append(tensors, neural.Tensor{Name: "model.extra", Shape: []int{1}, Data: []float32{1}})
		case "levels":
			tensors[0].Data[7] = tensors[0].Data[6]
		}
		assert.ErrorContains(t, open(config, tensors), want)
	}
	_, err := OpenSeriesFS(nil, ".")
	assert.ErrorContains(t, err, "fsys = nil")
	_, err = OpenSeries(t.TempDir())
	assert.ErrorContains(t, err, "config.json")
	fsys := folder(t, c.Config, c.tensors())
	delete(fsys, "model.safetensors")
	_, err = OpenSeriesFS(fsys, ".")
	assert.ErrorContains(t, err, "model.safetensors")
	fsys["config.json"].Data = []byte("[")
	_, err = OpenSeriesFS(fsys, ".")
	assert.ErrorContains(t, err, "config.json: ")
}

// A name is shown as it is, even with a percent sign, and a long value is cut.
func TestNamesAndValuesInErrors(t *testing.T) {
	const dir = "50%done"
	long := strings.Repeat("9", 1000)
	ts, csdi := windows(t)[3], imputations(t)[0]
	ts.Config["block_activate"] = "GELU2"
	csdi.Config["diffusion"].(map[string]any)["beta_start"] = long
	for want, files := range map[string]fstest.MapFS{
		"block_activate = GELU2, want GELU":                          folder(t, ts.Config, ts.tensors()),
		"diffusion: beta_start = " + long[:80] + "… and beta_end = ": folder(t, csdi.Config, csdi.tensors()),
	} {
		fsys := fstest.MapFS{}
		for name, f := range files {
			fsys[dir+"/"+name] = f
		}
		_, err := OpenSeriesFS(fsys, dir)
		require.ErrorContains(t, err, "pretrained: "+dir+"/config.json: "+want)
		assert.Less(t, len(err.Error()), 500)
		fsys[dir+"/model.safetensors"].Data = nil
		_, err = OpenSeriesFS(fsys, dir)
		assert.ErrorContains(t, err, dir+"/model.safetensors: 0 bytes, want ≥ 8")
	}
	_, err := readConfig(dir, strings.NewReader("{}"))
	assert.ErrorContains(t, err, "pretrained: "+dir+": model_type = ")
	config := variants(t)[3].config()
	config["rope_scaling"] = map[string]any{long: 1}
	_, err = readMap(t, config)
	assert.ErrorContains(t, err, "rope_scaling."+long[:80]+"… = 1, want none")
}
