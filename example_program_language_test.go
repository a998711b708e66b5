package gibbsite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// A language model of a folder's sentences, over the tokens of a tokenizer: it is
// trained, and then writes sentences of which each is about a dog and a house.
func Example_languageModel() {
	ctx := context.Background()
	tokenizer := check(text.ReadTokenizer(check(os.Open("testdata/tokenizer.json"))))
	vocab := tokenizer.Vocabulary()
	mask, end := vocab.Forbidden[0], tokenizer.Encode(nil, "\n")[0]
	const length = 12
	var data []int32
	for _, s := range strings.Fields(strings.ReplaceAll(string(check(os.ReadFile("testdata/sentences.txt"))), " ", "_")) {
		x := tokenizer.Encode(nil, strings.ReplaceAll(s, "_", " "))
		for len(x) < length {
			x = append(x, end)
		}
		data = append(data, x...)
	}

	net := check(neural.New(neural.Config{Length: length, Levels: len(vocab.Tokens), Width: 32, Heads: 2, Blocks: 1, Positions: true}, rand.NewPCG(1, 1)))
	const steps = 600
	trainer := check(train.New(net, train.Masked{Mask: mask}, data, train.Config{Steps: steps, Batch: 32, Seed: 1, Rate: 1e-2, Average: 0.9}))
	if err := trainer.Run(ctx, steps); err != nil {
		panic(err)
	}
	nats, _, err := train.Evaluate(ctx, trainer.Average(), train.Masked{Mask: mask}, data, 40, 4, 1)
	fmt.Println("below 6 nats a sentence:", nats < 6, err)

	lm := check(neural.NewMasked(trainer.Average(), mask, neural.Options{TimeFree: true}))
	want := check(text.Regexp(ctx, `The dog .* house\.\n*`, vocab, constraint.Limits{}))
	d := check(diffusion.New(ctx, lm, diffusion.Masked{Mask: mask}, diffusion.Config{Steps: length, Seed: 1, Projector: projection.Path{Language: want}}))
	x := make([]int32, 4*length)
	if err := d.Sample(ctx, x); err != nil {
		panic(err)
	}
	for i := range 4 {
		fmt.Printf("%.8q … ", tokenizer.Decode(x[i*length:(i+1)*length]))
	}
	// Output:
	// below 6 nats a sentence: true <nil>
	// "The dog " … "The dog " … "The dog " … "The dog " …
}
