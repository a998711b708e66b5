package constraint

import (
	"context"
	"math"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// compiled is implemented by languages that may already hold their minimal automaton. The method
// Minimal returns this automaton, or nil if the language does not hold it.
type compiled interface{ Minimal() *DFA }

// Compile returns the minimal [DFA] of an automaton's language over the tokens 0…levels−1. With Q
// reachable states and K token classes (see [Classed]), it takes O(Q·K) calls of Next and O(Q·K·log
// Q) steps. If the automaton is [Tabled] and has these levels, Compile reads its table directly. If
// the automaton is a DFA with these levels, or its method Minimal returns one, Compile returns that
// DFA, whatever the limits.
//
// The error wraps [ErrInfeasible] if the language is empty. It is a [*LimitError] if a limit is
// exceeded, and the cause of ctx if ctx has ended.
func Compile(ctx context.Context, a Automaton, levels int, limits Limits) (*DFA, error) {
	if levels < 1 {
		return nil, &ArgumentError{"Compile", "levels", levels, "≥ 1"}
	}
	if err := check.Given("constraint: Compile", "a", a); err != nil {
		return nil, err
	}
	if levels > math.MaxInt32 {
		return nil, &ArgumentError{"Compile", "levels", levels, "< 2³¹"}
	}
	if err := automata.Tabulable(a); err != nil {
		return nil, err
	}
	if c, ok := a.(compiled); ok {
		if d := c.Minimal(); d != nil && d.Levels() == levels {
			return d, nil
		}
	}
	check := func(states, entries int) error { return limits.Check("Compile", states, entries, 0) }
	if t, ok := a.(Tabled); ok && t.Levels() == levels {
		table := tableOf(t)
		if err := check(len(table.Final), len(table.To)); err != nil {
			return nil, err
		}
		return finish(ctx, "Compile", table)
	}
	table, err := automata.Explore(ctx, a, levels, check)
	if err != nil {
		return nil, err
	}
	return finish(ctx, "Compile", table)
}

// NewDFA returns the minimal automaton equivalent to the given transition table. The entry
// next[s·levels + t] is the state after token t in state s, or −1 if there is none. The entry
// accepting[s] reports whether a sequence may end in state s. State 0 is the start. The slices are
// not kept. If the arguments are invalid, the error is an [*ArgumentError]. If the language is
// empty, it wraps [ErrInfeasible]. If ctx ends, it is the cause of ctx.
func NewDFA(ctx context.Context, levels int, next []int32, accepting []bool) (*DFA, error) {
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
	t := &automata.Table{Class: automata.Identity(levels), Width: levels, To: next, Final: accepting}
	return finish(ctx, "NewDFA", t)
}

// tableOf returns t as an [automata.Table], whose transitions and classes share memory with t.
func tableOf(t Tabled) *automata.Table {
	table := &automata.Table{}
	table.Class, _ = t.Classes(t.Levels())
	table.To, table.Width = t.Table()
	for s := range len(table.To) / table.Width {
		table.Final = append(table.Final, t.Accepting(s))
	}
	return table
}

// finish minimises the table t and returns it as a DFA. The error wraps ErrInfeasible if the
// language is empty, or is the cause of the context. name begins the error's message.
func finish(ctx context.Context, name string, t *automata.Table) (*DFA, error) {
	minimal, err := automata.Minimal(ctx, t)
	if err != nil {
		return nil, err
	}
	if minimal == nil {
		return nil, infeasible("%s: the language is empty", name)
	}
	return &DFA{table: *minimal}, nil
}
