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

// Accepts reports whether text is in the language, in one pass. States of the underlying
// automaton are made when a text needs them, and kept.
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
