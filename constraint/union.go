package constraint

import (
	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// union is the lazy product of two automata, dead only when both are.
// Its state is (p+1)·(States(b)+1) + (q+1), 0 standing for dead.
type union struct {
	a, b Automaton
	base int // States(b)+1
	n    int
}

func (u *union) States() int { return u.n }

func (u *union) Start() int { return (u.a.Start()+1)*u.base + u.b.Start() + 1 }

func (u *union) Next(state int, token int32) int {
	p, q := state/u.base-1, state%u.base-1
	if p >= 0 {
		p = u.a.Next(p, token)
	}
	if q >= 0 {
		q = u.b.Next(q, token)
	}
	if p < 0 && q < 0 {
		return -1
	}
	return (p+1)*u.base + q + 1
}

func (u *union) Accepting(state int) bool {
	p, q := state/u.base-1, state%u.base-1
	return p >= 0 && u.a.Accepting(p) || q >= 0 && u.b.Accepting(q)
}

func (u *union) Classes(levels int) (of []int32, n int) {
	return automata.Refine([]Automaton{u.a, u.b}, levels)
}
