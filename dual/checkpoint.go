package dual

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc64"
	"io"
	"math"
)

// A checkpoint is little-endian:
//
//	magic, length of the body (8 bytes), body, CRC-64/ECMA of the body (8 bytes)
//
// followed by the primal's own, if it has one. The body holds the numbers of
// multipliers and states, the counters, λ, the updater's state with its length
// and the trajectory.
var (
	magic    = []byte("gibbsite dual 1\n")
	crcTable = crc64.MakeTable(crc64.ECMA)
)

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
	body = appendFloats(body, []float64{i.streak.margin})
	body = appendFloats(body, i.lambda)
	body = append(body, state...)
	body = appendFloats(body, i.history)
	out := binary.LittleEndian.AppendUint64(bytes.Clone(magic), uint64(len(body)))
	out = append(out, body...)
	out = binary.LittleEndian.AppendUint64(out, crc64.Checksum(body, crcTable))
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("dual: Save: %w", err)
	}
	if p, ok := i.primal.(saver); ok {
		return p.Save(w)
	}
	return nil
}

// Load restores what Save wrote, into a loop built with the same arguments. It
// reads no more than the checkpoint. On an error the loop is unchanged, except
// that the target's multipliers are those of the checkpoint if the error is the
// primal's.
func (i *Inference[S]) Load(r io.Reader) error {
	body, err := readBody(r)
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
		set, _ = next.At(next.steps - 1)
	}
	if err := i.target.SetLambda(set); err != nil {
		return fmt.Errorf("dual: Load: %w", err)
	}
	if p, ok := i.primal.(saver); ok {
		if err := p.Load(r); err != nil {
			return err
		}
	}
	*i = *next
	return nil
}

// readBody returns the checked body. It allocates as data comes, so that a
// damaged length costs nothing.
func readBody(r io.Reader) ([]byte, error) {
	head := make([]byte, len(magic)+8)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("reading the head: %w", err)
	}
	if !bytes.Equal(head[:len(magic)], magic) {
		return nil, fmt.Errorf("not a checkpoint: it begins with %q, want %q", head[:len(magic)], magic)
	}
	size := binary.LittleEndian.Uint64(head[len(magic):])
	if size > math.MaxInt64-8 {
		return nil, fmt.Errorf("the checkpoint holds %d bytes", size)
	}
	var b bytes.Buffer
	if n, err := io.CopyN(&b, r, int64(size)+8); err != nil {
		return nil, fmt.Errorf("reading the body: %d bytes of %d: %w", n, size+8, err)
	}
	body := b.Bytes()[:size]
	if got, sum := crc64.Checksum(body, crcTable), binary.LittleEndian.Uint64(b.Bytes()[size:]); got != sum {
		return nil, fmt.Errorf("the checkpoint is damaged: checksum %016x, want %016x", got, sum)
	}
	return body, nil
}

// restored returns a loop like i with the state of the body.
func (i *Inference[S]) restored(body []byte) (*Inference[S], error) {
	n := len(i.lambda)
	if len(body) < 8*counters {
		return nil, errShort
	}
	word := func(k int) uint64 { return binary.LittleEndian.Uint64(body[8*k:]) }
	if word(0) != uint64(n) || word(1) != uint64(i.batch.States) {
		return nil, fmt.Errorf("the checkpoint has %d multipliers and %d states, want %d and %d", word(0), word(1), n, i.batch.States)
	}
	next := *i
	var err error
	if next.updater, err = i.cfg.Rule.Bind(n); err != nil {
		return nil, err
	}
	next.steps, next.open, next.due = int(word(2)), word(3) == 1, int(word(4))
	next.streak.steps, next.streak.proof = int(word(5)), int(word(6))
	size := word(7)
	next.lambda = make([]float64, n)
	margin := make([]float64, 1)
	rest, err := readFloats(body[8*counters:], margin)
	if err == nil {
		rest, err = readFloats(rest, next.lambda)
	}
	if err != nil {
		return nil, err
	}
	next.streak.margin = margin[0]
	if size > uint64(len(rest)) {
		return nil, errShort
	}
	if err := next.updater.UnmarshalBinary(rest[:size]); err != nil {
		return nil, err
	}
	rest = rest[size:]
	if len(rest)%(16*n) != 0 || len(rest)/(16*n) != next.steps {
		return nil, fmt.Errorf("the trajectory has %d bytes, want %d steps of %d", len(rest), next.steps, 16*n)
	}
	next.history = make([]float64, 2*n*next.steps)
	_, err = readFloats(rest, next.history)
	return &next, err
}
