package constraint

import (
	"context"
	"slices"
)

// pollEvery is the number of states between two looks at the context: at
// less than 1 ms per state a cancelled compilation ends within a quarter of a
// second.
const pollEvery = 256

// Compile explores the automaton a over tokens 0…levels−1 and returns the
// minimal [DFA] of its language, in O(Q·K) calls of Next for Q reachable
// states and K token classes, and O(Q·K·log Q) for minimisation.
//
// The error wraps [ErrInfeasible] if the language is empty, is a [*LimitError]
// if a limit is hit, or is the cause of the context.
func Compile(ctx context.Context, a Automaton, levels int, limits Limits) (*DFA, error) {
	if levels < 1 {
		return nil, &ArgumentError{"Compile", "levels", levels, "≥ 1"}
	}
	if d, ok := a.(*DFA); ok && d.levels == levels {
		return d, nil
	}
	limits, err := limits.filled("Compile")
	if err != nil {
		return nil, err
	}
	t, err := explore(ctx, "Compile", a, levels, limits)
	if err != nil {
		return nil, err
	}
	return finish(ctx, "Compile", t)
}

// table is an automaton under construction: dense, start state 0, neither
// trimmed nor minimal.
type table struct {
	levels, classes int
	of              []int32
	next            []int32
	accepting       []bool
}

// explore numbers the states of a in breadth-first order.
func explore(ctx context.Context, name string, a Automaton, levels int, limits Limits) (*table, error) {
	t := &table{levels: levels}
	t.of, t.classes = Classes(a, levels)
	rep := representatives(t.of, t.classes)
	number := map[int]int32{a.Start(): 0}
	queue := []int{a.Start()}
	for head := 0; head < len(queue); head++ {
		if head%pollEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		t.accepting = append(t.accepting, a.Accepting(queue[head]))
		for _, token := range rep {
			s := a.Next(queue[head], token)
			if s < 0 {
				t.next = append(t.next, -1)
				continue
			}
			id, ok := number[s]
			if !ok {
				id = int32(len(queue))
				number[s] = id
				queue = append(queue, s)
			}
			t.next = append(t.next, id)
		}
		if err := limits.check(name, len(queue), len(queue)*t.classes, 0); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// finish trims, minimises and numbers a table. The error wraps ErrInfeasible or
// is the cause of the context.
func finish(ctx context.Context, name string, t *table) (*DFA, error) {
	if !t.trim() {
		return nil, infeasible("%s: the language is empty", name)
	}
	block, blocks, err := minimise(ctx, t)
	if err != nil {
		return nil, err
	}
	merged := make([]int32, blocks*t.classes)
	accepting := make([]bool, blocks)
	for s, b := range block {
		accepting[b] = t.accepting[s]
		for c, to := range t.next[s*t.classes : (s+1)*t.classes] {
			if to >= 0 {
				to = block[to]
			}
			merged[int(b)*t.classes+c] = to
		}
	}
	start := block[0]
	t.next, t.accepting = merged, accepting
	t.mergeClasses()
	return t.number(start), nil
}

// trim removes the states that the start does not reach and those that reach no
// accepting state. It reports whether the start is left.
func (t *table) trim() bool {
	n, k := len(t.accepting), t.classes
	reached := make([]bool, n)
	queue := []int32{0}
	reached[0] = true
	into := make([]int32, n+1) // in-degrees, then offsets
	for head := 0; head < len(queue); head++ {
		s := int(queue[head])
		for _, to := range t.next[s*k : (s+1)*k] {
			if to < 0 {
				continue
			}
			into[to+1]++
			if !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
	}
	for s := range n {
		into[s+1] += into[s]
	}
	tail := make([]int32, into[n])
	fill := slices.Clone(into[:n])
	for _, s := range queue {
		for _, to := range t.next[int(s)*k : (int(s)+1)*k] {
			if to >= 0 {
				tail[fill[to]] = s
				fill[to]++
			}
		}
	}
	live := make([]bool, n)
	stack := []int32{}
	for _, s := range queue {
		if t.accepting[s] {
			live[s] = true
			stack = append(stack, s)
		}
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, p := range tail[into[s]:into[s+1]] {
			if !live[p] {
				live[p] = true
				stack = append(stack, p)
			}
		}
	}
	if !live[0] {
		return false
	}
	t.keep(live)
	return true
}

// keep drops the states that are not live.
func (t *table) keep(live []bool) {
	id := make([]int32, len(live))
	n := int32(0)
	for s, ok := range live {
		id[s] = -1
		if ok {
			id[s] = n
			n++
		}
	}
	next := make([]int32, 0, int(n)*t.classes)
	accepting := make([]bool, 0, n)
	for s, ok := range live {
		if !ok {
			continue
		}
		accepting = append(accepting, t.accepting[s])
		for _, to := range t.next[s*t.classes : (s+1)*t.classes] {
			if to >= 0 {
				to = id[to]
			}
			next = append(next, to)
		}
	}
	t.next, t.accepting = next, accepting
}

// mergeClasses unites classes whose columns are equal and numbers them by
// their first token.
func (t *table) mergeClasses() {
	k := t.classes
	hash := make([]uint64, k)
	for i, to := range t.next {
		// FNV-1a over words; equality is checked below, so any mixing does.
		hash[i%k] = (hash[i%k] ^ uint64(uint32(to))) * 0x100000001b3
	}
	chosen := map[uint64][]int32{} // hash → classes that stand for themselves
	newOf := make([]int32, k)
	for c := range newOf {
		newOf[c] = -1
	}
	var kept []int32
	of := make([]int32, len(t.of))
	for token, c := range t.of {
		if newOf[c] < 0 {
			newOf[c] = int32(len(kept))
			same := false
			for _, d := range chosen[hash[c]] {
				if t.equalColumns(int(c), int(d)) {
					newOf[c], same = newOf[d], true
					break
				}
			}
			if !same {
				chosen[hash[c]] = append(chosen[hash[c]], c)
				kept = append(kept, c)
			}
		}
		of[token] = newOf[c]
	}
	next := make([]int32, 0, len(t.accepting)*len(kept))
	for s := range t.accepting {
		for _, c := range kept {
			next = append(next, t.next[s*k+int(c)])
		}
	}
	t.of, t.classes, t.next = of, len(kept), next
}

func (t *table) equalColumns(c, d int) bool {
	for i := 0; i < len(t.next); i += t.classes {
		if t.next[i+c] != t.next[i+d] {
			return false
		}
	}
	return true
}

// number renumbers the states in breadth-first order from start.
func (t *table) number(start int32) *DFA {
	n, k := len(t.accepting), t.classes
	id := make([]int32, n)
	for s := range id {
		id[s] = -1
	}
	id[start] = 0
	order := make([]int32, 1, n)
	order[0] = start
	d := &DFA{levels: t.levels, classes: k, of: t.of, next: make([]int32, 0, n*k), accepting: make([]bool, 0, n)}
	for head := 0; head < len(order); head++ {
		s := int(order[head])
		d.accepting = append(d.accepting, t.accepting[s])
		for _, to := range t.next[s*k : (s+1)*k] {
			if to >= 0 {
				if id[to] < 0 {
					id[to] = int32(len(order))
					order = append(order, to)
				}
				to = id[to]
			}
			d.next = append(d.next, to)
		}
	}
	return d
}
