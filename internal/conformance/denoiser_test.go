package conformance_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/pretrained"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/diffusiontest"
)

// denoiser is a line of the registry of denoisers of tokens: a part, and what is known
// of it.
type denoiser struct {
	name string
	part energy.Denoiser[int32]
	o    diffusiontest.DenoiserOptions
}

// The denoisers of the module, of tokens. A new one adds a line here, or below if it is
// of reals.
func denoisers() []denoiser {
	rugged := exact.NewRugged(3, 2, 1, 0, 9)
	table := exact.Must(denoise.NewTable(rugged, denoise.Absorbing))
	replaced := exact.Must(denoise.NewTable(rugged, denoise.Noisy))
	masked, whole := listed(rugged, true), listed(rugged, false)
	chain := exact.Must(model.NewMarkov(3, 2, 1, []float64{.3, .7}, []float64{.9, .1, .2, .8}))
	alone := exact.Must(model.NewIndependent([]float64{0, 1, -1, 0.5, 2, 0}, 2))
	start, trans, emit := []float64{.4, .6}, []float64{.8, .2, .3, .7}, []float64{.9, .1, .25, .75}
	hidden := func(mask bool) []float64 { return ofHMM(start, trans, emit, mask) }
	function := energy.DenoiserFunc[int32]{Sites: 3, Levels: 3, IgnoresTime: true, F: table.Denoise}
	token := exact.Must(neural.New(neural.Config{Length: 3, Levels: 3, Width: 4, Heads: 1, Blocks: 1, Hidden: 4}, rand.NewPCG(1, 1)))
	other := exact.Must(denoise.NewTable(exact.NewRugged(3, 2, 1, 0, 10), denoise.Absorbing))
	return []denoiser{
		{"energy.DenoiserFunc", function, diffusiontest.DenoiserOptions{Joint: masked, Mask: 2}},
		{"denoise.Table", table, diffusiontest.DenoiserOptions{Joint: masked}},
		{"denoise.Table", replaced, diffusiontest.DenoiserOptions{Joint: whole}},
		{"denoise.Markov", exact.Must(denoise.NewMarkov(chain, denoise.Absorbing)), diffusiontest.DenoiserOptions{Joint: listed(chain, true)}},
		{"denoise.Markov", exact.Must(denoise.NewMarkov(chain, denoise.Noisy)), diffusiontest.DenoiserOptions{Joint: listed(chain, false)}},
		{"denoise.Factored", exact.Must(denoise.NewFactored(context.Background(), chain, denoise.Absorbing)), diffusiontest.DenoiserOptions{Joint: listed(chain, true)}},
		{"denoise.Factored", exact.Must(denoise.NewFactored(context.Background(), chain, denoise.Noisy)), diffusiontest.DenoiserOptions{Joint: listed(chain, false)}},
		{"denoise.Independent", exact.Must(denoise.NewIndependent(alone, denoise.Absorbing)), diffusiontest.DenoiserOptions{Joint: listed(alone, true)}},
		{"denoise.Independent", exact.Must(denoise.NewIndependent(alone, denoise.Noisy)), diffusiontest.DenoiserOptions{Joint: listed(alone, false)}},
		{"denoise.HMM", exact.Must(denoise.NewHMM(3, start, trans, emit, denoise.Absorbing)), diffusiontest.DenoiserOptions{Joint: hidden(true)}},
		{"denoise.HMM", exact.Must(denoise.NewHMM(3, start, trans, emit, denoise.Noisy)), diffusiontest.DenoiserOptions{Joint: hidden(false)}},
		{"denoise.Metered", exact.Must(denoise.NewMetered(table, 2, 5)), diffusiontest.DenoiserOptions{Joint: masked}},
		{"denoise.Tempered", denoise.Tempered{Denoiser: table}, diffusiontest.DenoiserOptions{Joint: masked}},
		{"denoise.Tempered", denoise.Tempered{Denoiser: replaced, Temperature: 0.5, TopP: 0.9}, diffusiontest.DenoiserOptions{}},
		{"neural.Masked", exact.Must(neural.NewMasked(token, 2, neural.Options{})), diffusiontest.DenoiserOptions{}},
		{"neural.Uniform", exact.Must(neural.NewUniform(token, false, neural.Options{})), diffusiontest.DenoiserOptions{}},
		{"pretrained.Masked", exact.Must(published().Masked(3, pretrained.Options{})), diffusiontest.DenoiserOptions{}},
		{"neural.Ratio", exact.Must(neural.NewRatio(token, 2, neural.Options{})), diffusiontest.DenoiserOptions{}},
		{"diffusion.ClassifierFree", diffusion.ClassifierFree{Conditional: table, Unconditional: other, Scale: 1}, diffusiontest.DenoiserOptions{Joint: masked, Mask: 2}},
		{"diffusion.ClassifierFree", diffusion.ClassifierFree{Conditional: table, Unconditional: other, Scale: 1.5}, diffusiontest.DenoiserOptions{Mask: 2}},
		{"diffusion.ClassifierGuided", diffusion.ClassifierGuided{Denoiser: table, Classifier: diffusion.ExactClassifier{Model: exact.NewRugged(3, 3, 1, 0, 4)}}, diffusiontest.DenoiserOptions{Joint: masked}},
	}
}

