package constraint

import (
	"errors"
	"fmt"
)

// ErrInfeasible says that no sequence satisfies a constraint. Errors of this
// module that mean so wrap it and name the constraint.
var ErrInfeasible = errors.New("no sequence satisfies the constraint")

// LimitError says that something grew beyond its bound.
type LimitError struct {
	What         string // what was counted, for instance "Regexp: states"
	Value, Bound int    // Value > Bound; Value is the first count seen to be so
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("constraint: %s = %d, want ≤ %d", e.What, e.Value, e.Bound)
}

// PatternError says that a regular expression cannot be compiled. It unwraps
// to the reason, for instance a *syntax.Error.
type PatternError struct {
	Pattern string
	Err     error
}

func (e *PatternError) Error() string {
	return fmt.Sprintf("constraint: pattern %q: %v", e.Pattern, e.Err)
}

func (e *PatternError) Unwrap() error { return e.Err }

// ArgumentError says that an argument is out of its range.
type ArgumentError struct {
	Func, Arg string // "NewMask", "levels"
	Value     any
	Want      string // "≥ 1"
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("constraint: %s: %s = %v, want %s", e.Func, e.Arg, e.Value, e.Want)
}

// Limits bound what a compilation may use. The zero value is the recommended
// setting.
type Limits struct {
	// States bounds the states of every automaton that is built on the way
	// (before minimisation). 0 means 2¹⁸ = 262144: seven times the minimal
	// automaton of 134 000 short strings (BenchmarkLexicon), and reached in a
	// fraction of a second by a pattern that explodes (TestRegexpExplosion).
	States int

	// Bytes bounds the memory of tables, of state sets and of minimisation,
	// which takes 36 bytes for each entry (state, token class) together. 0
	// means 2²⁹, 512 MiB: 2¹⁸ states with 56 token classes.
	Bytes int
}

const (
	defaultStates = 1 << 18
	defaultBytes  = 1 << 29

	// bytesPerEntry counts nine int32: two of tables, four of the list of
	// transitions and three of their partition (see minimise).
	bytesPerEntry = 36
)

// filled returns l with its defaults. It refuses negative limits.
func (l Limits) filled(name string) (Limits, error) {
	if l.States < 0 {
		return l, &ArgumentError{name, "Limits.States", l.States, "≥ 0"}
	}
	if l.Bytes < 0 {
		return l, &ArgumentError{name, "Limits.Bytes", l.Bytes, "≥ 0"}
	}
	if l.States == 0 {
		l.States = defaultStates
	}
	if l.Bytes == 0 {
		l.Bytes = defaultBytes
	}
	// State numbers are int32 in every table.
	l.States = min(l.States, 1<<31-2)
	return l, nil
}

// check refuses more states or bytes than l allows: those of table entries,
// and other ones.
func (l Limits) check(name string, states, entries, other int) error {
	bytes := bytesPerEntry*entries + other
	if states > l.States {
		return &LimitError{name + ": states", states, l.States}
	}
	if bytes > l.Bytes {
		return &LimitError{name + ": bytes", bytes, l.Bytes}
	}
	return nil
}

// infeasible reports an empty language.
func infeasible(format string, args ...any) error {
	return fmt.Errorf("constraint: %s: %w", fmt.Sprintf(format, args...), ErrInfeasible)
}
