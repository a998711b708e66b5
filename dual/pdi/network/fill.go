package network

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// onPath is the final share of diffusions that move λ (Hadou et al. 2026).
const onPath = 0.7

// buffer holds the training pairs of a round and the state from which the next round starts.
type buffer struct {
	teacher pdi.Predictor
	cfg     Config
	frame   *frame
	most    []float64 // largest multipliers that were ever in the buffer
	paths   []float64 // λ for each bound and step of its last inference
	filled  int       // number of fills made
	tied    *tied     // state of dual training; nil for other training
	pairs   *train.Pairs
}

// newBuffer returns an empty buffer. It returns an error if binding Config.Dual fails.
func newBuffer(ctx context.Context, teacher pdi.Predictor, cfg Config, f *frame) (*buffer, error) {
	d, m := teacher.Sites(), teacher.Len()
	rows := 2 * len(cfg.Bounds) * cfg.Chains * cfg.Path
	b := &buffer{
		teacher: teacher, cfg: cfg, frame: f, most: make([]float64, m), paths: make([]float64, len(cfg.Bounds)*cfg.Path*m),
		pairs: &train.Pairs{X: make([]float32, rows*(d+m)), Level: make([]float64, rows), Target: make([]float32, rows*d)},
	}
	var err error
	if cfg.Dual != nil {
		b.tied, err = newTied(ctx, cfg.Dual, m, teacher.Beta())
	}
	return b, err
}

// fill fills the whole buffer for a round and then updates paths and ranges. An interrupted fill
// starts again. The predictor lead makes the predictions of the diffusions.
func (b *buffer) fill(ctx context.Context, round int, lead pdi.Predictor) (err error) {
	if round == 0 {
		clear(b.frame.scale)
	}
	share := onPath * min(1, 2*float64(round)/float64(b.cfg.Rounds))
	all := make([]*visits, 2*len(b.cfg.Bounds))
	f := diffusions{lead, b.cfg, b.frame, nil}
	if b.tied != nil {
		f.tied = slices.Clone(b.tied.lambda)
	}
	size := len(b.paths) / len(b.cfg.Bounds)
	for k := range all {
		r := b.random(round, k)
		of := k % len(b.cfg.Bounds)
		path := b.paths[of*size : (of+1)*size]
		if round == 0 || r.Float64() < share {
			path = nil
		}
		if all[k], err = f.along(ctx, b.cfg.Bounds[of], path, r); err != nil {
			return err
		}
	}
	switch {
	case b.tied != nil:
		var undo func() error
		if undo, err = b.tied.move(all, b.cfg.Bounds[0]); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, undo())
			}
		}()
	case round == 0:
		setScales(b.frame.scale, all, b.teacher.Beta())
	}
	most := append([]float64(nil), b.most...)
	row := 0
	for k, v := range all {
		if err := b.store(ctx, v, row, most, b.random(round, len(all)+k)); err != nil {
			return err
		}
		row += len(v.alpha)
	}
	for k, v := range all {
		if v.path != nil {
			copy(b.paths[k%len(b.cfg.Bounds)*size:], v.path)
		}
	}
	b.most = most
	b.filled++
	return nil
}

// random returns a separate random generator for part k of a round. Its streams differ from those
// of the training, which have small numbers.
func (b *buffer) random(round, k int) *rand.Rand {
	return rand.New(rand.NewPCG(b.cfg.Train.Seed, ^(uint64(round)<<32 + uint64(k))))
}

// store writes the states that a diffusion visited into the buffer, starting at the given row. It
// gives each state a λ near its own and the teacher's prediction at that λ.
func (b *buffer) store(ctx context.Context, from *visits, row int, most []float64, r *rand.Rand) error {
	d, m := b.teacher.Sites(), b.teacher.Len()
	lambda, v := make([]float64, m), make([]float32, d)
	src := []rand.Source{rand.NewPCG(r.Uint64(), r.Uint64())}
	for s, alpha := range from.alpha {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		if b.tied != nil {
			copy(lambda, b.tied.lambda)
		} else {
			near(lambda, from.lambda[s*m:(s+1)*m], b.frame.scale, 1, r)
		}
		x := from.x[s*d : (s+1)*d]
		if err := b.teacher.Predict(v, x, from.alpha[s:s+1], lambda, src); err != nil {
			return fmt.Errorf("teacher: %w", err)
		}
		if b.cfg.Domain != nil {
			b.cfg.Domain(v)
		}
		at := row + s
		target := b.pairs.Target[at*d : (at+1)*d]
		b.frame.ask(target, v, x, alpha)
		for i, y := range target {
			if !check.Finite(float64(y)) {
				return fmt.Errorf("the teacher predicts %v for coordinate %d at ᾱ = %v and λ = %v, want a finite number", v[i], i, alpha, lambda)
			}
		}
		b.frame.show(b.pairs.X[at*(d+m):(at+1)*(d+m)], x, alpha, lambda)
		b.pairs.Level[at] = level(alpha)
		for j, l := range lambda {
			most[j] = max(most[j], l)
		}
	}
	return nil
}
