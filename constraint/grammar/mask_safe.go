package grammar

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// In most states of an automaton, every text that consists of certain kinds of bytes can be
// completed, so all tokens of these kinds are allowed. The sets of tokens by kinds of bytes are
// shared by all grammars. The trie of tokens is searched only for tokens with other bytes.

// safe describes what is safe in a state of an automaton.
type safe struct {
	// kinds of bytes such that every text of whole characters of these kinds, up to the length
	// most, can be completed and does not leave the automaton
	kinds uint64
	most  int32 // largest number of characters
	// other kinds of bytes that may follow such a text; the remaining kinds never do
	exits uint64
	// For strings without their bound on the length, needs[n] is the number of characters that
	// complete the string after any such text of at most n characters; the last number holds for
	// all longer texts. nil if not every larger number of characters completes it, too.
	needs []int32
}

// Limits of the search of safeFrom: the number of states and the number of characters after which it
// stops, and the number of characters that must be safe at least. A kind of bytes that is safe only
// for fewer is dropped.
const (
	safeStates = 256
	safeReach  = 32
	safeLength = 8
)

// Kinds of bytes that a JSON string treats alike.
var (
	controlKinds = uint64(1)<<kindOf[0] | 1<<kindOf['\n']
	stringKinds  = ^(controlKinds | 1<<kindOf['"'] | 1<<kindOf['\\'])
	digitKinds   = uint64(1) << kindOf['0']
	letterKinds  = uint64(1)<<kindOf['a'] | 1<<kindOf['z'] | 1<<kindOf['A'] | 1<<kindOf['Z']
)

var nothingSafe = &safe{exits: ^uint64(0)}

// safeAt returns what is safe in state q of the automaton t. The result is cached.
func (m *Masks) safeAt(t *table, q int32) *safe {
	k := tableState{t, q}
	s := m.safes[k]
	if s == nil {
		s = m.findSafe(t, q)
		m.safes[k] = s
		m.kept += 64
	}
	return s
}

func (m *Masks) findSafe(t *table, q int32) *safe {
	switch a := t.automaton.(type) {
	case *numberAutomaton:
		if a.anyDigits(q) {
			return &safe{kinds: digitKinds, most: never, exits: ^digitKinds}
		}
	case *nameRun:
		if a.open && a.o.keys.states[q].at == plain {
			if m.anyNames(t, a, q) {
				return &safe{kinds: stringKinds, most: never, exits: ^stringKinds &^ controlKinds}
			}
			return safeFrom(q, a.o.keys.insideClasses(), t.next, nil)
		}
	case *stringAutomaton:
		s := &a.states[q]
		if s.at != plain {
			break
		}
		d := a.only()
		var r *rests
		low, high := a.left(s)
		bounded := low > 0 || high >= 0
		if bounded {
			r = a.measure()
		}
		if d == nil || bounded && r == nil {
			return safeFrom(q, a.insideClasses(), t.next, nil)
		}
		k := dfaState{d, s.tests[0], bounded}
		x := m.texts[k]
		if x == nil {
			x = safeFrom(s.tests[0], a.insideClasses(), func(q int32, b byte) int32 { return int32(d.Next(int(q), int32(b))) }, r)
			y := *x
			y.exits |= ^(stringKinds | controlKinds)
			x = &y
			m.texts[k] = x
			m.kept += 64 + 4*cap(x.needs)
		}
		if !bounded {
			return x
		}
		y := *x
		if y.needs == nil {
			break
		}
		if high >= 0 {
			n := min(y.most, int32(high))
			for n > 0 && n+y.needs[min(int(n), len(y.needs)-1)] > int32(high) {
				n--
			}
			if y.most = n; n == 0 {
				break
			}
		}
		return &y
	}
	return nothingSafe
}

// dfaState is a state of a test. measured tells whether the length of the string is bounded.
type dfaState struct {
	a        *constraint.DFA
	q        int32
	measured bool
}

// safeFrom looks for kinds of bytes that are safe in state q of an automaton for texts or JSON
// strings, whose transition function is next. It visits the states that texts of these kinds reach. Kinds
// that turn out not to be safe are dropped, and the search begins again. Letters, of which most tokens
// consist, are kept where another kind alone leads to the state that does not read them, such as the
// percent sign of a URI. The classes are those of insideClasses. r holds the lengths of the texts from
// each state, or is nil.
func safeFrom(q int32, classes *byteClasses, next func(q int32, b byte) int32, r *rests) *safe {
	x := &safeSearch{classes: classes, next: next}
	kinds := stringKinds
	for kinds != 0 {
		x.list, x.alive, x.unsafe = append(x.list[:0], q), 0, 0
		x.via, x.whole = map[int32]uint64{q: 0}, map[safePlace]bool{}
		s := &safe{most: never}
		at, need := 0, int32(0)
		for n := int32(0); at < len(x.list); n++ {
			level := len(x.list)
			for ; at < level; at++ {
				q := x.list[at]
				x.visit(q, kinds)
				if r != nil && need >= 0 {
					if need = max(need, r.least[q]); !r.endless(q) {
						need = -1
					}
				}
			}
			s.needs = append(s.needs, need)
			if n >= safeLength && (x.unsafe != 0 || len(x.list) > safeStates) || n == safeReach {
				s.most = n
				break
			}
			if x.unsafe != 0 {
				break
			}
			if len(x.list) > safeStates {
				return nothingSafe
			}
		}
		if s.most < never || x.unsafe == 0 {
			if s.kinds, s.exits = kinds, x.alive&^kinds; r == nil || need < 0 {
				s.needs = nil
			}
			return s
		}
		kinds &^= x.unsafe
	}
	return nothingSafe
}

