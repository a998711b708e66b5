package main

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
)

// lessons holds what runs of a problem leave for later ones.
type lessons struct {
	net     *network.Trainer // PDI-Net; nil before its training
	trained float64          // the budget of the training
	path    [][]float64      // multipliers of the last run of primal–dual inference, by step
}

// Settings of the training.
const (
	path  = 32 // steps of the diffusions that generate the network's training data
	batch = 64 // training samples per step
)

// network returns the predictor of PDI-Net at the budget of p. The network is trained once, at the
// budget of -budget, and learns from the Gaussian fit.
func (p *problem) network(ctx context.Context) (pdi.Predictor, error) {
	if p.net == nil {
		base, err := newLaw(p.law.market, p.budget, p.law.beta)
		if err != nil {
			return nil, err
		}
		t, err := network.New(ctx, newFit(base), network.Config{
			Rounds: p.rounds, Path: path, Inference: pdi.Config{Rule: relative{base.budget, path}, Start: p.prices()}, Train: train.Config{Batch: batch, Seed: p.seed},
		})
		if err != nil {
			return nil, err
		}
		bar := progress.New("train")
		defer bar.Done()
		for k := range p.rounds {
			if err := t.Run(ctx, 1); err != nil {
				return nil, err
			}
			bar.Set(k+1, p.rounds)
		}
		p.net, p.trained = t, base.budget
	}
	return p.net.Predictor(slices.Repeat([]float64{p.trained - p.law.budget}, p.law.Len()))
}
