package trellis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// unroller builds the layers of a graph.
type unroller struct {
	m *machine
	g *Graph

	target []int32 // scratch: next states by class
	mark   []int32 // scratch by state: node number at the next site, or none
	degree []int32 // scratch by state: number of edges, 0 between uses
	usable []bool  // by class, whether some token of the class is allowed at the site
	meter  poll.Meter
}

func newUnroller(m *machine, g *Graph) *unroller {
	u := &unroller{
		m: m, g: g,
		target: make([]int32, len(m.first)),
		mark:   make([]int32, len(m.state)),
		degree: make([]int32, len(m.state)),
		usable: make([]bool, len(m.first)),
	}
	for q := range u.mark {
		u.mark[q] = none
	}
	for k := range u.usable {
		u.usable[k] = true
	}
	return u
}

// allows reports whether the mask allows token at site t.
func (u *unroller) allows(t int, token int32) bool {
	c := &u.m.config
	return c.Allows == nil || c.Padded && token == c.Pad || c.Allows(t, token)
}

// prepare fills u.usable for site t.
func (u *unroller) prepare(t int) {
	if u.m.config.Allows == nil {
		return
	}
	for k := range u.usable {
		u.usable[k] = slices.ContainsFunc(u.g.class(int32(k)), func(v int32) bool { return u.allows(t, v) })
	}
}

// same reports whether sites t and t+1 allow the same tokens and have the same slice of states
// in reach.
func (u *unroller) same(reach [][]int32, t int) bool {
	return u.m.config.Allows == nil && &reach[t][0] == &reach[t+1][0]
}

// forward returns, for every site and the end, the states that can be reached there, in
// ascending order. Sites with the same states share the slice.
func (u *unroller) forward(ctx context.Context) ([][]int32, error) {
	sites := u.m.config.Sites
	reach := make([][]int32, sites+1)
	reach[0] = []int32{0}
	u.meter.Watch(ctx)
	for t := range sites {
		if err := u.meter.Poll(); err != nil {
			return nil, fmt.Errorf("trellis: Compile: %w", err)
		}
		if t > 0 && u.same(reach, t-1) {
			reach[t+1] = reach[t]
			continue
		}
		u.prepare(t)
		var next []int32
		for _, q := range reach[t] {
			if u.meter.Done(len(u.target)) {
				return nil, fmt.Errorf("trellis: Compile: %w", u.meter.Err())
			}
			u.m.row(u.target, q)
			for k, to := range u.target {
				if to != none && u.mark[to] == none && u.usable[k] {
					u.mark[to] = 1
					next = append(next, to)
				}
			}
		}
		for _, q := range next {
			u.mark[q] = none
		}
		if len(next) == 0 {
			return nil, &algebra.DeadError{Site: t}
		}
		slices.Sort(next)
		if slices.Equal(next, reach[t]) {
			next = reach[t]
		}
		reach[t+1] = next
	}
	return reach, nil
}

// backward removes the states that do not lead to acceptance, and stores the layers.
func (u *unroller) backward(ctx context.Context, reach [][]int32) error {
	limit := u.m.config.limit()
	g, sites := u.g, len(reach)-1
	var nodes []int32
	for _, q := range reach[sites] {
		if u.m.accepting(q) {
			nodes = append(nodes, q)
		}
	}
	if len(nodes) == 0 {
		return &algebra.DeadError{Site: sites}
	}
	g.states[sites] = u.names(nodes)
	edges := 0
	var after []int32 // the nodes two sites on
	u.meter.Watch(ctx)
	for t := sites - 1; t >= 0; t-- {
		if err := u.meter.Poll(); err != nil {
			return fmt.Errorf("trellis: Compile: %w", err)
		}
		if t+1 < sites && u.same(reach, t) && slices.Equal(nodes, after) {
			g.layers[t], g.states[t] = g.layers[t+1], g.states[t+1]
			continue // the same states here, with the same states ahead
		}
		u.prepare(t)
		l, here := u.layer(reach[t], nodes)
		if err := u.meter.Err(); err != nil {
			return fmt.Errorf("trellis: Compile: %w", err)
		}
		if edges += len(l.to); edges > limit {
			return tooLarge(edges, limit)
		}
		u.columns(l, t)
		l.logSize = simd.Log(float64(len(l.tokens) + len(l.live)))
		l.dense = newDense(l)
		var like *layer
		if t+1 < sites {
			like = g.layers[t+1]
		}
		l.split(g.levels, like)
		g.layers[t], g.states[t] = l, u.names(here)
		nodes, after = here, nodes
	}
	return nil
}

