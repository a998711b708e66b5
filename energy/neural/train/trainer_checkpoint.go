package train

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame with the settings and one with the state: the sum of the
// settings, the step, the loss and the vectors. The magic of the first names the
// format version.
const (
	magic      = "gibbsite train 2\n"
	stateMagic = "state\n"
)

// fingerprint names all that decides the bits of a training.
func (t *Trainer) fingerprint() *fingerprint.List {
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

// Save writes a checkpoint: a trainer of the same network, objective, data and
// configuration that loads it continues to the same bits.
func (t *Trainer) Save(w io.Writer) error {
	if err := check.Given("train: Save", "w", w); err != nil {
		return err
	}
	settings := t.fingerprint()
	b := wire.AppendUint64s(nil, settings.Sum())
	b = wire.AppendInts(b, t.step)
	b = wire.AppendFloat64s(b, []float64{t.loss})
	for _, v := range t.vectors() {
		b = wire.AppendFloat32s(b, v)
	}
	err := wire.Write(w, magic, settings.Append(nil))
	if err == nil {
		err = wire.Write(w, stateMagic, b)
	}
	if err != nil {
		return fmt.Errorf("train: Save: %w", err)
	}
	return nil
}

func (t *Trainer) vectors() [][]float32 {
	return [][]float32{t.net.Weights(), t.adam.m, t.adam.v, t.adam.average}
}

// Load reads what Save wrote, into a trainer built with the same arguments; only
// Workers and Checkpoint may differ. The error names the first setting that differs,
// or says what is wrong with the checkpoint; the trainer is then unchanged.
func (t *Trainer) Load(ctx context.Context, r io.Reader) error {
	if err := check.Given("train: Load", "r", r); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.load(r); err != nil {
		return fmt.Errorf("train: Load: %w", err)
	}
	return nil
}

func (t *Trainer) load(r io.Reader) error {
	sum, err := durable.ReadSettings(r, magic, t.fingerprint())
	if err != nil {
		return err
	}
	size := 8*3 + 16*len(t.net.Weights())
	b, err := wire.Read(r, stateMagic, uint64(size))
	if err != nil {
		return err
	}
	if len(b) != size {
		return fmt.Errorf("%d bytes of state, want %d", len(b), size)
	}
	var words [2]uint64
	b, _ = wire.ReadUint64s(b, words[:]) // the length has been checked
	if words[0] != sum {
		return fmt.Errorf("the state is that of another checkpoint")
	}
	if words[1] > math.MaxInt {
		return fmt.Errorf("step %d, want ≤ %d", words[1], math.MaxInt)
	}
	var loss [1]float64
	b, _ = wire.ReadFloat64s(b, loss[:])
	for _, v := range t.vectors() {
		b, _ = wire.ReadFloat32s(b, v)
	}
	t.step, t.loss = int(words[1]), loss[0]
	t.filed = t.step
	return nil
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it and the
// one before, which stays as path.old.
func (t *Trainer) SaveFile(path string) error { return durable.SaveFile("train", path, t) }

// LoadFile restores what SaveFile saved, as Load does. If the file path is missing or
// damaged, it restores the generation before it, path.old.
func (t *Trainer) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "train", path, t)
}
