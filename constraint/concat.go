package constraint

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Concat compiles the concatenation of the parts over tokens 0…levels−1. A sequence is accepted if
// it can be cut into consecutive pieces, one for each part, such that every part accepts its piece.
// Without parts, the language holds only the empty sequence. The automaton may need exponentially
// many states.
//
// The error wraps [ErrInfeasible] if the language is empty. It is a [*LimitError] if a limit is
// exceeded, and the cause of ctx if ctx has ended.
func Concat(ctx context.Context, levels int, limits Limits, parts ...Automaton) (*DFA, error) {
	if levels < 1 {
		return nil, &ArgumentError{"Concat", "levels", levels, "≥ 1"}
	}
	if err := limits.Check("Concat", 0, 0, 0); err != nil {
		return nil, err
	}
	if err := given("Concat", parts); err != nil {
		return nil, err
	}
	if levels > math.MaxInt32 {
		return nil, &ArgumentError{"Concat", "levels", levels, "< 2³¹"}
	}
	if len(parts) == 0 {
		parts = []Automaton{Count{Levels: automata.Identity(levels)}}
	}
	d, err := Compile(ctx, parts[len(parts)-1], levels, limits)
	if err != nil {
		return nil, err
	}
	// From the right, so that what follows is small and minimal.
	for i := len(parts) - 2; i >= 0; i-- {
		if err := automata.Tabulable(parts[i]); err != nil {
			return nil, err
		}
		t, err := concat(ctx, parts[i], d, limits)
		if err != nil {
			return nil, err
		}
		if d, err = finish(ctx, "Concat", t); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// pair is a state of the automaton that [concat] explores: the state first of the first part,
// −1 if dead, and the ascending list rest of the states that the second part may be in.
type pair struct {
	first int
	rest  []int32
}

func (p pair) key(buf []byte) []byte {
	buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(p.first))
	for _, s := range p.rest {
		buf = binary.LittleEndian.AppendUint32(buf, uint32(s))
	}
	return buf
}

// concat builds the automaton of the concatenation of a and b as a table that is not yet
// minimal. A state of the table is a [pair].
func concat(ctx context.Context, a Automaton, b *DFA, limits Limits) (*automata.Table, error) {
	t := &automata.Table{}
	t.Class, t.Width = automata.Refine([]Automaton{a, b}, b.Levels())
	rep := automata.Representatives(t.Class, t.Width)
	var (
		pairs  []pair
		number = map[string]int32{}
		buf    []byte
		bytes  int
	)
	find := func(p pair) int32 {
		if p.first >= 0 && a.Accepting(p.first) {
			p.rest = append(p.rest, int32(b.Start()))
		}
		if p.first < 0 && len(p.rest) == 0 {
			return -1
		}
		slices.Sort(p.rest)
		p.rest = slices.Compact(p.rest)
		buf = p.key(buf)
		if id, ok := number[string(buf)]; ok {
			return id
		}
		id := int32(len(pairs))
		number[string(buf)] = id
		pairs = append(pairs, pair{p.first, slices.Clone(p.rest)})
		bytes += 2 * len(buf)
		return id
	}
	scratch := pair{first: a.Start()}
	find(scratch)
	var meter poll.Meter
	meter.Watch(ctx)
	if meter.Poll() != nil {
		return nil, meter.Err()
	}
	for head := 0; head < len(pairs); head++ {
		p := pairs[head]
		accepting := false
		for _, s := range p.rest {
			accepting = accepting || b.Accepting(int(s))
		}
		t.Final = append(t.Final, accepting)
		for _, token := range rep {
			if meter.Done(automata.StateWork + automata.NextWork*len(p.rest)) {
				return nil, meter.Err()
			}
			scratch.first, scratch.rest = p.first, scratch.rest[:0]
			if p.first >= 0 {
				scratch.first = a.Next(p.first, token)
			}
			for _, s := range p.rest {
				if to := b.Next(int(s), token); to >= 0 {
					scratch.rest = append(scratch.rest, int32(to))
				}
			}
			t.To = append(t.To, find(scratch))
		}
		if err := limits.Check("Concat", len(pairs), len(pairs)*t.Width, bytes); err != nil {
			return nil, err
		}
	}
	return t, nil
}
