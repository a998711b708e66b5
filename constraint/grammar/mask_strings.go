package grammar

import (
	"cmp"
	"slices"
)

// stringSet is what the tokens of a vocabulary do between two characters of a JSON string of
// which nothing is asked but its length.
type stringSet struct {
	inside bitset   // tokens after which the string goes on
	within []bitset // those of them that take at most so many characters
	exits  []exit   // the others, in the order of what follows the quote
	after  *byteTrie
	before *byteTrie // the same tokens by what is before the quote
}

// exit is a token that ends a string.
type exit struct {
	token      int32
	characters int32 // before the quote
	quote      int   // where it is in the text
}

// kinds of strings that spell characters differently.
const (
	anySpelling = iota
	lowSpelling // \u escapes up to U+00FF
	canonicalSpelling
)

// kind returns the kind of an automaton of strings.
func (a *stringAutomaton) kind() int {
	switch {
	case a.canonical:
		return canonicalSpelling
	case a.low || len(a.tests) > 0:
		return lowSpelling
	}
	return anySpelling
}

func newStringSet(v *maskVocabulary, kind int) *stringSet {
	f := &stringSet{inside: make(bitset, v.words())}
	// It counts characters: no token has so many.
	a := newString(stringSpec{most: 1 << 20, low: kind == lowSpelling, canonical: kind == canonicalSpelling})
	takes := map[int32][]int32{} // tokens by the characters that they take
	longest := int32(0)
	t := v.trie
	var walk func(node, q int32, depth int)
	walk = func(node, q int32, depth int) {
		for i := node + 1; i < t.skip[node]; i = t.skip[i] {
			to := a.next(q, t.label[i])
			if to < 0 {
				continue
			}
			if a.states[to].at == closed {
				for _, token := range t.under(i) {
					f.exits = append(f.exits, exit{token, int32(a.states[q].count), depth})
				}
				continue
			}
			n := int32(a.states[to].count)
			switch a.states[to].at {
			case escaped, hex, second, secondSign:
				n++
			}
			if tokens := t.tokens(i); len(tokens) > 0 {
				takes[n] = append(takes[n], tokens...)
				longest = max(longest, n)
			}
			walk(i, to, depth+1)
		}
	}
	walk(0, a.next(a.start(), '"'), 0)
	f.within = make([]bitset, longest+1)
	for n := range f.within {
		for _, token := range takes[int32(n)] {
			f.inside.set(token)
		}
		f.within[n] = slices.Clone(f.inside)
	}
	f.before = sorted(f.exits, func(e exit) string { return v.text[e.token][:e.quote] })
	f.after = sorted(f.exits, func(e exit) string { return v.text[e.token][e.quote+1:] })
	return f
}

// sorted puts exits in the order of a text of each and returns the trie of these.
func sorted(exits []exit, text func(e exit) string) *byteTrie {
	slices.SortFunc(exits, func(a, b exit) int {
		return cmp.Or(cmp.Compare(text(a), text(b)), cmp.Compare(a.token, b.token))
	})
	list := make([]int32, len(exits))
	for i, e := range exits {
		list[i] = e.token
	}
	return newByteTrie(list, func(i int) string { return text(exits[i]) })
}

// inString is a place between two characters of a JSON string where only its length matters.
type inString struct {
	set        *stringSet
	item       item
	open       bool // whether the string may end here depends on a test that can still be passed
	need, most int  // characters that must, and that may, still come; −1: any number
}

// stringAt returns the place of a string at which a state is, if that is all that it is.
func (m *Masks) stringAt(q int32) (x inString, ok bool) {
	for i, at := range m.r.states[q].items {
		y, ok := m.stringItem(at)
		switch {
		case !ok:
			return x, false
		case i == 0:
			x = y
		case y.set != x.set || y.need != x.need || y.most != x.most || x.open || y.open:
			return x, false
		}
	}
	return x, true
}

// stringOf returns the string that an item reads, how many of its tests must be passed, and whether
// the rest, which is watched, no longer matters.
func (r *runs) stringOf(at item) (a *stringAutomaton, wanted int, ok bool) {
	t, is := r.n.nodes[at.node].scalar.(*table)
	if !is {
		return nil, 0, false
	}
	switch x := t.automaton.(type) {
	case *stringAutomaton:
		return x, len(x.tests), true
	case *nameRun:
		a, wanted = x.o.keys, len(x.o.names.tests)
		if !x.open || x.t.others[0] < 0 || !t.ok[x.t.others[0]] {
			return a, wanted, false
		}
		for _, q := range a.states[at.state].tests[wanted:] {
			if q >= 0 {
				return a, wanted, false
			}
		}
		return a, wanted, true
	}
	return nil, 0, false
}

