package dual

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// A checkpoint is a frame of package wire, followed by the primal's own, if it
// has one. The body holds the numbers of multipliers and states, the counters, λ,
// the updater's state with its length and what is kept of the trajectory.
const magic = "gibbsite dual 2\n"

const counters = 8 // words ahead of λ

// Save writes a checkpoint of the loop, followed by the primal's if it has a
// method Save: after Load the loop goes on to the same bits as if it had not
// stopped.
func (i *Inference[S]) Save(w io.Writer) error {
	state, err := i.updater.AppendBinary(nil)
	if err != nil {
		return fmt.Errorf("dual: Save: %w", err)
	}
	open := uint64(0)
	if i.open {
		open = 1
	}
	var body []byte
	for _, v := range [counters]uint64{
		uint64(len(i.lambda)), uint64(i.batch.States), uint64(i.steps), open, uint64(i.due),
		uint64(i.streak.steps), uint64(i.streak.proof), uint64(len(state)),
	} {
		body = binary.LittleEndian.AppendUint64(body, v)
	}
	body = wire.AppendFloat64s(body, []float64{i.streak.margin})
	body = wire.AppendFloat64s(body, i.lambda)
	body = append(body, state...)
	body = i.way.appendBinary(body)
	if err := wire.Write(w, magic, body); err != nil {
		return fmt.Errorf("dual: Save: %w", err)
	}
	if p, ok := i.primal.(Saver); ok {
		return p.Save(w)
	}
	return nil
}

// Load restores what Save wrote, into a loop built with the same arguments. It
// reads no more than the checkpoint. On an error the loop is unchanged, except
// that the target's multipliers are those of the checkpoint if the error is the
// primal's.
func (i *Inference[S]) Load(r io.Reader) error {
	body, err := wire.Read(r, magic, math.MaxInt64)
	if err != nil {
		return fmt.Errorf("dual: Load: %w", err)
	}
	next, err := i.restored(body)
	if err != nil {
		return fmt.Errorf("dual: Load: %w", err)
	}
	// The primal's caches are those of the multipliers that were set last.
	set := next.lambda
	if !next.open && next.steps > 0 {
		set = next.way.last
	}
	if err := i.target.SetLambda(set); err != nil {
		return fmt.Errorf("dual: Load: %w", err)
	}
	if p, ok := i.primal.(Saver); ok {
		if err := p.Load(r); err != nil {
			return err
		}
	}
	*i = *next
	return nil
}

// restored returns a loop like i with the state of the body.
func (i *Inference[S]) restored(body []byte) (*Inference[S], error) {
	n := len(i.lambda)
	if len(body) < 8*counters {
		return nil, wire.ErrShort
	}
	word := func(k int) uint64 { return binary.LittleEndian.Uint64(body[8*k:]) }
	if word(0) != uint64(n) || word(1) != uint64(i.batch.States) {
		return nil, fmt.Errorf("the checkpoint has %d multipliers and %d states, want %d and %d", word(0), word(1), n, i.batch.States)
	}
	next := *i
	var err error
	if next.updater, err = i.cfg.Rule.Bind(context.Background(), n); err != nil {
		return nil, err
	}
	next.steps, next.open, next.due = int(word(2)), word(3) == 1, int(word(4))
	next.streak.steps, next.streak.proof = int(word(5)), int(word(6))
	size := word(7)
	next.lambda = make([]float64, n)
	margin := make([]float64, 1)
	rest, err := wire.ReadFloat64s(body[8*counters:], margin)
	if err == nil {
		rest, err = wire.ReadFloat64s(rest, next.lambda)
	}
	if err != nil {
		return nil, err
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
