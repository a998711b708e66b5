package grammar

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/text"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Parse compiles a grammar. Its first rule describes the whole text:
//
//	# sums and products
//	sum     = product (("+" | "-") product)*
//	product = factor ("*" factor)*
//	factor  = number | "(" sum ")"
//	number  = /[0-9]+(\.[0-9]+)?/
//
// A rule is a name, = or ::=, and alternatives separated by |. An alternative is a sequence of
// terms. A semicolon may end the rule. A term is one of these:
//
//   - a name;
//   - a text in double or single quotes, with Go's escapes;
//   - a regular expression of package regexp between slashes, which must match as a whole;
//   - a character class such as [^a-z];
//   - a choice in parentheses.
//
// The suffixes *, +, ?, {m}, {m,} and {m,n} repeat a term. The sign # begins a comment. A minus
// sign after a regular expression or a class excludes one text or, in parentheses, several texts
// separated by |: /[a-z]+/ - ("if" | "else").
//
// The grammar must define a deterministic pushdown automaton that reads one byte at every move. At
// a recursive rule, the next byte must decide whether a text continues, enters or leaves the rule.
// Recursion between brackets is always allowed; so are all rules without recursion.
//
// The error is one of the following:
//
//   - a [*ConflictError] if the grammar is not deterministic;
//   - a [*SyntaxError] if the source cannot be parsed;
//   - a [*constraint.LimitError] if the automaton grows beyond the limits;
//   - an error that wraps [constraint.ErrInfeasible] if no text is in the language;
//   - the cause of ctx.
func Parse(ctx context.Context, source string, limits constraint.Limits) (*Grammar, error) {
	meter := &poll.Meter{}
	meter.Watch(ctx)
	p := &parser{source: source, meter: meter}
	definitions, err := p.grammar()
	if err != nil {
		return nil, err
	}
	return compileRules(ctx, p, definitions, limits)
}

