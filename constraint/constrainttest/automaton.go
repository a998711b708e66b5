package constrainttest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/laws"
)

// Options holds the size of the space to enumerate, and the expected results if they are known. The
// zero value enumerates all sequences of up to four tokens of three levels.
type Options struct {
	// Sites is the length of the sequences; 0 means 4. A language is tested on sequences of 0 …
	// Sites tokens, and a [constraint.Set] on sequences of exactly Sites tokens.
	Sites int

	// Levels is the number of different tokens; 0 means 3. Set it to 1 for a [constraint.Smooth] on
	// reals. Levels^Sites must not exceed 2¹⁶.
	Levels int

	// Accepts, unless nil, returns the expected answer for the sequence x: whether x belongs to a
	// language, or satisfies every inequality of a set. The answer must be computed independently
	// of the implementation under test. Accepts must not keep x.
	Accepts func(x []int32) bool

	// Violation, unless nil, stores in g the expected values of the inequalities of a set for the
	// sequence x. They must be computed independently of the set. The values of the set must agree
	// with the expected values within 1e-9 times the largest absolute value.
	Violation func(g []float64, x []int32)

	// Count, unless nil, returns the number of sequences of exactly Sites tokens in the
	// language, computed for instance by projection.Path. The test compares it with the number
	// found by enumeration.
	Count func(ctx context.Context) (int, error)

	// Rounding is the relative rounding error of the values of a [constraint.Smooth]. 0 means
	// 2⁻⁴⁰, which suits arithmetic in float64. Use about 2⁻²⁰ for a network in float32.
	Rounding float64
}

// most bounds the number of sequences of one length that are enumerated. Enumerating 2¹⁶
// sequences takes about a second for an automaton that needs 10 µs per token.
const most = 1 << 16

// size sets the defaults of unset fields and returns Levels^Sites. It returns an error if that
// number is too large.
func (o *Options) size() (int, error) {
	if o.Sites == 0 {
		o.Sites = 4
	}
	if o.Levels == 0 {
		o.Levels = 3
	}
	if o.Rounding == 0 {
		o.Rounding = 0x1p-40
	}
	if o.Sites < 1 || o.Levels < 1 {
		return 0, fmt.Errorf("constrainttest: Sites = %d, Levels = %d, want both ≥ 1", o.Sites, o.Levels)
	}
	n := 1
	for range o.Sites {
		if n > most/o.Levels {
			return 0, fmt.Errorf("constrainttest: Levels^Sites = %d^%d, want ≤ 2^16", o.Levels, o.Sites)
		}
		n *= o.Levels
	}
	return n, nil
}

// TestAutomaton checks a language against the laws of [constraint.Automaton] on every sequence of
// up to Options.Sites tokens:
//
//   - concurrent: goroutines that walk the automaton at the same time get the same results;
//   - start: Start is in 0…States()−1 and does not change;
//   - range: Next is −1 or in 0…States()−1, also for tokens outside 0…Levels−1;
//   - function: Next and Accepting return the same for the same arguments, in any order of calls;
//   - predicate: the automaton accepts a sequence if and only if Options.Accepts returns true. It
//     accepts no sequence on which Next has returned −1;
//   - count: the number of accepted sequences equals the result of Options.Count;
//   - classes: tokens of one class of a [constraint.Classed] language lead from every state to the
//     same state, and every class has a token;
//   - table: the table of a [constraint.Tabled] language agrees with Next and Accepting.
//
// The error names the law and a sequence that breaks it.
func TestAutomaton(ctx context.Context, a constraint.Automaton, o Options) error {
	part, err := laws.Given("constrainttest", "a", a)
	if err != nil {
		return err
	}
	if _, err := o.size(); err != nil {
		return err
	}
	w := &walker{Part: part, a: a, o: o, next: map[edge]int{}, final: map[int]bool{}}
	if err := w.together(); err != nil {
		return err
	}
	for _, l := range []struct {
		name  string
		check func() error
	}{
		{"range", w.list}, {"predicate", w.judge}, {"function", w.again}, {"range", w.outside},
		{"classes", w.classes}, {"table", w.table},
	} {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		if err := w.Run(l.name, l.check); err != nil {
			return err
		}
	}
	return w.count(ctx)
}

