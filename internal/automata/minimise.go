package automata

import (
	"context"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// Minimal returns the one minimal table of the language of t, which it leaves
// as it is: no state is dead, states are numbered in breadth-first order and
// classes by their first token. It returns nil if the language is empty. The
// error is the cause of the context.
func Minimal(ctx context.Context, t *Table) (*Table, error) {
	m := *t
	if !m.trim() {
		return nil, nil
	}
	var edges algebra.Edges
	for i, to := range m.To {
		if to >= 0 {
			edges.Add(int32(i/m.Width), int32(i%m.Width), to)
		}
	}
	ends := make([]int32, len(m.Final))
	for s, final := range m.Final {
		ends[s] = flag(final)
	}
	block, blocks, err := edges.Refine(ctx, ends, 2) // Myhill–Nerode
	if err != nil {
		return nil, err
	}
	merged := make([]int32, blocks*m.Width)
	final := make([]bool, blocks)
	for s, b := range block {
		final[b] = m.Final[s]
		for c, to := range m.row(s) {
			if to >= 0 {
				to = block[to]
			}
			merged[int(b)*m.Width+c] = to
		}
	}
	m.To, m.Final = merged, final
	m.mergeClasses()
	return m.number(block[0]), nil
}
