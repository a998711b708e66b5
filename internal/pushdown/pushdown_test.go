package pushdown

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/algebra"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/trellis"
	"github.com/stretchr/testify/require"
)

// TestAgainstEnumeration compares log Z, marginals and the best sequence with
// all sequences, for random machines whose tokens hold several brackets.
func TestAgainstEnumeration(t *testing.T) {
	exact.SkipUnderRace(t)
	cases := 10_000
	if testing.Short() {
		cases = 500
	}
	r := rand.New(rand.NewPCG(1, 17))
	feasible, halves, fast, vector := 0, 0, 0, 0
	for tried := range cases {
		m := randomMachine(r, 2)
		v := randomTokens(r, 2, 2+r.IntN(3))
		sites, n := 1+r.IntN(5), v.Tokens()
		g := lifted(t, m, v)
		w := randomWeights(r, sites*n, []float64{1, 5, 200}[r.IntN(3)])
		want := enumerate(m, v, sites, w)
		run := NewRunner(g, sites, g.Tokens())
		run.tile, run.least = 1+r.IntN(3), 1+tried%3
		got, err := run.Filter(w)
		if len(want.sequences) == 0 {
			var dead *algebra.DeadError
			require.ErrorAs(t, err, &dead)
			_, err = run.Best(make([]int32, sites), func(i int, k int32) float64 { return float64(w[i*n+int(k)]) })
			require.ErrorAs(t, err, &dead)
			continue
		}
		feasible++
		for i := range g.levels {
			halves += min(1, len(g.levels[i].halves))
		}
		require.NoError(t, err)
		require.InDelta(t, want.logZ, got, 1e-10)
		fast += map[bool]int{false: 1}[run.exact]
		marginals := make([]float64, sites*n)
		if !run.exact && run.marginalsOfSpans(marginals) {
			vector++
			for i, p := range want.marginals {
				require.InDelta(t, p, math.Exp(marginals[i]), 1e-10)
				require.Equal(t, want.possible[i], !math.IsInf(marginals[i], -1))
			}
		}
		run.Marginals(marginals)
		for i, p := range want.marginals {
			require.InDelta(t, p, math.Exp(marginals[i]), 1e-9)
		}
		x := make([]int32, sites)
		top, err := run.Best(x, func(i int, k int32) float64 { return float64(w[i*n+int(k)]) })
		require.NoError(t, err)
		require.InDelta(t, want.best, top, 1e-10*max(1, math.Abs(top)))
		sum := 0.0
		for i, k := range x {
			sum += float64(w[i*n+int(k)])
		}
		require.InDelta(t, top, sum, 1e-10*max(1, math.Abs(top)))
		require.True(t, accepts(m, v, x) && g.Accepts(x))
		run.Draw(x, rand.NewPCG(r.Uint64(), 0))
		require.True(t, accepts(m, v, x))
		y := make([]int32, sites)
		for i := range y {
			y[i] = int32(r.IntN(n))
		}
		require.Equal(t, accepts(m, v, y), g.Accepts(y))
	}
	require.Greater(t, feasible, cases/4)
	require.Greater(t, halves, cases/50)
	require.Greater(t, fast, cases/4)            // in float64 alone
	require.Greater(t, vector, fast*3/4)         // and its marginals
	require.Greater(t, feasible-fast, cases/200) // in numbers
}

// TestWrongOrderIsSeen lets returns go by ascending depth: ]] is then lost. A
// runner in the right order gives the same sum again.
func TestWrongOrderIsSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 17))
	wrong := [2]int{}
	for range 1000 {
		m, v := randomMachine(r, 2), randomTokens(r, 2, 4)
		g := lifted(t, m, v)
		w := make([]float32, 4*4)
		for i := range w {
			w[i] = float32(r.NormFloat64())
		}
		want := enumerate(m, v, 4, w)
		run := NewRunner(g, 4, 4)
		run.tile = 3
		_, _ = run.Filter(make([]float32, 4*4)) // places for all sums
		for i := range wrong {
			got, err := run.Filter(w)
			if (err == nil) != (len(want.sequences) > 0) || err == nil && math.Abs(got-want.logZ) > 1e-10 {
				wrong[i]++
			}
			slices.Reverse(g.plan.rounds)
		}
	}
	require.Zero(t, wrong[0])
	require.Greater(t, wrong[1], 5)
}

