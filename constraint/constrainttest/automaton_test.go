package constrainttest_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/constrainttest"
)

var ctx = context.Background()

// machine is an automaton by its functions. The one of [newMachine] accepts an even
// number of ones and no two twos in a row.
type machine struct {
	states, start int
	next          func(s int, t int32) int
	accept        func(s int) bool
	classes       func(levels int) ([]int32, int)
}

func (m *machine) States() int                  { return m.states }
func (m *machine) Start() int                   { return m.start }
func (m *machine) Next(s int, t int32) int      { return m.next(s, t) }
func (m *machine) Accepting(s int) bool         { return m.accept(s) }
func (m *machine) Classes(n int) ([]int32, int) { return m.classes(n) }

func newMachine() *machine {
	return &machine{
		states: 4,
		next: func(s int, t int32) int {
			odd, two := s%2, s/2
			switch t {
			case 0:
				return odd
			case 1:
				return 1 - odd
			case 2:
				if two == 1 {
					return -1
				}
				return odd + 2
			}
			return -1
		},
		accept:  func(s int) bool { return s%2 == 0 },
		classes: func(levels int) ([]int32, int) { return []int32{0, 1, 2}, 3 },
	}
}

// evenOnes is the predicate of newMachine.
func evenOnes(x []int32) bool {
	ones := 0
	for i, l := range x {
		if l == 1 {
			ones++
		}
		if i > 0 && l == 2 && x[i-1] == 2 {
			return false
		}
	}
	return ones%2 == 0
}

var options = constrainttest.Options{Sites: 5, Levels: 3, Accepts: evenOnes, Count: func(context.Context) (int, error) {
	n := 0
	for k := range 243 {
		x := make([]int32, 5)
		for i := range x {
			x[i] = int32(k % 3)
			k /= 3
		}
		if evenOnes(x) {
			n++
		}
	}
	return n, nil
}}

func TestAutomatonPasses(t *testing.T) {
	require.NoError(t, constrainttest.TestAutomaton(ctx, newMachine(), options))
	require.NoError(t, constrainttest.TestAutomaton(ctx, constraint.Any{}, constrainttest.Options{}))
	d, err := constraint.Compile(ctx, newMachine(), 3, constraint.Limits{})
	require.NoError(t, err)
	require.NoError(t, constrainttest.TestAutomaton(ctx, d, options))
}

// tabled adds a table to a machine.
type tabled struct {
	*machine
	to []int32
}

func (m tabled) Levels() int           { return 3 }
func (m tabled) Table() ([]int32, int) { return m.to, 3 }

// Every broken twin breaks the law that it is meant to.
func TestAutomatonFindsBrokenLanguages(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(m *machine) constraint.Automaton
		want   string
	}{
		"accepts the odd":  {func(m *machine) constraint.Automaton { m.accept = func(s int) bool { return s%2 == 1 }; return m }, "predicate: [] is not accepted"},
		"accepts too much": {func(m *machine) constraint.Automaton { m.accept = func(int) bool { return true }; return m }, "predicate: [1] is accepted"},
		"dies too early": {func(m *machine) constraint.Automaton {
			next := m.next
			m.next = func(s int, t int32) int {
				if s == 3 && t == 1 {
					return -1
				}
				return next(s, t)
			}
			return m
		}, "predicate: [1 2 1] is dead after 3 tokens"},
		"goes on from the dead": {func(m *machine) constraint.Automaton {
			next := m.next
			m.next = func(s int, t int32) int {
				if s == 2 && t == 2 {
					return 0
				}
				return next(s, t)
			}
			return m
		}, "predicate: [2 2] is accepted"},
		"dead is −2": {func(m *machine) constraint.Automaton {
			next := m.next
			m.next = func(s int, t int32) int {
				if to := next(s, t); to >= 0 {
					return to
				}
				return -2
			}
			return m
		}, "range: Next(2, 2) = -2 after [2]"},
		"too few states": {func(m *machine) constraint.Automaton { m.states = 3; return m }, "range: Next(1, 2) = 3"},
		"no start":       {func(m *machine) constraint.Automaton { m.start = -1; return m }, "start: Start() = -1"},
		"panics outside": {func(m *machine) constraint.Automaton {
			m.next = func(s int, t int32) int { return [][]int{{0, 1, 2}, {1, 0, 3}, {0, 1, -1}, {1, 0, -1}}[s][t] }
			return m
		}, "range: Next("},
		"remembers": {func(m *machine) constraint.Automaton {
			next, calls := m.next, atomic.Int64{}
			m.next = func(s int, t int32) int {
				if calls.Add(1) > 1200 && s == 1 && t == 0 {
					return 0
				}
				return next(s, t)
			}
			return m
		}, "concurrent: "},
		"another answer later": {func(m *machine) constraint.Automaton {
			next, calls := m.next, atomic.Int64{}
			m.next = func(s int, t int32) int {
				if s == 3 && t == 0 && calls.Add(1)%60 == 0 {
					return 3
				}
				return next(s, t)
			}
			return m
		}, "function: Next(3, 0) = "},
		"accepts by turns": {func(m *machine) constraint.Automaton {
			var calls atomic.Int64
			m.accept = func(s int) bool { return (calls.Add(1)/100+int64(s))%2 == 0 }
			return m
		}, ""},
		"one class for two": {func(m *machine) constraint.Automaton {
			m.classes = func(int) ([]int32, int) { return []int32{0, 1, 0}, 2 }
			return m
		}, "classes: tokens 2 and 0 have class 0"},
		"a class of nobody": {func(m *machine) constraint.Automaton {
			m.classes = func(int) ([]int32, int) { return []int32{0, 1, 2}, 4 }
			return m
		}, "classes: class 3 of 4 has no token"},
		"a wrong table": {func(m *machine) constraint.Automaton {
			return tabled{m, []int32{0, 1, 2, 1, 0, 3, 0, 1, -1, 1, 0, 2}}
		}, "table: state 3, token 2"},
	} {
		t.Run(name, func(t *testing.T) {
			err := constrainttest.TestAutomaton(ctx, c.breaks(newMachine()), options)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "constrainttest: ")
		})
	}
	wrong := options
	wrong.Count = func(context.Context) (int, error) { return 100, nil }
	require.ErrorContains(t, constrainttest.TestAutomaton(ctx, newMachine(), wrong), "count: ")
}

