package network

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/session"
)

// Trainer trains a network to predict like another predictor, which is called the teacher. A round
// of training first fills a buffer with noisy states. Each state has its noise level, its
// multipliers and the teacher's prediction. The round then trains the network on the buffer (see
// [Config]). The states come from diffusions. These use the teacher's predictions in the first
// round, and the network's predictions in later rounds.
//
// Without Config.Dual, each diffusion is for one problem of Config.Bounds. In the first round,
// primal–dual inference moves the multipliers λ of every diffusion. In later rounds, it moves λ in
// only a fraction of the diffusions. This fraction grows from 0 to 0.7 in the first half of the
// training. All other diffusions keep λ fixed, near the λ of an earlier diffusion. The teacher
// predicts at multipliers that are randomly perturbed by about 30 %.
//
// If the teacher is deterministic, training is deterministic too, for any number of workers and any
// interruptions. Methods must not be called concurrently.
type Trainer struct {
	buffer *buffer
	net    *neural.Transformer
	train  *train.Trainer
	life   session.Session
}

// New returns a trainer with a new network. The network learns from a predictor, the teacher. New
// returns an error if the teacher is nil, has no sites, has no inequalities or has an equality. It
// also returns an error if the teacher's temperature is not positive and finite, or if a field of
// cfg is out of range.
func New(ctx context.Context, teacher pdi.Predictor, cfg Config) (*Trainer, error) {
	if check.Nil(teacher) {
		return nil, fmt.Errorf("network: New: teacher is nil")
	}
	d, m := teacher.Sites(), teacher.Len()
	if d < 1 || m < 1 || !(teacher.Beta() > 0) || !check.Finite(teacher.Beta()) {
		return nil, fmt.Errorf("network: New: teacher of %d sites and %d multipliers at temperature %v, want ≥ 1, ≥ 1 and > 0", d, m, teacher.Beta())
	}
	if t, ok := teacher.(dual.Described); ok {
		for j, r := range t.Rows() {
			if r.Equal {
				return nil, fmt.Errorf("network: New: row %d of the teacher is an equality, want inequalities: networks learn multipliers ≥ 0", j)
			}
		}
	}
	cfg, err := cfg.resolve(ctx, teacher)
	if err != nil {
		return nil, err
	}
	f, err := newFrame(cfg.Center, cfg.Spread, d, m)
	if err != nil {
		return nil, err
	}
	t := &Trainer{}
	t.life = session.Session{Who: "network", Checkpoint: cfg.Checkpoint, Len: t.Round, Write: t.write, Read: t.read}
	if t.buffer, err = newBuffer(ctx, teacher, cfg, &f); err != nil {
		return nil, err
	}
	if t.net, err = neural.New(cfg.shape(d, m), rand.NewPCG(cfg.Train.Seed, 1)); err != nil {
		return nil, err
	}
	t.train, err = train.NewPairs(t.net, t.buffer.pairs, cfg.Train)
	return t, err
}

// Round returns the number of completed rounds.
func (t *Trainer) Round() int { return t.train.Step() / t.buffer.cfg.PerRound }

// Loss returns the mean squared error per coordinate of the last batch, in units of the posterior
// variance of the Gaussian given by Config.Center and Spread. It returns NaN before the first
// batch. At the end of training, most of the loss is the teacher's noise.
func (t *Trainer) Loss() float64 { return t.train.Loss() }

// Run makes n rounds. If ctx ends, Run returns the error of ctx, and another Run continues bit for
// bit where this Run stopped. Rounds beyond Config.Rounds train at the lowest rate.
//
// Run stops with an error that names the round if the teacher returns an error, or if multipliers,
// violations or the loss are not finite. The failed step then does not change the weights. Run also
// returns an error if another Run is in progress.
func (t *Trainer) Run(ctx context.Context, n int) error {
	return t.life.Run(ctx, n, func(int) error {
		round := t.Round()
		err := t.fill(ctx, round)
		if err == nil {
			err = t.train.Run(ctx, (round+1)*t.buffer.cfg.PerRound-t.train.Step())
		}
		if err != nil {
			return fmt.Errorf("network: round %d: %w", round, err)
		}
		return nil
	})
}

// fill fills the buffer for a round, unless it is already filled.
func (t *Trainer) fill(ctx context.Context, round int) error {
	if t.buffer.filled > round {
		return nil
	}
	lead := t.buffer.teacher
	if round > 0 {
		lead = t.predictor(make([]float64, lead.Len()))
	}
	return t.buffer.fill(ctx, round, lead)
}

// Lambda returns the multipliers of dual training. The network is valid for no other multipliers.
// Run the network with pdi.Config{Fixed: true, Start: t.Lambda()}. Lambda returns nil unless
// Config.Dual is set.
func (t *Trainer) Lambda() []float64 {
	if t.buffer.tied == nil {
		return nil
	}
	return slices.Clone(t.buffer.tied.lambda)
}

// Predictor returns the present network as a predictor, with weights averaged over the training
// steps. The violations are shift plus the violations of the teacher (the predictor from which the
// network learned). A shift therefore moves the bounds; nil usually means zeros. The shift need not
// be an entry of Config.Bounds.
//
// Predictor returns an error if no round is complete, or if shift has the wrong length or a number
// that is not finite. After dual training (see Config.Dual), Config.Bounds has a single entry;
// shift must equal this entry, or be nil to select it.
func (t *Trainer) Predictor(shift []float64) (*Predictor, error) {
	b := t.buffer
	own := make([]float64, b.teacher.Len())
	if shift != nil {
		if err := bound("shift", shift, len(own)); err != nil {
			return nil, err
		}
		copy(own, shift)
	}
	if b.tied != nil {
		if shift != nil && !slices.Equal(shift, b.cfg.Bounds[0]) {
			return nil, fmt.Errorf("network: Predictor: shift = %v, want Config.Bounds[0] = %v, which dual training was for, or nil", shift, b.cfg.Bounds[0])
		}
		copy(own, b.cfg.Bounds[0])
	}
	if t.Round() == 0 {
		return nil, fmt.Errorf("network: Predictor: no round is done, want ≥ 1")
	}
	return t.predictor(own), nil
}

// predictor returns the network as a predictor for the violations of the teacher plus shift.
func (t *Trainer) predictor(shift []float64) *Predictor {
	b := t.buffer
	f := *b.frame
	f.scale = slices.Clone(f.scale)
	return newPredictor(b.teacher, t.train.Average(), f, slices.Clone(b.most), shift, t.Lambda(), b.cfg.Train.Workers)
}
