package train

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

const magic = "gibbsite train 1\n"

// item is a part of the fingerprint of a training.
type item struct{ Name, Value string }

// fingerprint names all that decides the bits of a training.
func (t *Trainer) fingerprint() []item {
	c := t.cfg
	c.Workers = 0
	return []item{
		{"network", fmt.Sprintf("%+v", t.net.Config())},
		{"objective", fmt.Sprintf("%T %+v", t.objective, t.objective)},
		{"configuration", fmt.Sprintf("%+v", c)},
		{"data", fmt.Sprintf("%d tokens, checksum %016x", len(t.data), checksum(wire.AppendInt32s(nil, t.data)))},
	}
}

// Save writes a checkpoint: a trainer of the same network, objective, data and
// configuration that loads it continues to the same bits.
func (t *Trainer) Save(w io.Writer) error {
	print, err := json.Marshal(t.fingerprint())
	if err != nil {
		return err
	}
	b := wire.AppendInts(nil, len(print), t.step)
	b = append(b, print...)
	b = wire.AppendFloat64s(b, []float64{t.loss})
	for _, v := range t.vectors() {
		b = wire.AppendFloat32s(b, v)
	}
	return wire.Write(w, magic, b)
}

func (t *Trainer) vectors() [][]float32 {
	return [][]float32{t.net.Weights(), t.adam.m, t.adam.v, t.adam.average}
}

// Load reads what Save wrote. The error says what differs between the trainings,
// or what is wrong with the checkpoint; the trainer is then unchanged.
func (t *Trainer) Load(r io.Reader) error {
	b, err := wire.Read(r, magic, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("train: Load: %w", err)
	}
	var head [2]uint64
	if b, err = wire.ReadUint64s(b, head[:]); err != nil || head[0] > uint64(len(b)) {
		return fmt.Errorf("train: Load: %w", wire.ErrShort)
	}
	var saved []item
	if err := json.Unmarshal(b[:head[0]], &saved); err != nil {
		return fmt.Errorf("train: Load: fingerprint: %w", err)
	}
	for i, want := range t.fingerprint() {
		if i >= len(saved) || saved[i] != want {
			got := item{want.Name, "nothing"}
			if i < len(saved) {
				got = saved[i]
			}
			return fmt.Errorf("train: Load: the checkpoint has %s %s, want %s", want.Name, got.Value, want.Value)
		}
	}
	b = b[head[0]:]
	if want := 8 + 16*len(t.net.Weights()); len(b) != want || head[1] > math.MaxInt32 {
		return fmt.Errorf("train: Load: %d bytes of state after step %d, want %d", len(b), head[1], want)
	}
	var loss [1]float64
	b, _ = wire.ReadFloat64s(b, loss[:]) // the length has been checked
	for _, v := range t.vectors() {
		b, _ = wire.ReadFloat32s(b, v)
	}
	t.step, t.loss = int(head[1]), loss[0]
	return nil
}