func TestDraws(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 17))
	const machines, draws = 12, 4000
	for tried := 0; tried < machines; {
		m, v := randomMachine(r, 2), randomTokens(r, 2, 3)
		w := randomWeights(r, 5*3, 1)
		want := enumerate(m, v, 5, w)
		if len(want.sequences) < 8 {
			continue
		}
		tried++
		p, twin := make([]float64, 243), make([]float64, 243)
		for i, x := range want.sequences {
			p[exact.Index(x, 3)] = math.Exp(want.weights[i] - want.logZ)
			twin[exact.Index(x, 3)] = 1 / float64(len(want.sequences))
		}
		run := NewRunner(lifted(t, m, v), 5, 3)
		run.tile = 2
		_, err := run.Filter(w)
		require.NoError(t, err)
		counts, x, src := make([]int, 243), make([]int32, 5), rand.NewPCG(4, uint64(tried))
		for range draws {
			run.Draw(x, src)
			counts[exact.Index(x, 3)]++
		}
		exact.Counts(t, counts, p, exact.Rate/machines)
		require.Less(t, exact.PValue(counts, twin), exact.Rate)
	}
}

// bounded unrolls the configurations of a machine over single bytes, with a
// stack of at most depth symbols.
type bounded struct {
	m      *Machine
	v      *Vocabulary
	depth  int
	number map[string]int
	list   []Config
}

func (b *bounded) States() int { return 1 << 30 }
func (b *bounded) id(c Config) int {
	key := string(rune(c.State))
	for _, s := range c.Stack {
		key += string(rune(s))
	}
	if i, ok := b.number[key]; ok {
		return i
	}
	b.number[key] = len(b.list)
	b.list = append(b.list, c)
	return len(b.list) - 1
}
func (b *bounded) Start() int { return b.id(b.m.Begin()) }
func (b *bounded) Next(s int, t int32) int {
	c := Config{b.list[s].State, slices.Clone(b.list[s].Stack)}
	for i := range len(b.v.Text(t)) {
		var ok bool
		if c, ok = b.m.Read(c, b.v.Text(t)[i:i+1]); !ok || len(c.Stack) > b.depth {
			return -1
		}
	}
	return b.id(c)
}
func (b *bounded) Accepting(s int) bool {
	return len(b.list[s].Stack) == 0 && b.m.Accept[b.list[s].State]
}

// brackets is ([a] nested to any depth inside) over a, [ and ].
func brackets() *Machine {
	m := &Machine{Classes: 4, Levels: 2, Level: []int32{0, 1}, Accept: []bool{true, false}, Resume: [][]int32{{0}, {1}}}
	for b := range m.Class {
		m.Class[b] = 3
	}
	m.Class['a'], m.Class['['], m.Class[']'] = 0, 1, 2
	m.Rows = rowsOf(m.Classes, []Move{
		{Inside, 0, 0}, {Call, 0, 1}, {}, {},
		{Inside, 0, 1}, {Call, 1, 1}, {Return, 0, 0}, {},
	})
	return m
}

// TestAgainstBoundedDepth compares with a finite automaton whose depth suffices
// for the length.
func TestAgainstBoundedDepth(t *testing.T) {
	v := Prepare([]string{"a", "[", "]", "[[", "]]", "][", "[a", "]a["}, nil, nil)
	m := brackets()
	g := lifted(t, m, v)
	r := rand.New(rand.NewPCG(5, 17))
	const sites = 20
	w := make([]float32, sites*8)
	for i := range w {
		w[i] = float32(r.NormFloat64() * 3)
	}
	got, err := NewRunner(g, sites, g.Tokens()).Filter(w)
	require.NoError(t, err)
	b := &bounded{m: m, v: v, depth: 2 * sites, number: map[string]int{}}
	graph, err := trellis.Compile(context.Background(), b, trellis.Config{Sites: sites, Levels: 8})
	require.NoError(t, err)
	want, err := trellis.NewRunner(graph).Filter(w)
	require.NoError(t, err)
	require.InEpsilon(t, want, got, 1e-12)
}

