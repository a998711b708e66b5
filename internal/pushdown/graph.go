package pushdown

import (
	"slices"
)

// Graph is a machine over tokens. It is immutable.
type Graph struct {
	m       *Machine
	v       *Vocabulary
	members [][]int32 // tokens of each class
	class   []int32   // of each token, −1 if it is dead everywhere
	weights [][]int32 // classes of each weight: W_j[w] = Σ of their sums
	levels  []level
	starts  []start
	order   []int32 // reachable starts, each after its sub
	top     int32   // the level of the machine's start
	local   []int32 // number of a state in its level, −1 if unreachable
	begin   int32   // local number of the start
	plan    *plan
	blocks  blocks
}

// Tokens returns the number of tokens.
func (g *Graph) Tokens() int { return len(g.v.Tokens) }

// Size returns the number of states, token classes and edges.
func (g *Graph) Size() (states, classes, edges int) {
	for i := range g.levels {
		v := &g.levels[i]
		states += len(v.states)
		edges += len(v.in) + len(v.call) + len(v.out)
	}
	return states, len(g.members), edges
}

// Accepts reports whether the tokens spell a text of the language, and padding
// after it.
func (g *Graph) Accepts(x []int32) bool {
	c, ended := g.m.Begin(), false
	for _, t := range x {
		switch {
		case t < 0 || int(t) >= len(g.v.Tokens):
			return false
		case slices.Contains(g.v.Pad, t):
			ended = true
			continue
		case ended || g.class[t] < 0:
			return false
		}
		var ok bool
		if c, ok = g.m.Read(c, g.v.Tokens[t]); !ok {
			return false
		}
	}
	return len(c.Stack) == 0 && g.m.Accept[c.State]
}

// Machine returns the machine that was lifted.
func (g *Graph) Machine() *Machine { return g.m }

// Vocabulary returns the vocabulary it was lifted to.
func (g *Graph) Vocabulary() *Vocabulary { return g.v }

// Spells reports whether a token is alive anywhere and no padding.
func (g *Graph) Spells(token int32) bool {
	return g.class[token] >= 0 && !slices.Contains(g.v.Pad, token)
}

// Classes returns the class of every token below levels, those that are dead
// everywhere in one of their own, and the number of classes.
func (g *Graph) Classes(levels int) (of []int32, n int) {
	of = make([]int32, levels)
	number := map[int32]int32{}
	for t := range of {
		c := int32(-1)
		if t < len(g.class) {
			c = g.class[t]
		}
		k, ok := number[c]
		if !ok {
			k = int32(len(number))
			number[c] = k
		}
		of[t] = k
	}
	return of, len(number)
}
