package network

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
)

// A checkpoint is in frames: the settings, the state and the buffer, and inside the
// checkpoint of the network's trainer. The magic names the format version.
const magic = "gibbsite network 1\n"

// fingerprint names all that decides the bits of a training. The teacher is known by
// its shape and by what it says about one state.
func (t *Trainer) fingerprint() (*fingerprint.List, error) {
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
	l.Numbers("prediction of the teacher", said)
	l.Numbers("violations of the teacher", g)
	l.Add("Config.Rounds", c.Rounds)
	l.Add("Config.PerRound", c.PerRound)
	for k, row := range c.Bounds {
		l.Doubles(fmt.Sprintf("Config.Bounds[%d]", k), row)
	}
	if c.Dual != nil {
		l.Add("Config.Dual", c.Dual)
	}
	l.Add("Config.Chains", c.Chains)
	l.Add("Config.Path", c.Path)
	l.Add("Config.Clip", c.Clip)
	l.Add("Config.Domain", c.Domain != nil)
	l.Doubles("Config.Center", b.frame.center)
	l.Doubles("Config.Spread", b.frame.spread)
	return l, nil
}

// Save writes a checkpoint, the buffer and the optimiser included: a trainer built with
// the same arguments that loads it goes on to the same bits. It asks the teacher for a
// prediction.
func (t *Trainer) Save(w io.Writer) error {
	if err := check.Given("network: Save", "w", w); err != nil {
		return err
	}
	settings, err := t.fingerprint()
	if err == nil {
		err = durable.Write(w, magic, settings, 2, t.buffer.encode, t.train.Save)
	}
	if err != nil {
		return fmt.Errorf("network: Save: %w", err)
	}
	return nil
}

// Load reads what Save wrote, into a trainer built with the same arguments; only
// Workers may differ. The error names the first setting that differs, or says what is
// wrong with the checkpoint; the trainer is then unchanged.
func (t *Trainer) Load(ctx context.Context, r io.Reader) error {
	if err := check.Given("network: Load", "r", r); err != nil {
		return err
	}
	if err := t.load(ctx, r); err != nil {
		return fmt.Errorf("network: Load: %w", err)
	}
	return nil
}

func (t *Trainer) load(ctx context.Context, r io.Reader) error {
	settings, err := t.fingerprint()
	if err != nil {
		return err
	}
	f := *t.buffer.frame
	f.scale = slices.Clone(f.scale)
	b, err := newBuffer(ctx, t.buffer.teacher, t.buffer.cfg, &f)
	if err != nil {
		return err
	}
	net := t.net.Clone()
	fit, err := train.NewPairs(net, b.pairs, b.cfg.Train)
	if err != nil {
		return err
	}
	size := 8 * (1 + len(f.scale) + len(b.most) + len(b.paths))
	if b.tied != nil {
		size += t.buffer.tied.size()
	}
	limit := max(size, 8*len(b.pairs.Level)+4*len(b.pairs.X)+4*len(b.pairs.Target))
	if err := durable.Read(ctx, r, magic, settings, func() int { return 2 }, uint64(limit), b.decode, func(r io.Reader) error { return fit.Load(ctx, r) }); err != nil {
		return err
	}
	if done := fit.Step(); done > b.filled*b.cfg.PerRound || done < (b.filled-1)*b.cfg.PerRound {
		return fmt.Errorf("%d steps and %d buffers of %d steps each do not fit", done, b.filled, b.cfg.PerRound)
	}
	t.buffer, t.net, t.train = b, net, fit
	return nil
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it and the
// one before, which stays as path.old.
func (t *Trainer) SaveFile(path string) error { return durable.SaveFile("network", path, t) }

// LoadFile restores what SaveFile saved, as Load does. If the file path is missing or
// damaged, it restores the generation before it, path.old.
func (t *Trainer) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "network", path, t)
}
