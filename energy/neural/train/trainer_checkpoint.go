package train

import (
	"context"
	"io"

	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/session"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame with the settings, one with the state and one for the end, see
// [session.Frames].
const magic = "gibbsite train 3\n"

// settings names all that decides the bits of a training.
func (t *Trainer) settings() *fingerprint.List {
	l := &fingerprint.List{}
	l.Add("network", t.net.Config())
	t.problem.addObjective(l)
	c := t.cfg
	l.Add("Config.Steps", c.Steps)
	l.Add("Config.Batch", c.Batch)
	l.Add("Config.Rate", c.Rate)
	l.Add("Config.Warmup", c.Warmup)
	l.Add("Config.Decay", c.Decay)
	l.Add("Config.Clip", c.Clip)
	l.Add("Config.Average", c.Average)
	l.Add("Config.Shards", c.Shards)
	l.Add("Config.Seed", c.Seed)
	t.problem.addData(l)
	return l
}

// state is what a checkpoint holds: numbers and vectors of the length of the weights.
type state struct {
	step    int
	loss    float64
	vectors [4][]float32
}

func (t *Trainer) frames(s *state) *session.Frames {
	return &session.Frames{Magic: magic, Settings: t.settings(), Count: 1, Limit: 16 + 16*len(t.net.Weights()), Frame: func(f *wire.Fields, _ int) {
		f.Counts("step", &s.step)
		f.Float64(&s.loss)
		for _, v := range s.vectors {
			f.Float32s(v)
		}
	}}
}

func (t *Trainer) vectors() [4][]float32 {
	return [4][]float32{t.net.Weights(), t.adam.m, t.adam.v, t.adam.average}
}

func (t *Trainer) write(w io.Writer) error {
	return t.frames(&state{t.step, t.loss, t.vectors()}).Write(w, nil)
}

func (t *Trainer) read(ctx context.Context, r io.Reader) error {
	var s state
	for k := range s.vectors {
		s.vectors[k] = make([]float32, len(t.net.Weights()))
	}
	if err := t.frames(&s).Read(ctx, r, nil); err != nil {
		return err
	}
	t.step, t.loss = s.step, s.loss
	for k, v := range t.vectors() {
		copy(v, s.vectors[k])
	}
	return nil
}

// Save writes a checkpoint: a trainer of the same network, objective, data and
// configuration that loads it continues to the same bits.
func (t *Trainer) Save(w io.Writer) error { return t.life.Save(w) }

// Load reads what Save wrote, into a trainer built with the same arguments; only
// Workers and Checkpoint may differ. The error names the first setting that differs,
// or says what is wrong with the checkpoint; the trainer is then unchanged.
func (t *Trainer) Load(ctx context.Context, r io.Reader) error { return t.life.Load(ctx, r) }

// SaveFile saves a checkpoint in the file path so that no failure loses both it and the
// one before, which stays as path.old.
func (t *Trainer) SaveFile(path string) error { return t.life.SaveFile(path) }

// LoadFile restores what SaveFile saved, as Load does. If the file path is missing or
// damaged, it restores the generation before it, path.old.
func (t *Trainer) LoadFile(ctx context.Context, path string) error { return t.life.LoadFile(ctx, path) }
