package automata

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Automaton is a deterministic automaton that reads token ids. It is identical to
// constraint.Automaton. This package imports no public package of the module, so it declares the
// interface again.
type Automaton interface {
	States() int
	Start() int
	Next(state int, token int32) int
	Accepting(state int) bool
}

// Name returns a short name for a language, for use in messages. It is the result of the language's
// String method if there is one, and its type otherwise.
func Name(a any) string {
	if s, ok := a.(fmt.Stringer); ok {
		return s.String()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", a), "*")
}

// Validated is implemented by languages that may be invalid, and Finite by languages that may
// have infinitely many states. They are identical to constraint.Validated and constraint.Finite.
type (
	Validated interface{ Validate() error }
	Finite    interface{ Finite() error }
)

// Validate returns the error of the language's Validate method if it implements [Validated], and
// otherwise nil. For a nil language, even a nil pointer inside an interface, it returns an error.
// Every compiler of languages calls Validate.
func Validate(a any) error {
	if check.Nil(a) {
		if a == nil {
			return errors.New("language = nil, want one")
		}
		return fmt.Errorf("language = (%T)(nil), want one", a)
	}
	if v, ok := a.(Validated); ok {
		return v.Validate()
	}
	return nil
}

// Tabulable returns an error if the language is invalid, or if its automaton has infinitely many
// states. No table can hold such an automaton. The error comes from [Validate] or, if the language
// implements [Finite], from its method Finite. All code that builds a table calls Tabulable.
func Tabulable(a any) error {
	if err := Validate(a); err != nil {
		return err
	}
	if f, ok := a.(Finite); ok {
		return f.Finite()
	}
	return nil
}
