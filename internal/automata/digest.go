package automata

import (
	"context"
	"encoding/binary"
	"errors"
	"hash"
	"hash/fnv"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// canonEntries bounds the table that Digest minimises, 16 MB of it. Larger
// languages count by the automaton as it is.
const canonEntries = 1 << 22

// errLarge stops an exploration that has become too large.
var errLarge = errors.New("the automaton is too large to minimise")

// Digest returns a hash of the sequences of the given number of tokens, each
// below levels, that a accepts. Automata with the same part within that many
// steps have the same digest, whatever their state numbers and token classes;
// up to 2²² table entries they are minimised first, so that any two automata of
// one language agree, if all of their states are met before the last step. The
// error is the cause of the context.
func Digest(ctx context.Context, a Automaton, sites, levels int) (uint64, error) {
	h := fnv.New64a()
	t, err := reach(ctx, a, sites, levels, nil)
	switch {
	case err == nil:
		if t, err = Minimal(ctx, t); err != nil {
			return 0, err
		}
		if t == nil {
			return h.Sum64(), nil // the empty language
		}
		words(h, t.Class...)
		words(h, int32(t.Width))
		words(h, t.To...)
		for _, final := range t.Final {
			words(h, flag(final))
		}
	case errors.Is(err, errLarge):
		if _, err = reach(ctx, a, sites, levels, h); err != nil {
			return 0, err
		}
	default:
		return 0, err
	}
	return h.Sum64(), nil
}

// reach writes out what a can do within so many steps, states in breadth-first
// order, or, with a hash, tells the hash of it and keeps no table.
func reach(ctx context.Context, a Automaton, sites, levels int, h hash.Hash) (*Table, error) {
	t := &Table{}
	t.Class, t.Width = Classes(a, levels)
	rep := Representatives(t.Class, t.Width)
	words(h, t.Class...)
	number := map[int]int32{a.Start(): 0}
	queue := []int{a.Start()}
	layer := 1 // end of the states that are met at the present depth
	row := make([]int32, t.Width)
	for head, depth := 0, 0; head < len(queue); head++ {
		if head == layer {
			depth, layer = depth+1, len(queue)
		}
		if head%PollStates == 0 && poll.Err(ctx) != nil {
			return nil, context.Cause(ctx)
		}
		final := a.Accepting(queue[head])
		for c, token := range rep {
			row[c] = -1
			if depth >= sites {
				continue
			}
			s := a.Next(queue[head], token)
			if s < 0 {
				continue
			}
			id, ok := number[s]
			if !ok {
				id = int32(len(queue))
				number[s] = id
				queue = append(queue, s)
			}
			row[c] = id
		}
		if h != nil {
			words(h, flag(final))
			words(h, row...)
			continue
		}
		t.Final, t.To = append(t.Final, final), append(t.To, row...)
		if len(queue)*t.Width > canonEntries {
			return nil, errLarge
		}
	}
	return t, nil
}

func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// words adds numbers to a hash; a nil hash takes none.
func words(h hash.Hash, v ...int32) {
	if h == nil {
		return
	}
	var b [4]byte
	for _, w := range v {
		binary.LittleEndian.PutUint32(b[:], uint32(w))
		_, _ = h.Write(b[:])
	}
}
