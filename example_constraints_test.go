package gibbsite_test

import (
	"context"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The same chains with exactly ten spins up: still an exact sampler, now of the
// distribution given the constraint.
func Example_within() {
	ctx := context.Background()
	m, err := model.NewIsing(model.Lattice{4, 4}, 0.2, 0.2)
	if err != nil {
		panic(err)
	}
	up := constraint.Count{Levels: []int32{1}, Min: 10, Max: 10}
	ch, err := sampler.NewChains(ctx, m, mcmc.DMALA{Within: up}, sampler.Config{Seed: 1})
	if err != nil {
		panic(err)
	}
	if err := ch.Run(ctx, 1000); err != nil {
		panic(err)
	}
	for s := range 4 {
		fmt.Print(energy.Magnetization(ch.States()[16*s:16*(s+1)]), " ")
	}
	// Output: 0.25 0.25 0.25 0.25
}

// Masked diffusion whose every sample matches a regular expression. The model is
// a Markov chain fitted to a few plates; a neural network takes its place by
// energy.DenoiserFunc.
func Example_regexp() {
	ctx := context.Background()
	vocab := text.Runes("ABCDE0123456789-")
	vocab.Tokens = append(vocab.Tokens, "") // the mask
	mask := int32(len(vocab.Tokens) - 1)
	vocab.Forbidden = []int32{mask}
	re, err := text.Regexp(ctx, `[A-Z]{2}[0-9]{4}(-[0-9])`, vocab, constraint.Limits{})
	if err != nil {
		panic(err)
	}

	var plates [][]int32
	for _, text := range []string{"AB1234-5", "CA1999-0", "EE2026-1", "BA0011-2"} {
		var x []int32
		for _, r := range text {
			for l, token := range vocab.Tokens {
				if token == string(r) {
					x = append(x, int32(l))
				}
			}
		}
		plates = append(plates, x)
	}
	chain, err := model.FitMarkov(8, int(mask), 1, plates, 0.1)
	if err != nil {
		panic(err)
	}
	prior, err := denoise.NewMarkov(chain, denoise.Absorbing)
	if err != nil {
		panic(err)
	}

	d, err := diffusion.New(ctx, prior, diffusion.Masked{Mask: mask},
		diffusion.Config{Steps: 64, Seed: 1, Projector: projection.Path{Language: re}})
	if err != nil {
		panic(err)
	}
	x := make([]int32, 3*8)
	if err := d.Sample(ctx, x); err != nil {
		panic(err)
	}
	for ; len(x) > 0; x = x[8:] {
		fmt.Println(vocab.Text(x[:8]))
	}
	// Output:
	// CD9234-0
	// AB1512-0
	// EE2356-0
}

// An average constraint met by dual ascent: at most three of ten sites on
// average, by a multiplier that the chains find while they run.
func Example_average() {
	ctx := context.Background()
	base, err := model.NewIsing(model.Lattice{10}, 0.3, 0)
	if err != nil {
		panic(err)
	}
	lag, err := dual.NewLagrangian(base, constraint.Count{Levels: []int32{1}, Max: 3})
	if err != nil {
		panic(err)
	}
	ch, err := sampler.NewChains(ctx, lag, mcmc.Gibbs{}, sampler.Config{Chains: 64, Seed: 1, Warmup: -1})
	if err != nil {
		panic(err)
	}
	inf, err := dual.NewInference(ctx, lag, ch, dual.Config{})
	if err != nil {
		panic(err)
	}
	if err := inf.Run(ctx, 2000); err != nil {
		panic(err)
	}
	exact, err := dual.Solve(ctx, lag)
	if err != nil {
		panic(err)
	}
	fmt.Printf("λ̄ = %.2f, exact λ* = %.2f\n", inf.Average()[0], exact.Lambda[0])
	// Output: λ̄ = 0.47, exact λ* = 0.47
}
