package pushdown

import (
	"context"
	"math"
	"math/big"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/automata"
	"github.com/gibbsite-go/gibbsite/internal/poll"
)

// Graph is a pushdown automaton over tokens, made from a Machine by [Lift]. It is immutable.
type Graph struct {
	m       *Machine
	v       *Vocabulary
	blocks  blocks // tokens of each class
	weights weights
	levels  []level
	starts  []start
	order   []int32 // reachable starts, ordered so that each start follows the start in its field sub
	top     int32   // level of the machine's start state
	local   []int32 // number of each machine state within its level, −1 if the state is unreachable
	begin   int32   // number of the machine's start state within the top level
	plan    *plan

	once  sync.Once
	class []int32 // see the method classes

	listed sync.Once
	most   []int32 // tokens of the class that is stored as a set, see the method members
}

// weights holds the classes of each weight. The weight W_j[w] at site j is the sum over the tokens of
// these classes. No two weights have the same classes, so many edges share a weight.
type weights struct{ from, classes []int32 }

func newWeights(lists [][]int32) weights {
	w := weights{from: make([]int32, 1, len(lists)+1), classes: slices.Concat(lists...)}
	for _, x := range lists {
		w.from = append(w.from, w.from[len(w.from)-1]+int32(len(x)))
	}
	return w
}

func (w *weights) count() int { return len(w.from) - 1 }

// of returns the classes of weight i in ascending order.
func (w *weights) of(i int32) []int32 { return w.classes[w.from[i]:w.from[i+1]] }

// Tokens returns the number of tokens.
func (g *Graph) Tokens() int { return g.v.Tokens() }

// members returns the tokens of a class in ascending order.
func (g *Graph) members(class int) []int32 {
	b := &g.blocks
	if class != b.great {
		return b.token[b.from[b.class[class]]:b.from[b.class[class+1]]]
	}
	g.listed.Do(func() {
		var scratch tokenBuffer
		for i := b.class[class]; i < b.class[class+1]; i++ {
			g.most = append(g.most, b.tokens(i, &scratch)...)
		}
	})
	return g.most
}

// greatest returns the greatest weight of the tokens of all classes, or NaN if a weight is NaN.
func (g *Graph) greatest(row []float32) float64 {
	m := float32(math.Inf(-1))
	for k := range g.blocks.classes() {
		for _, t := range g.members(k) {
			m = max(m, row[t])
		}
	}
	return float64(m)
}

// alive reports whether a class has a token whose log-weight exceeds −Inf.
func (g *Graph) alive(class int, row []float32) bool {
	return slices.ContainsFunc(g.members(class), func(t int32) bool { return row[t] > float32(math.Inf(-1)) })
}

// classes returns the class of each token, −1 if the token is dead in every state.
func (g *Graph) classes() []int32 {
	g.once.Do(func() {
		g.class = slices.Repeat([]int32{-1}, g.Tokens())
		for c := range g.blocks.classes() {
			for _, t := range g.members(c) {
				g.class[t] = int32(c)
			}
		}
	})
	return g.class
}

// Size returns the number of states, token classes and edges.
func (g *Graph) Size() (states, classes, edges int) {
	for i := range g.levels {
		v := &g.levels[i]
		states += len(v.states)
		edges += v.edges()
	}
	return states, g.blocks.classes(), edges
}

// Accepts reports whether the tokens spell a text of the language, possibly followed by
// padding.
func (g *Graph) Accepts(x []int32) bool {
	c, class, ended := g.m.Begin(), g.classes(), false
	for _, t := range x {
		switch {
		case t < 0 || int(t) >= g.v.Tokens():
			return false
		case slices.Contains(g.v.Pad, t):
			ended = true
			continue
		case ended || class[t] < 0:
			return false
		}
		var ok bool
		if c, ok = g.m.Read(c, g.v.Text(t)); !ok {
			return false
		}
	}
	return len(c.Stack) == 0 && g.m.Accept[c.State]
}

// Machine returns the machine over bytes from which [Lift] made the graph.
func (g *Graph) Machine() *Machine { return g.m }

// Vocabulary returns the vocabulary whose tokens the graph reads.
func (g *Graph) Vocabulary() *Vocabulary { return g.v }

// Spells reports whether the token can occur in a text of the language: the token is not padding,
// and some state can read it.
func (g *Graph) Spells(token int32) bool {
	return g.classes()[token] >= 0 && !slices.Contains(g.v.Pad, token)
}

// Classes returns the class of every token 0…levels−1, and the number of classes. Tokens of a class
// have the same effect in every state. Tokens that no state can read share a class.
func (g *Graph) Classes(levels int) (of []int32, n int) {
	class := g.classes()
	return automata.ClassesBy(levels, func(token int32) int32 {
		if int(token) < len(class) {
			return class[token]
		}
		return -1
	})
}

