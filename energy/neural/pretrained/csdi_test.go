package pretrained

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// imputation is a case of testdata/csdi.json.
type imputation struct {
	Config   map[string]any `json:"config"`
	Channels int            `json:"channels"`
	Step     int            `json:"step"`
	Alpha    float64        `json:"alpha"`
	Want     []float64      `json:"want"`
}

//go:embed testdata/csdi.json
var goldenCSDI []byte

func imputations(t testing.TB) (all []imputation) {
	require.NoError(t, json.Unmarshal(goldenCSDI, &all))
	return all
}

func (c imputation) size(part, key string) int {
	return int(c.Config[part].(map[string]any)[key].(float64))
}

// tensors are those of the file.
func (c imputation) tensors() (all []neural.Tensor) {
	add, linear := adders(&all)
	d, step, features := c.size("diffusion", "channels"), c.size("diffusion", "diffusion_embedding_dim"), c.size("model", "featureemb")
	inputs, side := 2, c.size("model", "timeemb")+features+1
	if c.size("model", "is_unconditional") == 1 {
		inputs, side = 1, side-1
	}
	add("embed_layer.weight", c.Channels, features)
	linear("diffmodel.diffusion_embedding.projection1", step, step)
	linear("diffmodel.diffusion_embedding.projection2", step, step)
	linear("diffmodel.input_projection", d, inputs, 1)
	linear("diffmodel.output_projection1", d, d, 1)
	linear("diffmodel.output_projection2", 1, d, 1)
	for i := range c.size("diffusion", "layers") {
		name := fmt.Sprintf("diffmodel.residual_layers.%d.", i)
		linear(name+"diffusion_projection", d, step)
		linear(name+"cond_projection", 2*d, side, 1)
		linear(name+"mid_projection", 2*d, d, 1)
		linear(name+"output_projection", 2*d, d, 1)
		for _, over := range []string{"time_layer", "feature_layer"} {
			at := name + over + ".layers.0."
			add(at+"self_attn.in_proj_weight", 3*d, d)
			add(at+"self_attn.in_proj_bias", 3*d)
			linear(at+"self_attn.out_proj", d, d)
			linear(at+"linear1", csdiHidden, d)
			linear(at+"linear2", d, csdiHidden)
			for _, norm := range []string{"norm1", "norm2"} {
				add(at+norm+".weight", d)
				add(at+norm+".bias", d)
			}
		}
	}
	return all
}

// Predictions are those of PyTorch: of windows with known entries, of unconditional networks and
// of windows of one channel, for every state of a batch and without allocation.
func TestGoldenCSDI(t *testing.T) {
	for _, c := range imputations(t) {
		s, err := OpenSeriesFS(folder(t, c.Config, c.tensors()), ".")
		require.NoError(t, err)
		rows := int(c.Config["seq_length"].(float64))
		assert.Equal(t, []int{rows, c.Channels}, []int{s.Length(), s.Channels()})
		x := weights("x", rows, c.Channels, 1)
		known := make([]bool, 2*len(x))
		for i := range x {
			x[i] *= 4
			known[len(x)+i] = i%3 == 0
		}
		q := energy.Noised[float32]{X: append(make([]float32, len(x)), x...), Time: make([]float64, 2), Alpha: []float64{0.3, c.Alpha}}
		if c.size("model", "is_unconditional") == 0 {
			q.Clean = known
		}
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
		assert.Equal(t, c.Step, s.net.(*csdi).nearest(c.Alpha))
	}
	s, err := OpenSeriesFS(folder(t, imputations(t)[0].Config, imputations(t)[0].tensors()), ".")
	require.NoError(t, err)
	n := s.net.(*csdi)
	assert.Equal(t, []int{0, 19, 7}, []int{n.nearest(1), n.nearest(0), n.nearest(n.levels[7] + 1e-4)})
	v := []float32{1, 2}
	v = append(v, make([]float32, 19)...)
	require.NoError(t, s.Denoise(context.Background(), v, energy.Noised[float32]{X: slices.Clone(v), Time: []float64{1}, Alpha: []float64{0}}))
	assert.Zero(t, slices.Max(v))
}

func TestCSDIThatIsRefused(t *testing.T) {
	for _, r := range []struct {
		part, key string
		v         any
		want      string
	}{
		{"", "seq_length", nil, "config.json: no key seq_length"},
		{"diffusion", "layers", 0, "config.json: diffusion: layers = 0, want a whole number of 1"},
		{"diffusion", "layers", 3, `no tensor "diffmodel.residual_layers.2.diffusion_projection.weight", want one of shape [8 8], which is [channels diffusion_embedding_dim]`},
		{"diffusion", "layers", 1, `tensor "diffmodel.residual_layers.1.cond_projection.bias" has no place in a CSDI network with layers = 1`},
		{"diffusion", "is_linear", true, "diffusion: is_linear = true, want false"},
		{"diffusion", "schedule", "cosine", "diffusion: schedule = cosine, want quad or linear"},
		{"diffusion", "beta_end", 0, "beta_start = 0.0001 and beta_end = 0"},
		{"diffusion", "nheads", 3, "channels = 8, diffusion_embedding_dim = 8 and model: timeemb = 6, want a multiple of nheads = 3"},
		{"diffusion", "channels", 16, `tensor "diffmodel.input_projection.weight" has shape [8 2 1], want [16 2 1], which is [channels inputs 1]`},
		{"diffusion", "num_steps", 1 << 24, "num_steps = 16777216, want ≤ 1048576"},
		{"diffusion", "beta_end", 1e-300, "beta_start = 0.0001 and beta_end = 1e-300, want"},
		{"diffusion", "beta_start", 1e-20, "make the signal level of step 0 1, want"},
		{"model", "timeemb", nil, "config.json: model: no key timeemb"},
		{"model", "is_unconditional", "no", "model: is_unconditional = no, want true or false"},
		{"model", "is_unconditional", true, `tensor "diffmodel.input_projection.weight" has shape [8 2 1], want [8 1 1]`},
		{"model", "featureemb", 4, `tensor "embed_layer.weight" has shape [3 3], want [3 4], which is [channels of a window featureemb]`},
		{"", "", nil, `tensor "embed_layer.weight" has shape []`},
	} {
		c := imputations(t)[0]
		tensors := c.tensors()
		switch {
		case r.key == "":
			tensors = tensors[1:]
		case r.part == "":
			c.Config[r.key] = r.v
		default:
			c.Config[r.part].(map[string]any)[r.key] = r.v
		}
		_, err := OpenSeriesFS(folder(t, c.Config, tensors), ".")
		if assert.Error(t, err) {
			assert.True(t, strings.Contains(err.Error(), r.want), "%v, want %q in it", err, r.want)
		}
	}
}
