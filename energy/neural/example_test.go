package neural_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// small returns a network of four tokens and a mask with fixed weights.
func small(cond int) *neural.Transformer {
	net, err := neural.New(neural.Config{Length: 6, Levels: 5, Width: 8, Heads: 2, Blocks: 1, Cond: cond}, rand.NewPCG(1, 1))
	if err != nil {
		panic(err)
	}
	return net
}

// one is a batch of one state at time 1/2.
func one(x ...int32) energy.Noised[int32] {
	return energy.Noised[int32]{X: x, Time: []float64{0.5}, Alpha: []float64{0.5}, Sample: []int{0}, Src: []rand.Source{nil}}
}

// A network with the weights it starts with draws uniform tokens.
func ExampleMasked() {
	const mask = 4
	model, err := neural.NewMasked(small(0), mask, neural.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := diffusion.New(context.Background(), model, diffusion.Masked{Mask: mask, FirstHitting: true}, diffusion.Config{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]int32, 2*6)
	fmt.Println(d.Sample(context.Background(), x), len(x), x[0] != mask)
	// Output: <nil> 12 true
}

func ExampleUniform() {
	model, err := neural.NewUniform(small(4), false, neural.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := make([]float32, 6*5)
	fmt.Println(model.Denoise(context.Background(), v, one(0, 1, 2, 3, 4, 0)), v[:5], model.LeaveOneOut())
	// Output: <nil> [0 0 0 0 0] true
}

func ExampleRatio() {
	const mask = 4
	model, err := neural.NewRatio(small(4), mask, neural.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := make([]float32, 6*5)
	fmt.Println(model.Denoise(context.Background(), v, one(0, mask, mask, mask, mask, mask)))
	fmt.Println(v[:5], v[5:10])
	// Output:
	// <nil>
	// [0 -Inf -Inf -Inf -Inf] [0 0 0 0 -Inf]
}

func ExampleReals() {
	net, err := neural.New(neural.Config{Length: 3, Channels: 1, Width: 4, Heads: 1, Blocks: 1}, rand.NewPCG(1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	clean, err := neural.NewReals(net, neural.Options{}) // predicts the clean state, 0 for now
	if err != nil {
		fmt.Println(err)
		return
	}
	noise := energy.NoisePredictor{Denoiser: clean} // or the noise
	q := energy.Noised[float32]{X: []float32{1, 2, 3}, Time: []float64{0.5}, Alpha: []float64{0.25}, Sample: []int{0}, Src: []rand.Source{nil}}
	v := make([]float32, 3)
	fmt.Println(clean.Denoise(context.Background(), v, q), v)
	fmt.Println(noise.Denoise(context.Background(), v, q), v)
	// Output:
	// <nil> [0 0 0]
	// <nil> [2 4 6]
}

func ExampleTransformer() {
	net := small(0)
	for _, t := range net.Tensors()[:3] {
		fmt.Println(t.Name, t.Shape)
	}
	// Output:
	// vocab_embed.embedding [5 8]
	// blocks.0.norm1.weight [8]
	// blocks.0.attn_qkv.weight [24 8]
}

func ExamplePass() {
	net := small(0)
	p := net.NewPass(1)
	y := make([]float32, 5)
	p.Forward(neural.Input{Tokens: []int32{0, 1, 2, 3, 4, 0}})
	p.Output(y, []int32{4}) // of the masked position alone
	fmt.Println(y)
	// Output: [0 0 0 0 0]
}

func ExampleInput() {
	net := small(4)
	p := net.NewPass(2)
	p.Forward(neural.Input{Tokens: make([]int32, 12), Level: []float64{0.1, 2.3}}) // two states, two noise levels
	y := make([]float32, 12*5)
	p.Output(y, nil)
	fmt.Println(len(y))
	// Output: 60
}

// Rows are mixtures of tokens: one-hot ones give what the tokens give, and the gradient
// with respect to them says which token would raise a result.
func ExamplePass_InputGradient() {
	net := small(0)
	weights := rand.New(rand.NewPCG(2, 2))
	for _, t := range net.Tensors() {
		for i := range t.Data {
			t.Data[i] = weights.Float32() - 0.5
		}
	}
	tokens := []int32{0, 1, 2, 3, 4, 0}
	rows := make([]float32, len(tokens)*5)
	for i, l := range tokens {
		rows[i*5+int(l)] = 1
	}
	p := net.NewTraining(1)
	result := func(in neural.Input) float64 {
		y := make([]float32, len(tokens)*5)
		p.Forward(in)
		p.Output(y, nil)
		return float64(y[0])
	}
	y := result(neural.Input{Rows: rows})
	fmt.Println("as of tokens:", math.Abs(y-result(neural.Input{Tokens: tokens})) < 1e-5)

	dy, slope := make([]float32, len(rows)), make([]float32, len(rows))
	dy[0] = 1
	result(neural.Input{Rows: rows})
	p.Backward(dy)
	p.InputGradient(slope)
	const h = 1e-2
	rows[7] += h // of the second token, level 2
	up := result(neural.Input{Rows: rows})
	rows[7] -= 2 * h
	down := result(neural.Input{Rows: rows})
	fmt.Println("the derivative:", math.Abs((up-down)/(2*h)-float64(slope[7])) < 1e-2*math.Abs(float64(slope[7])))
	// Output:
	// as of tokens: true
	// the derivative: true
}

func ExampleOptions() {
	// The network was trained on the time itself instead of −log α.
	model, err := neural.NewMasked(small(4), 4, neural.Options{Level: func(t, alpha float64) float64 { return t }, Workers: 2})
	fmt.Println(err, model.TimeFree())
	// Output: <nil> false
}

func ExampleTensor() {
	var b bytes.Buffer
	t := neural.Tensor{Name: "w", Shape: []int{1, 2}, Data: []float32{1, 2.5}}
	fmt.Println(neural.WriteFile(&b, neural.F16, []neural.Tensor{t}, nil), b.Len())
	// Output: <nil> 68
}

func ExampleFile() {
	var b bytes.Buffer
	if err := small(0).Write(&b, neural.F32); err != nil {
		fmt.Println(err)
		return
	}
	f, err := neural.ReadFile("model.safetensors", bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	net, err := neural.Load(f, neural.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Metadata("length"), net.Config().Levels, f.Read(nil, "head"))
	names := f.Names()
	shape, ok := f.Shape(names[0])
	fmt.Println(len(names), names[0], shape, ok)
	// Output:
	// 6 5 neural: model.safetensors: no tensor "head"
	// 12 blocks.0.attn_out.weight [8 8] true
}

func ExampleOpenFile() {
	_, err := neural.OpenFile("model.safetensors")
	fmt.Println(err)
	// Output: neural: Open: open model.safetensors: no such file or directory
}

// One network predicts given a class and without: what classifier-free guidance
// compares.
func ExampleTransformer_Given() {
	net, err := neural.New(neural.Config{Length: 6, Levels: 5, Width: 8, Heads: 2, Blocks: 1, Cond: 4, Classes: 3}, rand.NewPCG(1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	given, err := net.Given(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	const mask = 4
	opt := neural.Options{TimeFree: true}
	conditional, err := neural.NewMasked(given, mask, opt)
	if err != nil {
		fmt.Println(err)
		return
	}
	unconditional, err := neural.NewMasked(net, mask, opt)
	if err != nil {
		fmt.Println(err)
		return
	}
	g := diffusion.ClassifierFree{Conditional: conditional, Unconditional: unconditional, Scale: 2}
	fmt.Println(g.Check())
	_, err = net.Given(3)
	fmt.Println(err)
	// Output:
	// <nil>
	// neural: Given: class = 3, want −1 … 2
}

// A classifier of noised tokens leads a denoiser towards its class.
func ExampleClassifier() {
	const mask = 4
	net, err := neural.New(neural.Config{Length: 6, Levels: 5, Outputs: 2, Width: 8, Heads: 2, Blocks: 1}, rand.NewPCG(1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := neural.NewClassifier(net, 1, mask, neural.ClassifierConfig{TimeFree: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	logp := make([]float64, 1)
	err = c.LogProb(logp, []int32{0, 1, mask, 2, mask, 3}, 0.5)
	fmt.Printf("%.3f %v\n", logp[0], err) // weights to begin with know nothing

	model, err := neural.NewMasked(small(0), mask, neural.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	g := diffusion.ClassifierGuided{Denoiser: model, Classifier: c, Scale: 1}
	fmt.Println(g.Check())

	// The table of all changes from one gradient, by a network that is shown the noise.
	noisy, err := neural.New(neural.Config{Length: 6, Levels: 5, Outputs: 2, Width: 8, Heads: 2, Blocks: 1, Cond: 4}, rand.NewPCG(1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fast, err := neural.NewClassifier(noisy, 1, mask, neural.ClassifierConfig{FirstOrder: true, Level: func(t float64) float64 { return 10 * t }, Workers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	table := make([]float32, 6*5)
	err = fast.Table(table, []int32{0, 1, mask, 2, mask, 3}, 0.5)
	fmt.Println(slices.Max(table), slices.Min(table), err) // no token tells a class yet
	// Output:
	// -0.693 <nil>
	// <nil>
	// 0 0 <nil>
}

// A learned score bounds what a projection moves rows to; a judge decides.
func ExampleScorer() {
	net, err := neural.New(neural.Config{Length: 2, Levels: 3, Outputs: 1, Width: 8, Heads: 2, Blocks: 0}, rand.NewPCG(1, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := neural.NewScorer(net)
	if err != nil {
		fmt.Println(err)
		return
	}
	bound := constraint.Score{
		F: s.Value, Gradient: s.Gradient, Threshold: 1,
		Decide: func(x []int32) float64 { return float64(x[0] + x[1]) },
	}
	g := make([]float64, 1)
	bound.Value(g, []float32{1, 0, 0, 0.5, 0.5, 0}) // what the network says, − 1
	fmt.Println(g, bound.Validate())
	bound.Violation(g, []int32{2, 1}) // what the judge says, − 1
	fmt.Println(g)
	// Output:
	// [-1] <nil>
	// [2]
}

// Exclusive or, which two hidden units of weights ±1 can tell: draws of all weights,
// and the mean of their predictions.
func ExamplePosterior() {
	x := []float32{-1, -1, -1, 1, 1, -1, 1, 1}
	m, err := neural.NewPosterior(x, []float32{0, 1, 1, 0}, 6, 40, 0)
	if err != nil {
		log.Fatal(err)
	}
	chains, err := sampler.NewChains(context.Background(), m, mcmc.DMALA{}, sampler.Config{Chains: 32, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := chains.Run(context.Background(), 200); err != nil {
		log.Fatal(err)
	}
	n, _ := m.Shape()
	p, mean := make([]float32, 4), make([]float32, 4)
	for states := chains.States(); len(states) > 0; states = states[n:] {
		m.Predict(p, states[:n], x)
		for i, v := range p {
			mean[i] += v / 32
		}
	}
	for _, v := range mean {
		fmt.Println(v > 0.5)
	}
	// Output:
	// false
	// true
	// true
	// false
}

// A network as the energy of nine sites, and the copy that a learner moves.
func ExamplePotential() {
	m, err := neural.NewPotential(9, 2, 16, 1, rand.NewPCG(1, 2))
	if err != nil {
		log.Fatal(err)
	}
	p, err := m.Learn()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(p.Params()), "weights")
	// Output: 729 weights
}
