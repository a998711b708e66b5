package grammar

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// Language is a [Grammar] over the tokens of a vocabulary. It contains the token sequences that
// spell a text of the grammar, in any division into tokens. If the vocabulary has padding tokens,
// these may follow.
//
// Language is a projection.Nested language, so projection.Path sums over texts of any depth of
// nesting. As a constraint.Automaton it has one state for each pair of a control state and a stack,
// stored when a text first reaches it. A Language is safe for concurrent use.
type Language struct {
	name  string
	graph *pushdown.Graph

	mu      sync.Mutex
	configs []configuration
	number  map[configuration]int
	stacks  stacks
}

// configuration is a state of the pushdown automaton and the index of its stack, where 0 is the
// empty stack. padded is true if the text has ended.
type configuration struct {
	state  int32
	stack  int
	padded bool
}

// stacks assigns an index to each stack. Equal stacks have the same index, so a stack is copied by
// copying its index.
type stacks struct {
	list []frame // top frame of every stack by its index; index 0 is the empty stack
	push map[frame]int
}

// frame is the top symbol of a stack and the index of the stack below it.
type frame struct {
	below  int
	symbol int32
}

func newStacks() stacks { return stacks{make([]frame, 1), map[frame]int{}} }

// over returns the index of the stack with the symbol and the lower stack of f, and assigns
// one if necessary.
func (s *stacks) over(f frame) int {
	if i, ok := s.push[f]; ok {
		return i
	}
	i := len(s.list)
	s.push[f] = i
	s.list = append(s.list, f)
	return i
}

// Over returns the language of the token sequences that spell a text of the grammar. The error is a
// [*ConflictError] if the grammar is not deterministic, a [*constraint.LimitError] if it has too
// many states, an [*constraint.ArgumentError] if the vocabulary is invalid, or the context's cause.
func (g *Grammar) Over(ctx context.Context, v text.Vocabulary) (*Language, error) {
	p, err := Prepare(v)
	if err != nil {
		return nil, err
	}
	return g.OverPrepared(ctx, p)
}

// Vocabulary is a text.Vocabulary that has been checked and sorted. It can be used for any
// number of grammars and is immutable.
type Vocabulary struct {
	sorted *pushdown.Vocabulary
	once   sync.Once
	masks  *maskVocabulary
}

// Prepare checks and sorts a vocabulary. For a large vocabulary, this takes most of the time of
// [Grammar.Over]. The error is an [*constraint.ArgumentError] if v is invalid.
func Prepare(v text.Vocabulary) (*Vocabulary, error) {
	spells, err := v.Spelling()
	if err != nil {
		return nil, err
	}
	size := int64(0)
	for _, x := range v.Tokens {
		if size += int64(len(x)); size > math.MaxInt32 {
			return nil, &constraint.ArgumentError{Func: "Prepare", Arg: "total length of v.Tokens", Value: size, Want: "≤ 2³¹ − 1 bytes"}
		}
	}
	return &Vocabulary{sorted: pushdown.Prepare(v.Tokens, spells, v.Padding)}, nil
}

// OverPrepared is like [Grammar.Over], for a vocabulary that [Prepare] has sorted.
func (g *Grammar) OverPrepared(ctx context.Context, v *Vocabulary) (*Language, error) {
	if v == nil || v.sorted == nil {
		return nil, &constraint.ArgumentError{Func: "OverPrepared", Arg: "v", Value: "nil", Want: "a vocabulary of Prepare"}
	}
	m, err := g.explored(ctx)
	if err != nil {
		return nil, err
	}
	graph, err := pushdown.Lift(ctx, m, v.sorted)
	var limit *constraint.LimitError
	if errors.As(err, &limit) && g.expanded { // copies of levels that were too many
		if m, err = g.unexpanded(ctx); err != nil {
			return nil, err
		}
		graph, err = pushdown.Lift(ctx, m, v.sorted)
	}
	if errors.As(err, &limit) {
		limit.What = g.name + ": " + limit.What
	}
	if err != nil {
		return nil, err
	}
	l := &Language{name: g.name, graph: graph, number: map[configuration]int{}, stacks: newStacks()}
	l.find(configuration{state: m.Start})
	return l, nil
}

// String returns the name of the grammar.
func (l *Language) String() string { return l.name }

// Pushdown returns the pushdown automaton over tokens on which package projection computes
// sums. The method makes Language a projection.Nested.
func (l *Language) Pushdown() constraint.Pushdown { return l.graph }

// Size returns the number of states, token classes and edges of the automaton
// over tokens.
func (l *Language) Size() (states, classes, edges int) { return l.graph.Size() }

// States returns a number that is larger than the index of every configuration (see [Language]).
func (l *Language) States() int { return unbounded }

// Start returns the index of the configuration (see [Language]) before the first token.
func (l *Language) Start() int { return 0 }