func (m *Masks) stringItem(at item) (x inString, ok bool) {
	a, wanted, ok := m.r.stringOf(at)
	if !ok || a.states[at.state].at != plain {
		return x, false
	}
	s := &a.states[at.state]
	x.item = at
	for i, t := range a.tests[:wanted] {
		if !t.want {
			if s.tests[i] >= 0 {
				return x, false
			}
			continue
		}
		switch m.r.openness(t.a, int(s.tests[i])) {
		case narrow:
			return x, false
		case recoverable:
			if x.open || a.most >= 0 {
				return x, false
			}
			x.open = true
		}
	}
	x.set = m.v.strings[a.kind()]
	x.need, x.most = max(0, a.least-s.count), -1
	if a.most >= 0 {
		x.most = a.most - s.count
	}
	return x, true
}

// openness is what texts can do from a state of a test.
type openness uint8

const (
	narrow      openness = iota // some fail for good
	recoverable                 // none does
	universal                   // all pass
)

type testState struct {
	a     byteAutomaton
	state int
}

// patterns of which openness looks at more places than these are narrow.
const openPlaces = 600

// openness explores a test.
func (r *runs) openness(a byteAutomaton, state int) openness {
	k := testState{a, state}
	if o, ok := r.opens[k]; ok {
		return o
	}
	type place struct {
		q int
		c character
	}
	seen := map[place]bool{{state, character{}}: true}
	todo := []place{{state, character{}}}
	o := universal
	for len(todo) > 0 && o != narrow {
		x := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if x.c.whole() && !a.Accepting(x.q) {
			o = recoverable
		}
		for b := range 256 {
			c := x.c.after(byte(b))
			if c.bad {
				continue
			}
			q := a.Next(x.q, int32(b))
			if q < 0 || len(seen) > openPlaces {
				o = narrow
				break
			}
			if y := (place{q, c}); !seen[y] {
				seen[y] = true
				todo = append(todo, y)
			}
		}
	}
	r.opens[k] = o
	return o
}

// closed returns the configuration after the quote that ends such a string.
func (m *Masks) closed(c configuration) configuration {
	r := m.r
	level := r.states[c.state].level
	r.set.reset()
	for _, at := range r.states[c.state].items {
		a, wanted, _ := r.stringOf(at)
		end := stringState{at: closed, tests: slices.Clone(a.states[at.state].tests)}
		clear(end.tests[:wanted])
		r.set.put(item{at.node, a.find(end)})
	}
	return r.follow(c, r.encode(r.settle(level, r.find(level))))
}

// stringMask computes the mask at such a place.
func (m *Masks) stringMask(c configuration, x inString) *mask {
	k := &mask{base: x.set.inside, shared: true}
	if x.most >= 0 && x.most < len(x.set.within)-1 {
		k.base = x.set.within[x.most]
	}
	after := m.closed(c)
	if !m.r.alive(after) {
		return k
	}
	if !x.open {
		k.more = slices.Clip(m.exits(nil, 0, after, x))
		return k
	}
	y := x
	y.need, y.open = 0, false
	may := make(bitset, m.v.words())
	leave(x.set.before, m.r.n.nodes[x.item.node].scalar, 0, x.item.state, may)
	k.more = slices.Clip(slices.DeleteFunc(m.exits(nil, 0, after, y), func(t int32) bool { return !may.has(t) }))
	return k
}

// exits appends the tokens that end the string and go on from c.
func (m *Masks) exits(out []int32, node int32, c configuration, x inString) []int32 {
	t := x.set.after
	if lo, hi := t.from[node], t.from[node+1]; lo < hi && m.r.alive(c) {
		for i := lo; i < hi; i++ {
			if n := int(x.set.exits[i].characters); n >= x.need && (x.most < 0 || n <= x.most) {
				out = append(out, t.list[i])
			}
		}
	}
	for i := node + 1; i < t.skip[node]; i = t.skip[i] {
		if d := m.r.step(c, t.label[i]); d.state >= 0 {
			out = m.exits(out, i, d, x)
		}
	}
	return out
}

// leave adds the tokens below a node, by what is before their quote, before which the string that
// a reads may end.
func leave(before *byteTrie, a automaton, node, q int32, may bitset) {
	if tokens := before.tokens(node); len(tokens) > 0 && a.next(q, '"') >= 0 {
		for _, token := range tokens {
			may.set(token)
		}
	}
	for i := node + 1; i < before.skip[node]; i = before.skip[i] {
		if to := a.next(q, before.label[i]); to >= 0 {
			leave(before, a, i, to, may)
		}
	}
}

// differs compares what may be read from two configurations, where they differ.
type differs struct {
	*Masks
	add, del []int32 // what may be read from the first, and all that was looked at
}

