package automata

import (
	"context"

	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Explore writes out the automaton a over tokens 0…levels−1, its states
// numbered in breadth-first order. After every state it calls check with the
// number of states and of table entries so far, and ends with its error; the
// other error is the cause of the context.
func Explore(ctx context.Context, a Automaton, levels int, check func(states, entries int) error) (*Table, error) {
	t := &Table{}
	t.Class, t.Width = Classes(a, levels)
	rep := Representatives(t.Class, t.Width)
	number := map[int]int32{a.Start(): 0}
	queue := []int{a.Start()}
	for head := 0; head < len(queue); head++ {
		if head%PollStates == 0 && poll.Err(ctx) != nil {
			return nil, context.Cause(ctx)
		}
		t.Final = append(t.Final, a.Accepting(queue[head]))
		for _, token := range rep {
			s := a.Next(queue[head], token)
			if s < 0 {
				t.To = append(t.To, -1)
				continue
			}
			id, ok := number[s]
			if !ok {
				id = int32(len(queue))
				number[s] = id
				queue = append(queue, s)
			}
			t.To = append(t.To, id)
		}
		if err := check(len(queue), len(queue)*t.Width); err != nil {
			return nil, err
		}
	}
	return t, nil
}
