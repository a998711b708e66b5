// Package network trains networks that predict for primal–dual inference (PDI-Net:
// Hadou, Uslu and Ribeiro 2026, Algorithm 1): one network, which is told the
// multipliers λ, takes the place of a Monte Carlo score that is estimated anew in every
// step, and serves several bounds.
//
// A [Trainer] learns from a teacher, which is any other predictor of package pdi:
//
//	t, err := network.New(ctx, teacher, network.Config{Rounds: 40, Bounds: [][]float64{{0}, {-0.5}}})
//	err = t.Run(ctx, 40)
//	p, err := t.Predictor([]float64{-0.25})
//	d, err := pdi.New(ctx, p, pdi.Config{})
//
// A network is as good as its teacher on average: noise of the teacher goes away, its
// bias does not. Config.Dual trains a network for one bound and one λ, the baseline
// of that paper (Algorithm 3).
//
// Products are written float64(a*b) + c: a compiler may fuse a*b + c, and fused
// bits differ between processors.
package network
