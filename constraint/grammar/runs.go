package grammar

import (
	"errors"
	"slices"

	"github.com/gibbsite-go/gibbsite/internal/pushdown"
)

// runs follows the runs of a trimmed network with numbered stacks, and determines for every
// configuration whether some text completes it. Its methods store the first error in err and
// treat results that could not be computed as dead.
type runs struct {
	*subsets
	stacks
	// true if the network has gates; free, under, lives, sums and tried are used only then
	gated bool
	free  []bool      // nodes from which the end of their rule can be reached without a gate
	of    []int32     // rule of each node
	under []condition // condition on the rest of a text for every stack, by its number
	lives map[configuration]bool
	sums  map[int32]*summary
	tried map[int32]bool // states for which the search exceeded its bounds

	opens map[testState]openness
	reads readings
	loops []loopKinds // results of loop by state
	bytes []byte      // scratch of scalarMoves
	moves [256]int32  // result of scalarMoves, valid until the next call
	err   error
}

// condition tells which rules, when completed on top of a stack, let the rest of the text be
// completed without a gate. depth is the height of the stack.
type condition struct {
	all   bool    // true if every rule may be completed here
	good  []int32 // rules that may be completed here; unused if all is true
	depth int
}

func newRuns(n *network, free []bool) *runs {
	r := &runs{subsets: newSubsets(n), stacks: newStacks(), gated: len(n.gates) > 0, opens: map[testState]openness{}, reads: readings{lists: make([]itemList, 1)}}
	if r.gated {
		r.free, r.of = free, n.rulesOfNodes()
		r.under, r.lives, r.sums = []condition{{all: true}}, map[configuration]bool{}, map[int32]*summary{}
		r.tried = map[int32]bool{}
	}
	return r
}

func (r *runs) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// nowhere is the dead configuration.
var nowhere = configuration{state: -1}

// move returns the encoded move of state q on the byte b, computing it if necessary.
func (r *runs) move(q int32, b byte) code {
	if k := r.known(q, b); k != unknown {
		return k
	}
	if r.states[q].shape < 0 && len(r.itemsOf(q)) <= wide && !r.bounded(q) {
		r.fill(q)
		if k := r.known(q, b); k != unknown {
			return k
		}
	}
	return r.compute(q, b)
}

// bounded reports whether state q consists of a single string with a restricted length or text.
// Such a string has a state for every number of characters, and a text uses only a few moves of
// each.
func (r *runs) bounded(q int32) bool {
	parts := r.itemsOf(q)
	if len(parts) != 1 {
		return false
	}
	t, is := r.n.nodes[r.items.Values[parts[0]].node].scalar.(*table)
	if !is {
		return false
	}
	a, is := t.automaton.(*stringAutomaton)
	return is && (a.least > 0 || a.most >= 0 || len(a.tests) > 0)
}

// compute computes the encoded move of state q on b. On an error it returns dead and records
// the error.
func (r *runs) compute(q int32, b byte) code {
	m, err := r.code(q, b)
	if err != nil {
		r.fail(err)
		return dead
	}
	return m
}

// wide is the largest number of items for which all moves of a state are computed at once. For
// larger states, moves are computed one by one when needed.
const wide = 24

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// step returns the configuration after the byte b. The result may be one that no text
// completes; use alive to check.
func (r *runs) step(c configuration, b byte) configuration { return r.follow(c, r.move(c.state, b)) }

// follow returns the configuration after the encoded move m.
func (r *runs) follow(c configuration, m code) configuration {
	if m == dead {
		return nowhere
	}
	switch pushdown.Kind(m & 3) {
	case pushdown.Inside:
		return configuration{state: int32(m >> 2), stack: c.stack}
	case pushdown.Call:
		k := r.calls[m>>2]
		return configuration{state: k.To, stack: r.push(c.stack, k.Symbol)}
	}
	if c.stack == 0 {
		return nowhere
	}
	top := r.stacks.list[c.stack]
	q, err := r.resume(top.symbol, int32(m>>2))
	if err != nil {
		r.fail(err)
	}
	if q < 0 || err != nil {
		return nowhere
	}
	return configuration{state: q, stack: top.below}
}

// seek is step without computing anything new. It reports whether everything it needed was
// already known.
func (r *runs) seek(c configuration, b byte) (configuration, bool) {
	m := r.known(c.state, b)
	if m == unknown {
		return nowhere, false
	}
	if m == dead {
		return nowhere, true
	}
	switch pushdown.Kind(m & 3) {
	case pushdown.Inside:
		return configuration{state: int32(m >> 2), stack: c.stack}, true
	case pushdown.Call:
		k := r.calls[m>>2]
		i, ok := r.stacks.push[frame{c.stack, k.Symbol}]
		return configuration{state: k.To, stack: i}, ok
	}
	if c.stack == 0 {
		return nowhere, true
	}
	top := r.stacks.list[c.stack]
	q, ok := r.resumed[[2]int32{top.symbol, int32(m >> 2)}]
	if q < 0 {
		return nowhere, ok
	}
	return configuration{state: q, stack: top.below}, ok
}

