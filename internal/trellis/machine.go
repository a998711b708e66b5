package trellis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Config sets the length and the tokens of the sequences over which [Compile] unrolls an
// automaton.
type Config struct {
	// Sites is the length of the sequences and Levels the number of tokens, both ≥ 1.
	Sites, Levels int

	// Padded allows shorter sequences: an accepted sequence of length n ≤ Sites is filled up with
	// Sites−n copies of the token Pad. The automaton does not read the padding, so Pad cannot be a
	// token of the language.
	Padded bool
	Pad    int32

	// Allows, if not nil, forbids tokens in addition to the automaton: it reports whether a site
	// may take a token. It is called only while compiling. Padding is always allowed.
	Allows func(site int, token int32) bool

	// Limit is the largest number of edges to store. 0 means 2²⁴ (about 128 MiB).
	Limit int
}

// defaultLimit is the default of Config.Limit. It limits a graph to about 128 MiB, with two
// int32 per edge.
const defaultLimit = 1 << 24

// maxSites bounds the number of sites of a graph.
const maxSites = math.MaxInt32

// check returns an error if a field of the configuration is out of range.
func (c Config) check() error {
	return cmp.Or(
		check.If(c.Sites < 1, "trellis: Compile: sites = %d, want ≥ 1", c.Sites),
		check.If(c.Levels < 1, "trellis: Compile: levels = %d, want ≥ 1", c.Levels),
		check.If(c.Sites > maxSites, "trellis: Compile: sites = %d, want ≤ %d", c.Sites, maxSites),
		check.If(c.Levels > math.MaxInt32, "trellis: Compile: levels = %d, want ≤ %d", c.Levels, math.MaxInt32),
		check.If(c.Padded && (c.Pad < 0 || int(c.Pad) >= c.Levels), "trellis: Compile: padding token = %d, want in 0…%d", c.Pad, c.Levels-1),
		check.If(c.Limit < 0, "trellis: Compile: limit = %d, want ≥ 0", c.Limit),
	)
}

// limit returns the largest number of edges.
func (c Config) limit() int {
	return cmp.Or(c.Limit, defaultLimit)
}

// tooLarge returns the error for an unrolled automaton with too many edges.
func tooLarge(edges, limit int) error {
	return &constraint.LimitError{What: "edges of the unrolled automaton", Value: edges, Bound: limit}
}

// DeadError reports that no sequence is accepted, or that all accepted sequences have weight zero.
type DeadError = algebra.DeadError

// none marks a missing state, class or edge.
const none = -1

// padState is the automaton state after the first padding token.
const padState = -2

// machine is the part of an automaton that sequences of the configured length can reach. Tokens
// are merged into classes as far as the states found so far allow.
type machine struct {
	a      constraint.Automaton
	config Config

	state []int         // automaton state of each id, in order of discovery
	id    map[int]int32 // id of each automaton state

	// kind of each token. The automaton may report that it does not distinguish certain tokens;
	// such tokens are of one kind. The fields below refer to kinds.
	kind []int32
	rep  []int32 // smallest token of each kind

	class  []int32 // class of each kind
	first  []int32 // smallest kind of each class
	parent []int32 // class from which each class was split

	// rows[q][k] is the id of the state after a token of class k in state q, or none if it is
	// dead. A row has as many entries as there were classes when it was made. A newer class
	// behaves like the class from which it was split. A nil row was not needed within the
	// length.
	rows [][]int32

	to []int32 // scratch: next states by kind
}

// explore discovers every state that can be reached within config.Sites tokens.
func explore(ctx context.Context, a constraint.Automaton, config Config) (*machine, error) {
	m := &machine{
		a: a, config: config,
		id:     map[int]int32{},
		first:  []int32{0},
		parent: []int32{none},
	}
	m.kinds()
	m.class = make([]int32, len(m.rep))
	m.to = make([]int32, len(m.rep))
	limit := config.limit()
	m.discover(a.Start())
	edges := 0
	for depth, from := 0, 0; depth < config.Sites && from < len(m.state); depth++ {
		end := len(m.state)
		for q := from; q < end; q++ {
			if err := poll.Err(ctx); err != nil {
				return nil, fmt.Errorf("trellis: Compile: %w", err)
			}
			m.expand(q)
			if edges += len(m.rows[q]); edges > limit {
				return nil, tooLarge(edges, limit)
			}
		}
		from = end
	}
	return m, nil
}

// kinds groups tokens that the automaton reports as equivalent into kinds. Padding has its own
// kind.
func (m *machine) kinds() {
	of, n := automata.Classes(m.a, m.config.Levels)
	m.kind = slices.Clone(of)
	if m.config.Padded {
		m.kind[m.config.Pad] = int32(n)
		n++
	}
	// The padding token may have been alone in its class: number afresh.
	number := make([]int32, n)
	for k := range number {
		number[k] = none
	}
	for v, k := range m.kind {
		if number[k] == none {
			number[k] = int32(len(m.rep))
			m.rep = append(m.rep, int32(v))
		}
		m.kind[v] = number[k]
	}
}

// discover returns the id of an automaton state, and assigns one if necessary.
func (m *machine) discover(state int) int32 {
	if id, ok := m.id[state]; ok {
		return id
	}
	id := int32(len(m.state))
	m.id[state] = id
	m.state = append(m.state, state)
	m.rows = append(m.rows, nil)
	return id
}

// step returns the automaton state after reading token in the given state, or none if it is dead.
// It also handles padding.
func (m *machine) step(state int, token int32) int {
	switch {
	case m.config.Padded && token == m.config.Pad:
		if state == padState || m.a.Accepting(state) {
			return padState
		}
		return none
	case state == padState:
		return none
	}
	if next := m.a.Next(state, token); next >= 0 {
		return next
	}
	return none
}

// accepting reports whether a sequence may end in the state with id q.
func (m *machine) accepting(q int32) bool {
	return m.state[q] == padState || m.a.Accepting(m.state[q])
}

// expand computes the next state of q for every kind of token. It splits the classes whose
// tokens lead to different states.
func (m *machine) expand(q int) {
	state := m.state[q]
	last, lastID := none, int32(none) // runs of equal targets need no look-up
	for i, v := range m.rep {
		if next := m.step(state, v); next != last {
			last, lastID = next, none
			if next != none {
				lastID = m.discover(next)
			}
		}
		m.to[i] = lastID
	}
	m.split()
	row := make([]int32, len(m.first))
	for k, i := range m.first {
		row[k] = m.to[i]
	}
	m.rows[q] = row
}

// split refines the classes so that all kinds of a class have the same entry in m.to.
func (m *machine) split() {
	type key struct{ class, to int32 }
	var fresh map[key]int32
	for i, k := range m.class {
		if m.to[i] == m.to[m.first[k]] {
			continue
		}
		if fresh == nil {
			fresh = map[key]int32{}
		}
		id := key{k, m.to[i]}
		n, ok := fresh[id]
		if !ok {
			n = int32(len(m.first))
			fresh[id] = n
			m.first = append(m.first, int32(i))
			m.parent = append(m.parent, k)
		}
		m.class[i] = n
	}
}

// row stores in dst the next states of state q by class.
func (m *machine) row(dst []int32, q int32) {
	for k := copy(dst, m.rows[q]); k < len(dst); k++ {
		dst[k] = dst[m.parent[k]] // a parent is older than its child
	}
}