// compileRules compiles the rules that the parser p has read. The first rule describes the
// whole text.
func compileRules(ctx context.Context, p *parser, definitions []definition, limits constraint.Limits) (*Grammar, error) {
	meter := p.meter
	b := &rulebook{ctx: ctx, meter: meter, p: p, limits: limits, rules: map[string]*expression{}, terminals: map[string]automaton{}}
	for _, d := range definitions {
		b.names = append(b.names, d.name)
		b.rules[d.name] = d.body
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	straighten(b.names, b.rules)
	if err := b.bracket(); err != nil {
		return nil, err
	}
	n, err := b.network()
	if err != nil {
		return nil, err
	}
	g := &Grammar{name: "Grammar", limits: limits, network: n}
	if _, err := g.explored(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

// title is the name of a rule as a fmt.Stringer.
type title string

func (t title) String() string { return string(t) }

// rulebook compiles the rules of a grammar to a network.
type rulebook struct {
	ctx       context.Context
	meter     *poll.Meter
	p         *parser
	limits    constraint.Limits
	names     []string
	rules     map[string]*expression
	terminals map[string]automaton
	cut       []string // rules that are called at run time; all other rules are expanded in place
	called    map[string]bool
	nullable  map[string]bool
	uses      map[string][]string // for each rule, the rules to which it refers directly
	users     map[string][]string // for each rule, the rules that refer to it directly
	// number of each rule's set; rules that refer to each other, directly or not, are in one
	// set
	cycle  map[string]int32
	looked int // number of rules visited since the sets were computed

	n       *network
	number  map[string]int32
	todo    []stretch
	written map[stretch]bool
}

// check reports names that no rule defines, and compiles the terminals.
func (b *rulebook) check() error {
	for _, name := range b.names {
		if err := b.checkIn(b.rules[name]); err != nil {
			return err
		}
	}
	return b.findNullable()
}

// hope is an expression of which it is not yet known whether it can be the empty text. missing
// is the number of its parts for which this must still be found out.
type hope struct {
	above   *hope
	missing int
	rule    string // rule whose whole body the expression is, or ""
}

// findNullable finds the rules that can produce the empty text, in time linear in the source
// (Dowling and Gallier 1984).
func (b *rulebook) findNullable() error {
	b.nullable = map[string]bool{}
	waiting := map[string][]*hope{}
	var empty []*hope
	var visit func(e *expression, h *hope)
	visit = func(e *expression, h *hope) {
		part := func(x *expression) { visit(x, &hope{above: h}) }
		switch e.op {
		case literal:
			if e.text == "" {
				empty = append(empty, h)
			} else {
				h.missing = 1
			}
		case regular:
			if a := b.terminals[e.terminal()]; a.final(a.start()) {
				empty = append(empty, h)
			} else {
				h.missing = 1
			}
		case reference:
			h.missing = 1
			waiting[e.text] = append(waiting[e.text], h)
		case repetition:
			if h.missing = 1; e.low == 0 {
				empty = append(empty, &hope{above: h})
			}
			part(e.parts[0])
		case choice:
			h.missing = 1
			for _, x := range e.parts {
				part(x)
			}
		default:
			if h.missing = len(e.parts); h.missing == 0 {
				empty = append(empty, h)
			}
			for _, x := range e.parts {
				part(x)
			}
		}
	}
	for _, name := range b.names {
		visit(b.rules[name], &hope{rule: name})
	}
	for len(empty) > 0 {
		h := empty[len(empty)-1]
		empty = empty[:len(empty)-1]
		if b.meter.Done(64) {
			return b.meter.Err()
		}
		above := waiting[h.rule]
		if h.rule != "" {
			b.nullable[h.rule] = true
			delete(waiting, h.rule)
		} else if h.above != nil {
			above = []*hope{h.above}
		}
		for _, up := range above {
			if up.missing--; up.missing == 0 {
				empty = append(empty, up)
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
		if b.terminals[e.terminal()] == nil {
			a, err := compileRegexp(b.ctx, e.text, b.limits)
			if err == nil && len(e.except) > 0 {
				a, err = constraint.Compile(b.ctx, newJoint([]test{{a: a, want: true}, {a: newTrie(e.except)}}), 256, b.limits)
			}
			var bad *text.PatternError
			if errors.As(err, &bad) {
				return b.p.fail(e.at, "%s", check.Clip(bad.Err.Error()))
			}
			if err != nil {
				return err
			}
			b.terminals[e.terminal()] = terminal{a}
		}
	}
	for _, x := range e.parts {
		if err := b.checkIn(x); err != nil {
			return err
		}
	}
	return nil
}

// terminal adapts a byteAutomaton to the interface automaton.
type terminal struct{ byteAutomaton }

func (t terminal) start() int32                   { return int32(t.Start()) }
func (t terminal) next(state int32, b byte) int32 { return int32(t.Next(int(state), int32(b))) }
func (t terminal) final(state int32) bool         { return t.Accepting(int(state)) }

// refersTo appends the names of the rules that an expression refers to.
func refersTo(to []string, e *expression) []string {
	if e.op == reference {
		return append(to, e.text)
	}
	for _, x := range e.parts {
		to = refersTo(to, x)
	}
	return to
}

// link records which rules refer to which.
func (b *rulebook) link() {
	b.uses, b.users, b.called = map[string][]string{}, map[string][]string{}, map[string]bool{}
	for _, name := range b.names {
		b.uses[name] = unique(refersTo(nil, b.rules[name]))
		for _, to := range b.uses[name] {
			b.users[to] = append(b.users[to], name)
		}
	}
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// cycles numbers the sets of rules that refer to each other (Tarjan 1972, without recursion).
// Rules of different sets are on no common cycle, and cutting cycles never puts them on one.
func (b *rulebook) cycles() {
	b.cycle = map[string]int32{}
	type visit struct {
		name string
		next int // of its uses
	}
	index, low := map[string]int{}, map[string]int{}
	var stack []string
	sets := int32(0)
	for _, root := range b.names {
		if index[root] > 0 || b.called[root] {
			continue
		}
		path := []visit{{root, 0}}
		for len(path) > 0 {
			v := &path[len(path)-1]
			if v.next == 0 {
				index[v.name] = len(index) + 1
				low[v.name] = index[v.name]
				stack = append(stack, v.name)
			}
			if v.next < len(b.uses[v.name]) {
				to := b.uses[v.name][v.next]
				v.next++
				if b.called[to] {
					continue
				}
				if index[to] == 0 {
					path = append(path, visit{to, 0})
				} else if _, done := b.cycle[to]; !done {
					low[v.name] = min(low[v.name], index[to])
				}
				continue
			}
			name := v.name
			path = path[:len(path)-1]
			if low[name] == index[name] {
				for {
					last := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					b.cycle[last] = sets
					if last == name {
						break
					}
				}
				sets++
			}
			if len(path) > 0 {
				up := path[len(path)-1].name
				low[up] = min(low[up], low[name])
			}
		}
	}
}

// leading returns the rules from which the named rule can be reached through rules that are not
// called.
func (b *rulebook) leading(name string) (map[string]bool, error) {
	found := map[string]bool{}
	list := []string{name}
	if b.looked > len(b.names) { // cycles that were cut since make sets smaller
		b.cycles()
		b.looked = 0
	}
	for len(list) > 0 {
		x := list[len(list)-1]
		list = list[:len(list)-1]
		for _, user := range b.users[x] {
			if b.meter.Done(64) {
				return nil, b.meter.Err()
			}
			b.looked++
			if b.cycle[user] == b.cycle[name] && !found[user] && !b.called[user] {
				if _, still := slices.BinarySearch(b.uses[user], x); !still {
					continue
				}
				found[user] = true
				list = append(list, user)
			}
		}
	}
	return found, nil
}

// bracket makes a called rule of every recursion between two texts of a sequence. It then cuts
// each remaining cycle at its first rule.
func (b *rulebook) bracket() error {
	b.link()
	b.cycles()
	for _, name := range slices.Clone(b.names) {
		to, err := b.leading(name)
		if err != nil {
			return err
		}
		if b.bracketIn(name, b.rules[name], to) {
			b.uses[name] = unique(refersTo(nil, b.rules[name]))
		}
	}
	for _, name := range b.names {
		if b.called[name] {
			continue
		}
		if to, err := b.leading(name); err != nil {
			return err
		} else if to[name] {
			b.cut = append(b.cut, name)
			b.called[name] = true
		}
	}
	return nil
}

// bracketIn makes called rules of the recursions between two texts in the expression e of the
// named rule. to is the set of rules from which the named rule can be reached. It reports
// whether there are any.
func (b *rulebook) bracketIn(name string, e *expression, to map[string]bool) (changed bool) {
	if len(to) == 0 {
		return false
	}
	for _, x := range e.parts {
		changed = b.bracketIn(name, x, to) || changed
	}
	if e.op != sequence {
		return changed
	}
	var recurs func(x *expression) bool
	recurs = func(x *expression) bool {
		if x.op == reference {
			return x.text == name || to[x.text] && !b.called[x.text]
		}
		return slices.ContainsFunc(x.parts, recurs)
	}
	first, last := -1, -1
	for i, x := range e.parts {
		if recurs(x) {
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
		return changed
	}
	inner := fmt.Sprintf("%s (%s … %s)", name, check.Clip(e.parts[open].text), check.Clip(e.parts[shut].text))
	for b.rules[inner] != nil {
		inner += "′"
	}
	b.names = append(b.names, inner)
	b.rules[inner] = &expression{op: sequence, parts: slices.Clone(e.parts[open : shut+1]), at: e.parts[open].at}
	b.cut = append(b.cut, inner)
	b.called[inner] = true
	e.parts = slices.Replace(e.parts, open, shut+1, &expression{op: reference, text: inner, at: e.parts[open].at})
	return true
}

// stretch is an expression that is still to be added to the network, between two nodes.
type stretch struct {
	e        *expression
	from, to int32
}

// network builds the network from the first rule and the called rules. If a rule would be
// expanded twice between the same nodes, it is added only once.
func (b *rulebook) network() (*network, error) {
	b.n, b.number, b.written = newNetwork("Parse", b.meter, b.limits), map[string]int32{}, map[stretch]bool{}
	top := b.n.rule(title(b.names[0]))
	for _, name := range b.cut {
		b.number[name] = b.n.rule(title(name))
	}
	b.write(b.rules[b.names[0]], b.n.rules[top].start, b.n.rules[top].end)
	for _, name := range b.cut {
		r := b.n.rules[b.number[name]]
		b.write(b.rules[name], r.start, r.end)
	}
	for len(b.todo) > 0 {
		s := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		if err := b.stretch(s.e, s.from, s.to); err != nil {
			return nil, err
		}
	}
	return b.n, nil
}

// write schedules the expression e to be added between two nodes. It does not add the
// expression at once, because rules may be nested too deeply for recursion.
func (b *rulebook) write(e *expression, from, to int32) {
	b.todo = append(b.todo, stretch{e, from, to})
}

func (b *rulebook) stretch(e *expression, from, to int32) error {
	if err := b.n.check(len(e.parts) + len(e.text)); err != nil {
		return err
	}
	switch e.op {
	case literal:
		if err := b.n.fits((nodeBytes + arcBytes) * len(e.text)); err != nil {
			return err
		}
		b.n.text(from, e.text, to)
	case regular:
		b.n.run(from, b.terminals[e.terminal()], to)
	case reference:
		r, called := b.number[e.text]
		if !called {
			if s := (stretch{b.rules[e.text], from, to}); !b.written[s] {
				b.n.charge(nodeBytes)
				b.written[s] = true
				b.write(s.e, from, to)
			}
			return nil
		}
		b.n.call(from, r, to)
		if b.nullable[e.text] {
			b.n.link(from, to)
		}
	case choice:
		for _, x := range e.parts {
			b.write(x, from, to)
		}
	case sequence:
		for i, x := range e.parts {
			next := to
			if i < len(e.parts)-1 {
				next = b.n.add()
			}
			b.write(x, from, next)
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
		if err := b.n.check(1); err != nil {
			return err
		}
		if i >= e.low {
			b.n.link(at, to)
		}
		next := b.n.add()
		b.write(e.parts[0], at, next)
		at = next
	}
	if e.high < 0 {
		loop, next := b.n.add(), b.n.add()
		b.n.link(at, loop)
		b.write(e.parts[0], loop, next)
		b.n.link(next, loop)
		at = loop
	}
	b.n.link(at, to)
	return nil
}

// straighten rewrites rules that recur only at one end of their alternatives as loops, which
// need no stack:
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

// loop rewrites the expression e of the named rule as a loop if possible. Alternatives that
// trim can shorten are repeated; the others end the loop. order puts the two parts in sequence.
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
