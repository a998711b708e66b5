package constraint

import (
	"math"
	"math/bits"
)

// Limits bounds the states and the memory of a compilation; the context bounds its time.
// Every compiler checks all three as it runs, and checks the context after a bounded number
// of operations, whatever the input. The zero value is the recommended setting.
type Limits struct {
	// States bounds the states of every intermediate automaton, before minimisation. 0
	// means 2¹⁸ = 262144. That is seven times the size of the minimal automaton of 134 000
	// short strings (BenchmarkLexicon), and a pattern that explodes reaches it in a
	// fraction of a second (TestRegexpExplosion).
	States int

	// Bytes bounds the memory for tables, state sets and minimisation. Together they take
	// 36 bytes for each entry (state, token class). 0 means 2²⁹ (512 MiB), enough for 2¹⁸
	// states with 56 token classes.
	Bytes int
}

const (
	defaultStates = 1 << 18
	defaultBytes  = 1 << 29

	// bytesPerEntry counts nine int32: two of tables, four of the list of
	// transitions and three of their partition (see internal/automata).
	bytesPerEntry = 36
)

// Check returns a [*LimitError] if an automaton under construction has more states than l
// allows, or if its table entries (state, token class) and other bytes take more memory,
// and an [*ArgumentError] for a negative limit. The error begins with name, the name of the
// function that builds the automaton.
func (l Limits) Check(name string, states, entries, other int) error {
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
	if entries <= (math.MaxInt-other)/bytesPerEntry {
		bytes = bytesPerEntry*entries + other
	}
	if states > l.States {
		return &LimitError{name + ": states", states, l.States}
	}
	if bytes > l.Bytes {
		return &LimitError{name + ": bytes", bytes, l.Bytes}
	}
	return nil
}

// maxStates bounds the states of lazy products, so that one more state still
// fits an int.
const maxStates = math.MaxInt / 2

// times multiplies numbers of states; where the product is too large it
// returns a and false.
func times(a, b int) (int, bool) {
	if b > 0 && a > maxStates/b {
		return a, false
	}
	return a * b, true
}

// tooMany reports a product of states beyond maxStates, by its number of bits.
func tooMany(name string, a, b int) error {
	return &LimitError{name + ": bits of a state", bits.Len(uint(a)) + bits.Len(uint(b)), bits.Len(uint(maxStates))}
}
