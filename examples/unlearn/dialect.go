package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"text/tabwriter"

	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/dual/unlearn/finetune"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// Settings of the network of words, a masked diffusion whose distribution is computed by
// enumerating all words.
const (
	wordRows    = 8192 // number of training words
	wordLetters = 4    // number of letters in a word
	wordWidth   = 32   // width of the network
	wordOrders  = 64   // masking orders per word in the likelihood
	mostDialect = 2    // upper bound on q_u/q, because the dialect is half of q
)

// dialectRow describes one distribution of words. Unlearned is E_p[q_u/q]. Network estimates it
// with two trained networks in place of the Markov chains, as the mean of q̂_u/q̂. Before
// unlearning this mean is 1 if both networks are exact.
type dialectRow struct {
	Method    string  `json:"method"`
	Wanted    float64 `json:"wanted"`
	Unlearned float64 `json:"unlearned"`
	Network   float64 `json:"unlearned_by_networks"`
	KL        float64 `json:"kl"` // divergence KL(p‖q) in nats
	Double    float64 `json:"share_dd"`
	Lambda    float64 `json:"lambda"`
}

// spelling is a network of words and the distribution that it generates.
type spelling struct {
	*words
	net   *neural.Transformer
	model *neural.Masked
	mask  int32
}

func (w *words) spelling(net *neural.Transformer) (*spelling, error) {
	m, err := neural.NewMasked(net, letters, neural.Options{TimeFree: true})
	return &spelling{w, net, m, letters}, err
}

// learn trains a network on draws from a distribution p over words.
func (w *words) learn(ctx context.Context, p []float64, steps int, seed uint64) (*neural.Transformer, []int32, error) {
	r := rand.New(rand.NewPCG(seed, 83))
	var data []int32
	for range wordRows {
		u, k := r.Float64(), 0
		for k < len(p)-1 && u >= p[k] {
			u -= p[k]
			k++
		}
		data = append(data, w.word(k)...)
	}
	net, err := neural.New(neural.Config{Length: w.length, Levels: letters + 1, Width: wordWidth, Heads: 1, Blocks: 2, Positions: true}, rand.NewPCG(seed, 84))
	if err != nil {
		return nil, nil, err
	}
	t, err := train.New(net, train.Masked{Mask: letters}, data, train.Config{Steps: steps, Batch: batch, Rate: learning, Seed: seed})
	if err != nil {
		return nil, nil, err
	}
	if err := t.Run(ctx, steps); err != nil {
		return nil, nil, err
	}
	copy(net.Weights(), t.Average().Weights())
	return net, data, nil
}

// word returns the letters of the word with index k.
func (w *words) word(k int) []int32 {
	x := make([]int32, w.length)
	for i := range x {
		x[i] = int32(k % letters)
		k /= letters
	}
	return x
}

// index returns the index of a word.
func index(x []int32) (k int) {
	for i := len(x) - 1; i >= 0; i-- {
		k = k*letters + int(x[i])
	}
	return k
}

// law returns the distribution that the network generates, by enumeration.
func (s *spelling) law() ([]float64, error) {
	l, err := denoise.NewLikelihood(s.model, s.mask, wordOrders, 1)
	if err != nil {
		return nil, err
	}
	var x []int32
	for k := range s.q {
		x = append(x, s.word(k)...)
	}
	p := make([]float64, len(s.q))
	l.Energy(p, x)
	for k, e := range p {
		p[k] = math.Exp(-e)
	}
	return p, nil
}

