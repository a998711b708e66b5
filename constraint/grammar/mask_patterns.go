package grammar

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// A string with a test and a bound on the length has a separate state for every number of
// characters. Its masks are derived from the same string without the bound. For that string,
// tokens are sorted by the least number of characters in a text that begins with the token. A
// bound on the length then selects a prefix of that order.

// patternKey identifies the strings whose masks are derived from the same pattern: those with
// the same test and spelling.
type patternKey struct {
	test      *constraint.DFA
	canonical bool
}

// pattern is a string with a test but without a bound on its length.
type pattern struct {
	free   *stringAutomaton
	states *table
	rests  *rests
	// for every state of free, the least number of characters that complete the string; −1 if
	// not every larger number is possible
	needs []int32
	made  int // number of states whose entry in needs has been computed
	sets  map[int32]*patternSet
}

// patternSet describes the effect of the tokens of a vocabulary on a string, from a position
// between two characters in a given state of the test.
type patternSet struct {
	// tokens after which the string continues, sorted by the least number of characters that
	// they and the rest of the string need
	tokens []int32
	upTo   []int32 // upTo[n] is the number of tokens that need at most n characters
	base   bitset  // set of all tokens in the list tokens
	odd    []oddTokens
	ends   bitset // tokens that contain a quote at which the string may end
}

// oddTokens are tokens after which only certain lengths of the rest are possible, or only lengths
// up to some bound.
type oddTokens struct {
	oddPlace
	tokens []int32
}

// oddPlace is the effect of a token: the number of characters that it adds, and the state after
// it.
type oddPlace struct{ characters, state int32 }

// patternOf returns the pattern of the strings with the test and spelling of a, and creates it
// if necessary.
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

// need returns the least number of characters that complete the string from a state of free. It
// returns −1 if not every larger number completes it, too.
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

// patternSet returns the effect of all tokens on the string from the state q of the test. The
// result is cached.
func (m *Masks) patternSet(p *pattern, q int32) *patternSet {
	if s := p.sets[q]; s != nil {
		return s
	}
	w := &patternWalk{Masks: m, pattern: p, odd: map[oddPlace]int{}, set: &patternSet{ends: make(bitset, m.v.words()), base: make(bitset, m.v.words())}}
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
	m.kept += 4*(cap(s.tokens)+cap(s.base)+cap(s.ends)+cap(s.upTo)) + 64*cap(s.odd)
	return s
}

// patternWalk collects the tokens of a patternSet.
type patternWalk struct {
	*Masks
	*pattern
	set    *patternSet
	tokens []int32
	needs  []int32
	odd    map[oddPlace]int // index of each place in set.odd
}

// walk adds the tokens below a trie node after which the string continues. state is the state
// at the node, characters the number of characters read so far, and begun the number of
// characters that have begun in the text of the node.
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
		at := oddPlace{characters, state}
		i, ok := w.odd[at]
		if !ok {
			i = len(w.set.odd)
			w.odd[at] = i
			w.set.odd = append(w.set.odd, oddTokens{oddPlace: at})
		}
		x := &w.set.odd[i]
		x.tokens = append(x.tokens, token)
		w.kept += 4
		return
	}
	w.tokens, w.needs = append(w.tokens, token), append(w.needs, n+characters)
}

// patternMask returns the mask of c if c is between two characters of a string with one test.
// Otherwise it returns nil.
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
			k.more = append(k.more, x.tokens...)
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
