package grammar

import (
	"context"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// Grammar is a nested language of texts, as [Parse] and [JSONSchema] make it.
// It is safe for concurrent use.
type Grammar struct {
	name   string
	limits constraint.Limits

	mu      sync.Mutex
	states  *subsets
	machine *pushdown.Machine // once it has been explored
}

// String returns a name for errors.
func (g *Grammar) String() string { return g.name }

// Accepts reports whether text is in the language, in one pass. States of the
// underlying automaton are made as texts need them, and kept.
func (g *Grammar) Accepts(text string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok, err := g.states.read(text)
	return ok && err == nil
}

// explored returns the whole automaton.
func (g *Grammar) explored(ctx context.Context) (*pushdown.Machine, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.machine == nil {
		m, err := g.states.explore(ctx, g.name+": states", g.limits)
		if err != nil {
			return nil, err
		}
		g.machine = m
	}
	return g.machine, nil
}

// SchemaConfig says how JSON is written. The zero value is the recommended
// setting.
type SchemaConfig struct {
	// Compact allows no white space between the tokens of JSON.
	Compact bool

	// Limits bound the automata: that of every pattern (0 means 2¹⁴ states)
	// and that of the schema when it is carried over to tokens.
	Limits constraint.Limits
}

// JSONSchema compiles a JSON Schema (drafts 4, 6, 7, 2019-09 and 2020-12).
func JSONSchema(ctx context.Context, schema []byte, config SchemaConfig) (*Grammar, error) {
	root, err := decode(schema)
	if err != nil {
		return nil, &SchemaError{Path: "#", What: err.Error()}
	}
	c := &compiler{ctx: ctx, n: &network{}, root: root, config: config, ids: map[*value]int{}, byID: map[string]*value{}, negated: map[*value]bool{},
		made: map[*value][]part{}, locations: map[string]*location{}, rules: map[string]int32{}, patterns: map[string][]test{}}
	if x := root.get("$schema"); x != nil && x.kind == str {
		c.legacy, c.strict = legacy(x.text), strict(x.text)
	}
	c.index(root)
	c.negate(root, false)
	top := c.n.rule("#")
	start, end := c.n.rules[top].start, c.n.rules[top].end
	in := c.n.add()
	c.n.link(start, in)
	c.space(in)
	c.space(end)
	l, err := c.locate([]*value{root})
	if err != nil {
		return nil, err
	}
	if err := c.all([]*value{root}, l, in, end); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return &Grammar{name: "JSONSchema", limits: config.Limits, states: newSubsets(c.n)}, nil
}
