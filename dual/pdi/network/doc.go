// Package network trains networks that make the predictions of primal–dual inference (PDI-Net:
// Hadou, Uslu and Ribeiro 2026, Algorithm 1). The multipliers λ are inputs of the network, so one
// network serves several bounds. In every step, the network's prediction replaces a Monte Carlo
// estimate.
//
// A [Trainer] learns from a teacher, which is any other predictor of package pdi:
//
//	t, err := network.New(ctx, teacher, network.Config{Rounds: 40, Bounds: [][]float64{{0}, {-0.5}}})
//	err = t.Run(ctx, 40)
//	p, err := t.Predictor([]float64{-0.25})
//	d, err := pdi.New(ctx, p, pdi.Config{})
//
// On average a network is as good as its teacher: the teacher's noise averages out, but its bias
// does not. Config.Dual trains a network for one bound and one λ. This is the baseline of the same
// paper (Algorithm 3).
package network
