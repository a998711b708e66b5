package constraint

import (
	"errors"
	"fmt"
)

// ErrInfeasible means that no sequence satisfies a constraint. All errors of this module
// with this meaning wrap ErrInfeasible and name the constraint.
var ErrInfeasible = errors.New("no sequence satisfies the constraint")

// LimitError reports that something grew beyond its bound.
type LimitError struct {
	What         string // what was counted, for instance "Regexp: states"
	Value, Bound int    // the first count seen above Bound
}

// Error names what grew, by how much, and its bound.
func (e *LimitError) Error() string {
	return fmt.Sprintf("constraint: %s = %d, want ≤ %d", e.What, e.Value, e.Bound)
}

// ArgumentError reports an argument that is out of range.
type ArgumentError struct {
	Func, Arg string // "NewMask", "levels"
	Value     any    // the value passed
	Want      string // "≥ 1"
}

// Error names the function, the argument, its value and the allowed range.
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("constraint: %s: %s = %v, want %s", e.Func, e.Arg, e.Value, e.Want)
}

// infeasible reports an empty language.
func infeasible(format string, args ...any) error {
	return fmt.Errorf("constraint: %s: %w", fmt.Sprintf(format, args...), ErrInfeasible)
}