// safeSearch is the working state of safeFrom.
type safeSearch struct {
	classes       *byteClasses
	next          func(q int32, b byte) int32
	list          []int32            // states found
	via           map[int32]uint64   // kinds of the byte that led to each state found
	whole         map[safePlace]bool // for places within a character, whether all characters can be read
	alive, unsafe uint64             // kinds of bytes that some state reads, and those to drop
}

// safePlace is a state of an automaton within a character.
type safePlace struct {
	q int32
	c character
}

func (x *safeSearch) visit(q int32, kinds uint64) {
	unread := uint64(0)
	for i, b := range x.classes.some {
		of := x.classes.kinds[i]
		if of == 0 {
			continue
		}
		to := x.next(q, b)
		if to < 0 {
			unread |= of & kinds
			continue
		}
		x.alive |= of
		if of&kinds != 0 {
			x.find(to, of&kinds)
		}
	}
	if !x.characters(safePlace{q: q}, kinds>>beyondASCII&1 == 1) {
		unread |= kinds & (1 << beyondASCII)
	}
	if via := x.via[q]; via != 0 && unread&letterKinds != 0 && via&letterKinds == 0 {
		unread = via
	}
	x.unsafe |= unread
}

func (x *safeSearch) find(q int32, via uint64) {
	if _, ok := x.via[q]; !ok {
		x.via[q] = via
		x.list = append(x.list, q)
	}
}

// characters reads the bytes beyond ASCII from a place, up to the end of the character if whole is
// true. It reports whether it could read all characters.
func (x *safeSearch) characters(at safePlace, whole bool) bool {
	all := true
	for _, b := range x.classes.some {
		c := at.c.after(b)
		if b < 0x80 || c.bad {
			continue
		}
		to := safePlace{x.next(at.q, b), c}
		if to.q < 0 {
			all = false
			continue
		}
		x.alive |= 1 << beyondASCII
		switch {
		case !whole:
		case c.whole():
			x.find(to.q, 1<<beyondASCII)
		default:
			ok, known := x.whole[to]
			if !known {
				ok = x.characters(to, true)
				x.whole[to] = ok
			}
			all = all && ok
		}
	}
	return all
}

// anyDigits reports whether the number can be completed from state q after any further digits.
func (a *numberAutomaton) anyDigits(q int32) bool {
	s := &a.Values[q]
	if s.at != wholePart || a.among != nil || !a.grows(s.negative) {
		return false
	}
	if len(a.steps) == 0 {
		return true
	}
	yes, sure := a.completes(q)
	return yes && sure
}

// anyNames reports whether every name can be completed from state q of the automaton t, which is
// the table of r.
func (m *Masks) anyNames(t *table, r *nameRun, q int32) bool {
	if slices.ContainsFunc(r.t.others, func(to int32) bool { return to < 0 || !t.ok[to] }) || r.o.keys.most >= 0 {
		return false
	}
	s := &r.o.keys.states[q]
	for i, test := range r.o.keys.tests[:len(r.o.names.tests)] {
		if i > 0 || !test.want || m.r.openness(test.a, int(s.tests[i])) == narrow {
			return false
		}
	}
	return true
}

// reader collects the tokens that may be read from a state of an automaton in the network.
type reader struct {
	*Masks
	t *table
	a *stringAutomaton // the string or the reader of names; nil for other automata
	// safe at the beginning: tokens of which the mask of kinds contains all are not collected
	s     *safe
	after func(q int32) configuration // where a text continues after it leaves t in state q
	trie  *byteTrie                   // trie of the tokens to be read, which may be those that s does not decide
	out   []int32
	done  bitset // tokens that are known to be allowed, by their index in v.trie; nil if there are none
}

// collect adds tokens of the trie.
func (w *reader) collect(tokens []int32) {
	w.out = append(w.out, tokens...)
	if w.done != nil {
		for _, token := range tokens {
			w.done.set(w.v.index[token])
		}
	}
}

