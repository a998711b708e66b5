package text

import (
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/automata"
)

// columns builds a transition table over a large vocabulary row by row. It stores one column
// for each class of tokens whose columns are equal so far, not one per token. A new row that
// distinguishes tokens of a class splits the class and copies its column.
type columns struct {
	of   []int32   // class of each token
	size []int32   // number of tokens in each class
	col  [][]int32 // column of each class, one entry per row
	rows int

	// groups of the tokens of a row with the same class and target
	group []group
	in    []int32            // index in group of each listed token
	first []int32            // index in group of the first group of each class, −1 if none
	more  map[[2]int32]int32 // indices in group of the other groups, by class and target
}

type group struct{ class, target, count, id int32 }

func newColumns(levels int) *columns {
	return &columns{
		of:    make([]int32, levels),
		size:  []int32{int32(levels)},
		col:   [][]int32{nil},
		first: []int32{-1},
		more:  make(map[[2]int32]int32),
	}
}

// add appends a row in which tokens[i] leads to targets[i] ≥ 0. Every token that is not listed
// leads to −1. No token may be listed twice.
func (c *columns) add(tokens, targets []int32) {
	c.collect(tokens, targets)
	for k := range c.col {
		c.col[k] = append(c.col[k], -1)
	}
	moved := false
	left := slices.Clone(c.size)
	for _, g := range c.group {
		left[g.class] -= g.count
	}
	for i := range c.group {
		g := &c.group[i]
		first := int(c.first[g.class]) == i
		if first && left[g.class] == 0 {
			g.id = g.class // the class has no dead tokens: its first group keeps it
		} else {
			g.id = int32(len(c.col))
			c.col = append(c.col, slices.Clone(c.col[g.class]))
			c.size = append(c.size, g.count)
			c.size[g.class] -= g.count
			moved = true
		}
	}
	for _, g := range c.group {
		c.col[g.id][c.rows] = g.target
		c.first[g.class] = -1
	}
	for len(c.first) < len(c.col) {
		c.first = append(c.first, -1)
	}
	if moved {
		for i, t := range tokens {
			c.of[t] = c.group[c.in[i]].id
		}
	}
	c.rows++
}

// collect divides the listed tokens into groups with the same class and target.
func (c *columns) collect(tokens, targets []int32) {
	c.group, c.in = c.group[:0], c.in[:0]
	clear(c.more)
	for i, t := range tokens {
		class, target := c.of[t], targets[i]
		g := c.first[class]
		switch {
		case g < 0:
			g = c.open(class, target)
			c.first[class] = g
		case c.group[g].target != target:
			var ok bool
			if g, ok = c.more[[2]int32{class, target}]; !ok {
				g = c.open(class, target)
				c.more[[2]int32{class, target}] = g
			}
		}
		c.group[g].count++
		c.in = append(c.in, g)
	}
}

func (c *columns) open(class, target int32) int32 {
	c.group = append(c.group, group{class: class, target: target})
	return int32(len(c.group) - 1)
}

// entries returns the number of entries of the table so far.
func (c *columns) entries() int { return c.rows * len(c.col) }

// table returns all rows as a table. accepting[r] states whether the state of row r accepts.
func (c *columns) table(accepting []bool) *automata.Table {
	k := len(c.col)
	t := &automata.Table{Class: c.of, Width: k, To: make([]int32, c.rows*k), Final: accepting}
	for j, col := range c.col {
		for r, to := range col {
			t.To[r*k+j] = to
		}
	}
	return t
}