func (w *differs) walk(node int32, c, d configuration) {
	t := w.v.trie
	for i := node + 1; i < t.skip[node]; i = t.skip[i] {
		m, n := w.r.move(c.state, t.label[i]), w.r.move(d.state, t.label[i])
		if m == n && c.stack == d.stack {
			continue
		}
		w.pair(i, w.r.follow(c, m), w.r.follow(d, n))
	}
}

func (w *differs) pair(i int32, c, d configuration) {
	t := w.v.trie
	if c == d {
		return
	}
	if c.state < 0 {
		w.del = append(w.del, t.under(i)...)
		return
	}
	if tokens := t.tokens(i); len(tokens) > 0 {
		w.del = append(w.del, tokens...)
		if w.r.alive(c) {
			w.add = append(w.add, tokens...)
		}
	}
	if d.state < 0 {
		w.add = w.Masks.walk(w.add, i, c)
		return
	}
	w.walk(i, c, d)
}

// anyName returns the mask of a place in a name of which nothing is asked that a longer name
// cannot have, although its value may depend on the name: all tokens that stay in the name, and
// those others that go on from where its end leads.
func (m *Masks) anyName(c configuration) *mask {
	items := m.r.states[c.state].items
	if len(items) != 1 || m.r.gated {
		return nil
	}
	t, is := m.r.n.nodes[items[0].node].scalar.(*table)
	if !is {
		return nil
	}
	x, is := t.automaton.(*nameRun)
	if !is || !x.open || slices.ContainsFunc(x.t.others, func(to int32) bool { return to < 0 || !t.ok[to] }) {
		return nil
	}
	a := x.o.keys
	s := &a.states[items[0].state]
	if s.at != plain || a.most >= 0 {
		return nil
	}
	for i, test := range a.tests[:len(x.o.names.tests)] {
		if i > 0 || !test.want || m.r.openness(test.a, int(s.tests[i])) == narrow {
			return nil
		}
	}
	set := m.v.strings[a.kind()]
	return &mask{base: set.inside, add: slices.Clip(m.endings(nil, set.before, 0, 0, c))}
}

// endings appends the tokens below a node, depth bytes before whose quote lead to c, that go on
// after it.
func (m *Masks) endings(out []int32, before *byteTrie, node int32, depth int, c configuration) []int32 {
	if tokens := before.tokens(node); len(tokens) > 0 {
		after := m.r.step(c, '"')
		for _, token := range tokens {
			d := after
			for s := m.v.text[token][depth+1:]; s != "" && d.state >= 0; s = s[1:] {
				d = m.r.step(d, s[0])
			}
			if m.r.alive(d) {
				out = append(out, token)
			}
		}
	}
	for i := node + 1; i < before.skip[node]; i = before.skip[i] {
		if d := m.r.step(c, before.label[i]); d.state >= 0 {
			out = m.endings(out, before, i, depth+1, d)
		}
	}
	return out
}

// typical are characters that names seldom begin with: after them a state reads other names.
const typical = "Qz~\x7f"

// otherName returns the mask of a place in a string as a difference to that of a state in which
// only the length matters, if a character leads to one.
func (m *Masks) otherName(c configuration) *mask {
	for _, b := range []byte(typical) {
		d := m.r.step(c, b)
		if d.state < 0 || d.stack != c.stack || d == c || !m.r.alive(d) {
			continue
		}
		if x, ok := m.stringAt(d.state); !ok || x.need > 0 || x.most >= 0 || x.open {
			continue
		}
		like := m.get(d)
		w := &differs{Masks: m}
		w.walk(0, c, d)
		k := &mask{base: like.base}
		gone := map[int32]bool{}
		for _, t := range w.del {
			gone[t] = true
			if like.base.has(t) {
				k.del = append(k.del, t)
			}
		}
		for _, t := range like.more {
			if !gone[t] {
				k.add = append(k.add, t)
			}
		}
		k.add = append(k.add, w.add...)
		return k
	}
	return nil
}

// reading appends the tokens below a node that a string reads from state q of an item, and,
// after its end, those that go on from after.
func (m *Masks) reading(out []int32, at item, node, q int32, after configuration) []int32 {
	t, v := m.v.trie, m.r.n.nodes[at.node].scalar.(*table)
	a, _, _ := m.r.stringOf(at)
	last := t.skip[node]
	if last-node > 16 && a.states[q].at == plain && m.whole(node, m.r.stringLoop(v, q)) {
		return append(out, t.below(node)...)
	}
	for i := node + 1; i < last; i = t.skip[i] {
		to := v.next(q, t.label[i])
		switch {
		case to < 0:
		case a.states[to].at == closed:
			if after.state < 0 {
				continue
			}
			if lo, hi := t.from[i], t.from[i+1]; lo < hi && m.r.alive(after) {
				out = append(out, t.list[lo:hi]...)
			}
			out = m.walk(out, i, after)
		default:
			out = append(out, t.tokens(i)...)
			out = m.reading(out, at, i, to, after)
		}
	}
	return out
}
