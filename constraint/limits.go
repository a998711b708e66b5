package constraint

import (
	"math"
	"math/bits"
)

// Limits holds the largest number of states and the largest amount of memory for a compilation. The
// context limits the time. Every compiler checks all three at bounded intervals as it runs. The
// zero value is the recommended setting.
type Limits struct {
	// States is the largest number of states of an intermediate automaton, before minimisation. 0
	// means 2¹⁸ = 262,144. For comparison, the minimal automaton of 134,000 short strings has a
	// seventh as many states. A pattern whose number of states grows exponentially exceeds this
	// limit in a fraction of a second.
	States int

	// Bytes is the largest amount of memory for tables, state sets and minimisation, in bytes. A
	// table has one entry for each pair of a state and a token class. An entry takes 36 bytes. 0
	// means 2²⁹ (512 MiB), enough for 2¹⁸ states with 56 token classes.
	Bytes int
}

const (
	defaultStates = 1 << 18
	defaultBytes  = 1 << 29

	// bytesPerEntry is the memory of one table entry: nine int32, two for tables, four for the
	// list of transitions and three for its partition (see internal/automata).
	bytesPerEntry = 36
)

// Check returns a [*LimitError] if an automaton under construction has too many states or takes too
// much memory. The memory is that of the table entries (see [Limits.Bytes]) plus overhead bytes.
// For a negative limit, Check returns an [*ArgumentError]. Pass the name of the function that
// builds the automaton; errors begin with it.
func (l Limits) Check(name string, states, entries, overhead int) error {
	switch {
	case l.States < 0:
		return &ArgumentError{name, "Limits.States", l.States, "≥ 0"}
	case l.Bytes < 0:
		return &ArgumentError{name, "Limits.Bytes", l.Bytes, "≥ 0"}
	}
	if l.States == 0 {
		l.States = defaultStates
	}
	if l.Bytes == 0 {
		l.Bytes = defaultBytes
	}
	// State numbers are int32 in every table.
	l.States = min(l.States, 1<<31-2)
	bytes := math.MaxInt
	if entries <= (math.MaxInt-overhead)/bytesPerEntry {
		bytes = bytesPerEntry*entries + overhead
	}
	if states > l.States {
		return &LimitError{name + ": states", states, l.States}
	}
	if bytes > l.Bytes {
		return &LimitError{name + ": bytes", bytes, l.Bytes}
	}
	return nil
}

// maxStates bounds the number of states of a lazy product. One additional state must still fit
// an int.
const maxStates = math.MaxInt / 2

// times returns a·b for two numbers of states and true. If the product exceeds maxStates, it
// returns a and false.
func times(a, b int) (int, bool) {
	if b > 0 && a > maxStates/b {
		return a, false
	}
	return a * b, true
}

// tooMany returns an error for a product of states a·b that exceeds maxStates. The error gives
// the sizes in bits.
func tooMany(name string, a, b int) error {
	return &LimitError{name + ": bits of a state", bits.Len(uint(a)) + bits.Len(uint(b)), bits.Len(uint(maxStates))}
}