// dialects fine-tunes a network of words to forget the dialect.
func dialects(ctx context.Context, o options) ([]dialectRow, error) {
	w, err := newWords(wordLetters)
	if err != nil {
		return nil, err
	}
	steps := max(10, 2*o.training/3)
	net, data, err := w.learn(ctx, w.q, steps, o.seed)
	if err != nil {
		return nil, err
	}
	only, _, err := w.learn(ctx, w.dialect, steps, o.seed+1)
	if err != nil {
		return nil, err
	}
	exact, err := w.u.Solve(ctx, unlearn.LikelihoodRatio, []float64{o.goal})
	if err != nil {
		return nil, err
	}
	ratio := func(x []int32) float64 { k := index(x); return w.dialect[k] / w.q[k] }
	laws := map[*neural.Transformer][]float64{}
	for _, n := range []*neural.Transformer{net, only} {
		s, err := w.spelling(n)
		if err != nil {
			return nil, err
		}
		if laws[n], err = s.law(); err != nil {
			return nil, err
		}
	}
	row := func(method string, wanted float64, p []float64, lambda float64) dialectRow {
		r := dialectRow{Method: method, Wanted: wanted, Lambda: lambda, Double: w.share(p)}
		for k, v := range p {
			r.Unlearned += v * w.dialect[k] / w.q[k]
			r.Network += v * laws[only][k] / laws[net][k]
			r.KL += v * math.Log(v/w.q[k])
		}
		return r
	}
	rows := []dialectRow{row("before", 1, laws[net], 0), row("exact", o.goal, exact.P, exact.Lambda[0])}
	for _, method := range []string{"primal-dual", "dual only"} {
		tuned, err := w.spelling(net.Clone())
		if err != nil {
			return nil, err
		}
		lambda := exact.Lambda[0]
		if method == "dual only" {
			err = tuned.reweighted(ctx, data, lambda, max(1, steps/10), o.seed, ratio)
		} else {
			lambda, err = tuned.tuned(ctx, data, o.goal, max(1, steps/10), o.seed, ratio)
		}
		if err != nil {
			return nil, fmt.Errorf("words, %s: %w", method, err)
		}
		p, err := tuned.law()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row(method, o.goal, p, lambda))
	}
	return rows, nil
}

// tuned fine-tunes the weights until the bound holds, and returns the multiplier λ.
func (s *spelling) tuned(ctx context.Context, data []int32, goal float64, steps int, seed uint64, ratio func([]int32) float64) (float64, error) {
	sample := func(ctx context.Context, m energy.Denoiser[int32], first int, x []int32) error {
		d, err := diffusion.New(ctx, m, diffusion.Process[int32](diffusion.Masked{Mask: s.mask, FirstHitting: true}), diffusion.Config{Seed: seed, First: first})
		if err != nil {
			return err
		}
		return d.Sample(ctx, x)
	}
	t, err := finetune.New(ctx, s.net, data, []finetune.Concept[int32]{{
		Name: "dialect", Bound: goal / mostDialect,
		Has: func(x []int32) float64 { return min(1, ratio(x)/mostDialect) },
	}}, finetune.Config[int32]{
		Objective: train.Masked{Mask: s.mask}, Model: s.model, Sample: sample,
		Train: train.Config{Steps: steps, Batch: batch, Rate: tuning, Seed: seed}, Draws: lookDraws, Final: finalDraws,
	})
	if err != nil {
		return 0, err
	}
	if err := t.Run(ctx); err != nil {
		return 0, err
	}
	return t.Lambda()[0] / mostDialect, nil
}

// reweighted trains on the data, weighted by the likelihood ratio at a fixed λ.
func (s *spelling) reweighted(ctx context.Context, data []int32, lambda float64, steps int, seed uint64, ratio func([]int32) float64) error {
	t, err := train.New(s.net, train.Masked{Mask: s.mask}, data, train.Config{Steps: steps, Batch: batch, Rate: tuning, Seed: seed})
	if err != nil {
		return err
	}
	w := make([]float64, len(data)/s.length)
	for k := range w {
		w[k] = math.Exp(unlearn.AcceptLikelihood([]float64{lambda}, []float64{ratio(data[k*s.length : (k+1)*s.length])}))
	}
	if err := t.Reweight(w); err != nil {
		return err
	}
	if err := t.Run(ctx, steps); err != nil {
		return err
	}
	copy(s.net.Weights(), t.Average().Weights())
	return nil
}

// dialectTable writes the rows as a table.
func dialectTable(b *bytes.Buffer, rows []dialectRow) {
	fmt.Fprintf(b, "\na network of words of %d letters forgets a dialect, by sums over all words\n", wordLetters)
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\twanted\tunlearned likelihood\tby networks\tKL(p‖q)\twords with dd\tlambda\t")
	for _, k := range rows {
		fmt.Fprintf(w, "%s\t%v\t%.4f\t%.4f\t%.3f\t%.4f\t%.3f\t\n", k.Method, k.Wanted, k.Unlearned, k.Network, k.KL, k.Double, k.Lambda)
	}
	w.Flush()
}