// published returns a small network of LLaDA's shape, of tokens 0, 1 and a mask, from a
// file.
func published() *pretrained.Network {
	cfg := exact.Must(pretrained.ReadConfig(strings.NewReader(`{"model_type": "llada", "embedding_size": 3, "d_model": 4,
		"mlp_hidden_size": 4, "n_layers": 1, "n_heads": 2, "max_sequence_length": 3, "mask_token_id": 2}`)))
	src := rand.New(rand.NewPCG(1, 3))
	var all []neural.Tensor
	for _, t := range []neural.Tensor{
		{Name: "wte", Shape: []int{3, 4}}, {Name: "ln_f", Shape: []int{4}}, {Name: "ff_out", Shape: []int{3, 4}},
		{Name: "blocks.0.attn_norm", Shape: []int{4}}, {Name: "blocks.0.ff_norm", Shape: []int{4}},
		{Name: "blocks.0.q_proj", Shape: []int{4, 4}}, {Name: "blocks.0.k_proj", Shape: []int{4, 4}},
		{Name: "blocks.0.v_proj", Shape: []int{4, 4}}, {Name: "blocks.0.attn_out", Shape: []int{4, 4}},
		{Name: "blocks.0.ff_proj", Shape: []int{4, 4}}, {Name: "blocks.0.up_proj", Shape: []int{4, 4}},
		{Name: "blocks.0.ff_out", Shape: []int{4, 4}},
	} {
		n := 1
		for _, k := range t.Shape {
			n *= k
		}
		for range n {
			t.Data = append(t.Data, float32(src.NormFloat64()))
		}
		t.Name = "model.transformer." + t.Name + ".weight"
		all = append(all, t)
	}
	var b bytes.Buffer
	if err := neural.WriteFile(&b, neural.BF16, all, nil); err != nil {
		panic(err)
	}
	return exact.Must(pretrained.Load(exact.Must(neural.ReadFile("network", bytes.NewReader(b.Bytes()), int64(b.Len()))), cfg))
}

// listed returns the distribution of a model over its levels, with a mask behind them if
// masked.
func listed(m energy.Model, masked bool) []float64 {
	p, _ := exact.Law(m)
	sites, tokens := m.Shape()
	return behind(p, sites, tokens, masked)
}

// behind adds the mask to the levels of a distribution.
func behind(p []float64, sites, tokens int, masked bool) []float64 {
	if !masked {
		return p
	}
	wide := make([]float64, exact.Size(sites, tokens+1))
	for k, x := range exact.States(sites, tokens) {
		wide[exact.Index(x, tokens+1)] = p[k]
	}
	return wide
}

// ofHMM lists the distribution of three tokens that two hidden states emit.
func ofHMM(start, trans, emit []float64, masked bool) []float64 {
	p := make([]float64, 8)
	for k, x := range exact.States(3, 2) {
		for _, z := range exact.States(3, 2) {
			p[k] += start[z[0]] * emit[2*z[0]+x[0]] * trans[2*z[0]+z[1]] * emit[2*z[1]+x[1]] * trans[2*z[1]+z[2]] * emit[2*z[2]+x[2]]
		}
	}
	return behind(p, 3, 2, masked)
}

// realDenoiser is a line of the registry of denoisers of reals.
type realDenoiser struct {
	name string
	part energy.Denoiser[float32]
	o    diffusiontest.RealDenoiserOptions
}

