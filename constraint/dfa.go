package constraint

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// DFA is the minimal deterministic automaton of a language, stored as a dense table over token
// classes. From every state, an accepting state can be reached. The start state is 0. States are
// numbered in breadth-first order, and classes in the order of their first tokens. Two DFAs over
// the same levels therefore have the same language if and only if their tables are equal.
type DFA struct {
	table automata.Table
	name  string
}

// Named returns the same language with a name, for instance the pattern it was compiled from. The
// name appears in error messages and in the result of [DFA.String].
func (d *DFA) Named(name string) *DFA {
	n := *d
	n.name = name
	return &n
}

// String returns the name given by [DFA.Named], or "constraint.DFA" if there is none.
func (d *DFA) String() string {
	if d.name == "" {
		return "constraint.DFA"
	}
	return d.name
}

// Minimal returns d itself, because a DFA is always minimal. [Compile] calls this method.
func (d *DFA) Minimal() *DFA { return d }

// States returns the number of states.
func (d *DFA) States() int { return d.table.States() }

// Start returns 0, the state before the first token.
func (d *DFA) Start() int { return 0 }

// Levels returns the number of tokens in the table. After any other token, Next returns −1.
func (d *DFA) Levels() int { return d.table.Levels() }

// Next returns the state after the given token is read in the given state, or −1 if there is none.
func (d *DFA) Next(state int, token int32) int { return d.table.Next(state, token) }

// Accepting reports whether a sequence may end in the given state.
func (d *DFA) Accepting(state int) bool { return d.table.Accepting(state) }

// Classes divides the tokens 0…levels−1 into classes of interchangeable tokens, as [Classed]
// describes. If levels = Levels(), the slice is shared with the DFA and must not be modified.
// Tokens beyond the table form one additional class.
func (d *DFA) Classes(levels int) (of []int32, n int) { return d.table.Classes(levels) }

// Table returns the transition table. The entry next[s·classes + c] is the state after a token of
// class c in state s, or −1 if there is none. The slice is shared with the DFA and must not be
// modified.
func (d *DFA) Table() (next []int32, classes int) { return d.table.Table() }

// dfaMagic is the prefix of the binary form of a DFA.
const dfaMagic = "gibbsite.dfa.1\n"

