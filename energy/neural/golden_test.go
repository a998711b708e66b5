package neural

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// golden is what testdata/golden.py writes with PyTorch 1.13: weights in a file
// of the names of the public checkpoints, and what PyTorch makes of them.
type golden struct {
	Tokens     []int32
	Level      []float64
	Logits     []float64
	Prediction []float64
}

func readGolden(t *testing.T, name string) (*Transformer, golden) {
	net, err := Open("testdata/"+name+".safetensors", Config{Length: 7})
	require.NoError(t, err)
	text, err := os.ReadFile("testdata/" + name + ".json")
	require.NoError(t, err)
	var g golden
	require.NoError(t, json.Unmarshal(text, &g))
	return net, g
}

// torchError is what float32 may differ by at logits of a few units.
const torchError = 1e-4

func TestLogitsAreThoseOfTorch(t *testing.T) {
	for _, name := range []string{"mdlm", "udlm", "sedd"} {
		net, g := readGolden(t, name)
		p := net.NewPass(3)
		y := make([]float32, len(g.Logits))
		p.Forward(Input{Tokens: g.Tokens, Level: g.Level})
		p.Output(y, nil)
		far := 0.0
		for i, want := range g.Logits {
			far = max(far, math.Abs(want-float64(y[i])))
		}
		assert.LessOrEqual(t, far, torchError, name)
		t.Logf("%s: largest difference %.2g", name, far)
	}
}

func TestPredictionsAreThoseOfThePapers(t *testing.T) {
	const mask = 10
	for name, make := range map[string]func(*Transformer) energy.Denoiser[int32]{
		"mdlm": func(n *Transformer) energy.Denoiser[int32] {
			return exact.Must(NewMasked(n, mask, Options{TimeFree: true}))
		},
		"udlm": func(n *Transformer) energy.Denoiser[int32] { return exact.Must(NewUniform(n, false, Options{})) },
		"sedd": func(n *Transformer) energy.Denoiser[int32] { return exact.Must(NewRatio(n, mask, Options{})) },
	} {
		net, g := readGolden(t, name)
		d := make(net)
		q := noised(g.Tokens, 7, 0.5, 0.5)
		for s, l := range g.Level {
			q.Alpha[s] = math.Exp(-l)
		}
		v := append([]float32(nil), wideless(g.Prediction)...)
		require.NoError(t, d.Denoise(context.Background(), v, q))
		levels := net.Config().Levels
		for i, l := range g.Tokens {
			got, want := v[i*levels:(i+1)*levels], g.Prediction[i*levels:(i+1)*levels]
			if name == "sedd" {
				if l != mask {
					continue // no prediction of the paper; carried over
				}
				want[mask] = math.Inf(-1) // the score of what is there
			}
			a, b := softmax(wide(got)), softmax(want)
			for k := range b {
				assert.InDelta(t, b[k], a[k], torchError, "%s, site %d", name, i)
			}
		}
	}
}

func wideless(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

func softmax(w []float64) []float64 {
	sum := 0.0
	p := make([]float64, len(w))
	for i, v := range w {
		p[i] = math.Exp(v)
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}