type edge struct {
	state int
	token int32
}

// walker records the results of the methods of an automaton, for comparison with later calls.
type walker struct {
	laws.Part
	a constraint.Automaton
	o Options

	next     map[edge]int
	final    map[int]bool
	path     map[int][]int32 // for each state, a sequence that leads to it
	accepted int             // number of accepted sequences of exactly Sites tokens
}

// run returns the state after the sequence x, or −1 if it is dead.
func run(a constraint.Automaton, x []int32) int {
	s := a.Start()
	for _, t := range x {
		if s = a.Next(s, t); s < 0 {
			return -1
		}
	}
	return s
}

// together walks the automaton from several goroutines at once, and checks that all get the
// same results. It runs first, so that anything the automaton caches is created concurrently.
func (w *walker) together() error {
	const walkers = 4
	said, errs := make([][]bool, walkers), make([]error, walkers)
	var wg sync.WaitGroup
	for k := range walkers {
		wg.Go(func() {
			errs[k] = w.Run("concurrent", func() error {
				sequences(w.o.Levels, min(w.o.Sites, 4), func(x []int32) {
					s := run(w.a, x)
					said[k] = append(said[k], s >= 0 && w.a.Accepting(s))
				})
				return nil
			})
		})
	}
	wg.Wait()
	for k := range walkers {
		if errs[k] != nil {
			return errs[k]
		}
		if !slices.Equal(said[0], said[k]) {
			return w.Broken("concurrent", "two goroutines that walk the same sequences at once see different languages")
		}
	}
	return nil
}

// list records the results of Next and Accepting for every state that a sequence can reach.
func (w *walker) list() error {
	start, states := w.a.Start(), w.a.States()
	if start < 0 || start >= states {
		return w.Broken("start", "Start() = %d, want 0…%d", start, states-1)
	}
	w.path = map[int][]int32{start: {}}
	layer := []int{start}
	for range w.o.Sites {
		var after []int
		for _, s := range layer {
			for t := range int32(w.o.Levels) {
				to := w.a.Next(s, t)
				if to < -1 || to >= w.a.States() {
					return w.Broken("range", "Next(%d, %d) = %d after %v, want −1 or 0…%d", s, t, to, w.path[s], w.a.States()-1)
				}
				w.next[edge{s, t}] = to
				if to < 0 || w.path[to] != nil {
					continue
				}
				w.path[to] = append(slices.Clone(w.path[s]), t)
				after = append(after, to)
			}
		}
		layer = after
	}
	for s := range w.path {
		w.final[s] = w.a.Accepting(s)
	}
	return nil
}

// judge compares the accepted sequences with Options.Accepts and counts those of length Sites.
func (w *walker) judge() error {
	var wrong error
	sequences(w.o.Levels, w.o.Sites, func(x []int32) {
		if wrong != nil {
			return
		}
		s := w.a.Start()
		dead := 0
		for ; dead < len(x) && s >= 0; dead++ {
			from := edge{s, x[dead]}
			if s = w.a.Next(s, x[dead]); s != w.next[from] {
				wrong = w.Broken("function", "Next(%d, %d) = %d, %d at an earlier call (the state after %v)", from.state, from.token, s, w.next[from], x[:dead])
				return
			}
		}
		got := s >= 0 && w.a.Accepting(s)
		if got && len(x) == w.o.Sites {
			w.accepted++
		}
		if w.o.Accepts == nil {
			return
		}
		switch want := w.o.Accepts(slices.Clone(x)); {
		case got && !want:
			wrong = w.Broken("predicate", "%v is accepted, and should not be", x)
		case want && s < 0:
			wrong = w.Broken("predicate", "%v is dead after %d tokens, and should be accepted", x, dead)
		case want && !got:
			wrong = w.Broken("predicate", "%v is not accepted, and should be", x)
		}
	})
	return wrong
}