// AppendBinary appends the table and a checksum to b, in a format that every version since v0.1
// can read. It implements encoding.BinaryAppender.
func (d *DFA) AppendBinary(b []byte) ([]byte, error) {
	t := &d.table
	body := wire.AppendInts(nil, len(t.Class), t.Width, len(t.Final), len(d.name))
	body = append(body, d.name...)
	body = wire.AppendInt32s(body, t.Class)
	body = wire.AppendInt32s(body, t.To)
	for _, final := range t.Final {
		body = append(body, flag(final))
	}
	return wire.Append(b, dfaMagic, body), nil
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// MarshalBinary returns the table in the format of [DFA.AppendBinary]. It implements
// encoding.BinaryMarshaler.
func (d *DFA) MarshalBinary() ([]byte, error) { return d.AppendBinary(nil) }

// UnmarshalBinary decodes b with the default [Limits] and stores the result in d. The receiver d
// must be a zero DFA. The format and the errors are the same as for [ReadDFA]. If UnmarshalBinary
// returns an error, d is unchanged. It implements encoding.BinaryUnmarshaler.
func (d *DFA) UnmarshalBinary(b []byte) error {
	m, err := ReadDFA(context.Background(), b, Limits{})
	if err != nil {
		return err
	}
	return d.become(m)
}

// ReadDFA decodes a DFA from b, which must hold the output of [DFA.AppendBinary]. It minimises the
// table again, so a table of any origin satisfies the guarantees of [DFA]. This takes O(n log n)
// steps for a table of n entries. The error is a [*LimitError] or the context's cause, or describes
// what is damaged or out of range.
func ReadDFA(ctx context.Context, b []byte, limits Limits) (*DFA, error) {
	body, err := wire.Body(b, dfaMagic)
	if err != nil {
		return nil, fmt.Errorf("constraint: DFA: %w", err)
	}
	var head [4]uint64
	if body, err = wire.ReadUint64s(body, head[:]); err != nil {
		return nil, fmt.Errorf("constraint: DFA: %w", err)
	}
	levels, width, states, named := head[0], head[1], head[2], head[3]
	// Each is at most the bytes that are left, so no product overflows.
	left := uint64(len(body))
	if max(levels, width, states, named) > left || width > 0 && states > left/width || named+4*levels+4*states*width+states != left {
		return nil, fmt.Errorf("constraint: DFA: %d levels, %d classes and %d states do not fit %d bytes", levels, width, states, left)
	}
	if err := limits.Check("ReadDFA", int(states), int(states*width), 0); err != nil {
		return nil, err
	}
	name := string(body[:named])
	t := automata.Table{Class: make([]int32, levels), Width: int(width), To: make([]int32, states*width), Final: make([]bool, states)}
	if body, err = wire.ReadInt32s(body[named:], t.Class); err == nil {
		body, err = wire.ReadInt32s(body, t.To)
	}
	if err != nil {
		return nil, fmt.Errorf("constraint: DFA: %w", err)
	}
	for s, v := range body {
		if v > 1 {
			return nil, fmt.Errorf("constraint: DFA: state %d has the flag %d, want 0 or 1", s, v)
		}
		t.Final[s] = v == 1
	}
	return read(ctx, t, name)
}

// dfaJSON is the JSON form of a DFA. Next is a table of states × classes in which −1 means
// dead.
type dfaJSON struct {
	Name      string  `json:"name,omitempty"`
	Class     []int32 `json:"class"` // class of each token
	Classes   int     `json:"classes"`
	Next      []int32 `json:"next"`
	Accepting []bool  `json:"accepting"`
}

// MarshalJSON returns an object with the members "name", "class" (indexed by token), "classes",
// "next" (states × classes, with −1 for dead) and "accepting". It implements json.Marshaler.
func (d *DFA) MarshalJSON() ([]byte, error) {
	t := &d.table
	return json.Marshal(dfaJSON{d.name, t.Class, t.Width, t.To, t.Final})
}

// UnmarshalJSON decodes b within the default [Limits] and stores the result in d. The receiver d
// must be a zero DFA. The error describes what is out of range. If UnmarshalJSON returns an error,
// d is unchanged. It implements json.Unmarshaler.
func (d *DFA) UnmarshalJSON(b []byte) error {
	var j dfaJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return fmt.Errorf("constraint: DFA: %w", err)
	}
	if j.Classes < 0 || j.Classes > len(j.Class) || len(j.Next) != len(j.Accepting)*j.Classes {
		return fmt.Errorf("constraint: DFA: %d tokens, %d classes, %d states and %d entries of next do not fit", len(j.Class), j.Classes, len(j.Accepting), len(j.Next))
	}
	if err := (Limits{}).Check("DFA", len(j.Accepting), len(j.Next), 0); err != nil {
		return err
	}
	m, err := read(context.Background(), automata.Table{Class: j.Class, Width: j.Classes, To: j.Next, Final: j.Accepting}, j.Name)
	if err != nil {
		return err
	}
	return d.become(m)
}

// become copies m into d. It returns an error if d is not a zero DFA.
func (d *DFA) become(m *DFA) error {
	if len(d.table.Final) > 0 {
		return fmt.Errorf("constraint: DFA: reading into a language that is there already, want a zero DFA")
	}
	*d = *m
	return nil
}

// read checks a table and returns the minimal automaton of its language, with the given name.
func read(ctx context.Context, t automata.Table, name string) (*DFA, error) {
	used := make([]bool, t.Width)
	for token, c := range t.Class {
		if c < 0 || int(c) >= t.Width {
			return nil, fmt.Errorf("constraint: DFA: token %d has class %d, want 0 … %d", token, c, t.Width-1)
		}
		used[c] = true
	}
	for c, ok := range used {
		if !ok {
			return nil, fmt.Errorf("constraint: DFA: no token has class %d", c)
		}
	}
	for i, s := range t.To {
		if s < -1 || int(s) >= len(t.Final) {
			return nil, fmt.Errorf("constraint: DFA: entry %d of next is %d, want −1 … %d", i, s, len(t.Final)-1)
		}
	}
	if len(t.Class) == 0 || len(t.Final) == 0 {
		return nil, fmt.Errorf("constraint: DFA: %d tokens and %d states, want ≥ 1", len(t.Class), len(t.Final))
	}
	m, err := finish(ctx, "DFA", &t)
	if err != nil {
		return nil, err
	}
	m.name = name
	return m, nil
}