// TestRange uses weights of standard deviation 200 on 512 sites: sums span
// exp(±10⁵).
func TestRange(t *testing.T) {
	exact.SkipUnderRace(t)
	sites := 512
	if testing.Short() {
		sites = 128
	}
	v := Prepare([]string{"a", "[", "]", "[[", "]]"}, nil, nil)
	g := lifted(t, brackets(), v)
	r := rand.New(rand.NewPCG(6, 17))
	w := make([]float32, sites*5)
	for i := range w {
		w[i] = float32(r.NormFloat64() * 200)
	}
	run := NewRunner(g, sites, g.Tokens())
	logZ, err := run.Filter(w)
	require.NoError(t, err)
	require.False(t, math.IsNaN(logZ) || math.IsInf(logZ, 0))
	x := make([]int32, sites)
	top, err := run.Best(x, func(i int, k int32) float64 { return float64(w[i*5+int(k)]) })
	require.NoError(t, err)
	// log Z lies between the best sequence and that many of them.
	require.GreaterOrEqual(t, logZ, top-1e-6)
	require.LessOrEqual(t, logZ, top+float64(sites)*math.Log(5))
	run.Draw(x, rand.NewPCG(7, 7))
	require.True(t, g.Accepts(x))
	if !testing.Short() {
		return
	}
	marginals := make([]float64, len(w))
	run.Marginals(marginals)
	for i := range sites {
		sum := 0.0
		for _, p := range marginals[i*5 : i*5+5] {
			sum += math.Exp(p)
		}
		require.InDelta(t, 1, sum, 1e-9)
	}
}

func TestWeightErrors(t *testing.T) {
	g := lifted(t, brackets(), Prepare([]string{"a", "[", "]", "x"}, nil, nil))
	run := NewRunner(g, 2, 4)
	for _, bad := range []float64{math.NaN(), math.Inf(1)} {
		w := make([]float32, 8)
		w[3] = float32(bad) // x is dead everywhere: not looked at
		_, err := run.Filter(w)
		require.NoError(t, err)
		w[5] = float32(bad)
		_, err = run.Filter(w)
		var weight *algebra.WeightError
		require.ErrorAs(t, err, &weight)
		require.Equal(t, 1, weight.Site)
		require.Equal(t, 1, weight.Level)
		require.Contains(t, err.Error(), "site 1, level 1")
		require.Panics(t, func() { run.Draw(make([]int32, 2), rand.NewPCG(1, 1)) })
		_, err = run.Best(make([]int32, 2), func(i int, k int32) float64 { return float64(w[i*4+int(k)]) })
		require.ErrorAs(t, err, &weight)
	}
	w := make([]float32, 8)
	w[4], w[6] = float32(math.Inf(-1)), float32(math.Inf(-1))
	w[0], w[1], w[2] = float32(math.Inf(-1)), 0, 0
	_, err := run.Filter(w)
	var dead *algebra.DeadError
	require.ErrorAs(t, err, &dead)
	require.Equal(t, 1, dead.Site)
	require.Contains(t, err.Error(), "site 1")
}

func TestCheck(t *testing.T) {
	for name, spoil := range map[string]func(m *Machine){
		"shape": func(m *Machine) { m.Accept = nil },
		"rows":  func(m *Machine) { m.Rows.moves = m.Rows.moves[1:] },
		"class": func(m *Machine) { m.Class[9] = 4 },
		"unused": func(m *Machine) { // no byte of class 0
			for b, c := range m.Class {
				m.Class[b] = max(c, 1)
			}
		},
		"none":   func(m *Machine) { m.Classes, m.Rows.classes = 0, 0 },
		"level":  func(m *Machine) { m.Rows.moves[0].To = 1 },
		"call":   func(m *Machine) { m.Rows.moves[1].Symbol = 2 },
		"resume": func(m *Machine) { m.Resume[0][0] = 1 },
		"return": func(m *Machine) { m.Rows.moves[5].Symbol = 1 },
	} {
		m := brackets()
		require.NoError(t, m.Check())
		spoil(m)
		require.Error(t, m.Check(), name)
	}
}

