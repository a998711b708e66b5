package automata

import (
	"context"
	"encoding/binary"
	"errors"
	"hash"
	"hash/fnv"
)

// canonEntries bounds the table that Digest minimises, 16 MB of it. Larger
// languages count by the automaton as it is.
const canonEntries = 1 << 22

// errLarge stops an exploration that has become too large.
var errLarge = errors.New("the automaton is too large to minimise")

// Digest returns a hash of the sequences of the given number of tokens, each below levels,
// that a accepts. Automata that are the same within that many steps have the same digest,
// whatever their state numbers and token classes. Automata with up to 2²² table entries are
// minimised first, so any two automata of the same language agree if all of their states
// are reached before the last step. The error is the cause of the context.
func Digest(ctx context.Context, a Automaton, sites, levels int) (uint64, error) {
	h := fnv.New64a()
	t, err := explore(ctx, a, levels, sites, func(_, entries int) error {
		if entries > canonEntries {
			return errLarge
		}
		return nil
	})
	if errors.Is(err, errLarge) {
		of, n := Classes(a, levels)
		words(h, of...)
		err = walk(ctx, a, Representatives(of, n), sites, func(final bool, to []int32, _ int) error {
			words(h, flag(final))
			words(h, to...)
			return nil
		})
		return h.Sum64(), err
	}
	if err == nil {
		t, err = Minimal(ctx, t)
	}
	if err != nil || t == nil { // nil: the empty language
		return h.Sum64(), err
	}
	words(h, t.Class...)
	words(h, int32(t.Width))
	words(h, t.To...)
	for _, final := range t.Final {
		words(h, flag(final))
	}
	return h.Sum64(), nil
}

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// words adds numbers to a hash.
func words(h hash.Hash, v ...int32) {
	var b [4]byte
	for _, w := range v {
		binary.LittleEndian.PutUint32(b[:], uint32(w))
		_, _ = h.Write(b[:])
	}
}
