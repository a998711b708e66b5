package constraint

import (
	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// complement accepts where a is dead or does not accept. State 0 is dead in a;
// state s+1 is state s of a.
type complement struct{ a Automaton }

func (c complement) Complement() Automaton { return c.a }

func (c complement) States() int { return c.a.States() + 1 }

func (c complement) Start() int { return c.a.Start() + 1 }

func (c complement) Next(state int, token int32) int {
	if state == 0 {
		return 0
	}
	return c.a.Next(state-1, token) + 1
}

func (c complement) Accepting(state int) bool { return state == 0 || !c.a.Accepting(state-1) }

func (c complement) Classes(levels int) (of []int32, n int) { return automata.Classes(c.a, levels) }