// The rows of a token's class hold the outcomes of reading the token from every state.
func TestLiftReadsEveryToken(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 17))
	several, called := 0, 0
	for range 300 {
		m, v := randomMachine(r, 3), randomTokens(r, 3, 12)
		l := newLifter(m, v)
		require.NoError(t, l.read(t.Context()))
		i := 0
		for _, run := range l.runs {
			for ; i < int(run.end); i++ {
				outcomes := make([]outcome, m.States())
				if run.class >= 0 {
					rows := l.classes.list[run.class]
					for _, k := range rows {
						for _, x := range l.rows.list[k] {
							outcomes[x.q] = l.outcome(x.o)
						}
					}
					if len(rows) > 1 {
						several++
					}
				}
				for q, got := range outcomes {
					want := l.run(int32(q), v.Text(v.order[i]))
					require.Equal(t, want, got)
					if want.kind == Call {
						called++
					}
				}
			}
		}
		require.Len(t, v.order, i)
	}
	require.Greater(t, several, 300)
	require.Greater(t, called, 1000)
}

// The classes of a weight ascend, and no two weights have the same classes.
func TestWeightsDiffer(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	shared := 0
	for range 300 {
		m, v := randomMachine(r, 1+r.IntN(4)), randomTokens(r, 3, 2+r.IntN(40))
		g, err := Lift(t.Context(), m, v)
		require.NoError(t, err)
		known := map[string]bool{}
		for w := range int32(g.weights.count()) {
			classes := g.weights.of(w)
			require.True(t, slices.IsSorted(classes))
			require.NotEmpty(t, classes)
			known[fmt.Sprint(classes)] = true
		}
		require.Len(t, known, g.weights.count())
		_, _, edges := g.Size()
		shared += edges - len(known)
	}
	require.Greater(t, shared, 1000)
}

// A lift ends before its positions within calls take more memory than its pairs may.
func TestLiftLimitsWaits(t *testing.T) {
	exact.SkipUnderRace(t)
	const n = 20_000
	m := &Machine{Classes: 2, Levels: 2, Resume: [][]int32{{0}}}
	m.Class['b'] = 1
	var moves []Move
	for q := range int32(n) {
		moves = append(moves, Move{Kind: Call, To: n}, Move{Kind: Inside, To: (q + 1) % n})
	}
	m.Level, m.Accept = append(make([]int32, n), 1), make([]bool, n+1)
	m.Accept[0] = true
	m.Rows = rowsOf(2, append(moves, Move{Kind: Inside, To: n}, Move{Kind: Return}))
	require.NoError(t, m.Check())
	_, err := Lift(t.Context(), m, Prepare([]string{"a", "b", strings.Repeat("a", 1000)}, nil, nil))
	var limit *constraint.LimitError
	require.ErrorAs(t, err, &limit)
	require.Less(t, limit.Value, limit.Bound+n)
}

// A lift ends before what it keeps takes too much memory: here, every text does something else.
func TestLiftLimitsOutcomes(t *testing.T) {
	exact.SkipUnderRace(t)
	const n = 4200
	m := &Machine{Classes: 2, Levels: 1, Level: make([]int32, n), Accept: make([]bool, n)}
	m.Class['b'] = 1
	var moves []Move
	for q := range int32(n) {
		moves = append(moves, Move{Kind: Inside, To: (q + 1) % n}, Move{})
	}
	m.Rows = rowsOf(2, moves)
	require.NoError(t, m.Check())
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = strings.Repeat("a", i+1)
	}
	g, err := Lift(t.Context(), m, Prepare(tokens[:1000], nil, nil))
	require.NoError(t, err)
	require.Equal(t, 1000, g.weights.count())
	_, err = Lift(t.Context(), m, Prepare(tokens, nil, nil))
	var limit *constraint.LimitError
	require.ErrorAs(t, err, &limit)
	require.Less(t, limit.Value, limit.Bound+2*n)
}

// TestLiftLimitsRows lifts a machine of which 1100 states return on r. Each token begins with r and leads
// the caller to a different state, so each has its own row of 1100 pairs.
func TestLiftLimitsRows(t *testing.T) {
	exact.SkipUnderRace(t)
	requireLimited(t, returning(1100, 13), Prepare(words("r", 13), nil, nil), 1100)
}

// The memory of a lift is proportional to the number of its exits.
func TestLiftKeepsManyExits(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g := lifted(t, returning(1, 12), Prepare(append(words("r", 12), "\x00"), nil, nil))
	runtime.ReadMemStats(&after)
	require.Len(t, g.levels[1].exits, 1<<12)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<26))
}

