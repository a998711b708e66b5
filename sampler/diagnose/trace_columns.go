package diagnose

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Values returns a copy of the values of one function, or of the "energy" (in
// nats), the "accept" probability or the "moves" of each draw, as
// values[chain][draw]. A function of that name comes first. Every chain has
// [Trace.Len] draws. It is an error if there is no such name; a streaming trace
// gives [ErrStreaming].
func (t *Trace) Values(name string) ([][]float64, error) {
	k, err := t.find(name)
	if err != nil {
		return nil, fmt.Errorf("diagnose: Values: %w", err)
	}
	return t.column(k), nil
}

// find returns the column of a name.
func (t *Trace) find(name string) (int, error) {
	if t.streaming {
		return 0, ErrStreaming
	}
	if i := slices.Index(t.names, name); i >= 0 {
		return columnFirst + i, nil
	}
	if k := slices.Index(columnNames[:], name); k >= 0 {
		return k, nil
	}
	return 0, fmt.Errorf("name = %q, want one of %s", name, strings.Join(append(slices.Clone(t.names), columnNames[:]...), ", "))
}

// column copies one column of the rows, as draws[chain][draw].
func (t *Trace) column(k int) [][]float64 {
	records := t.records()
	draws := newDraws(len(records), t.Len())
	for c, x := range draws {
		for i := range x {
			x[i] = records[c].rows[i*t.columns()+k]
		}
	}
	return draws
}

// errNotKept says that a trace was not told to keep something.
func errNotKept(what, how string) error {
	return errors.New("diagnose: " + what + ": not kept, want " + how + " before the first draw")
}
