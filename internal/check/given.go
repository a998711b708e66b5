package check

import (
	"fmt"
	"math"
)

// Given returns an error if v, the argument name of the caller who, is nil: also
// an interface that holds a nil pointer. who, such as "mcmc: Swap", begins the
// message.
func Given(who, name string, v any) error {
	if !Nil(v) {
		return nil
	}
	if v == nil {
		return fmt.Errorf("%s: %s = nil", who, name)
	}
	return fmt.Errorf("%s: %s = (%T)(nil), want a value", who, name, v)
}

// Must is Given for callers that return no error: it panics.
func Must(who, name string, v any) {
	if err := Given(who, name, v); err != nil {
		panic(err.Error())
	}
}

// Index panics unless 0 ≤ i < n.
func Index(who, name string, i, n int) {
	if uint(i) >= uint(n) {
		panic(fmt.Sprintf("%s: %s = %d, want 0 … %d", who, name, i, n-1))
	}
}

// MaxEntries is the most entries of a table whose size comes from numbers alone:
// beyond it the number is a mistake and no memory would hold the table.
const MaxEntries = min(math.MaxInt/16, 1<<36)

// Entries returns an error unless each factor is ≥ 0 and their product at most
// MaxEntries; names says what they are, "sites × states" for instance.
func Entries(who, names string, factors ...int) error {
	n := 1
	for _, f := range factors {
		if f < 0 || f > 0 && n > MaxEntries/f {
			return fmt.Errorf("%s: %s = %v, want a product of 0 … %d", who, names, factors, MaxEntries)
		}
		n *= f
	}
	return nil
}