// returning returns a machine with the given number of states that return on r. The letters a and b
// then lead the caller to other states, through a tree of the given depth.
func returning(returns, depth int32) *Machine {
	callers := int32(2) << depth
	m := &Machine{Classes: 4, Levels: 2, Start: 1, Resume: [][]int32{{1}}}
	m.Class['a'], m.Class['b'], m.Class['r'] = 1, 2, 3
	var moves []Move
	for q := range callers { // state 2q or 2q+1 follows state q
		row := []Move{{Call, 0, callers}, {}, {}, {}}
		if q > 0 && 2*q < callers {
			row[1], row[2] = Move{Inside, 0, 2 * q}, Move{Inside, 0, 2*q + 1}
		}
		moves = append(moves, row...)
	}
	for q := range returns {
		moves = append(moves, Move{Inside, 0, callers + min(q+1, returns-1)}, Move{}, Move{}, Move{Return, 0, 0})
	}
	m.Level = append(make([]int32, callers), slices.Repeat([]int32{1}, int(returns))...)
	m.Accept = slices.Repeat([]bool{true}, len(m.Level))
	m.Rows = rowsOf(4, moves)
	return m
}

// TestLiftLimitsExits returns on r with 400 symbols, so each token r… has 400 exits, all dead.
func TestLiftLimitsExits(t *testing.T) {
	exact.SkipUnderRace(t)
	const returns = 400
	m := &Machine{Classes: 2, Levels: 2, Level: slices.Repeat([]int32{1}, returns+1), Accept: make([]bool, returns+1)}
	m.Class['r'], m.Level[0], m.Accept[0] = 1, 0, true
	moves := []Move{{Call, 0, 1}, {}}
	for q := range int32(returns) {
		moves = append(moves, Move{Inside, 0, 1 + min(q+1, returns-1)}, Move{Return, q, 0})
	}
	m.Resume = [][]int32{slices.Repeat([]int32{-1}, returns)}
	m.Rows = rowsOf(2, moves)
	require.NoError(t, m.Check())
	requireLimited(t, m, Prepare(words("r", 12), nil, nil), exitSize*returns)
}

// TestLiftLimitsWeights lifts a machine of eight parts that each see only three letters of a token.
// The tokens then have 50,000 classes, which every state divides among few targets.
func TestLiftLimitsWeights(t *testing.T) {
	exact.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(4, 28))
	const parts, states, letters = 8, 60, 3
	m := &Machine{Classes: 1 + parts*(letters+1), Levels: 1, Level: make([]int32, 1+parts*states)}
	m.Accept = slices.Repeat([]bool{true}, len(m.Level))
	m.Rows = NewRows(Shapes{}, 0, 0)
	slots, moves, tokens := make([]uint8, m.Classes), make([]Move, 1+parts), []string{}
	for p := range parts {
		m.Class['A'+p] = uint8(1 + p)
		slots[1+p], moves[1+p] = uint8(1+p), Move{Inside, 0, int32(1 + p*states)}
		tokens = append(tokens, string(rune('A'+p)))
	}
	m.Rows.Add(m.Rows.Find(slots), moves...)
	for q := range int32(parts * states) {
		part, slots, moves := q/states, make([]uint8, m.Classes), []Move{{Inside, 0, 1 + q}}
		for i := range int32(letters) {
			class := 1 + parts + part*letters + i
			m.Class['a'+part*letters+i], slots[class] = uint8(class), uint8(1+i)
			moves = append(moves, Move{Inside, 0, 1 + part*states + r.Int32N(states)})
		}
		m.Rows.Add(m.Rows.Find(slots), moves...)
	}
	require.NoError(t, m.Check())
	for range 60_000 {
		b := make([]byte, 4+r.IntN(8))
		for i := range b {
			b[i] = 'a' + byte(r.IntN(parts*letters-10*r.IntN(2)))
		}
		tokens = append(tokens, string(b))
	}
	v := Prepare(tokens, nil, nil)
	require.NoError(t, newLifter(m, v).read(t.Context()))
	requireLimited(t, m, v, len(tokens))
}

