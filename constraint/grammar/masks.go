package grammar

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// Masks determines, for any prefix of a text, the set of tokens that may come next. A token is
// allowed if and only if the text can still be completed after it, by any number of tokens. Masks
// are computed when a text first needs them, and are cached for all texts. A Masks is safe for
// concurrent use. Every text needs its own [Matcher].
type Masks struct {
	v *maskVocabulary

	turn  atomic.Uint32 // number of matchers created
	mu    *lock         // guards the fields below
	r     *runs         // runs of the grammar, guarded by mu; nil for masks over an automaton
	dfa   *constraint.DFA
	class [][]int32 // tokens of each class of dfa
	known map[configuration]*mask
	kept  int     // memory of the masks in known, in bytes
	bound int     // bound on kept, in bytes
	found []int32 // scratch of dfaMask

	safes map[tableState]*safe
	texts map[dfaState]*safe // what is safe in states of tests, for strings of any length

	lengths *lengths // least numbers of bytes to complete a text; nil until MaskWithin is called
	// for every state of dfa, the least number of tokens to an accepting state; nil until
	// MaskWithin is called
	left []int32
}

// Masks prepares the computation of masks, the sets of tokens that may come next, for texts of the
// grammar. Padding tokens of the vocabulary mark the end of a text: they are allowed once the text
// is complete. The error is a [*constraint.LimitError], wraps [constraint.ErrInfeasible] if no text
// is in the language, or is the context's cause.
func (g *Grammar) Masks(ctx context.Context, v *Vocabulary) (*Masks, error) {
	if v == nil || v.sorted == nil {
		return nil, &constraint.ArgumentError{Func: "Masks", Arg: "v", Value: "nil", Want: "a vocabulary of Prepare"}
	}
	if err := g.trimmed(ctx); err != nil {
		return nil, err
	}
	return newMasks(&Masks{mu: &g.mu, r: g.runs}, v, g.limits), nil
}

// MasksOf prepares masks (see [Masks]) for an automaton over the tokens of a vocabulary, such as a
// lexicon or a regular expression over tokens. Padding tokens are allowed wherever a text may end,
// in addition to where the automaton allows them. MasksOf takes as long as [constraint.Compile] and
// has the same errors.
func MasksOf(ctx context.Context, a constraint.Automaton, v *Vocabulary, limits constraint.Limits) (*Masks, error) {
	if v == nil || v.sorted == nil {
		return nil, &constraint.ArgumentError{Func: "MasksOf", Arg: "v", Value: "nil", Want: "a vocabulary of Prepare"}
	}
	d, err := constraint.Compile(ctx, a, v.sorted.Tokens(), limits)
	if err != nil {
		return nil, err
	}
	m := newMasks(&Masks{mu: &lock{}, dfa: d}, v, limits)
	of, n := d.Classes(d.Levels())
	m.class = make([][]int32, n)
	for t, c := range of {
		m.class[c] = append(m.class[c], int32(t))
	}
	return m, nil
}

func newMasks(m *Masks, v *Vocabulary, limits constraint.Limits) *Masks {
	m.v, m.known, m.bound, m.found = v.forMasks(), map[configuration]*mask{}, limits.Bytes, make([]int32, 0, 1<<12)
	m.safes, m.texts = map[tableState]*safe{}, map[dfaState]*safe{}
	if m.bound == 0 {
		m.bound = maskBytes
	}
	return m
}

// maskBytes is the default bound on the memory of masks, and on that of states, in bytes. It
// applies if Limits.Bytes is 0.
const maskBytes = 1 << 28

// Words returns the length of a mask in 32-bit words. A mask has one bit for every token of the
// vocabulary.
func (m *Masks) Words() int { return m.v.words() }

