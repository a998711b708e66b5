package pushdown

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Limit bounds what a lift may keep: pairs of a state and a token class.
const Limit = 1 << 24

// LimitError says that a lift grew beyond its bound.
type LimitError struct{ Value, Bound int }

func (e *LimitError) Error() string {
	return fmt.Sprintf("pushdown: pairs of state and token class = %d, want ≤ %d", e.Value, e.Bound)
}

// pair says that a token leads state q to outcome o.
type pair struct{ q, o int32 }

// lifter reads every token from every state.
type lifter struct {
	reader
	v       *Vocabulary
	numbers map[outcome]int32
	list    []outcome
	rows    [][]pair  // of each class
	members [][]int32 // its tokens
	pairs   int
}

// cursor is where the text read so far leads from a state; now < 0 where it
// holds a call or a return, so that the whole token is run again.
type cursor struct{ from, now int32 }

// read walks the sorted tokens as a trie, with the states that live at every
// prefix, and groups tokens by what they do.
func (l *lifter) read(ctx context.Context) error {
	depth := [][]cursor{nil}
	for q := range int32(l.m.States()) {
		depth[0] = append(depth[0], cursor{q, q})
	}
	classes := map[string]int32{}
	var key []byte
	work := 0
	for i, t := range l.v.order {
		text := l.v.Tokens[t]
		for d := int(l.v.shared[i]); d < len(text); d++ {
			if len(depth) == d+1 {
				depth = append(depth, nil)
			}
			work += len(depth[d])
			depth[d+1] = l.advance(depth[d+1][:0], depth[d], text[d])
		}
		if i == 0 || work > 1<<20 {
			work = 0
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		key = key[:0]
		for _, c := range depth[len(text)] {
			o := outcome{Inside, c.now, 0}
			if c.now < 0 {
				if o = l.run(c.from, text); o.kind == Dead {
					continue
				}
			}
			key = binary.LittleEndian.AppendUint32(key, uint32(c.from))
			key = binary.LittleEndian.AppendUint32(key, uint32(l.number(o)))
		}
		if len(key) == 0 {
			continue
		}
		id, ok := classes[string(key)]
		if !ok {
			id = int32(len(l.rows))
			classes[string(key)] = id
			row := make([]pair, 0, len(key)/8)
			for k := 0; k < len(key); k += 8 {
				row = append(row, pair{int32(binary.LittleEndian.Uint32(key[k:])), int32(binary.LittleEndian.Uint32(key[k+4:]))})
			}
			l.rows, l.members = append(l.rows, row), append(l.members, nil)
			if l.pairs += len(row); l.pairs > Limit {
				return &LimitError{l.pairs, Limit}
			}
		}
		l.members[id] = append(l.members[id], t)
	}
	return nil
}

func (l *lifter) advance(dst, src []cursor, b byte) []cursor {
	for _, c := range src {
		if c.now < 0 {
			dst = append(dst, c)
			continue
		}
		switch a := l.m.move(c.now, b); a.Kind {
		case Inside:
			dst = append(dst, cursor{c.from, a.To})
		case Call, Return:
			dst = append(dst, cursor{c.from, -1})
		}
	}
	return dst
}

func (l *lifter) number(o outcome) int32 {
	if i, ok := l.numbers[o]; ok {
		return i
	}
	i := int32(len(l.list))
	l.numbers[o] = i
	l.list = append(l.list, o)
	return i
}