// words returns all words of n letters a or b after the given text.
func words(first string, n int) []string {
	list := []string{first}
	for range n {
		var longer []string
		for _, x := range list {
			longer = append(longer, x+"a", x+"b")
		}
		list = longer
	}
	return list
}

// requireLimited requires that a lift ends soon after what it keeps exceeds the limit.
func requireLimited(t *testing.T, m *Machine, v *Vocabulary, most int) {
	_, err := Lift(t.Context(), m, v)
	var limit *constraint.LimitError
	require.ErrorAs(t, err, &limit)
	require.Less(t, limit.Value, limit.Bound+2*most)
}

// TestLiftersAreUsedAgain lifts machines with one lifter, which must keep nothing of an earlier lift,
// whether or not it was ended early.
func TestLiftersAreUsedAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(45, 4))
	used := new(lifter)
	var graphs [2][]*Graph
	for i := range 200 {
		m, v := randomMachine(r, 1+r.IntN(4)), randomTokens(r, 3, 2+r.IntN(90))
		fresh := newLifter(m, v)
		used.reset(m, v)
		require.NoError(t, used.read(t.Context()))
		if i%3 == 0 {
			continue
		}
		require.NoError(t, fresh.read(t.Context()))
		want, err := fresh.trim(t.Context())
		require.NoError(t, err)
		got, err := used.trim(t.Context())
		require.NoError(t, err)
		want.classes()
		got.classes()
		require.Equal(t, want, got)
		graphs[0], graphs[1] = append(graphs[0], want), append(graphs[1], got)
	}
	require.Equal(t, graphs[0], graphs[1], "later lifts change nothing of earlier ones")
}

// Tokens that are classed together with a token that begins them have the classes that reading them
// would give.
func TestLiftClassesSubtreesAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	looped := 0
	for range 300 {
		m := randomMachine(r, 3)
		for b := range m.Class {
			switch kind[b] {
			case kind['a']:
				m.Class[b] = 0
			case kind['0']:
				m.Class[b] = 1
			case kind['.']:
				m.Class[b] = 2
			default:
				m.Class[b] = 3
			}
		}
		var moves []Move
		for q := range int32(len(m.Level)) { // letters or digits often change nothing
			row := m.Rows.all(q)
			if k := r.IntN(4); k < 2 {
				row[k] = Move{Kind: Inside, To: q}
			}
			moves = append(moves, row...)
		}
		m.Rows = rowsOf(m.Classes, moves)
		tokens := make([]string, 200)
		for i := range tokens {
			for range 1 + r.IntN(5) {
				tokens[i] += string("abyz0199."[r.IntN(9)])
			}
		}
		v := Prepare(tokens, nil, nil)
		plain := *v
		plain.kinds = slices.Repeat([]uint64{math.MaxUint64}, len(v.kinds)) // as if any byte might follow
		a, b := newLifter(m, v), newLifter(m, &plain)
		require.NoError(t, a.read(t.Context()))
		require.NoError(t, b.read(t.Context()))
		require.Equal(t, b.runs, a.runs)
		require.Equal(t, b.rows.list, a.rows.list)
		require.Equal(t, b.classes.list, a.classes.list)
		require.Equal(t, b.list, a.list)
		for id, x := range a.actions.about {
			if len(a.actions.list[id]) > 0 && x.loop&^(1<<end) != 0 {
				looped++
			}
		}
	}
	require.Greater(t, looped, 50)
}

func TestLiftCancels(t *testing.T) {
	exact.SkipUnderRace(t)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	tokens := make([]string, 1<<20)
	for i := range tokens {
		tokens[i] = string([]byte{'a' + byte(i&1), byte(i), byte(i >> 8), byte(i >> 16)})
	}
	_, err := Lift(ctx, brackets(), Prepare(tokens, nil, nil))
	require.ErrorIs(t, err, stop)

	l := newLifter(brackets(), Prepare([]string{"(", ")", "x"}, nil, nil)) // what is read is trimmed, too
	require.NoError(t, l.read(context.Background()))
	_, err = l.trim(ctx)
	require.ErrorIs(t, err, stop)
}

// newLifter returns a lifter that no pool has held.
func newLifter(m *Machine, v *Vocabulary) *lifter {
	l := new(lifter)
	l.reset(m, v)
	return l
}
