package grammar

import (
	"context"
	"slices"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// Masks says which tokens may come next after any beginning of a text: those, and only those,
// after which some text, however long, completes the language. Moves and masks are made when a
// text needs them, and kept for all texts. A Masks is safe for concurrent use; each text has a
// [Matcher] of its own.
type Masks struct {
	g     *Grammar // whose lock guards the rest, too
	r     *runs
	v     *maskVocabulary
	known map[configuration]*mask
	kept  int     // bytes of the masks in known
	bound int     // of them
	found []int32 // scratch
}

// Masks prepares the masks of the grammar over a vocabulary. Padding tokens of the vocabulary
// are those that end a text. A grammar is prepared once for all its vocabularies. The error is a
// [*constraint.LimitError], wraps [constraint.ErrInfeasible] if no text is in the language,
// or is the cause of the context.
func (g *Grammar) Masks(ctx context.Context, v *Vocabulary) (*Masks, error) {
	if v == nil || v.sorted == nil {
		return nil, &constraint.ArgumentError{Func: "Masks", Arg: "v", Value: "nil", Want: "a vocabulary of Prepare"}
	}
	if err := g.trimmed(ctx); err != nil {
		return nil, err
	}
	m := &Masks{g: g, r: g.runs, v: v.forMasks(), bound: g.limits.Bytes, known: map[configuration]*mask{}}
	if m.bound == 0 {
		m.bound = maskBytes
	}
	return m, nil
}

// maskBytes bounds the memory of masks, and that of states, unless Limits.Bytes does.
const maskBytes = 1 << 28

// Words returns the length of a mask: a bit for every token of the vocabulary, 32 in a word.
func (m *Masks) Words() int { return m.v.words() }

// of returns the mask of a configuration.
func (m *Masks) of(c configuration) (*mask, error) {
	m.g.mu.RLock()
	k := m.known[c]
	m.g.mu.RUnlock()
	if k != nil {
		return k, nil
	}
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	if k := m.known[c]; k != nil {
		return k, nil
	}
	k = m.get(c)
	return k, m.checked()
}

// get is of under the lock.
func (m *Masks) get(c configuration) *mask {
	if k := m.known[c]; k != nil {
		return k
	}
	k := m.make(c)
	k.ends = m.r.accepts(c)
	if m.r.err == nil {
		m.kept += 128 + 4*(cap(k.base)+cap(k.add)+cap(k.del))
		if m.kept > m.bound {
			clear(m.known)
			m.kept = 0
		}
		m.known[c] = k
	}
	return k
}

// checked returns the error of what was computed, if there is one, and forgets it.
func (m *Masks) checked() error {
	err := m.r.err
	m.r.err = nil
	if err == nil {
		err = constraint.Limits{States: 1<<31 - 2, Bytes: m.bound}.Check("Masks", 0, 0, 8*m.r.items+1024*len(m.r.states))
	}
	return err
}

// read reads a text from c. The state is −1 if no text continues with it.
func (m *Masks) read(c configuration, text string) (configuration, error) {
	m.g.mu.RLock()
	d, ok := c, true
	for i := 0; i < len(text) && ok && d.state >= 0; i++ {
		d, ok = m.r.seek(d, text[i])
	}
	if ok && d.state >= 0 && m.r.gated {
		var known bool
		known, ok = m.r.lives[d]
		if ok && !known {
			d = nowhere
		}
	}
	m.g.mu.RUnlock()
	if ok {
		return d, nil
	}
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	for i := 0; i < len(text) && c.state >= 0; i++ {
		c = m.r.step(c, text[i])
	}
	if !m.r.alive(c) {
		c = nowhere
	}
	return c, m.checked()
}

// make computes a mask.
func (m *Masks) make(c configuration) *mask {
	m.r.fill(c.state)
	if x, ok := m.stringAt(c.state); ok {
		return m.stringMask(c, x)
	}
	if k := m.otherName(c); k != nil {
		return k
	}
	if items := m.r.states[c.state].items; len(items) == 1 && !m.r.gated {
		if a, _, ok := m.r.stringOf(items[0]); ok && a.states[items[0].state].at == plain {
			m.found = m.reading(m.found[:0], items[0], 0, items[0].state, m.closed(c))
			return m.v.setOf(slices.Clone(m.found))
		}
	}
	m.found = m.walk(m.found[:0], 0, c)
	return m.v.setOf(slices.Clone(m.found))
}

// whole reports whether all tokens below a node leave a state as it is that goes on as it is with
// bytes of some kinds.
func (m *Masks) whole(node int32, loop uint64) bool {
	return m.v.kinds[node]&^loop == 0 && (m.v.tidy[node] || m.v.kinds[node]>>beyondASCII == 0)
}

// walk appends the tokens below a node that may be read from c.
func (m *Masks) walk(out []int32, node int32, c configuration) []int32 {
	t := m.v.trie
	last := t.skip[node]
	if last-node > 16 {
		if m.whole(node, m.r.loop(c.state)) && m.r.alive(c) {
			return append(out, t.below(node)...)
		}
	}
	for i := node + 1; i < last; i = t.skip[i] {
		d := m.r.step(c, t.label[i])
		if d.state < 0 {
			continue
		}
		if lo, hi := t.from[i], t.from[i+1]; lo < hi {
			if !m.r.alive(d) {
				continue
			}
			out = append(out, t.list[lo:hi]...)
		}
		if t.skip[i] > i+1 {
			out = m.walk(out, i, d)
		}
	}
	return out
}

// loop returns the kinds of bytes with which a state goes on as it is; those beyond ASCII count
// by whole characters.
func (r *runs) loop(q int32) uint64 {
	s := &r.states[q]
	if s.loop != nil {
		return *s.loop
	}
	if len(s.items) > wide {
		return 0
	}
	l := loops(q, func(q int32, b byte) int32 {
		if to := r.move(q, b); to != dead && pushdown.Kind(to&3) == pushdown.Inside {
			return int32(to >> 2)
		}
		return -1
	})
	r.states[q].loop = &l
	return l
}

// loopPlace is a state of a string.
type loopPlace struct {
	a *table
	q int32
}

// stringLoop is loop of a state of a string.
func (r *runs) stringLoop(a *table, q int32) uint64 {
	k := loopPlace{a, q}
	l, ok := r.loops[k]
	if !ok {
		l = loops(q, a.next)
		r.loops[k] = l
	}
	return l
}

// loops returns the kinds of bytes with which an automaton goes on as it is from state q; those
// beyond ASCII count by whole characters.
func loops(q int32, next func(q int32, b byte) int32) uint64 {
	l := ^uint64(0)
	for b := range 0x80 {
		if next(q, byte(b)) != q {
			l &^= 1 << kindOf[b]
		}
	}
	type place struct {
		q int32
		c character
	}
	seen := map[place]bool{}
	var round func(at int32, c character) bool
	round = func(at int32, c character) bool {
		if seen[place{at, c}] {
			return true
		}
		seen[place{at, c}] = true
		for b := 0x80; b < 256; b++ {
			d := c.after(byte(b))
			if d.bad {
				continue
			}
			to := next(at, byte(b))
			if to < 0 || d.whole() && to != q || !d.whole() && !round(to, d) {
				return false
			}
		}
		return true
	}
	if l == 0 || !round(q, character{}) {
		l &^= 1 << beyondASCII
	}
	return l
}
