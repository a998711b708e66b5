package automata

import (
	"context"
	"encoding/binary"
	"errors"
	"hash"
	"hash/fnv"
)

// canonEntries bounds the number of table entries of an automaton that Digest minimises, which
// limits the table to 16 MB. Larger automata are hashed without minimisation.
const canonEntries = 1 << 22

// errLarge stops an exploration that has exceeded canonEntries.
var errLarge = errors.New("the automaton is too large to minimise")

// Digest returns a hash of the set of sequences that an automaton accepts. A sequence has one token
// per site, from 0 … levels−1. The hash depends only on transitions that such sequences can make,
// and not on how states and token classes are numbered.
//
// Automata with up to 2²² table entries are minimised first. Two such automata with the same
// language have the same digest if every state of both is reached by a sequence with fewer tokens
// than there are sites. The only error is the cause of ctx.
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

// words writes numbers to a hash.
func words(h hash.Hash, v ...int32) {
	var b [4]byte
	for _, w := range v {
		binary.LittleEndian.PutUint32(b[:], uint32(w))
		_, _ = h.Write(b[:])
	}
}
