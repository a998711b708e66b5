package grammar

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// never is a length that no text has.
const never = math.MaxInt32 / 4

// lengths knows how many bytes complete a text, at least. It is for networks without gates.
type lengths struct {
	r    *runs
	node []int32            // from the beginning of a node to the end of its rule
	in   map[item]distances // from a state of a scalar
	on   map[[2]int]int32   // by stack and rule: from the end of the rule to that of the text
	most int                // the longest that completes a rule from one of its nodes
}

// distances are the bytes from a state of a scalar to the nodes to which it leads.
type distances []struct{ to, bytes int32 }

func newLengths(r *runs) *lengths {
	n := r.n
	l := &lengths{r: r, node: make([]int32, len(n.nodes)), in: map[item]distances{}, on: map[[2]int]int32{}}
	for i := range l.node {
		l.node[i] = never
	}
	for again := true; again; {
		again = false
		for i := len(n.nodes) - 1; i >= 0; i-- {
			v := &n.nodes[i]
			best := l.node[i]
			if v.ends >= 0 {
				best = 0
			}
			switch {
			case v.scalar != nil:
				best = min(best, l.rest(item{int32(i), v.scalar.start()}))
			default:
				for _, to := range v.free {
					best = min(best, l.node[to])
				}
			}
			for _, a := range v.arcs {
				best = min(best, 1+l.node[a.to])
			}
			for _, c := range v.calls {
				best = min(best, l.node[n.rules[c.rule].start]+l.node[c.to])
			}
			if best < l.node[i] {
				l.node[i], again = best, true
			}
		}
	}
	for _, d := range l.node {
		if d < never {
			l.most = max(l.most, int(d))
		}
	}
	return l
}

// rest returns the bytes from a state of a scalar to the end of the rule.
func (l *lengths) rest(x item) int32 {
	d, ok := l.in[x]
	if !ok {
		d = l.distances(x)
		l.in[x] = d
	}
	best := int32(never)
	for _, e := range d {
		best = min(best, e.bytes+l.node[e.to])
	}
	return best
}