// push returns the index of the stack with symbol on top of the stack below, and computes its
// condition if there are gates.
func (r *runs) push(below int, symbol int32) int {
	i := r.over(frame{below, symbol})
	if !r.gated || i < len(r.under) {
		return i
	}
	on, w := r.under[below], &r.waits[symbol]
	c := condition{depth: on.depth + 1}
	for _, k := range w.calls {
		if r.free[k.to] && (on.all || slices.Contains(on.good, r.of[k.to])) && !slices.Contains(c.good, k.rule) {
			c.good = append(c.good, k.rule)
		}
	}
	c.all = len(c.good) == len(r.rules[w.callee])
	r.under = append(r.under, c)
	return i
}

// accepts reports whether a text may end in the configuration c.
func (r *runs) accepts(c configuration) bool {
	return c.stack == 0 && c.state >= 0 && r.subsets.accepts(c.state)
}

// alive reports whether some text completes the configuration c.
func (r *runs) alive(c configuration) bool {
	if c.state < 0 || !r.gated {
		return c.state >= 0
	}
	if r.surely(c) {
		return true
	}
	if r.err != nil {
		return false
	}
	ok, known := r.lives[c]
	if !known {
		ok = r.search(c)
		if r.err == nil {
			r.lives[c] = ok
		}
	}
	return ok
}

// surely reports whether c can be completed without a gate: some item can complete its rule,
// and the rest of the stack can then be completed.
func (r *runs) surely(c configuration) bool {
	f := &r.under[c.stack]
	return slices.ContainsFunc(r.itemsOf(c.state), func(p int32) bool {
		x := r.items.Values[p]
		return r.free[x.node] && (f.all || slices.Contains(f.good, r.of[x.node]))
	})
}

// Bounds of the first two searches for a completion through gates: depths is the number of
// frames by which the stack may grow, and patience the number of configurations visited.
var (
	depths   = [2]int{1, 3}
	patience = [2]int{600, 2400}
)

// search looks for a text that completes c through gates. It first searches nearby
// configurations. Then it computes what every state of the level can return.
func (r *runs) search(c configuration) bool {
	if r.tried[c.state] {
		r.fail(errUndecided)
		return false
	}
	for i, more := range depths {
		if ok, sure := r.dive(c, r.under[c.stack].depth+more, patience[i]); sure {
			return ok
		}
	}
	return r.summarise(c.state) && r.meets(c)
}

// errUndecided means that the searches could not decide within their bounds whether a text can
// be completed.
var errUndecided = errors.New("grammar: masks: not, oneOf, if or dependencies leave it undecided within bounds whether the text can be completed")

// dive looks for a completion of c with a stack no higher than deep, visiting at most patience
// configurations. sure is false if the search was cut off.
func (r *runs) dive(c configuration, deep, patience int) (ok, sure bool) {
	type place struct {
		c    configuration
		next []configuration
	}
	seen := map[configuration]bool{c: true}
	if r.accepts(c) {
		return true, true
	}
	path := []place{{c, r.successors(c)}}
	cut := false
	for len(path) > 0 {
		p := &path[len(path)-1]
		if len(p.next) == 0 {
			path = path[:len(path)-1]
			continue
		}
		n := p.next[0]
		p.next = p.next[1:]
		if seen[n] {
			continue
		}
		if r.under[n.stack].depth > deep {
			cut = true
			continue
		}
		seen[n] = true
		known, is := r.lives[n]
		if is && !known {
			continue
		}
		if is || r.accepts(n) || r.surely(n) {
			for _, x := range path {
				r.lives[x.c] = true
			}
			r.lives[n] = true
			return true, true
		}
		if len(seen) > patience {
			return false, false
		}
		path = append(path, place{n, r.successors(n)})
	}
	if cut || r.err != nil {
		return false, false
	}
	for x := range seen {
		r.lives[x] = false
	}
	return false, true
}

// successors returns the configurations that may follow c, without duplicates and with those
// that end a rule first. A call of a single rule that can be completed without a gate is
// replaced by its return.
func (r *runs) successors(c configuration) (next []configuration) {
	var done []code
	var later, last []configuration
	for _, b := range likely {
		m := r.move(c.state, b)
		if m == dead || slices.Contains(done, m) {
			continue
		}
		done = append(done, m)
		switch pushdown.Kind(m & 3) {
		case pushdown.Inside:
			later = append(later, r.follow(c, m))
		case pushdown.Return:
			if n := r.follow(c, m); n.state >= 0 {
				next = append(next, n)
			}
		default:
			g := r.calls[m>>2].Symbol
			if rules := r.rules[r.waits[g].callee]; !r.simple(rules) {
				last = append(last, r.follow(c, m))
			} else if n := r.follow(c, r.returned(g, rules)); n.state >= 0 {
				last = append(last, n)
			}
		}
	}
	return append(append(next, later...), last...)
}

