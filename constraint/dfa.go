package constraint

import "github.com/gibbsite-go/gibbsite/internal/automata"

// DFA is the minimal automaton of its language as a dense table over token
// classes. No state is dead, the start state is 0, states are numbered in the
// order of a breadth-first search and classes by their first token, so that two
// DFAs over the same levels have the same language exactly if their tables are
// equal.
type DFA struct {
	table automata.Table
	name  string
}

// Named returns the same language with a name for messages, such as its pattern. Names
// have no other effect.
func (d *DFA) Named(name string) *DFA {
	n := *d
	n.name = name
	return &n
}

// String returns the name, if there is one.
func (d *DFA) String() string {
	if d.name == "" {
		return "constraint.DFA"
	}
	return d.name
}

// Minimal returns d itself; [Compile] calls it.
func (d *DFA) Minimal() *DFA { return d }

// States returns the number of states.
func (d *DFA) States() int { return d.table.States() }

// Start returns 0.
func (d *DFA) Start() int { return 0 }

// Levels returns the number of tokens that the table knows; others are dead.
func (d *DFA) Levels() int { return d.table.Levels() }

// Next looks the successor up in the table.
func (d *DFA) Next(state int, token int32) int { return d.table.Next(state, token) }

// Accepting reports whether the sequence may end in state.
func (d *DFA) Accepting(state int) bool { return d.table.Accepting(state) }

// Classes returns the token classes. With levels = Levels() the slice is the
// automaton's own; tokens beyond form a class of their own.
func (d *DFA) Classes(levels int) (of []int32, n int) { return d.table.Classes(levels) }

// Table returns the transitions next[s·classes + c]; the slice is the
// automaton's own and must not be modified.
func (d *DFA) Table() (next []int32, classes int) { return d.table.Table() }
