package automata

import (
	"slices"
)

// trim removes the states that the start does not reach and those that reach no
// accepting state. It reports whether the start is left.
func (t *Table) trim() bool {
	n := len(t.Final)
	reached := make([]bool, n)
	queue := []int32{0}
	reached[0] = true
	into := make([]int32, n+1) // in-degrees, then offsets
	for head := 0; head < len(queue); head++ {
		s := int(queue[head])
		for _, to := range t.row(s) {
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
		for _, to := range t.row(int(s)) {
			if to >= 0 {
				tail[fill[to]] = s
				fill[to]++
			}
		}
	}
	live := make([]bool, n)
	stack := []int32{}
	for _, s := range queue {
		if t.Final[s] {
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
func (t *Table) keep(live []bool) {
	id := make([]int32, len(live))
	n := int32(0)
	for s, ok := range live {
		id[s] = -1
		if ok {
			id[s] = n
			n++
		}
	}
	next := make([]int32, 0, int(n)*t.Width)
	accepting := make([]bool, 0, n)
	for s, ok := range live {
		if !ok {
			continue
		}
		accepting = append(accepting, t.Final[s])
		for _, to := range t.row(s) {
			if to >= 0 {
				to = id[to]
			}
			next = append(next, to)
		}
	}
	t.To, t.Final = next, accepting
}
