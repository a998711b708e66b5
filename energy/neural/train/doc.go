// Package train fits the networks of package energy/neural to data.
//
// A [Trainer] draws batches, adds the noise of its [Objective], and updates the weights by AdamW
// with warm-up, a cosine schedule and clipped gradients. It keeps a moving average of the weights:
//
//	net, err := neural.New(cfg, rand.NewPCG(1, 1))
//	t, err := train.New(net, train.Masked{Mask: mask}, data, train.Config{Steps: 10000, Seed: 1})
//	err = t.Run(ctx, 10000)
//	model, err := neural.NewMasked(t.Average(), mask, neural.Options{TimeFree: true})
//
// [Classes] trains a network with classes, [Classify] a classifier of noisy tokens and [Regress] a
// network that predicts a number for each state. [NewReals] trains networks of reals: [Flow] is
// flow matching. [NewPairs] fits given pairs of inputs and targets.
//
// Training gives the same bits for any number of workers, and after saving and resuming. It is
// reproducible only on processors with the same vector instructions (see the package doc of
// sampler).
package train
