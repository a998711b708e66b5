package model

import (
	"math"

	"github.com/gibbsite-go/gibbsite/internal/check"
)

// Repair implements [energy.Supported]: it changes as few tokens as possible. Ties go
// to the smaller tokens, from the left. A state of positive probability is left
// alone; for another one Repair takes time sites·levels^(order+1).
func (m *Markov) Repair(x []int32) {
	defer check.States("model", x, m.levels)
	check.Rows("model", "x", len(x), m.sites)
	var least []int32
	for ; len(x) > 0; x = x[m.sites:] {
		state := x[:m.sites]
		if !math.IsInf(m.cost(state), 1) {
			continue
		}
		if least == nil {
			least = make([]int32, (m.sites-m.order+1)*m.pow[m.order])
		}
		m.changes(least, state)
		m.follow(least, state)
	}
}

// changes stores in row r of least, for every context of site order+r, the
// smallest number of tokens from that site on that must change.
func (m *Markov) changes(least []int32, x []int32) {
	contexts := m.pow[m.order]
	clear(least[(m.sites-m.order)*contexts:])
	for i := m.sites - 1; i >= m.order; i-- {
		now := least[(i-m.order)*contexts:]
		for c := range contexts {
			now[c], _ = m.best(least, x, i, c)
		}
	}
}

// best returns the smallest number of changes from site i on after context c,
// and the token at i that makes it. Every context has a token: its row sums to
// 1.
func (m *Markov) best(least, x []int32, i, c int) (changes, token int32) {
	contexts := m.pow[m.order]
	after := least[(i+1-m.order)*contexts : (i+2-m.order)*contexts]
	changes = math.MaxInt32
	for l := range m.levels {
		f := c*m.levels + l
		if math.IsInf(m.trans[f], 1) {
			continue
		}
		n := after[f%contexts]
		if int32(l) != x[i] {
			n++
		}
		if n < changes {
			changes, token = n, int32(l)
		}
	}
	return changes, token
}

// follow rewrites x along a way with the fewest changes.
func (m *Markov) follow(least, x []int32) {
	at, fewest := 0, int32(math.MaxInt32)
	for c, cost := range m.start {
		if math.IsInf(cost, 1) {
			continue
		}
		n := least[c]
		for j, v := range x[:m.order] {
			if m.digit(c, j) != v {
				n++
			}
		}
		if n < fewest {
			at, fewest = c, n
		}
	}
	for j := range x[:m.order] {
		x[j] = m.digit(at, j)
	}
	for i := m.order; i < m.sites; i++ {
		_, token := m.best(least, x, i, at)
		x[i] = token
		at = (at*m.levels + int(token)) % m.pow[m.order]
	}
}

// digit returns token j of the context c.
func (m *Markov) digit(c, j int) int32 { return int32(c / m.pow[m.order-1-j] % m.levels) }