// of returns the mask of a configuration, which it computes if it is not cached. shard is the
// shard of mu that the calling matcher uses. The caller must not hold the lock.
func (m *Masks) of(c configuration, shard *sync.RWMutex) (*mask, error) {
	shard.RLock()
	k := m.known[c]
	shard.RUnlock()
	if k != nil {
		return k, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.known[c]; k != nil {
		return k, nil
	}
	k = m.get(c)
	return k, m.checked()
}

// get looks up the mask of a configuration, or computes and caches it. The caller holds the
// lock.
func (m *Masks) get(c configuration) *mask {
	if k := m.known[c]; k != nil {
		return k
	}
	k := m.make(c)
	k.ends = m.accepts(c)
	if m.r == nil || m.r.err == nil {
		m.kept += 128 + k.own()
		if m.kept > m.bound {
			clear(m.known)
			clear(m.safes)
			clear(m.texts)
			m.kept = 0
		}
		m.known[c] = k
	}
	return k
}

// checked returns the error of the computations since the last call, or nil, and clears it. It
// also returns an error if the memory exceeds the bound.
func (m *Masks) checked() error {
	if m.r == nil {
		return nil
	}
	err := m.r.err
	m.r.err = nil
	if err == nil {
		err = constraint.Limits{States: 1<<31 - 2, Bytes: m.bound}.Check("Masks", 0, 0, m.r.memory())
	}
	return err
}

// start returns the configuration before the first token.
func (m *Masks) start() configuration {
	if m.dfa != nil {
		return configuration{state: int32(m.dfa.Start())}
	}
	return configuration{state: m.r.start}
}

// accepts reports whether a text may end in c.
func (m *Masks) accepts(c configuration) bool {
	if m.dfa != nil {
		return m.dfa.Accepting(int(c.state))
	}
	return m.r.accepts(c)
}

// step returns the configuration after a token. The result may be one that no text completes;
// use alive to check.
func (m *Masks) step(c configuration, token int32) configuration {
	if m.dfa != nil {
		return configuration{state: int32(m.dfa.Next(int(c.state), token))}
	}
	for s := m.v.Text(token); s != "" && c.state >= 0; s = s[1:] {
		c = m.r.step(c, s[0])
	}
	return c
}

// read returns the configuration after a token. Its state is −1 if no text continues with the
// token. shard is the shard of mu that the calling matcher uses.
func (m *Masks) read(c configuration, token int32, shard *sync.RWMutex) (configuration, error) {
	if m.dfa != nil {
		return m.step(c, token), nil
	}
	text := m.v.Text(token)
	shard.RLock()
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
	shard.RUnlock()
	if ok {
		return d, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c = m.step(c, token); !m.r.alive(c) {
		c = nowhere
	}
	return c, m.checked()
}

// dfaMask computes the mask of state q of an automaton over tokens.
func (m *Masks) dfaMask(q int32) *mask {
	m.found = m.found[:0]
	for _, tokens := range m.class {
		if len(tokens) > 0 && m.dfa.Next(int(q), tokens[0]) >= 0 {
			m.found = append(m.found, tokens...)
		}
	}
	return m.v.setOf(m.found)
}

// dfaLengths returns, for every state, the least number of tokens to an accepting state.
func (m *Masks) dfaLengths() []int32 {
	into := make([][]int32, m.dfa.States())
	left := make([]int32, len(into))
	var level []int32
	for q := range left {
		if left[q] = never; m.dfa.Accepting(q) {
			left[q] = 0
			level = append(level, int32(q))
		}
		for _, tokens := range m.class {
			if len(tokens) > 0 {
				if to := m.dfa.Next(q, tokens[0]); to >= 0 {
					into[to] = append(into[to], int32(q))
				}
			}
		}
	}
	for len(level) > 0 {
		q := level[0]
		level = level[1:]
		for _, p := range into[q] {
			if left[p] == never {
				left[p] = left[q] + 1
				level = append(level, p)
			}
		}
	}
	return left
}

// make computes the mask of a configuration, by the fastest method that applies.
func (m *Masks) make(c configuration) *mask {
	if m.dfa != nil {
		return m.dfaMask(c.state)
	}
	if x, ok := m.stringAt(c.state); ok {
		return m.stringMask(c, x)
	}
	if !m.r.gated {
		if k := m.scalars(c); k != nil {
			return k
		}
	}
	if !m.r.bounded(c.state) {
		m.r.fill(c.state)
	}
	if k := m.otherName(c); k != nil {
		return k
	}
	m.found = m.walk(m.found[:0], m.v.trie, 0, c)
	return m.v.setOf(m.found)
}

// walk appends to out the tokens below a node of the trie t that may be read from c, the
// configuration at that node.
func (m *Masks) walk(out []int32, t *byteTrie, node int32, c configuration) []int32 {
	last := t.nodes[node].skip
	if x := &t.nodes[node+1]; last-node > 16 && (x.label >= 0x80 || m.r.move(c.state, x.label) == code(c.state)<<2|code(pushdown.Inside)) {
		if x := &t.nodes[node]; x.kinds&^m.r.loop(c.state) == 0 && x.covers(x.height) && m.r.alive(c) {
			return append(out, t.below(node)...)
		}
	}
	for i := node + 1; i < last; i = t.nodes[i].skip {
		d := m.r.step(c, t.nodes[i].label)
		if d.state < 0 || m.r.err != nil {
			continue
		}
		if tokens := t.tokens(i); len(tokens) > 0 {
			if !m.r.alive(d) {
				continue
			}
			out = append(out, tokens...)
		}
		if t.nodes[i].skip > i+1 {
			out = m.walk(out, t, i, d)
		}
	}
	return out
}

// loopKinds is the set of kinds of bytes on which a state does not change, once it is known.
type loopKinds struct {
	kinds uint64
	known bool
}

// loop returns the set of kinds of bytes on which state q does not change. For bytes beyond
// ASCII, only whole characters are considered.
func (r *runs) loop(q int32) uint64 {
	for int(q) >= len(r.loops) {
		r.loops = append(r.loops, loopKinds{})
	}
	if x := r.loops[q]; x.known {
		return x.kinds
	}
	if len(r.itemsOf(q)) > wide {
		return 0
	}
	l := loops(q, func(q int32, b byte) int32 {
		if to := r.move(q, b); to != dead && pushdown.Kind(to&3) == pushdown.Inside {
			return int32(to >> 2)
		}
		return -1
	})
	r.loops[q] = loopKinds{l, true}
	return l
}

// tableState is a state of an automaton in the network.
type tableState struct {
	a *table
	q int32
}

// loops returns the set of kinds of bytes on which an automaton with the transition function
// next does not leave state q. For bytes beyond ASCII, only whole characters are considered.
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
