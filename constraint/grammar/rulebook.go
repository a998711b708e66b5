package grammar

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Parse compiles a grammar. Its first rule describes the whole text:
//
//	# sums and products
//	sum     = product (("+" | "-") product)*
//	product = factor ("*" factor)*
//	factor  = number | "(" sum ")"
//	number  = /[0-9]+(\.[0-9]+)?/
//
// A rule is a name, = or ::=, and alternatives between |, each a sequence of
// terms; a ; may end it. A term is a name, a text in double or single quotes
// with the escapes of Go, a regular expression of package regexp for a whole
// terminal between slashes, a class such as [^a-z], or a choice in parentheses;
// *, +, ?, {m}, {m,} and {m,n} repeat the term before them. # begins a comment.
//
// The grammar must be deterministic as a pushdown automaton that reads a byte at every
// move. Rules that do not recur are expanded in place and the rest is determinised, so
// that only recursion matters: one byte must decide whether a text continues in a rule,
// enters a recursive one, or leaves it. Recursion between brackets always satisfies this.
// Otherwise the error is a [*ConflictError]; it is a [*SyntaxError] if the source cannot
// be read, a [*constraint.LimitError] if the automaton grows beyond the limits, or the
// cause of the context.
func Parse(ctx context.Context, source string, limits constraint.Limits) (*Grammar, error) {
	p := &parser{source: source}
	definitions, err := p.grammar()
	if err != nil {
		return nil, err
	}
	b := &rulebook{ctx: ctx, p: p, limits: limits, rules: map[string]*expression{}, terminals: map[string]automaton{}}
	for _, d := range definitions {
		b.names = append(b.names, d.name)
		b.rules[d.name] = d.body
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	straighten(b.names, b.rules)
	b.bracket()
	n, err := b.network()
	if err != nil {
		return nil, err
	}
	g := &Grammar{name: "Grammar", limits: limits, states: newSubsets(n)}
	if _, err := g.explored(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

// title is the name of a rule.
type title string

func (t title) String() string { return string(t) }

// rulebook turns rules into a network.
type rulebook struct {
	ctx       context.Context
	p         *parser
	limits    constraint.Limits
	names     []string
	rules     map[string]*expression
	terminals map[string]automaton
	cut       []string // rules that are called; others are expanded
	nullable  map[string]bool

	n      *network
	number map[string]int32
}

// check finds names without a rule and compiles the terminals.
func (b *rulebook) check() error {
	for _, name := range b.names {
		if err := b.checkIn(b.rules[name]); err != nil {
			return err
		}
	}
	b.nullable = map[string]bool{}
	for again := true; again; {
		again = false
		for _, name := range b.names {
			if !b.nullable[name] && b.empty(b.rules[name]) {
				b.nullable[name] = true
				again = true
			}
		}
	}
	return nil
}

func (b *rulebook) checkIn(e *expression) error {
	switch e.op {
	case reference:
		if b.rules[e.text] == nil {
			return b.p.fail(e.at, "no rule defines %s", check.Clip(e.text))
		}
	case regular:
		if b.terminals[e.text] == nil {
			a, err := compileRegexp(b.ctx, e.text, b.limits)
			var bad *text.PatternError
			if errors.As(err, &bad) {
				return b.p.fail(e.at, "%s", check.Clip(bad.Err.Error()))
			}
			if err != nil {
				return err
			}
			b.terminals[e.text] = terminal{a}
		}
	}
	for _, x := range e.parts {
		if err := b.checkIn(x); err != nil {
			return err
		}
	}
	return nil
}

// terminal makes a scalar of a byte automaton.
type terminal struct{ byteAutomaton }

func (t terminal) start() int32                   { return int32(t.Start()) }
func (t terminal) next(state int32, b byte) int32 { return int32(t.Next(int(state), int32(b))) }
func (t terminal) final(state int32) bool         { return t.Accepting(int(state)) }

// empty reports whether an expression may be the empty text.
func (b *rulebook) empty(e *expression) bool {
	switch e.op {
	case literal:
		return e.text == ""
	case regular:
		a := b.terminals[e.text]
		return a.final(a.start())
	case reference:
		return b.nullable[e.text]
	case choice:
		return slices.ContainsFunc(e.parts, b.empty)
	case repetition:
		return e.low == 0 || b.empty(e.parts[0])
	}
	for _, x := range e.parts {
		if !b.empty(x) {
			return false
		}
	}
	return true
}

// reaches reports whether an expression can lead to a rule.
func (b *rulebook) reaches(e *expression, name string, seen map[string]bool) bool {
	if e.op == reference {
		if e.text == name {
			return true
		}
		if seen[e.text] || slices.Contains(b.cut, e.text) {
			return false
		}
		seen[e.text] = true
		return b.reaches(b.rules[e.text], name, seen)
	}
	return slices.ContainsFunc(e.parts, func(x *expression) bool { return b.reaches(x, name, seen) })
}

// bracket makes rules of their own of what recurs between two texts of a
// sequence, and then cuts cycles that are left at their first rule.
func (b *rulebook) bracket() {
	for _, name := range slices.Clone(b.names) {
		b.bracketIn(name, b.rules[name])
	}
	for _, name := range b.names {
		if !slices.Contains(b.cut, name) && b.reaches(b.rules[name], name, map[string]bool{}) {
			b.cut = append(b.cut, name)
		}
	}
}

func (b *rulebook) bracketIn(name string, e *expression) {
	for _, x := range e.parts {
		b.bracketIn(name, x)
	}
	if e.op != sequence {
		return
	}
	first, last := -1, -1
	for i, x := range e.parts {
		if b.reaches(x, name, map[string]bool{}) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	mark := func(i, step int) int {
		for ; i >= 0 && i < len(e.parts); i += step {
			if e.parts[i].op == literal && e.parts[i].text != "" {
				return i
			}
		}
		return -1
	}
	open, shut := mark(first-1, -1), mark(last+1, 1)
	if first < 0 || open < 0 || shut < 0 {
		return
	}
	inner := fmt.Sprintf("%s (%s … %s)", name, check.Clip(e.parts[open].text), check.Clip(e.parts[shut].text))
	for b.rules[inner] != nil {
		inner += "′"
	}
	b.names = append(b.names, inner)
	b.rules[inner] = &expression{op: sequence, parts: slices.Clone(e.parts[open : shut+1]), at: e.parts[open].at}
	b.cut = append(b.cut, inner)
	e.parts = slices.Replace(e.parts, open, shut+1, &expression{op: reference, text: inner, at: e.parts[open].at})
}

// network writes the first rule and those that are called.
func (b *rulebook) network() (*network, error) {
	b.n, b.number = newNetwork(b.limits), map[string]int32{}
	top := b.n.rule(title(b.names[0]))
	for _, name := range b.cut {
		b.number[name] = b.n.rule(title(name))
	}
	if err := b.write(b.rules[b.names[0]], b.n.rules[top].start, b.n.rules[top].end); err != nil {
		return nil, err
	}
	for _, name := range b.cut {
		r := b.n.rules[b.number[name]]
		if err := b.write(b.rules[name], r.start, r.end); err != nil {
			return nil, err
		}
	}
	return b.n, nil
}

// write leads from one node to another by the texts of an expression.
func (b *rulebook) write(e *expression, from, to int32) error {
	if err := b.n.checkSize("Parse"); err != nil {
		return err
	}
	switch e.op {
	case literal:
		b.n.text(from, e.text, to)
	case regular:
		b.n.run(from, b.terminals[e.text], to)
	case reference:
		r, called := b.number[e.text]
		if !called {
			return b.write(b.rules[e.text], from, to)
		}
		b.n.call(from, r, to)
		if b.nullable[e.text] {
			b.n.link(from, to)
		}
	case choice:
		for _, x := range e.parts {
			if err := b.write(x, from, to); err != nil {
				return err
			}
		}
	case sequence:
		for i, x := range e.parts {
			next := to
			if i < len(e.parts)-1 {
				next = b.n.add()
			}
			if err := b.write(x, from, next); err != nil {
				return err
			}
			from = next
		}
		if len(e.parts) == 0 {
			b.n.link(from, to)
		}
	case repetition:
		return b.repeat(e, from, to)
	}
	return nil
}

func (b *rulebook) repeat(e *expression, from, to int32) error {
	at := from
	for i := 0; i < max(e.low, e.high); i++ {
		if i >= e.low {
			b.n.link(at, to)
		}
		next := b.n.add()
		if err := b.write(e.parts[0], at, next); err != nil {
			return err
		}
		at = next
	}
	if e.high < 0 {
		loop, next := b.n.add(), b.n.add()
		b.n.link(at, loop)
		if err := b.write(e.parts[0], loop, next); err != nil {
			return err
		}
		b.n.link(next, loop)
		at = loop
	}
	b.n.link(at, to)
	return nil
}

// straighten writes rules that recur only at an end of their alternatives as
// loops, which need no stack:
//
//	s = A s | B   is   s = A* B
//	s = s A | B   is   s = B A*
func straighten(names []string, rules map[string]*expression) {
	for _, name := range names {
		e := rules[name]
		e = loop(e, name, func(parts []*expression) (rest []*expression, ok bool) {
			n := len(parts) - 1
			if n < 0 || !refers(parts[n], name) {
				return parts, false
			}
			return parts[:n], true
		}, func(again, end *expression) []*expression { return []*expression{again, end} })
		e = loop(e, name, func(parts []*expression) (rest []*expression, ok bool) {
			if len(parts) == 0 || !refers(parts[0], name) {
				return parts, false
			}
			return parts[1:], true
		}, func(again, end *expression) []*expression { return []*expression{end, again} })
		rules[name] = e
	}
}

func refers(e *expression, name string) bool { return e.op == reference && e.text == name }

// loop takes the alternatives that trim shortens apart from the others.
func loop(e *expression, name string, trim func([]*expression) ([]*expression, bool), order func(again, end *expression) []*expression) *expression {
	again := &expression{op: choice, at: e.at}
	end := &expression{op: choice, at: e.at}
	for _, s := range e.parts {
		parts, ok := []*expression{s}, false
		if s.op == sequence {
			parts, ok = trim(s.parts)
		}
		switch {
		case !ok:
			end.parts = append(end.parts, s)
		case len(parts) > 0:
			again.parts = append(again.parts, &expression{op: sequence, parts: slices.Clone(parts), at: s.at})
		}
	}
	if len(again.parts) == 0 || len(end.parts) == 0 {
		return e
	}
	star := &expression{op: repetition, parts: []*expression{again}, high: -1, at: e.at}
	return &expression{op: choice, parts: []*expression{{op: sequence, parts: order(star, end), at: e.at}}, at: e.at}
}
