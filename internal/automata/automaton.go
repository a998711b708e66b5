package automata

import (
	"fmt"
	"strings"
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
