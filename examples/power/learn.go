package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/dual/pdi/network"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
	"github.com/gibbsite-go/gibbsite/examples/internal/training"
)

// Settings of the networks. All networks train equally long: perRound batches in each round.
const (
	width, blocks, cond = 128, 2, 64 // shape of the networks
	path                = 32         // steps of the diffusions that generate a network's training data
	perRound            = 128        // training batches per round
	batch               = 64         // training samples per step
	variance            = 1.0 / 12   // variance of a power that is uniform on its range
	thin                = 5          // number of steps between the chain states from which ST learns
)

// lessons holds the networks trained on a problem so far.
type lessons struct {
	nets   [2]*network.Trainer // PDI-Net, trained from scratch and after ST
	tied   []tiedNet           // networks of dual training and of half as much further training
	expert energy.Denoiser[float32]
}

// tiedNet is a network made by dual training, with the multipliers for which it was trained.
type tiedNet struct {
	by     pdi.Predictor
	lambda []float64
}

// course returns the settings that all trainings share. A training path has fewer steps than a
// run. Its dual step size is larger by the same factor, so that the multipliers can move equally
// far.
func (p *problem) course() network.Config {
	moving := p.moving()
	moving.Domain, moving.Rule = nil, dual.Ascent{Step: dual.Constant(eta * float64(p.steps) / path)}
	return network.Config{
		Rounds: p.rounds, PerRound: perRound, Width: width, Blocks: blocks, Cond: cond, Chains: max(p.chain, 2), Path: path,
		Center: []float64{0}, Spread: []float64{variance}, Domain: pdi.Box(-0.5, 0.5), Inference: moving,
		Train: train.Config{Batch: batch, Seed: p.seed},
	}
}

// rounds runs n rounds of a training.
func rounds(ctx context.Context, name string, t *network.Trainer, n int) error {
	bar := progress.New(name)
	defer bar.Done()
	for k := range n {
		if err := t.Run(ctx, 1); err != nil {
			return err
		}
		bar.Set(k+1, n)
	}
	return nil
}

// inferred returns a method that draws with PDI-Net. If warm is set, the network first learns
// the predictions of ST, in a quarter of its rounds.
func inferred(warm bool) func(ctx context.Context, p *problem) ([]float32, error) {
	return func(ctx context.Context, p *problem) ([]float32, error) {
		return p.inferNet(ctx, warm, p.least)
	}
}

// inferNet draws with PDI-Net for the least rate given, which may differ from the one of the
// training.
func (p *problem) inferNet(ctx context.Context, warm bool, least float64) ([]float32, error) {
	k := 0
	if warm {
		k = 1
	}
	if p.nets[k] == nil {
		t, err := p.learn(ctx, warm)
		if err != nil {
			return nil, err
		}
		p.nets[k] = t
	}
	by, err := p.nets[k].Predictor(slices.Repeat([]float64{least - p.least}, p.users))
	if err != nil {
		return nil, err
	}
	return p.infer(ctx, by, p.moving(), nil)
}

// pupil is the predictor from which PDI-Net learns: the Monte Carlo score, or ST while expert is
// set.
type pupil struct {
	pdi.Predictor
	expert energy.Denoiser[float32] // ST; nil for the Monte Carlo score
}

// Predict stores predictions from which another network learns: those of the Monte Carlo score
// or, if warm-starting, of a supervised network, which ignores the multipliers. It implements
// pdi.Predictor.
func (t *pupil) Predict(v, x []float32, alpha, lambda []float64, src []rand.Source) error {
	if t.expert == nil {
		return t.Predictor.Predict(v, x, alpha, lambda, src)
	}
	return t.expert.Denoise(context.Background(), v, energy.Noised[float32]{X: x, Time: alpha, Alpha: alpha, Src: src})
}

// learn trains PDI-Net, after ST if warm is set.
func (p *problem) learn(ctx context.Context, warm bool) (*network.Trainer, error) {
	teacher, first := &pupil{Predictor: p.score}, 0
	if warm {
		var err error
		if teacher.expert, err = p.imitate(ctx); err != nil {
			return nil, err
		}
		first = p.rounds / 4
	}
	t, err := network.New(ctx, teacher, p.course())
	if err != nil {
		return nil, err
	}
	if err := rounds(ctx, "train after ST", t, first); err != nil {
		return nil, err
	}
	teacher.expert = nil
	return t, rounds(ctx, "train", t, p.rounds-first)
}

// dualTraining trains a network together with its multipliers λ, and then continues for half as
// many rounds. It stores the network and the multipliers of both stages.
func (p *problem) dualTraining(ctx context.Context) error {
	cfg := p.course()
	cfg.Dual = dual.Auto{}
	t, err := network.New(ctx, p.score, cfg)
	if err != nil {
		return err
	}
	for _, n := range []int{p.rounds, (p.rounds + 1) / 2} {
		if err := rounds(ctx, "dual training", t, n); err != nil {
			return err
		}
		by, err := t.Predictor(nil)
		if err != nil {
			return err
		}
		p.tied = append(p.tied, tiedNet{by, t.Lambda()})
	}
	return nil
}

// tied returns a method that draws with the network of dual training at its multipliers. If
// longer is set, it uses the network that was trained half as long again.
func tied(longer bool) func(ctx context.Context, p *problem) ([]float32, error) {
	return func(ctx context.Context, p *problem) ([]float32, error) {
		if p.tied == nil {
			if err := p.dualTraining(ctx); err != nil {
				return nil, err
			}
		}
		net := p.tied[0]
		if longer {
			net = p.tied[1]
		}
		return p.infer(ctx, net.by, p.fixed(net.lambda), nil)
	}
}

// supervised draws with ST, a network that learns from Langevin chains.
func supervised(ctx context.Context, p *problem) ([]float32, error) {
	d, err := p.imitate(ctx)
	if err != nil {
		return nil, err
	}
	return p.diffuse(ctx, d)
}

// imitate returns ST. The network learns only from the samples of an expert, the states of
// primal–dual Langevin chains after a warm-up.
func (p *problem) imitate(ctx context.Context) (energy.Denoiser[float32], error) {
	if p.expert != nil {
		return p.expert, nil
	}
	var states []float32
	if _, err := p.langevin(ctx, p.chain, 1<<19, p.warmup+p.steps, func(step int, x []float32) {
		if step >= p.warmup && (step-p.warmup)%thin == 0 {
			states = append(states, x...)
		}
	}); err != nil {
		return nil, err
	}
	net, err := neural.New(neural.Config{Length: 1, Channels: p.users, Outputs: p.users, Width: width, Heads: 1, Blocks: blocks, Cond: cond}, rand.NewPCG(p.seed, 2))
	if err != nil {
		return nil, err
	}
	steps := p.rounds * perRound
	t, err := train.NewReals(net, train.Flow{}, states, train.Config{Steps: steps, Batch: batch, Seed: p.seed})
	if err != nil {
		return nil, err
	}
	if _, err := training.Run(ctx, t, training.Config{Name: "train ST", Steps: steps}); err != nil {
		return nil, fmt.Errorf("ST: %w", err)
	}
	d, err := neural.NewReals(t.Average(), neural.Options{})
	if err != nil {
		return nil, err
	}
	p.expert = pdi.Projected{Base: denoise.Velocity{Denoiser: d}, Onto: pdi.Box(-0.5, 0.5)}
	return p.expert, nil
}
