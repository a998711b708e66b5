package grammar

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// A string of which a test and a length are asked has a state for every number of characters.
// Its masks come from the same string without the length: tokens in the order of the characters that
// a text needs at least which begins with them, so that a bound on the length cuts that order.

// patternKey is what strings share whose masks come from one pattern.
type patternKey struct {
	test      *constraint.DFA
	canonical bool
}

// pattern is a string without a length.
type pattern struct {
	free   *stringAutomaton
	states *table
	rests  *rests
	needs  []int32 // of every state of free: the characters of the shortest rest, −1: only certain numbers
	made   int     // states of which that is known
	sets   map[int32]*patternSet
}

// patternSet is what the tokens of a vocabulary do between two characters, from a state of the test.
type patternSet struct {
	tokens []int32 // after which the string goes on, by the characters that it needs at least
	upTo   []int32 // how many need at most so many
	base   bitset  // all
	odd    []oddToken
	ends   bitset // tokens before whose quote the string may end
}

// oddToken is a token after which the numbers of characters of the rest have gaps or an end.
type oddToken struct{ token, characters, state int32 }

// patternOf returns the pattern of strings with a test and the set of its texts.
func (m *Masks) patternOf(a *stringAutomaton) *pattern {
	k := patternKey{a.only(), a.canonical}
	p := m.patterns[k]
	if p == nil {
		free := newString(stringSpec{most: -1, tests: a.tests, canonical: a.canonical})
		p = &pattern{free: free, states: newTable(free), rests: a.measure(), sets: map[int32]*patternSet{}}
		m.patterns[k] = p
	}
	return p
}

// need returns the characters that complete the string from a state of free at least, −1 if not
// every number from there on does.
func (p *pattern) need(state int32) int32 {
	for ; p.made < len(p.free.states); p.made++ {
		s := &p.free.states[p.made]
		least := int32(-1)
		of := func(q int32, more int32) {
			if n := p.rests.least[q] + more; p.rests.endless(q) && (least < 0 || n < least) {
				least = n
			}
		}
		switch s.at {
		case before, plain, trailing:
			of(s.tests[0], 0)
		case escaped, hex:
			regular := true
			p.free.spells(s, func(q int32) bool {
				regular = regular && p.rests.endless(q)
				of(q, 1)
				return false
			})
			if !regular {
				least = -1
			}
		}
		p.needs = append(p.needs, least)
	}
	return p.needs[state]
}

// set returns what tokens do from a state of the test.
func (m *Masks) patternSet(p *pattern, q int32) *patternSet {
	if s := p.sets[q]; s != nil {
		return s
	}
	w := &patternWalk{Masks: m, pattern: p, set: &patternSet{ends: make(bitset, m.v.words()), base: make(bitset, m.v.words())}}
	start := p.free.find(stringState{at: plain, tests: []int32{q}})
	w.walk(0, start, 0, 0)
	leave(m.v.strings[p.free.kind()].before, p.states, 0, start, w.set.ends)
	s := w.set
	most := int32(0)
	for _, n := range w.needs {
		most = max(most, n)
	}
	s.upTo = make([]int32, most+1)
	for _, n := range w.needs {
		s.upTo[n]++
	}
	for n := 1; n < len(s.upTo); n++ {
		s.upTo[n] += s.upTo[n-1]
	}
	s.tokens = make([]int32, len(w.tokens))
	at := slices.Clone(s.upTo)
	for i, t := range w.tokens {
		n := w.needs[i]
		at[n]--
		s.tokens[at[n]] = t
		s.base.set(t)
	}
	p.sets[q] = s
	m.kept += 4*(cap(s.tokens)+cap(s.base)+cap(s.ends)+cap(s.upTo)) + 12*cap(s.odd)
	return s
}

// patternWalk finds the tokens of a patternSet.
type patternWalk struct {
	*Masks
	*pattern
	set    *patternSet
	tokens []int32
	needs  []int32
}

// walk adds the tokens below a node that lead on from a state, before which characters have been
// counted, and begun in the text of the node.
func (w *patternWalk) walk(node, state, characters, begun int32) {
	t := w.v.trie
	last := t.skip[node]
	if last-node > 16 && w.free.states[state].at == plain && w.whole(node, w.r.stringLoop(w.states, state)) {
		for _, token := range t.below(node) {
			w.add(token, state, characters+int32(w.v.begun[token])-begun)
		}
		return
	}
	from := w.free.states[state].at
	for i := node + 1; i < last; i = t.skip[i] {
		to := w.states.next(state, t.label[i])
		if to < 0 {
			continue
		}
		at, n := w.free.states[to].at, characters
		switch {
		case at == closed:
			continue
		case at == plain && from != trailing, at == trailing && from == plain:
			n++
		}
		for _, token := range t.tokens(i) {
			w.add(token, to, n)
		}
		if t.skip[i] > i+1 {
			w.walk(i, to, n, begun+begins(t.label[i]))
		}
	}
}

func (w *patternWalk) add(token, state, characters int32) {
	n := int32(0)
	if w.rests != nil {
		n = w.need(state)
	}
	if n < 0 {
		w.set.odd = append(w.set.odd, oddToken{token, characters, state})
		return
	}
	w.tokens, w.needs = append(w.tokens, token), append(w.needs, n+characters)
}

// patternMask returns the mask of a place between two characters of a string with one test, nil
// if c is none.
func (m *Masks) patternMask(c configuration) *mask {
	items := m.r.states[c.state].items
	if m.r.gated || len(items) != 1 {
		return nil
	}
	t, is := m.r.n.nodes[items[0].node].scalar.(*table)
	if !is {
		return nil
	}
	a, is := t.automaton.(*stringAutomaton)
	if !is || a.only() == nil {
		return nil
	}
	s := &a.states[items[0].state]
	low, high := a.left(s)
	if s.at != plain || a.measure() == nil && (low > 0 || high >= 0) {
		return nil
	}
	p := m.patternOf(a)
	set := m.patternSet(p, s.tests[0])
	k := &mask{shared: true}
	n := int32(len(set.tokens))
	if high >= 0 && high < len(set.upTo) {
		n = set.upTo[high]
	}
	if 2*int(n) > len(set.tokens) {
		k.base, k.del = set.base, set.tokens[n:]
	} else {
		k.add = set.tokens[:n]
	}
	for _, x := range set.odd {
		most := -1
		if high >= 0 {
			if most = high - int(x.characters); most < 0 {
				continue
			}
		}
		if yes, sure := p.free.goesOn(&p.free.states[x.state], max(0, low-int(x.characters)), most); yes && sure {
			k.more = append(k.more, x.token)
		}
	}
	if after := m.closed(c); m.r.alive(after) {
		from := len(k.more)
		k.more = m.exits(k.more, 0, after, inString{set: m.v.strings[a.kind()], need: low, most: high})
		rest := slices.DeleteFunc(k.more[from:], func(t int32) bool { return !set.ends.has(t) })
		k.more = slices.Clip(k.more[:from+len(rest)])
	}
	return k
}
