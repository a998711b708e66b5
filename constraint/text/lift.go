package text

import (
	"context"
	"errors"
	"fmt"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Lift converts an automaton over bytes (the tokens 0…255) to an automaton over the tokens of a
// vocabulary. The result accepts a token sequence if and only if the given automaton accepts the
// bytes of its text. Any division of the text into tokens is accepted. Padding may follow if the
// vocabulary has any.
//
// Lift takes at most O(Q·T) steps for Q states of the minimal byte automaton and T prefixes of
// token texts. The last four large vocabularies are cached.
//
// The error is one of the following:
//
//   - an error that wraps [constraint.ErrInfeasible] if no token sequence spells a text of the
//     language;
//   - an [*constraint.ArgumentError] if the vocabulary is invalid;
//   - a [*constraint.LimitError] if a limit is exceeded;
//   - the cause of ctx.
func Lift(ctx context.Context, bytes constraint.Automaton, v Vocabulary, limits constraint.Limits) (*constraint.DFA, error) {
	p, err := prepare(v)
	if err != nil {
		return nil, err
	}
	if err := check.Given("text: Lift", "bytes", bytes); err != nil {
		return nil, err
	}
	d, err := constraint.Compile(ctx, bytes, 256, limits)
	if err != nil {
		return nil, err
	}
	return lift(ctx, "Lift", d, p, limits)
}

// lift implements Lift for a compiled byte automaton.
func lift(ctx context.Context, name string, bytes *constraint.DFA, p *prepared, limits constraint.Limits) (*constraint.DFA, error) {
	most := mostPairs
	if limits.Bytes > 0 {
		most = min(most, limits.Bytes/8)
	}
	table, err := liftOnce(ctx, name, bytes, p.trie, len(p.text), p.padding, limits, most)
	if err == nil && table == nil {
		table, err = liftRows(ctx, name, bytes, p, limits)
	}
	if err != nil {
		return nil, err
	}
	d, err := constraint.Compile(ctx, table, len(p.text), limits)
	if errors.Is(err, constraint.ErrInfeasible) {
		return nil, fmt.Errorf("text: %s: no token sequence spells a text of the language: %w", name, constraint.ErrInfeasible)
	}
	return d, err
}

// spell converts an automaton over classes of runes to one over tokens.
func spell(ctx context.Context, name string, overRunes *constraint.DFA, runes *runeClasses, p *prepared, limits constraint.Limits) (*constraint.DFA, error) {
	d, err := constraint.Compile(ctx, newSpelled(overRunes, runes, &p.used), 256, limits)
	if errors.Is(err, constraint.ErrInfeasible) {
		return nil, fmt.Errorf("text: %s: no token sequence spells a text of the language: %w", name, constraint.ErrInfeasible)
	}
	if err != nil {
		return nil, fmt.Errorf("text: %s: %w", name, err)
	}
	if p.bytes { // tokens are bytes already
		return d, nil
	}
	return lift(ctx, name, d, p, limits)
}

// liftRows builds the table over tokens by walking the trie of the vocabulary once for each
// byte state.
func liftRows(ctx context.Context, name string, bytes *constraint.DFA, p *prepared, limits constraint.Limits) (*automata.Table, error) {
	w := &lifter{trie: p.trie, number: make([]int32, bytes.States()+1)}
	w.next, w.classes = bytes.Table()
	w.of, _ = bytes.Classes(256)
	for s := range w.number {
		w.number[s] = -1
	}
	w.stack = make([]int32, w.trie.longest+1)
	w.find(0)
	rows := newColumns(len(p.text))
	var accepting []bool
	padded := bytes.States() // the state after padding
	for head := 0; head < len(w.queue); head++ {
		if poll.Err(ctx) != nil {
			return nil, context.Cause(ctx)
		}
		s := int(w.queue[head])
		w.tokens, w.targets = w.tokens[:0], w.targets[:0]
		accept := s == padded || bytes.Accepting(s)
		if s != padded {
			w.walk(int32(s))
		}
		if accept {
			for _, t := range p.padding {
				w.tokens, w.targets = append(w.tokens, t), append(w.targets, w.find(int32(padded)))
			}
		}
		accepting = append(accepting, accept)
		rows.add(w.tokens, w.targets)
		if err := limits.Check(name, len(w.queue), rows.entries(), 0); err != nil {
			return nil, err
		}
	}
	return rows.table(accepting), nil
}

// lifter walks the trie of a vocabulary, starting from one byte state at a time.
type lifter struct {
	next    []int32 // table of the byte automaton
	classes int
	of      []int32
	trie    *trie
	number  []int32 // row of each byte state, −1 if it has none yet
	queue   []int32 // byte state of each row
	stack   []int32 // byte state at each depth of the trie
	// tokens that are alive in the current row, and the rows to which they lead
	tokens, targets []int32
}

// find returns the row of the byte state s, and assigns one if necessary.
func (w *lifter) find(s int32) int32 {
	if w.number[s] < 0 {
		w.number[s] = int32(len(w.queue))
		w.queue = append(w.queue, s)
	}
	return w.number[s]
}

// walk lists the tokens that are alive in byte state s, with the rows to which they lead.
func (w *lifter) walk(s int32) {
	t := w.trie
	w.stack[0] = s
	for i := 0; i < len(t.symbol); {
		d := t.depth[i]
		to := w.next[int(w.stack[d-1])*w.classes+int(w.of[t.symbol[i]])]
		if to < 0 {
			i = int(t.end[i])
			continue
		}
		w.stack[d] = to
		if t.from[i] < t.to[i] {
			row := w.find(to)
			for _, token := range t.token[t.from[i]:t.to[i]] {
				w.tokens, w.targets = append(w.tokens, token), append(w.targets, row)
			}
		}
		i++
	}
}
