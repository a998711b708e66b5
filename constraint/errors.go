package constraint

import (
	"errors"
	"fmt"
)

// ErrInfeasible means that no sequence satisfies a constraint. Every error of this module that
// reports such a constraint wraps ErrInfeasible and names the constraint.
var ErrInfeasible = errors.New("no sequence satisfies the constraint")

// LimitError reports that a count, such as the number of states of an automaton, exceeded its
// bound.
type LimitError struct {
	What         string // name of the count, for instance "Regexp: states"
	Value, Bound int    // value of the count (or a lower bound on it); bound that the value exceeds
}

// Error returns a message with the name of the count, its value and its bound.
func (e *LimitError) Error() string {
	return fmt.Sprintf("constraint: %s = %d, want ≤ %d", e.What, e.Value, e.Bound)
}

// ArgumentError reports an argument that is out of range.
type ArgumentError struct {
	Func, Arg string // names of the function and the argument, for instance "NewMask" and "levels"
	Value     any    // value that was passed
	Want      string // allowed range, for instance "≥ 1"
}

// Error returns a message with the function, the argument, its value and the allowed range.
func (e *ArgumentError) Error() string {
	return fmt.Sprintf("constraint: %s: %s = %v, want %s", e.Func, e.Arg, e.Value, e.Want)
}

// infeasible returns an error that wraps [ErrInfeasible], with a formatted message that names
// the constraint.
func infeasible(format string, args ...any) error {
	return fmt.Errorf("constraint: %s: %w", fmt.Sprintf(format, args...), ErrInfeasible)
}
