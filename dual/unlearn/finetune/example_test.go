package finetune_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn/finetune"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// learn trains a network on words.
func learn(data []int32) *neural.Transformer {
	net, err := neural.New(neural.Config{Length: sites, Levels: 4, Width: 16, Heads: 1, Blocks: 1, Hidden: 32, Positions: true}, rand.NewPCG(1, 1))
	if err != nil {
		log.Fatal(err)
	}
	t, err := train.New(net, train.Masked{Mask: mask}, data, train.Config{Steps: 300, Rate: 1e-2})
	if err != nil {
		log.Fatal(err)
	}
	if err := t.Run(context.Background(), 300); err != nil {
		log.Fatal(err)
	}
	return t.Average()
}

// A network of words forgets those whose letters sum to 4 or more, a quarter of them, and
// 2000 fresh samples certify it.
func ExampleTuner() {
	ctx := context.Background()
	data, net := words(), learn(words())
	model, err := neural.NewMasked(net, mask, neural.Options{TimeFree: true})
	if err != nil {
		log.Fatal(err)
	}
	sample := func(ctx context.Context, m energy.Denoiser[int32], first int, x []int32) error {
		d, err := diffusion.New(ctx, m, diffusion.Process[int32](diffusion.Masked{Mask: mask, FirstHitting: true}), diffusion.Config{Seed: 1, First: first})
		if err != nil {
			return err
		}
		return d.Sample(ctx, x)
	}
	heavy := func(x []int32) float64 {
		if x[0]+x[1]+x[2] >= 4 {
			return 1
		}
		return 0
	}
	looks := 0
	f, err := finetune.New(ctx, net, data, []finetune.Concept[int32]{{Has: heavy, Bound: 0.1}}, finetune.Config[int32]{
		Objective: train.Masked{Mask: mask}, Model: model, Sample: sample, Train: train.Config{Steps: 120, Rate: 5e-3},
		Observe: func(r finetune.Round) { looks++ },
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := f.Run(ctx); err != nil {
		log.Fatal(err)
	}
	x, hits := make([]int32, 2000*sites), 0
	if err := sample(ctx, model, 1_000_000, x); err != nil {
		log.Fatal(err)
	}
	for s := 0; s < len(x); s += sites {
		hits += int(heavy(x[s : s+sites]))
	}
	limit, err := dual.UpperBound(hits, 2000, 0.01)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("looks at what the network generates:", looks)
	fmt.Println("less than 13 % of the words with 99 % confidence:", limit < 0.13)
	// Output:
	// looks at what the network generates: 15
	// less than 13 % of the words with 99 % confidence: true
}