// layer returns the layer that leads to the given nodes, and the states at which its edges begin,
// ordered by their number of edges. If the context ends, the layer is incomplete.
func (u *unroller) layer(from, nodes []int32) (l *layer, here []int32) {
	for n, q := range nodes {
		u.mark[q] = int32(n)
	}
	degree := u.degree
	for _, q := range from {
		if u.meter.Done(len(u.target)) {
			break
		}
		u.m.row(u.target, q)
		for k, to := range u.target {
			if u.leads(k, to) {
				degree[q]++
			}
		}
		if degree[q] > 0 {
			here = append(here, q)
		}
	}
	slices.SortStableFunc(here, func(p, q int32) int { return cmp.Compare(degree[p], degree[q]) })
	l = &layer{n: len(here), next: len(nodes), row: []int32{0}}
	for _, q := range here {
		if u.meter.Done(len(u.target)) {
			break
		}
		u.m.row(u.target, q)
		for k, to := range u.target {
			if !u.leads(k, to) {
				continue
			}
			l.col = append(l.col, int32(k))
			l.to = append(l.to, u.mark[to])
		}
		l.row = append(l.row, int32(len(l.to)))
		degree[q] = 0
	}
	for _, q := range nodes {
		u.mark[q] = none
	}
	return l, here
}

// leads reports whether a transition by class k to the given state becomes an edge.
func (u *unroller) leads(k int, state int32) bool {
	return state != none && u.mark[state] != none && u.usable[k]
}

// names returns the automaton states of the given ids.
func (u *unroller) names(ids []int32) []int {
	s := make([]int, len(ids))
	for i, q := range ids {
		s[i] = u.m.state[q]
	}
	return s
}

// columns numbers the classes that have edges at site t as columns, and lists their tokens.
func (u *unroller) columns(l *layer, t int) {
	l.column = make([]int32, len(u.m.first))
	for k := range l.column {
		l.column[k] = none
	}
	for _, k := range l.col {
		l.column[k] = 0
	}
	for k := range l.column {
		if l.column[k] == none {
			continue
		}
		l.column[k] = int32(len(l.live))
		l.live = append(l.live, int32(k))
		from := len(l.tokens)
		for _, v := range u.g.class(int32(k)) {
			if u.allows(t, v) {
				l.tokens = append(l.tokens, v)
			}
		}
		l.end = append(l.end, int32(len(l.tokens)))
		l.largest = max(l.largest, len(l.tokens)-from)
	}
	for e, k := range l.col {
		l.col[e] = l.column[k]
	}
	if len(l.tokens) == len(u.g.tokens) {
		l.tokens = u.g.tokens
	}
}

// Unroll checks a language that a user has supplied, and compiles it to a [Graph]; see [Compile].
// Errors begin with caller and the name of the language. The error wraps constraint.ErrInfeasible
// if the language has no sequence with the given number of sites.
func Unroll(ctx context.Context, caller string, a constraint.Automaton, sites, levels int) (*Graph, error) {
	if err := automata.Validate(a); err != nil {
		return nil, fmt.Errorf("%s: %w", caller, err)
	}
	g, err := Compile(ctx, a, Config{Sites: sites, Levels: levels})
	if changed := automata.Validate(a); changed != nil { // a file, meanwhile
		err = changed
	}
	var dead *DeadError
	switch {
	case errors.As(err, &dead):
		return nil, fmt.Errorf("%s: %s allows no sequence of %d sites (it ends at site %d): %w: loosen the constraint, or change the number of sites", caller, automata.Name(a), sites, dead.Site, constraint.ErrInfeasible)
	case err != nil:
		return nil, fmt.Errorf("%s: %s: %w", caller, automata.Name(a), err)
	}
	return g, nil
}

// Compile unrolls the automaton over the sites of config. If the language includes a mask of the
// tokens allowed at each site (see constraint.Split), Compile applies the mask directly. The error
// is a [*algebra.DeadError] if no sequence is accepted, and a [*constraint.LimitError] if the
// result would be too large. If ctx ends first, the error is the cause of ctx.
func Compile(ctx context.Context, a constraint.Automaton, config Config) (*Graph, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if most := max(config.limit(), defaultLimit) / 8; config.Sites > most { // a site takes the memory of 8 edges, even if sites share them
		return nil, &constraint.LimitError{What: "sites of the unrolled automaton", Value: config.Sites, Bound: most}
	}
	if rest, mask := constraint.Split(a); mask != nil && config.Allows == nil {
		a, config.Allows = rest, mask.Allows
	}
	m, err := explore(ctx, a, config)
	if err != nil {
		return nil, err
	}
	g := &Graph{
		sites:  config.Sites,
		levels: config.Levels,
		layers: make([]*layer, config.Sites),
		states: make([][]int, config.Sites+1),
	}
	g.group(m)
	u := newUnroller(m, g)
	nodes, err := u.forward(ctx)
	if err != nil {
		return nil, err
	}
	if err := u.backward(ctx, nodes); err != nil {
		return nil, err
	}
	g.offset = make([]int, config.Sites+2)
	for t, s := range g.states {
		g.offset[t+1] = g.offset[t] + len(s)
		g.widest = max(g.widest, len(s))
	}
	return g, nil
}