// halfCall returns the index in v of the call with which start s begins at a half-position.
func (g *Graph) halfCall(v *level, s int) int {
	x := g.starts[s]
	for k, c := range v.calls {
		if c.start == x.sub && v.groups[c.group].symbol == x.symbol {
			return k
		}
	}
	panic("pushdown: a start without its call")
}

// reach sets need, indexed by site and start, to whether the start may be called at the site in any
// context. It returns the last position that a run can reach. The function alive reports whether an
// edge weight of a site is positive. Because reach does not match returns to their calls, it may
// mark too many starts, but it costs no more than reading the edges of every site.
func (g *Graph) reach(need [][]bool, alive func(site int, w int32) bool) (far int) {
	n := len(g.levels)
	here, next := make([][]bool, n), make([][]bool, n)
	called := make([][]bool, n) // groups whose call lies behind
	for lv := range g.levels {
		v := &g.levels[lv]
		here[lv], next[lv] = make([]bool, len(v.states)), make([]bool, len(v.states))
		called[lv] = make([]bool, len(v.groups))
	}
	for _, x := range need {
		clear(x)
	}
	here[g.top][g.begin] = true
	for j := range need {
		any := false
		for lv := range next {
			clear(next[lv])
			for _, q := range here[lv] {
				any = any || q
			}
		}
		if !any {
			return far
		}
		far = j
		left, calls := make([][]bool, n), make([][]bool, n) // exits and calls at this site
		for lv := range g.levels {
			v := &g.levels[lv]
			left[lv], calls[lv] = make([]bool, len(v.exits)), make([]bool, len(v.calls))
			mark := func(f *algebra.Fan, to []bool) {
				for t := range to {
					to[t] = slices.ContainsFunc(f.To(t), func(e algebra.Source) bool { return here[lv][e.From] && alive(j, e.W) })
				}
			}
			mark(&v.in, next[lv])
			mark(&v.call, calls[lv])
			mark(&v.out, left[lv])
		}
		g.resume(next, called, left, calls)
		for lv := range calls {
			for k, yes := range calls[lv] {
				if yes {
					g.enter(need[j], int32(lv), k, next, called)
				}
			}
		}
		here, next = next, here
	}
	return len(need)
}

// resume follows the returns of one site until no new state, exit or call is found.
func (g *Graph) resume(next, called, left, calls [][]bool) {
	for again := true; again; {
		again = false
		for lv := range g.levels {
			v := &g.levels[lv]
			for i := range v.groups {
				if !called[lv][i] {
					continue
				}
				for k, to := range v.groups[i].resume {
					if !left[v.groups[i].callee][k] {
						continue
					}
					if to.state >= 0 {
						next[lv][to.state] = true
					} else if to.half >= 0 {
						h := v.halves[to.half]
						at := &calls[lv]
						n := h.call
						if n < 0 {
							at, n = &left[lv], h.exit
						}
						again = again || !(*at)[n]
						(*at)[n] = true
					}
				}
			}
		}
	}
}

// enter marks the start of call k as needed, and also the starts that this start calls in turn at
// the same site.
func (g *Graph) enter(need []bool, lv int32, k int, next, called [][]bool) {
	for {
		c := g.levels[lv].calls[k]
		called[lv][c.group] = true
		need[c.start] = true
		s := g.starts[c.start]
		lv = s.level
		if s.q >= 0 {
			next[lv][g.local[s.q]] = true
			return
		}
		k = g.halfCall(&g.levels[lv], int(c.start))
	}
}

// Count returns the number of accepted sequences of the given length. It counts only sequences x
// for which allowed(i, x_i) is true at every site i. Count fails only if ctx ends; the error is the
// cause of ctx.
func (g *Graph) Count(ctx context.Context, sites int, allowed func(site int, token int32) bool) (*big.Int, error) {
	f := newFilter[*big.Int, algebra.Counts](g, sites)
	f.meter = new(poll.Meter)
	if f.meter.Watch(ctx); f.meter.Poll() != nil {
		return nil, f.meter.Err()
	}
	for i := range sites {
		class := make([]*big.Int, g.blocks.classes())
		for k := range class {
			n := int64(0)
			for _, t := range g.members(k) {
				if allowed(i, t) {
					n++
				}
			}
			if n > 0 {
				class[k] = big.NewInt(n)
			}
		}
		f.weigh(i, class)
	}
	n := f.inside()
	if n == nil {
		n = new(big.Int)
	}
	return n, f.meter.Err()
}

// Cells returns the maximum number of sums that a [Runner] stores for sequences of the given
// length. Each sum covers the ways to read one span, a part of the sequence.
func (g *Graph) Cells(sites int) int {
	n := 0
	for _, s := range g.order {
		n += len(g.levels[g.starts[s].level].exits)
	}
	return n * sites * sites / 2
}