// walk collects the tokens below a trie node, where t is in state q. If base is true, the text of
// the node is safe and has n characters.
func (w *reader) walk(node, q, n int32, base bool) {
	t := w.trie
	var few []byte // the only bytes that q reads; nil if not known
	if a, is := w.t.automaton.(chooser); is && !base && t.nodes[node].skip-node > 64 {
		few, _ = a.choices(nil, q)
	}
	for i := node + 1; i < t.nodes[node].skip; i = t.nodes[i].skip {
		x := &t.nodes[i]
		if few != nil && !slices.Contains(few, x.label) {
			continue
		}
		n := n + begins(x.label)
		base := base && w.s.kinds>>kindOf[x.label]&1 == 1 && n <= w.s.most
		if base && x.whole && x.kinds&w.s.exits == 0 && x.covers(w.s.most-n) ||
			w.done != nil && t == w.v.trie && w.done.all(x.from, t.nodes[x.skip].from) {
			continue
		}
		to := w.t.next(q, x.label)
		if to < 0 {
			continue
		}
		if !base || !x.whole {
			w.collect(t.tokens(i))
		}
		if x.skip == i+1 {
			continue
		}
		if w.t.final(to) {
			if c := w.after(to); c.state >= 0 {
				from := len(w.out)
				w.out = w.Masks.walk(w.out, t, i, c)
				if w.done != nil {
					for _, token := range w.out[from:] {
						w.done.set(w.v.index[token])
					}
				}
			}
			if w.a != nil {
				continue
			}
		}
		if x.whole && !base && x.skip-i > 16 {
			if s := w.safeAt(w.t, to); x.kinds&^s.kinds == 0 && x.covers(s.most) {
				w.collect(t.below(i))
				continue
			}
		}
		w.walk(i, to, n, base)
	}
}

// scalars returns the mask of a configuration whose state contains automata of the network, as the
// union of the masks of its items. It returns nil if there are none. The network must be
// without gates.
func (m *Masks) scalars(c configuration) *mask {
	r := m.r
	level := r.states[c.state].level
	var groups [][]item // items that differ only in what follows their automaton
	var others []item
	for _, p := range r.itemsOf(c.state) {
		x := r.items.Values[p]
		if r.n.nodes[x.node].scalar == nil {
			others = append(others, x)
			continue
		}
		like := func(g []item) bool {
			return g[0].state == x.state && r.n.nodes[g[0].node].scalar == r.n.nodes[x.node].scalar
		}
		if i := slices.IndexFunc(groups, like); i >= 0 {
			groups[i] = append(groups[i], x)
		} else {
			groups = append(groups, []item{x})
		}
	}
	if len(groups) == 0 {
		return nil
	}
	w := &reader{Masks: m, out: m.found[:0]}
	m.found = nil // used by masks of others below
	var bases []*kindSet
	if len(groups) > 1 {
		w.done = make(bitset, m.v.words())
	}
	for _, g := range groups {
		s := m.safeAt(r.n.nodes[g[0].node].scalar.(*table), g[0].state)
		if s.kinds == 0 {
			continue
		}
		base := m.v.ofKinds(s.kinds, s.most)
		bases = append(bases, base)
		switch {
		case w.done != nil:
			w.done.union(base.order)
		case s.most < m.v.trie.nodes[0].height:
			w.done = slices.Clone(base.order)
		}
	}
	for _, g := range groups {
		w.t, w.a = r.n.nodes[g[0].node].scalar.(*table), nil
		switch a := w.t.automaton.(type) {
		case *stringAutomaton:
			w.a = a
		case *nameRun:
			w.a = a.o.keys
		}
		after := map[int32]configuration{}
		w.after = func(q int32) configuration {
			if !r.n.nodes[g[0].node].leads {
				q = 0
			}
			d, ok := after[q]
			if !ok {
				d = m.following(c, level, g, q)
				after[q] = d
			}
			return d
		}
		w.s = m.safeAt(w.t, g[0].state)
		w.trie = m.v.trieBeyond(w.s)
		w.walk(0, g[0].state, 0, w.s.kinds != 0)
	}
	if len(others) > 0 {
		r.set.reset()
		r.set.items = append(r.set.items, others...)
		k := m.get(configuration{state: r.find(level), stack: c.stack})
		if k.base != nil {
			set := *k
			set.ends = false
			b := make(bitset, m.v.words())
			set.write(b, m.v)
			bases = append(bases, &kindSet{tokens: b})
		} else {
			w.out = append(append(w.out, k.add...), k.more...)
		}
	}
	m.found = w.out
	switch {
	case len(bases) == 0:
		return m.v.setOf(w.out)
	case len(bases) == 1 && len(w.out) <= m.v.words():
		return &mask{base: bases[0].tokens, shared: bases[0].cached, more: slices.Clone(w.out)}
	}
	all := slices.Clone(bases[0].tokens)
	for _, b := range bases[1:] {
		all.union(b.tokens)
	}
	for _, t := range w.out {
		all.set(t)
	}
	return &mask{base: all}
}

// following returns the configuration after the automaton that the items read has ended in state q.
func (m *Masks) following(c configuration, level int32, items []item, q int32) configuration {
	r := m.r
	r.set.reset()
	for _, x := range items {
		if v := &r.n.nodes[x.node]; v.leads {
			if to := v.lead().to(q); to >= 0 {
				r.set.enter(to)
			}
		} else {
			for _, to := range v.free {
				r.set.enter(to)
			}
		}
	}
	return r.follow(c, r.encode(r.settle(level, r.find(level))))
}
