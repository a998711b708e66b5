package automata

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Automaton is a deterministic automaton over token ids, constraint.Automaton
// in all but name: this package imports nothing of the module's public part.
type Automaton interface {
	States() int
	Start() int
	Next(state int, token int32) int
	Accepting(state int) bool
}

// Name returns a short name of a language for messages: what its String method
// says if it has one, or else its type.
func Name(a any) string {
	if s, ok := a.(fmt.Stringer); ok {
		return s.String()
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", a), "*")
}

// Validated and Finite are constraint.Validated and constraint.Finite in all but name.
type (
	Validated interface{ Validate() error }
	Finite    interface{ Finite() error }
)

// Validate returns what a [Validated] language says about its own fields: a literal may be out of range. Nil, also in an interface, is no
// language. Whoever compiles a language asks.
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

// Tabulable returns what [Validate] says, and else what a [Finite] language
// says: why no table can hold it. Whoever writes a table asks.
func Tabulable(a any) error {
	if err := Validate(a); err != nil {
		return err
	}
	if f, ok := a.(Finite); ok {
		return f.Finite()
	}
	return nil
}