func realDenoisers() []realDenoiser {
	// N(m, v) site by site: E[x_0 | x_t] = m + √ᾱ·v/(ᾱ·v + 1 − ᾱ)·(x_t − √ᾱ·m).
	m, v := []float64{0.5, -1, 0}, []float64{1, 2, 0.5}
	mean := func(x []float32, alpha float64) []float64 {
		out := make([]float64, len(x))
		for i, y := range x {
			root := math.Sqrt(alpha)
			out[i] = m[i] + root*v[i]/(alpha*v[i]+1-alpha)*(float64(y)-root*m[i])
		}
		return out
	}
	normal := exact.Must(continuous.NewDiagonal([]float64{1}, m, v))
	mixture := exact.Must(denoise.NewMixture(normal))
	data := []float32{0, 1, 2, 1, 0, -1, 2, 2, 0}
	net := exact.Must(neural.New(neural.Config{Length: 3, Channels: 1, Width: 4, Heads: 1, Blocks: 1, Hidden: 4}, rand.NewPCG(1, 1)))
	return []realDenoiser{
		{"energy.DenoiserFunc", energy.DenoiserFunc[float32]{Sites: 3, Levels: 1, F: mixture.Denoise}, diffusiontest.RealDenoiserOptions{Mean: mean}},
		{"energy.NoisePredictor", energy.NoisePredictor{Denoiser: noiseOf(mean)}, diffusiontest.RealDenoiserOptions{Mean: mean, Tolerance: 0x1p-12}},
		{"denoise.Mixture", mixture, diffusiontest.RealDenoiserOptions{Mean: mean}},
		{"denoise.Autoregressive", exact.Must(denoise.NewAutoregressive(3, denoise.Channel{Mean: 0.5, Variance: 2})), diffusiontest.RealDenoiserOptions{Mean: func(x []float32, alpha float64) []float64 {
			out := make([]float64, len(x))
			for i, y := range x {
				root := math.Sqrt(alpha)
				out[i] = 0.5 + root*2/(alpha*2+1-alpha)*(float64(y)-root*0.5)
			}
			return out
		}}},
		{"denoise.Windows", exact.Must(denoise.NewWindows(data, 3, denoise.WindowsConfig{Bandwidth: 0.25})), diffusiontest.RealDenoiserOptions{Mean: func(x []float32, alpha float64) []float64 {
			return ofWindows(data, 0.25, x, alpha)
		}}},
		{"denoise.Ancestral", exact.Must(denoise.NewAncestral(normal)), diffusiontest.RealDenoiserOptions{}},
		{"denoise.Velocity", denoise.Velocity{Denoiser: mixture}, diffusiontest.RealDenoiserOptions{}},
		{"neural.Reals", exact.Must(neural.NewReals(net, neural.Options{})), diffusiontest.RealDenoiserOptions{}},
		{"pretrained.Series", exact.Must(pretrained.OpenSeriesFS(os.DirFS("../../energy/neural/pretrained/testdata"), "diffusion-ts")), diffusiontest.RealDenoiserOptions{}},
		{"pdi.Guided", pdi.Guided{Base: mixture}, diffusiontest.RealDenoiserOptions{Mean: mean}},
		{"pdi.Projected", pdi.Projected{Base: mixture, Onto: func([]float32) {}}, diffusiontest.RealDenoiserOptions{Mean: mean}},
	}
}

// noiseOf predicts the noise (x_t − √ᾱ·x̂_0)/√(1−ᾱ) that is left of a mean.
func noiseOf(mean func(x []float32, alpha float64) []float64) energy.DenoiserFunc[float32] {
	return energy.DenoiserFunc[float32]{Sites: 3, Levels: 1, F: func(_ context.Context, v []float32, q energy.Noised[float32]) error {
		for s, alpha := range q.Alpha {
			x := q.X[3*s : 3*s+3]
			for i, m := range mean(x, alpha) {
				v[3*s+i] = float32((float64(x[i]) - math.Sqrt(alpha)*m) / math.Sqrt(1-alpha))
			}
		}
		return nil
	}}
}

// ofWindows is the posterior mean of the kernel density of windows of three.
func ofWindows(data []float32, h float64, x []float32, alpha float64) []float64 {
	root, u := math.Sqrt(alpha), alpha*h*h+1-alpha
	out, sum := make([]float64, 3), 0.0
	for at := 0; at < len(data); at += 3 {
		d := 0.0
		for i := range 3 {
			e := float64(x[i]) - root*float64(data[at+i])
			d += e * e
		}
		p := math.Exp(-d / (2 * u))
		sum += p
		for i := range 3 {
			w := float64(data[at+i])
			out[i] += p * (w + root*h*h/u*(float64(x[i])-root*w))
		}
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

func TestDenoisers(t *testing.T) {
	ctx := context.Background()
	registered := map[string]bool{}
	for i, d := range denoisers() {
		registered[d.name] = true
		t.Run(fmt.Sprintf("%s/%d", d.name, i), func(t *testing.T) {
			if err := diffusiontest.TestDenoiser(ctx, d.part, d.o); err != nil {
				t.Fatal(err)
			}
		})
	}
	for i, d := range realDenoisers() {
		registered[d.name] = true
		t.Run(fmt.Sprintf("%s/reals/%d", d.name, i), func(t *testing.T) {
			if err := diffusiontest.TestRealDenoiser(ctx, d.part, d.o); err != nil {
				t.Fatal(err)
			}
		})
	}
	complete(t, "energy.Denoiser", "denoiser_test.go", registered, map[string]string{
		"pdi.Denoiser":        "its predictions depend on the batch and on the steps before: dual/pdi tests it",
		"unlearn.Erasure":     "it keeps figures per sample: dual/unlearn tests it",
		"unlearn.RealErasure": "it keeps figures per sample: dual/unlearn tests it",
		"unlearn.Avoiding":    "it keeps figures per sample: dual/unlearn tests it",
	}, parts(t, "energy", "Denoiser"))
}
