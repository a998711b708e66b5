package pushdown

import "fmt"

// Kind is the kind of a [Move], the action of a machine when it reads a byte.
type Kind uint8

const (
	Dead   Kind = iota // no move: the text is rejected
	Inside             // continue in state To of the same level
	Call               // push Symbol and continue in state To of another level
	Return             // pop a symbol γ from the stack and continue in state Resume[γ][Symbol]
)

// Move is one entry of a machine's table.
type Move struct {
	Kind   Kind
	Symbol int32 // call symbol to push, or return symbol to pass to the caller
	To     int32 // next state; unused for Return
}

// Machine is a deterministic pushdown automaton over bytes. Every move reads one byte. The machine
// accepts a text if, after the last byte, the state is accepting (see Accept) and the stack is
// empty. A Machine is immutable.
type Machine struct {
	// Class[b] < Classes is the class of byte b.
	Class   [256]uint8
	Classes int

	Rows Rows // moves of every state

	// Resume[γ][ρ] is the state in which a caller that pushed symbol γ continues after its callee
	// has returned symbol ρ. It is −1 if the caller then rejects the text.
	Resume [][]int32

	// Level[q] < Levels is the level of state q. A move of kind Inside stays in its level. The
	// states Resume[γ] are in the level of the states that push γ.
	Level  []int32
	Levels int

	Start  int32  // state before the first byte
	Accept []bool // for each state: whether a text may end in it
}

// States returns the number of states.
func (m *Machine) States() int { return len(m.Level) }

// Check returns an error if a table refers to a missing entry, or if a class has no byte. It also
// returns an error if a move of kind Inside, or a return to the caller, leads to another level.
func (m *Machine) Check() error {
	n := int32(len(m.Level))
	if m.Classes < 1 || int(m.Start) >= len(m.Level) || m.Start < 0 || len(m.Accept) != len(m.Level) || !m.Rows.fit(len(m.Level), m.Classes) {
		return fmt.Errorf("pushdown: Machine: %d states, %d classes, %d rows, %d of Accept, start %d do not fit",
			n, m.Classes, len(m.Rows.rows), len(m.Accept), m.Start)
	}
	var used [256]bool
	for _, c := range m.Class {
		if used[c] = true; int(c) >= m.Classes {
			return fmt.Errorf("pushdown: Machine: class %d, want < %d", c, m.Classes)
		}
	}
	for c, ok := range used {
		if !ok && c < m.Classes {
			return fmt.Errorf("pushdown: Machine: no byte of class %d", c)
		}
	}
	for q := range n {
		for _, a := range m.Rows.of(q) {
			if err := m.checkMove(q, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkMove returns an error if the move a of state q refers to a missing entry or leaves its level.
func (m *Machine) checkMove(q int32, a Move) error {
	n := int32(len(m.Level))
	switch a.Kind {
	case Dead:
	case Inside:
		if a.To < 0 || a.To >= n || m.Level[a.To] != m.Level[q] {
			return fmt.Errorf("pushdown: Machine: state %d moves to %d outside its level", q, a.To)
		}
	case Call:
		if a.To < 0 || a.To >= n || a.Symbol < 0 || int(a.Symbol) >= len(m.Resume) {
			return fmt.Errorf("pushdown: Machine: state %d calls %d with symbol %d", q, a.To, a.Symbol)
		}
		for _, r := range m.Resume[a.Symbol] {
			if r >= n || r >= 0 && m.Level[r] != m.Level[q] {
				return fmt.Errorf("pushdown: Machine: symbol %d of state %d resumes at %d outside its level", a.Symbol, q, r)
			}
		}
	case Return:
		for g, r := range m.Resume {
			if a.Symbol < 0 || int(a.Symbol) >= len(r) {
				return fmt.Errorf("pushdown: Machine: state %d returns %d, want < len(Resume[%d]) = %d", q, a.Symbol, g, len(r))
			}
		}
	}
	return nil
}

// Next returns the move of state q on the byte b.
func (m *Machine) Next(q int32, b byte) Move { return *m.Rows.at(q, m.Class[b]) }

// Config is a configuration of a machine: a state and a stack of symbols. The top of the stack is
// the last symbol.
type Config struct {
	State int32
	Stack []int32
}

// Begin returns the configuration before the first byte.
func (m *Machine) Begin() Config { return Config{State: m.Start} }

// Read reads a text, beginning in configuration c, and returns the configuration after the text.
// The second result is false if no move is possible at some byte. Read may overwrite c.Stack.
func (m *Machine) Read(c Config, text string) (Config, bool) {
	for i := range len(text) {
		a := m.Next(c.State, text[i])
		switch a.Kind {
		case Dead:
			return c, false
		case Inside:
			c.State = a.To
		case Call:
			c.Stack = append(c.Stack, a.Symbol)
			c.State = a.To
		case Return:
			n := len(c.Stack)
			if n == 0 {
				return c, false
			}
			c.State = m.Resume[c.Stack[n-1]][a.Symbol]
			if c.State < 0 {
				return c, false
			}
			c.Stack = c.Stack[:n-1]
		}
	}
	return c, true
}

// Accepts reports whether text is in the language.
func (m *Machine) Accepts(text string) bool {
	c, ok := m.Read(m.Begin(), text)
	return ok && len(c.Stack) == 0 && m.Accept[c.State]
}