func TestAutomatonArguments(t *testing.T) {
	require.EqualError(t, constrainttest.TestAutomaton(ctx, nil, options), "constrainttest: a = nil")
	require.ErrorContains(t, constrainttest.TestAutomaton(ctx, newMachine(), constrainttest.Options{Sites: 11}), "Levels^Sites = 3^11, want ≤ 2^16")
	require.ErrorContains(t, constrainttest.TestAutomaton(ctx, newMachine(), constrainttest.Options{Sites: -1}), "Sites = -1")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, constrainttest.TestAutomaton(ended, newMachine(), options), context.Canceled)
}

// rows is the number of ones, at least 1 and at most 2, among the first two sites.
type rows struct {
	violation func(g []float64, x []int32)
	n         func() int
}

func (r rows) Len() int { return r.n() }

func (r rows) Violation(g []float64, x []int32) {
	if len(g)%2 != 0 || len(g) > 0 && len(x)%(len(g)/2) != 0 {
		panic("constraint: lengths")
	}
	if len(g) == 0 {
		return
	}
	sites := len(x) / (len(g) / 2)
	for s := range len(g) / 2 {
		r.violation(g[2*s:2*s+2], x[s*sites:(s+1)*sites])
	}
}

func ones(g []float64, x []int32) {
	n := 0.0
	for _, l := range x[:2] {
		if l == 1 {
			n++
		}
	}
	g[0], g[1] = 1-n, n-2
}

func two() int { return 2 }

var setOptions = constrainttest.Options{Sites: 4, Levels: 3, Violation: ones, Accepts: func(x []int32) bool { return x[0] == 1 || x[1] == 1 }}

func TestSetPasses(t *testing.T) {
	require.NoError(t, constrainttest.TestSet(ctx, rows{ones, two}, setOptions))
}

// careless does not check lengths.
type careless struct{ rows }

func (c careless) Violation(g []float64, x []int32) {
	if len(g)%2 == 0 {
		sites := len(x) / max(1, len(g)/2)
		for s := range len(g) / 2 {
			c.violation(g[2*s:2*s+2], x[s*sites:(s+1)*sites])
		}
	}
}

