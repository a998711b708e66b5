package pretrained

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/neural"
)

// Angles per position are those of the formulas of transformers, which were computed
// apart in Python; cosines and sines have the factor of the published configurations.
func TestRopeScaling(t *testing.T) {
	for _, c := range []struct {
		name      string
		p         map[string]any
		positions int // of config.json
		longest   int
		length    int
		base      float64
		want      []float64
		scale     float64
	}{
		{"default", map[string]any{"rope_type": "default"}, 64, 64, 8, 1e4, []float64{1, 0.1, 0.01, 0.001}, 1},
		{"linear", map[string]any{"type": "linear", "factor": 4.}, 64, 64, 8, 1e4, []float64{0.25, 0.025, 0.0025, 0.00025}, 1},
		{"dynamic", map[string]any{"type": "dynamic", "factor": 2.}, 64, 128, 96, 1e4, []float64{1, 0.0793700526, 0.006299605249, 0.0005}, 1},
		{"dynamic, short", map[string]any{"type": "dynamic", "factor": 2.}, 64, 128, 64, 1e4, []float64{1, 0.1, 0.01, 0.001}, 1},
		{"llama3", map[string]any{"rope_type": "llama3", "factor": 8., "low_freq_factor": 1., "high_freq_factor": 4., "original_max_position_embeddings": 8192.},
			131072, 131072, 8, 5e5, []float64{1, 0.1939227447, 0.03760603093, 0.007292664737, 0.000524846161, 3.428102196e-05, 6.647869871e-06, 1.289173172e-06}, 1},
		{"yarn", map[string]any{"type": "yarn", "factor": 4., "original_max_position_embeddings": 32768.},
			32768, 131072, 8, 1e6, []float64{1, 0.177827941, 0.0316227766, 0.004217559939, 0.0005, 4.445698525e-05, 7.90569415e-06, 1.405853313e-06}, 0.1*math.Log(4) + 1},
		{"yarn, fractions", map[string]any{"rope_type": "yarn", "factor": 40., "truncate": false, "mscale": .7, "mscale_all_dim": .9},
			4096, 163840, 8, 1e4, []float64{1, 0.316227766, 0.1, 0.02771085848, 0.005524062977, 0.0007226383419, 2.5e-05, 7.90569415e-06}, 0.9446113842984986},
		{"yarn, factor given", map[string]any{"rope_type": "yarn", "factor": 40., "truncate": false, "attention_factor": 2.},
			4096, 163840, 8, 1e4, []float64{1, 0.316227766, 0.1, 0.02771085848, 0.005524062977, 0.0007226383419, 2.5e-05, 7.90569415e-06}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := readRope("rope_scaling", c.p, c.positions)
			require.NoError(t, err)
			assert.Equal(t, c.longest, r.longest(c.positions))
			dim := 2 * len(c.want)
			turned := make([]float32, c.length*dim)
			for i := range turned {
				if i%dim < dim/2 {
					turned[i] = 1
				}
			}
			r.rotary(c.length, dim, c.base).Turn(turned)
			for j, f := range c.want {
				for _, at := range []int{0, 1, c.length - 1} {
					sin, cos := math.Sincos(float64(at) * f)
					assert.InDelta(t, c.scale*cos, turned[at*dim+j], 2e-6, "position %d, pair %d", at, j)
					assert.InDelta(t, c.scale*sin, turned[at*dim+len(c.want)+j], 2e-6, "position %d, pair %d", at, j)
				}
			}
		})
	}
}

// The configuration's scaling reaches the network: its results change, and so does the
// largest length.
func TestRopeScalingOfANetwork(t *testing.T) {
	v := variants(t)[3]
	logits := func(key string, p map[string]any) []float32 {
		config := v.config()
		config[key] = p
		net := opened(t, write(t, config, v.tensors(), neural.F32))
		if p != nil && p["rope_type"] == "yarn" {
			assert.Equal(t, 128, net.Config().Length)
		}
		d, err := net.Masked(length, Options{})
		require.NoError(t, err)
		return predict(t, d, state)
	}
	plain := logits("rope_scaling", nil)
	assert.Equal(t, plain, logits("rope_parameters", map[string]any{"rope_type": "default", "rope_theta": v.Base}))
	assert.Equal(t, plain, logits("rope_scaling", map[string]any{"rope_type": "linear", "factor": 1.}))
	linear := logits("rope_scaling", map[string]any{"rope_type": "linear", "factor": 2.})
	yarn := logits("rope_parameters", map[string]any{"rope_type": "yarn", "factor": 2., "rope_theta": v.Base})
	assert.NotEqual(t, plain, linear)
	assert.NotEqual(t, plain, yarn)
	assert.NotEqual(t, linear, yarn)
}
