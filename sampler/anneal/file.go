package anneal

import (
	"context"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/gibbsite-go/gibbsite/sampler"
)

const streamSize = 24 // bytes of a stream

// save writes a checkpoint in frames, see [durable.Write].
func save(who, magic string, w io.Writer, l *fingerprint.List, frames int, state func(i int, body []byte) ([]byte, error), inside func(io.Writer) error) error {
	if check.Nil(w) {
		return fmt.Errorf("anneal: %s: Save: w = nil", who)
	}
	if err := durable.Write(w, magic, l, frames, state, inside); err != nil {
		return fmt.Errorf("anneal: %s: Save: %w", who, err)
	}
	return nil
}

// load reads what save wrote, see [durable.Read].
func load(ctx context.Context, who, magic string, r io.Reader, here *fingerprint.List, frames int, limit uint64, state func(i int, body []byte) ([]byte, error), inside func(io.Reader) error) error {
	if check.Nil(r) {
		return fmt.Errorf("anneal: %s: Load: r = nil", who)
	}
	if err := durable.Read(ctx, r, magic, here, func() int { return frames }, limit, state, inside); err != nil {
		return fmt.Errorf("anneal: %s: Load: %w", who, err)
	}
	return nil
}

func appendStreams(b []byte, r []sampler.Stream) []byte {
	for i := range r {
		b, _ = r[i].AppendBinary(b) // which cannot fail
	}
	return b
}

func readStreams(b []byte, r []sampler.Stream) ([]byte, error) {
	if len(b)/streamSize < len(r) {
		return nil, wire.ErrShort
	}
	for i := range r {
		if err := r[i].UnmarshalBinary(b[:streamSize]); err != nil {
			return nil, err
		}
		b = b[streamSize:]
	}
	return b, nil
}

// readTokens reads states and refuses tokens that no state has.
func readTokens(b []byte, x []int32, levels int) ([]byte, error) {
	b, err := wire.ReadInt32s(b, x)
	if err != nil {
		return nil, err
	}
	for i, l := range x {
		if l < 0 || int(l) >= levels {
			return nil, fmt.Errorf("token %d = %d, want 0 … %d", i, l, levels-1)
		}
	}
	return b, nil
}