func TestSetFindsBrokenSets(t *testing.T) {
	calls := 0
	for name, c := range map[string]struct {
		s    constraint.Set
		want string
	}{
		"clipped":   {rows{func(g []float64, x []int32) { ones(g, x); g[0], g[1] = max(g[0], 0), max(g[1], 0) }, two}, "value: "},
		"flipped":   {rows{func(g []float64, x []int32) { ones(g, x); g[0] = -g[0] }, two}, "sign: state [0 0 0 0]"},
		"not quite": {rows{func(g []float64, x []int32) { ones(g, x); g[0] += 1e-6 }, two}, "value: "},
		"NaN": {rows{func(g []float64, x []int32) {
			ones(g, x)
			g[0] /= g[0] * float64(x[3])
		}, two}, "number: g[0] of state "},
		"one left": {rows{func(g []float64, x []int32) { n := g[1]; ones(g, x); g[1] = n }, two}, "length: Violation leaves g[1]"},
		"by turns": {rows{func(g []float64, x []int32) { ones(g, x); calls++; g[1] -= float64(calls % 2) }, two}, ""},
		"writes x": {rows{func(g []float64, x []int32) { ones(g, x); x[3] = 0 }, two}, "batch: Violation changes x"},
		"grows":    {rows{ones, func() int { calls++; return 2 + calls/1000%2 }}, ""},
		"careless": {careless{rows{ones, two}}, "shape: len(g) = 3 with Len() = 2 does not panic"},
		"late site": {rows{func(g []float64, x []int32) {
			ones(g, x)
			if slices.Equal(x, []int32{1, 1, 2, 2}) {
				g[1] = -3
			}
		}, two}, "value: state [1 1 2 2] has g[1] = -3, want 0"},
	} {
		t.Run(name, func(t *testing.T) {
			calls = 999
			require.ErrorContains(t, constrainttest.TestSet(ctx, c.s, setOptions), "constrainttest: constrainttest_test.")
			calls = 999
			require.ErrorContains(t, constrainttest.TestSet(ctx, c.s, setOptions), c.want)
		})
	}
	require.EqualError(t, constrainttest.TestSet(ctx, nil, setOptions), "constrainttest: s = nil")
}

// square is g(v) = Σ c_i v_i² − 1 and v_0·v_1.
type square struct {
	pull  func(dst, v []float32, w []float64)
	shift float64
	deaf  bool
}

func (s square) Len() int { return 2 }

func (s square) Value(g []float64, v []float32) {
	if len(g) != 2 && !s.deaf {
		panic("constraint: len(g)")
	}
	g[0] = -1 + s.shift
	for i, y := range v {
		g[0] += float64(i) * float64(y) * float64(y)
	}
	g[1] = float64(v[0]) * float64(v[1])
}

func (s square) Pull(dst, v []float32, w []float64) {
	if len(w) != 2 || len(dst) != len(v) {
		panic("constraint: lengths")
	}
	s.pull(dst, v, w)
}

func (s square) Violation(g []float64, x []int32) {
	for k := range len(g) / 2 {
		row := x[k*len(x)/(len(g)/2) : (k+1)*len(x)/(len(g)/2)]
		v := make([]float32, 3*len(row))
		for i, l := range row {
			v[3*i+int(l)] = 1
		}
		square{}.Value(g[2*k:2*k+2], v)
	}
}

func rightPull(dst, v []float32, w []float64) {
	for i, y := range v {
		dst[i] += float32(w[0] * 2 * float64(i) * float64(y))
	}
	dst[0] += float32(w[1] * float64(v[1]))
	dst[1] += float32(w[1] * float64(v[0]))
}

func TestSmoothPasses(t *testing.T) {
	require.NoError(t, constrainttest.TestSmooth(ctx, square{pull: rightPull}, constrainttest.Options{Sites: 3, Levels: 3}))
	require.NoError(t, constrainttest.TestSmooth(ctx, square{pull: rightPull}, constrainttest.Options{Sites: 3, Levels: 1}))
}

func TestSmoothFindsBrokenDerivatives(t *testing.T) {
	for name, c := range map[string]struct {
		s    constraint.Smooth
		want string
	}{
		"stores":        {square{pull: func(dst, v []float32, w []float64) { clear(dst); rightPull(dst, v, w) }}, "adds: "},
		"forgets a row": {square{pull: func(dst, v []float32, w []float64) { rightPull(dst, v, []float64{w[0], 0}) }}, "pullback: "},
		"half":          {square{pull: func(dst, v []float32, w []float64) { rightPull(dst, v, []float64{w[0] / 2, w[1]}) }}, "pullback: "},
		"downhill":      {square{pull: func(dst, v []float32, w []float64) { rightPull(dst, v, []float64{-w[0], -w[1]}) }}, "pullback: "},
		"ignores w":     {square{pull: func(dst, v []float32, w []float64) { rightPull(dst, v, []float64{1, 1}) }}, "pullback: "},
		"a bit off":     {square{pull: func(dst, v []float32, w []float64) { rightPull(dst, v, []float64{w[0] * 1.001, w[1]}) }}, "pullback: "},
		"writes v":      {square{pull: func(dst, v []float32, w []float64) { rightPull(dst, v, w); v[0] = 0 }}, "pure: "},
		"another set":   {square{pull: rightPull, shift: 0.25}, "one-hot: "},
		"any length":    {square{pull: rightPull, deaf: true}, "shape: Value with a g too long does not panic"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, constrainttest.TestSmooth(ctx, c.s, constrainttest.Options{Sites: 3, Levels: 3}), c.want)
		})
	}
}