// distances searches a scalar breadth first, up to the first end, or until all nodes to which
// names lead are found.
func (l *lengths) distances(x item) (d distances) {
	v := &l.r.n.nodes[x.node]
	t := v.scalar.(*table)
	missing := map[int32]bool{}
	if v.leads {
		for _, to := range v.lead().targets(nil) {
			missing[to] = t.ok[to]
			if !t.ok[to] {
				delete(missing, to)
			}
		}
	} else {
		for _, to := range v.free {
			missing[to] = true
		}
	}
	seen := map[int32]bool{x.state: true}
	level := []int32{x.state}
	for k := int32(0); len(level) > 0 && len(missing) > 0; k++ {
		var next []int32
		for _, q := range level {
			if t.final(q) {
				ends := v.free
				if v.leads {
					ends = []int32{t.to(q)}
				}
				for _, to := range ends {
					if missing[to] {
						d = append(d, struct{ to, bytes int32 }{to, k})
						delete(missing, to)
					}
				}
			}
			for _, b := range t.bytes(q) {
				if to := t.next(q, b); to >= 0 && !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		level = next
	}
	return d
}

// after returns the bytes from the end of a rule, called by the symbol on top of a stack, to the
// end of the text.
func (l *lengths) after(stack int, rule int32) int32 {
	if stack == 0 {
		return 0
	}
	k := [2]int{stack, int(rule)}
	if d, ok := l.on[k]; ok {
		return d
	}
	top := l.r.stacks.list[stack]
	d := int32(never)
	for _, c := range l.r.waits[top.symbol].calls {
		if c.rule == rule && l.node[c.to] < never {
			d = min(d, l.node[c.to]+l.after(top.below, l.r.of[c.to]))
		}
	}
	l.on[k] = d
	return d
}

// least returns the bytes that complete c, at least.
func (l *lengths) least(c configuration) int {
	if c.state < 0 {
		return never
	}
	d := int32(never)
	for _, x := range l.r.states[c.state].items {
		here := l.node[x.node]
		if l.r.n.nodes[x.node].scalar != nil {
			here = l.rest(x)
		}
		d = min(d, here+l.after(c.stack, l.r.of[x.node]))
	}
	return int(d)
}

// MaskWithin is [Matcher.Mask] for a text with at most left tokens still to come. It allows
// a token if the text can be completed by at most left−1 bytes after it. Every byte must be
// a token, so a text that follows the masks always ends in time; texts that would end in
// time only by longer tokens are rejected. If no token qualifies, the mask is empty. The
// error is an [*constraint.ArgumentError] if left is negative or the vocabulary lacks a
// byte, or wraps [errors.ErrUnsupported] for schemas with not, oneOf, if or dependencies
// that have to be read side by side.
func (p *Matcher) MaskWithin(dst []uint32, left int) error {
	m := p.m
	if left < 0 {
		return &constraint.ArgumentError{Func: "Matcher.MaskWithin", Arg: "left", Value: left, Want: "≥ 0"}
	}
	if err := p.Mask(dst); err != nil || p.at.padded {
		return err
	}
	if b := m.v.lacks; b >= 0 && m.dfa == nil {
		return &constraint.ArgumentError{Func: "Matcher.MaskWithin", Arg: "the vocabulary", Value: fmt.Sprintf("without a token for the byte %#02x", b), Want: "a token for every byte"}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	needs, most, err := m.needs()
	if err != nil {
		return err
	}
	if need := needs(p.at); need < never && left > need+most {
		return nil
	}
	known := map[configuration]bool{}
	return m.each(p.at, dst, func(t int32, c configuration) {
		ok, is := known[c]
		if !is {
			ok = needs(c) <= left-1
			known[c] = ok
		}
		if !ok {
			bitset(dst).clear(t)
		}
	})
}

// needs returns a function for the number of bytes (tokens, of an automaton over them) that complete
// a text at least, and a bound on how much one token adds to it.
func (m *Masks) needs() (needs func(c configuration) int, most int, err error) {
	if m.dfa != nil {
		if m.left == nil {
			m.left = m.dfaLengths()
		}
		return func(c configuration) int { return int(m.left[c.state]) }, m.dfa.States(), nil
	}
	if m.r.gated {
		return nil, 0, fmt.Errorf("grammar: Matcher.MaskWithin: a schema whose not, oneOf, if or dependencies are read side by side: %w", errors.ErrUnsupported)
	}
	if m.lengths == nil {
		m.r.of = m.r.n.rulesOfNodes()
		m.lengths = newLengths(m.r)
	}
	// A byte calls at most one rule.
	return m.lengths.least, m.v.longest * m.lengths.most, nil
}

// each calls f for the tokens of a mask that spell a text, and what they lead to.
func (m *Masks) each(at configuration, mask bitset, f func(t int32, c configuration)) error {
	for w, x := range mask {
		for ; x != 0; x &= x - 1 {
			t := int32(32*w + bits.TrailingZeros32(x))
			if m.v.spell[t] || m.dfa != nil {
				f(t, m.step(at, t))
			}
		}
	}
	return m.checked()
}

// Group is a set of tokens after which a text continues in the same way.
type Group struct {
	Tokens []int32
	At     *Matcher // the matcher after one of the tokens
}

// Groups returns the tokens that may come next, grouped by what they lead to, without those
// that end the text. It is one row of an automaton over tokens, computed on demand.
func (p *Matcher) Groups() ([]Group, error) {
	if p.at.padded {
		return nil, nil
	}
	m := p.m
	dst := make(bitset, m.Words())
	if err := p.Mask(dst); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	number := map[configuration]int{}
	var groups []Group
	err := m.each(p.at, dst, func(t int32, c configuration) {
		i, ok := number[c]
		if !ok {
			i = len(groups)
			number[c] = i
			groups = append(groups, Group{At: &Matcher{m: m, at: c}})
		}
		groups[i].Tokens = append(groups[i].Tokens, t)
	})
	return groups, err
}
