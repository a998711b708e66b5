package dual

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame with the settings and one with the state, followed by
// the primal's own, if it has one. The state is the sum of the settings, the
// counters, λ, the updater's state with its length and what is kept of the
// trajectory. The magic of the first frame names the format version.
const (
	magic      = "gibbsite dual 3\n"
	stateMagic = "state\n"
)

const counters = 7 // words ahead of λ

// Save writes a checkpoint of the loop, followed by the primal's if it has a
// method Save: after Load the loop goes on to the same bits as if it had not
// stopped. The target is left at the multipliers of the last dual step, where
// [Inference.Certify], for one, may have moved it from.
func (i *Inference[S]) Save(w io.Writer) error {
	if err := check.Given("dual: Save", "w", w); err != nil {
		return err
	}
	if err := i.settle(); err != nil {
		return fmt.Errorf("dual: Save: %w", err)
	}
	state, err := i.updater.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("dual: Save: %w", err)
	}
	settings := i.fingerprint()
	open := uint64(0)
	if i.open {
		open = 1
	}
	var body []byte
	for _, v := range [counters]uint64{
		settings.Sum(), uint64(i.steps), open, uint64(i.due),
		uint64(i.streak.steps), uint64(i.streak.proof), uint64(len(state)),
	} {
		body = binary.LittleEndian.AppendUint64(body, v)
	}
	body = wire.AppendFloat64s(body, []float64{i.streak.margin})
	body = wire.AppendFloat64s(body, i.lambda)
	body = append(body, state...)
	body = i.way.appendBinary(body)
	if err := wire.Write(w, magic, settings.Append(nil)); err != nil {
		return fmt.Errorf("dual: Save: %w", err)
	}
	if err := wire.Write(w, stateMagic, body); err != nil {
		return fmt.Errorf("dual: Save: %w", err)
	}
	if p, ok := i.primal.(Saver); ok {
		return p.Save(w)
	}
	return nil
}

// standing returns the multipliers that the target and the primal's caches are of.
func (i *Inference[S]) standing() []float64 {
	if i.open || i.steps == 0 {
		return i.lambda
	}
	return i.way.last
}

// settle moves the target to where the last dual step left it. An open step has not
// let go of it.
func (i *Inference[S]) settle() error {
	if i.open {
		return nil
	}
	if err := i.target.SetLambda(i.standing()); err != nil {
		return err
	}
	return i.primal.Reset()
}

// Load restores what Save wrote, into a loop built with the same arguments; Start,
// Observe and Checkpoint may differ, and the error for other ones names the first
// that differs. Schedules are compared by their values. It reads no more than the
// checkpoint. On an error the loop is unchanged, and its target at the
// multipliers of its last step.
func (i *Inference[S]) Load(ctx context.Context, r io.Reader) error {
	if err := check.Given("dual: Load", "r", r); err != nil {
		return err
	}
	sum, err := durable.ReadSettings(r, magic, i.fingerprint())
	if err != nil {
		return fmt.Errorf("dual: Load: %w", err)
	}
	body, err := wire.Read(r, stateMagic, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("dual: Load: %w", err)
	}
	next, err := i.restored(ctx, body, sum)
	if err != nil {
		return fmt.Errorf("dual: Load: %w", err)
	}
	if err := i.target.SetLambda(next.standing()); err != nil {
		return fmt.Errorf("dual: Load: %w", err)
	}
	if p, ok := i.primal.(Saver); ok {
		if err := p.Load(ctx, r); err != nil {
			return errors.Join(err, i.target.SetLambda(i.standing()))
		}
	}
	*i = *next
	i.filed = i.steps
	return nil
}

// restored returns a loop like i with the state of the body.
func (i *Inference[S]) restored(ctx context.Context, body []byte, sum uint64) (*Inference[S], error) {
	n := len(i.lambda)
	if len(body) < 8*counters {
		return nil, wire.ErrShort
	}
	word := func(k int) uint64 { return binary.LittleEndian.Uint64(body[8*k:]) }
	if word(0) != sum {
		return nil, fmt.Errorf("the state is that of another checkpoint")
	}
	for k := 1; k < counters; k++ {
		if word(k) > math.MaxInt {
			return nil, fmt.Errorf("a count in the checkpoint = %d, want ≤ %d", word(k), math.MaxInt)
		}
	}
	next := *i
	var err error
	if next.updater, err = i.cfg.Rule.Bind(ctx, n); err != nil {
		return nil, err
	}
	next.steps, next.open, next.due = int(word(1)), word(2) == 1, int(word(3))
	next.streak.steps, next.streak.proof = int(word(4)), int(word(5))
	size := word(6)
	next.lambda = make([]float64, n)
	margin := make([]float64, 1)
	rest, err := wire.ReadFloat64s(body[8*counters:], margin)
	if err == nil {
		rest, err = wire.ReadFloat64s(rest, next.lambda)
	}
	if err != nil {
		return nil, err
	}
	for j, l := range next.lambda {
		if !(l >= 0) || l > i.cfg.most {
			return nil, fmt.Errorf("λ[%d] in the checkpoint = %v, want 0 … Config.Max", j, l)
		}
	}
	next.streak.margin = margin[0]
	if size > uint64(len(rest)) {
		return nil, wire.ErrShort
	}
	if err := next.updater.UnmarshalBinary(rest[:size]); err != nil {
		return nil, err
	}
	next.drawn = make([]float64, n)
	next.way = newTrajectory(n, i.cfg.Uniform)
	return &next, next.way.read(rest[size:])
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before, which stays as path.old; see [sampler.Runner.SaveFile].
func (i *Inference[S]) SaveFile(path string) error {
	return durable.SaveFile("dual", path, i)
}

// LoadFile restores what SaveFile saved, as Load does. If the file path is
// missing or damaged, it restores the generation before it, path.old.
func (i *Inference[S]) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "dual", path, i)
}
