package grammar

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// never is a length greater than that of any text. It marks places from which no text can be
// completed.
const never = math.MaxInt32 / 4

// lengths computes the least number of bytes that complete a text. It works for networks
// without gates.
type lengths struct {
	r *runs
	// least number of bytes from the beginning of each node to the end of its rule
	node []int32
	// distances from each state of an automaton in the network to the nodes that can follow the
	// automaton
	in map[item]distances
	// least number of bytes from the end of a rule to the end of the text, by stack and rule
	on   map[[2]int]int32
	most int // the largest number of bytes needed to complete a rule from one of its nodes
}

// distances holds the least numbers of bytes from a state of an automaton in the network to
// each node that can follow the automaton.
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

// rest returns the least number of bytes from the item x to the end of the rule. x is a state
// of an automaton in the network.
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

// distances computes the distances from the item x by a breadth-first search of its automaton.
// The search stops once every node that can follow the automaton has been found.
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

// after returns the least number of bytes from the end of a rule to the end of the text, where
// the symbol on top of the stack has called the rule.
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

// least returns the least number of bytes that complete the configuration c.
func (l *lengths) least(c configuration) int {
	if c.state < 0 {
		return never
	}
	d := int32(never)
	for _, p := range l.r.itemsOf(c.state) {
		x := l.r.items.Values[p]
		here := l.node[x.node]
		if l.r.n.nodes[x.node].scalar != nil {
			here = l.rest(x)
		}
		d = min(d, here+l.after(c.stack, l.r.of[x.node]))
	}
	return int(d)
}

// MaskWithin is like [Matcher.Mask] for a text of limited length. At most budget tokens may still
// follow, including the next one. MaskWithin allows a token if at most budget − 1 further bytes can
// complete the text. The vocabulary must have a token for every byte, so a text that follows the
// masks can always end in time. With tokens of several bytes, some rejected texts could end in time
// too. With [MasksOf], MaskWithin counts tokens instead of bytes. If no token qualifies, the mask
// is empty.
//
// The error is an [*constraint.ArgumentError] if budget < 0 or the vocabulary lacks a byte. It
// wraps [errors.ErrUnsupported] if parts of the schema are read side by side (see [JSONSchema]).
func (p *Matcher) MaskWithin(dst []uint32, budget int) error {
	m := p.m
	if budget < 0 {
		return &constraint.ArgumentError{Func: "Matcher.MaskWithin", Arg: "budget", Value: budget, Want: "≥ 0"}
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
	if need := needs(p.at); need < never && budget > need+most {
		return nil
	}
	known := map[configuration]bool{}
	return m.each(p.at, dst, func(t int32, c configuration) {
		ok, is := known[c]
		if !is {
			ok = needs(c) <= budget-1
			known[c] = ok
		}
		if !ok {
			bitset(dst).clear(t)
		}
	})
}

// needs returns a function for the least number of bytes that complete a text from a
// configuration, and an upper bound on the amount by which one token can increase this number.
// For an automaton over tokens, tokens are counted instead of bytes.
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

// each calls f for every token in mask that spells a text or that an automaton allows, with the
// configuration after the token.
func (m *Masks) each(at configuration, mask bitset, f func(t int32, c configuration)) error {
	for w, x := range mask {
		for ; x != 0; x &= x - 1 {
			t := int32(32*w + bits.TrailingZeros32(x))
			if !m.v.spell[t] && m.dfa == nil {
				continue
			}
			if c := m.step(at, t); c.state >= 0 { // not a token that only ends a text
				f(t, c)
			}
		}
	}
	return m.checked()
}

// Group is a set of tokens that all lead the matcher to the same state.
type Group struct {
	Tokens []int32
	At     *Matcher // matcher at the position after any of the tokens
}

// Groups returns the tokens that may come next, except those that end the text. Tokens that lead
// the matcher to the same state form one group, because the same texts may follow them. Code that
// explores the texts token by token can then follow one token of each group instead of all.
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
			groups = append(groups, Group{At: m.at(c)})
		}
		groups[i].Tokens = append(groups[i].Tokens, t)
	})
	return groups, err
}
