package pushdown

import (
	"cmp"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/algebra"
)

// call pushes the symbol of its group and enters the start.
type call struct{ group, start int32 }

// group is the calls of a level that push one symbol and enter one level.
type group struct {
	symbol, callee int32
	calls          []int32
	resume         []node // by exit of the callee
}

// node is where a level goes on: at a state, at a half-position, or nowhere
// (both −1).
type node struct{ state, half int32 }

// half is a half-position: the rest of its token calls or leaves the level.
type half struct{ call, exit int32 }

// level is one level of a graph, with numbers of its own for what is reachable
// in it.
type level struct {
	states []int32 // of the machine; its number of states is the padding state
	final  []bool
	in     []algebra.Arrow
	call   []algebra.Arrow
	out    []algebra.Arrow
	calls  []call
	groups []group
	halves []half
	exits  []int32 // of the reader
}

// start is how a level is entered: at state q, or (q < 0) at a half-position
// whose next move is a call of symbol with the start sub. depth is the number
// of such calls: a start is computed after its sub.
type start struct {
	level, q, symbol, sub, depth int32
}

// fan is the edges of one kind in a level, by target: those to t are
// at[t]…at[t+1].
type fan struct{ at, from, w []int32 }

func newFan(es []algebra.Arrow, targets int) fan {
	es = slices.Clone(es)
	slices.SortStableFunc(es, func(a, b algebra.Arrow) int { return cmp.Compare(a.To, b.To) })
	f := fan{at: make([]int32, targets+1)}
	for _, e := range es {
		f.at[e.To+1]++
		f.from, f.w = append(f.from, e.From), append(f.w, e.W)
	}
	for t := range targets {
		f.at[t+1] += f.at[t]
	}
	return f
}

// merged is the exits of a callee after which a level goes on at one place.
type merged struct {
	place int32
	exits []int32
}

// arrangement is a level in the order in which package code of spans goes
// through it.
type arrangement struct {
	in, call, out fan
	places        []node     // where the level goes on after returns
	nodes         [][]merged // by group
	callOf        [][]int32  // [group][number of the start in the callee]: the call, −1
}

// round is the returns of one group that are complete at one time: exits feed
// half-positions, which feed exits with shorter rests, so that rounds go by
// descending depth of exits.
type round struct {
	depth, level, group int32
	nodes               []merged
}

// plan is what spans need to know about a graph.
type plan struct {
	levels []arrangement
	rounds []round
	number []int32 // of every start in its level
}
