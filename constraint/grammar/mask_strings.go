package grammar

import (
	"cmp"
	"slices"
)

// stringSet describes the effect of the tokens of a vocabulary on a JSON string that is
// restricted only in its length, from a position between two characters.
type stringSet struct {
	inside bitset   // tokens after which the string continues
	within []bitset // within[n] is the set of tokens in inside that add at most n characters
	exits  []exit   // tokens that end the string, sorted by the text after the quote
	after  *byteTrie
	before *byteTrie // trie of the tokens in exits by the text before the quote
}

// exit is a token that ends a string.
type exit struct {
	token      int32
	characters int32 // number of characters before the quote
	quote      int   // offset of the quote in the text of the token
}

// Kinds of strings, by the spellings of characters that are allowed.
const (
	anySpelling = iota
	lowSpelling // \u escapes only up to U+00FF
	canonicalSpelling
)

// kind returns the kind of strings that the automaton reads.
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
		for i := node + 1; i < t.nodes[node].skip; i = t.nodes[i].skip {
			to := a.next(q, t.nodes[i].label)
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
	f.before = sorted(f.exits, func(e exit) string { return v.Text(e.token)[:e.quote] })
	f.after = sorted(f.exits, func(e exit) string { return v.Text(e.token)[e.quote+1:] })
	return f
}

// sorted sorts exits by the text that the given function returns for each, and returns a trie
// of these texts.
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

// inString is a position between two characters of a JSON string where only the length matters.
type inString struct {
	set  *stringSet
	item item
	// true if a test that can still be passed decides whether the string may end here
	open       bool
	need, most int // bounds on the number of characters still to come; most −1 means no upper bound
}

// stringAt returns the position within a string that the state q represents. ok is false if q
// represents anything else, too.
func (m *Masks) stringAt(q int32) (x inString, ok bool) {
	for i, p := range m.r.itemsOf(q) {
		y, ok := m.stringItem(m.r.items.Values[p])
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

// stringOf returns the string automaton that an item reads and the number of tests that the
// string must pass. ok reports whether the remaining tests, which are only watched, no longer
// matter.
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

// openness classifies a state of a test by what later text can do to it.
type openness uint8

const (
	narrow openness = iota // some continuations make the test fail for good
	// every continuation can still be completed to a text that passes the test
	recoverable
	universal // every text passes the test
)

type testState struct {
	a     byteAutomaton
	state int
}

// openPlaces bounds the number of positions that openness explores. A test with more positions
// counts as narrow.
const openPlaces = 600

// openness explores the test a from the given state and classifies the state. The result is
// cached.
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

// closed returns the configuration after the quote that ends the string at c.
func (m *Masks) closed(c configuration) configuration {
	r := m.r
	level := r.states[c.state].level
	r.set.reset()
	for _, p := range r.itemsOf(c.state) {
		at := r.items.Values[p]
		a, wanted, _ := r.stringOf(at)
		end := stringState{at: closed, tests: slices.Clone(a.states[at.state].tests)}
		clear(end.tests[:wanted])
		r.set.put(item{at.node, a.find(end)})
	}
	return r.follow(c, r.encode(r.settle(level, r.find(level))))
}

// stringMask computes the mask of c, whose position in a string is x.
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

// exits appends to out the tokens below the given trie node that end the string and may
// continue from c, the configuration at that node.
func (m *Masks) exits(out []int32, node int32, c configuration, x inString) []int32 {
	t := x.set.after
	if lo, hi := t.nodes[node].from, t.nodes[node+1].from; lo < hi && m.r.alive(c) {
		for i := lo; i < hi; i++ {
			if n := int(x.set.exits[i].characters); n >= x.need && (x.most < 0 || n <= x.most) {
				out = append(out, t.list[i])
			}
		}
	}
	for i := node + 1; i < t.nodes[node].skip; i = t.nodes[i].skip {
		if d := m.r.step(c, t.nodes[i].label); d.state >= 0 {
			out = m.exits(out, i, d, x)
		}
	}
	return out
}

// leave adds to may the tokens below a trie node that contain a quote at which the string may
// end. The trie before holds the texts before the quote, and q is the state of a at the node.
func leave(before *byteTrie, a automaton, node, q int32, may bitset) {
	if tokens := before.tokens(node); len(tokens) > 0 && a.next(q, '"') >= 0 {
		for _, token := range tokens {
			may.set(token)
		}
	}
	for i := node + 1; i < before.nodes[node].skip; i = before.nodes[i].skip {
		if to := a.next(q, before.nodes[i].label); to >= 0 {
			leave(before, a, i, to, may)
		}
	}
}

// differs collects the tokens that may be read from exactly one of two configurations. It skips
// subtrees in which both configurations behave alike.
type differs struct {
	*Masks
	// add holds the tokens visited that the first configuration allows, and del all tokens
	// visited
	add, del []int32
}

func (w *differs) walk(node int32, c, d configuration) {
	t := w.v.trie
	for i := node + 1; i < t.nodes[node].skip; i = t.nodes[i].skip {
		m, n := w.r.move(c.state, t.nodes[i].label), w.r.move(d.state, t.nodes[i].label)
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
		w.add = w.Masks.walk(w.add, t, i, c)
		return
	}
	w.walk(i, c, d)
}

// typical lists characters with which names seldom begin. After reading one of them, a state
// usually allows only unknown names.
const typical = "Qz~\x7f"

// otherName returns the mask at a position in a property name as a difference from the mask of
// a simpler state, in which only the length of the string matters. It returns nil if no
// character in [typical] leads to such a state.
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
