package pushdown

// edge leads a state of a level to a state, a call or an exit of it; its weight
// at a site is entry w.
type edge struct{ from, to, w int32 }

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
	in     []edge
	call   []edge
	out    []edge
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