// Next returns the index of the configuration (see [Language]) after token is read in the
// configuration with the given index. It returns −1 (dead) if no text continues with token.
func (l *Language) Next(state int, token int32) int {
	v := l.graph.Vocabulary()
	if token < 0 || int(token) >= v.Tokens() {
		return -1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if uint(state) >= uint(len(l.configs)) {
		return -1
	}
	c := l.configs[state]
	if slices.Contains(v.Pad, token) {
		if !c.padded && !l.accepting(c) {
			return -1
		}
		return l.find(configuration{padded: true})
	}
	if c.padded || !l.graph.Spells(token) {
		return -1
	}
	m := l.graph.Machine()
	for _, b := range []byte(v.Text(token)) {
		switch a := m.Next(c.state, b); a.Kind {
		case pushdown.Dead:
			return -1
		case pushdown.Inside:
			c.state = a.To
		case pushdown.Call:
			c.state, c.stack = a.To, l.stacks.over(frame{c.stack, a.Symbol})
		case pushdown.Return:
			if c.stack == 0 {
				return -1
			}
			top := l.stacks.list[c.stack]
			if c.state = m.Resume[top.symbol][a.Symbol]; c.state < 0 {
				return -1
			}
			c.stack = top.below
		}
	}
	return l.find(c)
}

// Accepting reports whether a sequence may end in the configuration (see [Language]) that has the
// given index.
func (l *Language) Accepting(state int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint(state) < uint(len(l.configs)) && l.accepting(l.configs[state])
}

func (l *Language) accepting(c configuration) bool {
	return c.padded || c.stack == 0 && l.graph.Machine().Accept[c.state]
}

func (l *Language) find(c configuration) int {
	if i, ok := l.number[c]; ok {
		return i
	}
	i := len(l.configs)
	if i >= unbounded {
		panic(fmt.Sprintf("grammar: Language: configurations = %d, want ≤ %d", i+1, unbounded))
	}
	l.number[c] = i
	l.configs = append(l.configs, c)
	return i
}

// Classes divides the tokens 0 … levels−1 into n classes and returns the class of every token. From
// any state, all tokens of one class lead to the same next state.
func (l *Language) Classes(levels int) (of []int32, n int) {
	if levels < 0 || levels > math.MaxInt32 {
		panic(fmt.Sprintf("grammar: Language: Classes: levels = %d, want 0 … %d", levels, math.MaxInt32))
	}
	return l.graph.Classes(levels)
}

// Grammar is a nested language of texts, as returned by [Parse], [ParseGBNF], [ParseLark] and
// [JSONSchema]. It is safe for concurrent use.
type Grammar struct {
	name        string
	limits      constraint.Limits
	annotations []string

	mu      lock
	network *network
	states  *subsets          // states that texts have reached; nil until the first text
	machine *pushdown.Machine // result of explored; nil until first needed
	nested  *pushdown.Machine // result of unexpanded; nil until first needed
	// whether levels are expanded in the machine; set with it
	expanded bool
	runs     *runs // runs of the trimmed network; nil until masks are first requested
}

// String returns the name of the function that built the grammar, for error messages.
func (g *Grammar) String() string { return g.name }

// Annotations returns the JSON pointers of the keywords and formats that no draft defines. They
// have no effect on the language. Parts of the schema that are never applied are left out.
func (g *Grammar) Annotations() []string { return slices.Clone(g.annotations) }

// Accepts reports whether text is in the language, in one pass. A state of the automaton is created
// when a text first reaches it, and later texts reuse it.
func (g *Grammar) Accepts(text string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.states == nil {
		g.states = newSubsets(g.network)
	}
	ok, err := g.states.read(text)
	return ok && err == nil
}

// explored returns the automaton with all its states, which it computes once. Levels that are not
// recursive are expanded in place unless that takes too many states.
func (g *Grammar) explored(ctx context.Context) (m *pushdown.Machine, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.machine == nil {
		g.machine, err = g.explore(ctx, true)
	}
	return g.machine, err
}

// unexpanded returns the automaton without levels expanded in place, which it computes once.
func (g *Grammar) unexpanded(ctx context.Context) (m *pushdown.Machine, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.nested == nil {
		g.nested, err = g.explore(ctx, false)
	}
	return g.nested, err
}

// explore computes the minimal automaton. If flat is true, levels that are not recursive are expanded
// in place unless that takes too many states.
func (g *Grammar) explore(ctx context.Context, flat bool) (*pushdown.Machine, error) {
	r, err := g.trim(ctx, true)
	if err != nil {
		return nil, err
	}
	m, err := r.explore(ctx, g.name+": states", g.limits)
	if err == nil && m != nil {
		if flat {
			f := m.Flat()
			m, g.expanded = f, f != m
		}
		m, err = m.Minimal(ctx)
	}
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, g.empty()
	}
	if !flat {
		return m, nil
	}
	if f := m.Flat(); f != m { // the states that were removed called levels, or were too many
		g.expanded = true
		return f.Minimal(ctx)
	}
	return m, nil
}

// trimmed computes the runs of the trimmed network, once.
func (g *Grammar) trimmed(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.runs != nil {
		return nil
	}
	r, err := g.trim(ctx, false)
	if err != nil {
		return err
	}
	if r.start < 0 {
		return g.empty()
	}
	g.runs = r
	return nil
}

// trim returns new runs of the trimmed network. whole tells that all states will be explored.
func (g *Grammar) trim(ctx context.Context, whole bool) (*runs, error) {
	n := *g.network
	n.meter = &poll.Meter{}
	n.meter.Watch(ctx)
	if err := n.meter.Poll(); err != nil {
		return nil, err
	}
	trimmed, free, err := n.trimmed()
	if err != nil {
		return nil, err
	}
	defer n.meter.Unwatch()
	if whole {
		for _, v := range trimmed.nodes {
			if t, is := v.scalar.(*table); is {
				t.all = true // the automaton loses these states when it is minimised
			}
		}
		if err := trimmed.unite(ctx, g.limits); err != nil {
			return nil, err
		}
	}
	return newRuns(trimmed, free), nil
}

func (g *Grammar) empty() error {
	return fmt.Errorf("grammar: %s: no text is in the language: %w", g.name, constraint.ErrInfeasible)
}