// again calls Next and Accepting a second time for every recorded edge, in another order, and
// compares the results.
func (w *walker) again() error {
	states := make([]int, 0, len(w.path))
	for s := range w.path {
		states = append(states, s)
	}
	slices.Sort(states)
	slices.Reverse(states)
	if s := w.a.Start(); w.path[s] == nil || len(w.path[s]) > 0 {
		return w.Broken("start", "Start() = %d at a later call, and another state at first", s)
	}
	for _, s := range states {
		if got := w.a.Accepting(s); got != w.final[s] {
			return w.Broken("function", "Accepting(%d) = %v, %v at another call (the state after %v)", s, w.final[s], got, w.path[s])
		}
		for t := int32(w.o.Levels) - 1; t >= 0; t-- {
			if want, ok := w.next[edge{s, t}]; ok {
				if got := w.a.Next(s, t); got != want {
					return w.Broken("function", "Next(%d, %d) = %d, %d at another call (the state after %v)", s, t, want, got, w.path[s])
				}
			}
		}
	}
	return nil
}

// outside calls Next with tokens outside 0…Levels−1.
func (w *walker) outside() error {
	for s, path := range w.path {
		for _, t := range []int32{-1, int32(w.o.Levels), 1 << 20, math.MaxInt32, math.MinInt32} {
			var to int
			if v := laws.Panic(func() { to = w.a.Next(s, t) }); v != nil {
				return w.Broken("range", "Next(%d, %d) after %v panics: %v; want −1 or a state", s, t, path, v)
			}
			if to < -1 || to >= w.a.States() {
				return w.Broken("range", "Next(%d, %d) = %d after %v, want −1 or 0…%d", s, t, to, path, w.a.States()-1)
			}
		}
	}
	return nil
}

func (w *walker) classes() error {
	c, ok := w.a.(constraint.Classed)
	if !ok {
		return nil
	}
	of, n := c.Classes(w.o.Levels)
	if len(of) != w.o.Levels {
		return w.Broken("classes", "Classes(%d) returns the classes of %d tokens", w.o.Levels, len(of))
	}
	first := make([]int32, n)
	for k := range first {
		first[k] = -1
	}
	for t, k := range of {
		if k < 0 || int(k) >= n {
			return w.Broken("classes", "the class of token %d is %d, want 0…%d", t, k, n-1)
		}
		if first[k] < 0 {
			first[k] = int32(t)
		}
	}
	if k := slices.Index(first, -1); k >= 0 {
		return w.Broken("classes", "class %d of %d has no token", k, n)
	}
	for e, to := range w.next {
		if other, ok := w.next[edge{e.state, first[of[e.token]]}]; ok && other != to {
			return w.Broken("classes", "tokens %d and %d have class %d and lead from state %d to %d and %d",
				e.token, first[of[e.token]], of[e.token], e.state, to, other)
		}
	}
	return nil
}

func (w *walker) table() error {
	d, ok := w.a.(constraint.Tabled)
	if !ok || d.Levels() != w.o.Levels {
		return nil
	}
	next, n := d.Table()
	of, m := d.Classes(d.Levels())
	if n != m || n < 1 || len(next)%n != 0 {
		return w.Broken("table", "%d entries for %d classes, and Classes says %d", len(next), n, m)
	}
	if d.Start() != 0 {
		return w.Broken("table", "Start() = %d, want 0", d.Start())
	}
	for e, to := range w.next {
		if got := next[e.state*n+int(of[e.token])]; int(got) != to {
			return w.Broken("table", "state %d, token %d: %d, and Next says %d", e.state, e.token, got, to)
		}
	}
	return nil
}

func (w *walker) count(ctx context.Context) error {
	if w.o.Count == nil {
		return nil
	}
	n, err := w.o.Count(ctx)
	if err != nil {
		return w.Broken("count", "%v; %d sequences of %d tokens are accepted", err, w.accepted, w.o.Sites)
	}
	if n != w.accepted {
		return w.Broken("count", "%d sequences of %d tokens are accepted, Count returns %d", w.accepted, w.o.Sites, n)
	}
	return nil
}

// sequences calls f with every sequence of at most length tokens below levels,
// shortest first. f must not keep the slice.
func sequences(levels, length int, f func(x []int32)) {
	for n := range length + 1 {
		x := make([]int32, n)
		for range size(n, levels) {
			f(x)
			for i := range x {
				if x[i]++; int(x[i]) < levels {
					break
				}
				x[i] = 0
			}
		}
	}
}

// size returns levels^sites.
func size(sites, levels int) int {
	n := 1
	for range sites {
		n *= levels
	}
	return n
}
