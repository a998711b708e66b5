package network

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// magic starts a checkpoint of a trainer and names the format version. A checkpoint holds frames
// with the settings, the state and the buffer, and inside them the checkpoint of the network's
// trainer.
const magic = "gibbsite network 2\n"

// settings returns all settings that determine the bits of a training. The teacher is identified
// by its shape and by its prediction for one state.
func (t *Trainer) settings() (*fingerprint.List, error) {
	b := t.buffer
	d, m := b.teacher.Sites(), b.teacher.Len()
	x, v, g := make([]float32, d), make([]float32, d), make([]float64, m)
	for i := range x {
		x[i] = float32(i%3) - 0.5
	}
	if err := b.teacher.Predict(v, x, []float64{0.5}, make([]float64, m), []rand.Source{rand.NewPCG(1, 2)}); err != nil {
		return nil, fmt.Errorf("teacher: %w", err)
	}
	said := make([]float64, d)
	for i, y := range v {
		said[i] = float64(y)
	}
	b.teacher.Violation(g, x)
	l, c := &fingerprint.List{}, b.cfg
	l.Add("teacher.Sites", d)
	l.Add("teacher.Len", m)
	l.Add("teacher.Beta", b.teacher.Beta())
	l.Predictions("prediction of the teacher", said)
	l.Numbers("violations of the teacher", g)
	l.Add("Config.Rounds", c.Rounds)
	l.Add("Config.PerRound", c.PerRound)
	for k, row := range c.Bounds {
		l.Doubles(fmt.Sprintf("Config.Bounds[%d]", k), row)
	}
	if c.Dual != nil {
		l.Add("Config.Dual", c.Dual)
	}
	i := c.Inference
	if i.Rule != nil {
		l.Add("Config.Inference.Rule", i.Rule)
	}
	if i.Start != nil {
		l.Doubles("Config.Inference.Start", i.Start)
	}
	if i.Max != nil {
		l.Add("Config.Inference.Max", *i.Max)
	}
	if i.Again {
		l.Add("Config.Inference.Again", true)
	}
	l.Add("Config.Chains", c.Chains)
	l.Add("Config.Path", c.Path)
	l.Add("Config.Domain", c.Domain != nil)
	l.Doubles("Config.Center", b.frame.center)
	l.Doubles("Config.Spread", b.frame.spread)
	return l, nil
}

// frames describes the checkpoint frames that store the buffer b.
func (t *Trainer) frames(b *buffer) (*session.Frames, error) {
	settings, err := t.settings()
	limit := 8 * (1 + len(b.frame.scale) + len(b.most) + len(b.paths))
	if b.tied != nil {
		limit += t.buffer.tied.size()
	}
	limit = max(limit, 8*len(b.pairs.Level)+4*len(b.pairs.X)+4*len(b.pairs.Target))
	return &session.Frames{Magic: magic, Settings: settings, Count: 2, Limit: limit, Frame: b.fields}, err
}

func (t *Trainer) write(w io.Writer) error {
	f, err := t.frames(t.buffer)
	if err != nil {
		return err
	}
	return f.Write(w, t.train.Save)
}

func (t *Trainer) read(ctx context.Context, r io.Reader) error {
	own := *t.buffer.frame
	own.scale = slices.Clone(own.scale)
	b, err := newBuffer(ctx, t.buffer.teacher, t.buffer.cfg, &own)
	if err != nil {
		return err
	}
	net := t.net.Clone()
	fit, err := train.NewPairs(net, b.pairs, b.cfg.Train)
	if err != nil {
		return err
	}
	f, err := t.frames(b)
	if err == nil {
		err = f.Read(ctx, r, func(r io.Reader) error { return fit.Load(ctx, r) })
	}
	if err != nil {
		return err
	}
	if done := fit.Step(); done > b.filled*b.cfg.PerRound || done < (b.filled-1)*b.cfg.PerRound {
		return fmt.Errorf("%d steps and %d buffers of %d steps each do not fit", done, b.filled, b.cfg.PerRound)
	}
	t.buffer, t.net, t.train = b, net, fit
	return nil
}

// Save writes a checkpoint to w, including the buffer and the optimiser. A trainer built with the
// same arguments can load it and continue bit for bit. The network learns from a predictor, called
// the teacher. Save stores one prediction of the teacher, so that Load can recognise the teacher.
func (t *Trainer) Save(w io.Writer) error { return t.life.Save(w) }

// Load restores a checkpoint written by Save into a trainer built with the same arguments. Only
// Workers and Checkpoint may differ. If Load returns an error, the trainer is unchanged, and the
// error names the first setting that differs or describes the damage.
func (t *Trainer) Load(ctx context.Context, r io.Reader) error { return t.life.Load(ctx, r) }

// SaveFile saves a checkpoint to the file at the given path. It keeps the previous checkpoint as
// path.old. At least one of the two files survives any failure.
func (t *Trainer) SaveFile(path string) error { return t.life.SaveFile(path) }

// LoadFile restores a checkpoint written by [Trainer.SaveFile]. If the file is missing or
// damaged, LoadFile restores the previous checkpoint, path.old. The rules of [Trainer.Load]
// apply.
func (t *Trainer) LoadFile(ctx context.Context, path string) error { return t.life.LoadFile(ctx, path) }

// fields reads or writes frame i of the checkpoint.
func (b *buffer) fields(f *wire.Fields, i int) {
	if i == 1 {
		f.Float64s(b.pairs.Level)
		f.Float32s(b.pairs.X)
		f.Float32s(b.pairs.Target)
		return
	}
	f.Int("rounds", &b.filled, 0, math.MaxInt32/b.cfg.PerRound)
	for _, v := range [][]float64{b.frame.scale, b.most, b.paths} {
		f.Float64s(v)
		for j, x := range v {
			if !(x >= 0) || !check.Finite(x) {
				f.Fail(fmt.Errorf("number %d of the state = %v, want a finite number ≥ 0", j, x))
			}
		}
	}
	if b.tied != nil {
		b.tied.fields(f)
	}
}
