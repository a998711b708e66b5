package constraint

import "context"

// DFA is the minimal automaton of its language as a dense table over token
// classes. No state is dead, the start state is 0, states are numbered in the
// order of a breadth-first search and classes by their first token, so that two
// DFAs over the same levels have the same language exactly if their tables are
// equal.
type DFA struct {
	levels    int
	classes   int
	of        []int32 // class of each token
	next      []int32 // states × classes, −1 dead
	accepting []bool
}

// NewDFA returns the minimal automaton of the language that a table decides:
// next[s·levels + t] is the state after token t in state s, −1 if there is
// none, accepting[s] says whether a sequence may end in s, and state 0 is the
// start. It copies what it keeps. The error is an [*ArgumentError], or wraps
// [ErrInfeasible] if the language is empty.
func NewDFA(levels int, next []int32, accepting []bool) (*DFA, error) {
	states := len(accepting)
	switch {
	case levels < 1:
		return nil, &ArgumentError{"NewDFA", "levels", levels, "≥ 1"}
	case states < 1:
		return nil, &ArgumentError{"NewDFA", "len(accepting)", states, "≥ 1"}
	case len(next)%levels != 0 || len(next)/levels != states:
		return nil, &ArgumentError{"NewDFA", "len(next)", len(next), "len(accepting)·levels"}
	}
	for _, s := range next {
		if s < -1 || int(s) >= states {
			return nil, &ArgumentError{"NewDFA", "a state in next", s, "−1 … len(accepting)−1"}
		}
	}
	return finish(context.Background(), "NewDFA", &table{levels, levels, identity(levels), next, accepting})
}

// States returns the number of states.
func (d *DFA) States() int { return len(d.accepting) }

// Start returns 0.
func (d *DFA) Start() int { return 0 }

// Levels returns the number of tokens that the table knows; others are dead.
func (d *DFA) Levels() int { return d.levels }

// Next looks the successor up in the table.
func (d *DFA) Next(state int, token int32) int {
	if uint(token) >= uint(len(d.of)) {
		return -1
	}
	return int(d.next[state*d.classes+int(d.of[token])])
}

// Accepting reports whether the sequence may end in state.
func (d *DFA) Accepting(state int) bool { return d.accepting[state] }

// Classes returns the token classes. With levels = Levels() the slice is the
// automaton's own; tokens beyond form a class of their own.
func (d *DFA) Classes(levels int) (of []int32, n int) {
	if levels == d.levels {
		return d.of, d.classes
	}
	return classesBy(levels, func(t int32) int32 {
		if int(t) >= d.levels {
			return -1
		}
		return d.of[t]
	})
}

// Table returns the transitions next[s·classes + c]; the slice is the
// automaton's own and must not be modified.
func (d *DFA) Table() (next []int32, classes int) { return d.next, d.classes }