// simple reports whether a level consists of a single rule that can be completed without a
// gate.
func (r *runs) simple(rules []int32) bool {
	return len(rules) == 1 && r.free[r.n.rules[rules[0]].start]
}

// returned returns the encoded move of a caller after its callee has completed the given rules.
// symbol is the stack symbol of the call.
func (r *runs) returned(symbol int32, rules []int32) code {
	return r.encode(r.settle(r.waits[symbol].level, r.after(symbol, r.ending(rules))))
}

// summary lists the return symbols with which the level of a state can end when started in that
// state. endOfText stands for the end of the text.
type summary struct {
	returns map[int32]bool
	from    map[int32]bool // states of the same level that lead to this state
	// pairs of a calling state and stack symbol whose callee starts in this state
	callers map[[2]int32]bool
}

const endOfText = -2

// summaries bounds the number of states that one search explores. Exploring them takes about a
// second.
const summaries = 1 << 13

// summarise computes the summary of q and of all states that it needs, in its level and in
// called levels. It reports whether it could stay within the bounds.
func (r *runs) summarise(q int32) bool {
	if r.sums[q] != nil {
		return true
	}
	if r.tried[q] {
		r.fail(errUndecided)
		return false
	}
	x := &summaryRun{runs: r, most: len(r.sums) + summaries}
	x.of(q)
	for len(x.todo) > 0 || len(x.gains) > 0 {
		if n := len(x.gains); n > 0 {
			g := x.gains[n-1]
			x.gains = x.gains[:n-1]
			s := r.sums[g.state]
			for p := range s.from {
				x.add(p, g.returned)
			}
			for w := range s.callers {
				if g.returned >= 0 {
					x.back(w[0], w[1], g.returned)
				}
			}
			continue
		}
		at := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		if len(r.sums) > x.most {
			r.fail(errUndecided)
			r.tried[q] = true
		}
		if r.err != nil {
			clear(r.sums) // some are not complete
			return false
		}
		x.explore(at)
	}
	return true
}

// summaryRun is the working state of summarise.
type summaryRun struct {
	*runs
	most  int // bound on the number of summaries
	todo  []int32
	gains []gain
}

type gain struct{ state, returned int32 }

func (x *summaryRun) of(q int32) *summary {
	s := x.sums[q]
	if s == nil {
		s = &summary{map[int32]bool{}, map[int32]bool{}, map[[2]int32]bool{}}
		x.sums[q] = s
		x.todo = append(x.todo, q)
	}
	return s
}

// add records that the state q can return r.
func (x *summaryRun) add(q, r int32) {
	if s := x.of(q); !s.returns[r] {
		s.returns[r] = true
		x.gains = append(x.gains, gain{q, r})
	}
}

// edge records that the state from leads to the state to of the same level.
func (x *summaryRun) edge(from, to int32) {
	s := x.of(to)
	if s.from[from] {
		return
	}
	s.from[from] = true
	for r := range s.returns {
		x.add(from, r)
	}
}

// take records the move m of the state from, which is not a call.
func (x *summaryRun) take(from int32, m code) {
	if m == dead {
		return
	}
	if pushdown.Kind(m&3) == pushdown.Inside {
		x.edge(from, int32(m>>2))
	} else {
		x.add(from, int32(m>>2))
	}
}

// back records that the callee of symbol, called by the state from, has returned the given
// symbol.
func (x *summaryRun) back(from, symbol, returned int32) {
	q, err := x.resume(symbol, returned)
	if err != nil {
		x.fail(err)
	}
	if q >= 0 && err == nil {
		x.take(from, x.encode(x.settle(x.waits[symbol].level, q)))
	}
}

func (x *summaryRun) explore(q int32) {
	if x.subsets.accepts(q) {
		x.add(q, endOfText)
	}
	var done []code
	for b := range 256 {
		m := x.move(q, byte(b))
		if m == dead || slices.Contains(done, m) {
			continue
		}
		done = append(done, m)
		if pushdown.Kind(m&3) != pushdown.Call {
			x.take(q, m)
			continue
		}
		k := x.calls[m>>2]
		if rules := x.rules[x.waits[k.Symbol].callee]; x.simple(rules) {
			x.take(q, x.returned(k.Symbol, rules))
			continue
		}
		s, w := x.of(k.To), [2]int32{q, k.Symbol}
		if !s.callers[w] {
			s.callers[w] = true
			for r := range s.returns {
				if r >= 0 {
					x.back(q, k.Symbol, r)
				}
			}
		}
	}
}

// meets reports whether one of the returns in the summary of c's state lets the rest of the
// stack be completed.
func (r *runs) meets(c configuration) bool {
	s := r.sums[c.state]
	if s.returns[endOfText] && c.stack == 0 {
		return true
	}
	if c.stack == 0 {
		return false
	}
	top := r.stacks.list[c.stack]
	for x := range s.returns {
		if x < 0 {
			continue
		}
		q, err := r.resume(top.symbol, x)
		if err != nil {
			r.fail(err)
		} else if q >= 0 && r.alive(configuration{state: q, stack: top.below}) {
			return true
		}
	}
	return false
}
