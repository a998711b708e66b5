package elimination_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/elimination"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// graph is a product of tables.
type graph struct {
	cards  []int32
	scopes [][]int32
	tables [][]float64
	late   []bool
}

// random returns a graph of at most some thousand states: mixed numbers of levels, tables
// over none to four variables, some shared, energies up to a scale and many of them +Inf.
func random(r *rand.Rand) graph {
	var g graph
	n, states := 1+r.IntN(9), 1
	for range n {
		c := 1 + r.IntN(4)
		if states*c > 3000 {
			c = 1
		}
		states *= c
		g.cards = append(g.cards, int32(c))
	}
	scale := []float64{.3, 3, 40, 400}[r.IntN(4)]
	forbidden := []float64{0, 0, .2, .5}[r.IntN(4)]
	shift := float64(r.IntN(2)) * 300 * r.NormFloat64()
	for range r.IntN(2*n + 2) {
		scope := []int32{}
		for _, v := range r.Perm(n)[:min(n, r.IntN(5))] {
			scope = append(scope, int32(v))
		}
		size := 1
		for _, v := range scope {
			size *= int(g.cards[v])
		}
		t := make([]float64, size)
		for i := range t {
			if t[i] = shift + scale*(2*r.Float64()-1); r.Float64() < forbidden {
				t[i] = math.Inf(1)
			}
		}
		g.scopes, g.tables = append(g.scopes, scope), append(g.tables, t)
		if r.IntN(3) == 0 {
			slices.Reverse(scope)
			g.scopes, g.tables = append(g.scopes, slices.Clone(scope)), append(g.tables, t)
			if len(scope) > 1 && g.cards[scope[0]] != g.cards[scope[len(scope)-1]] {
				slices.Reverse(g.scopes[len(g.scopes)-1])
			}
			slices.Reverse(scope)
		}
	}
	if r.IntN(2) == 0 {
		g.late = make([]bool, n)
		for i := range g.late {
			g.late[i] = r.IntN(2) == 0
		}
	}
	return g
}

// states calls f with every state and its energy.
func (g graph) states(f func(x []int32, e float64)) {
	x := make([]int32, len(g.cards))
	for {
		e := 0.0
		for k, scope := range g.scopes {
			e += g.tables[k][g.index(scope, x)]
		}
		f(x, e)
		at := 0
		for ; at < len(x); at++ {
			if x[at]++; x[at] < g.cards[at] {
				break
			}
			x[at] = 0
		}
		if at == len(x) {
			return
		}
	}
}

func (g graph) index(scope, x []int32) int {
	at := 0
	for _, v := range scope {
		at = at*int(g.cards[v]) + int(x[v])
	}
	return at
}

// truth is what enumeration finds.
type truth struct {
	logZ             float64
	factors, singles [][]float64
	states           map[string]float64 // log of the weight of the states of late variables
}

func (g graph) truth() truth {
	least, sum := math.Inf(1), 0.0
	g.states(func(_ []int32, e float64) { least = min(least, e) })
	var t truth
	for _, table := range g.tables {
		t.factors = append(t.factors, make([]float64, len(table)))
	}
	for _, c := range g.cards {
		t.singles = append(t.singles, make([]float64, c))
	}
	weight, lowest := map[string][]float64{}, math.Inf(1)
	g.states(func(x []int32, e float64) {
		if math.IsInf(e, 1) {
			return
		}
		w := math.Exp(least - e)
		sum += w
		for k, scope := range g.scopes {
			t.factors[k][g.index(scope, x)] += w
		}
		for i, l := range x {
			t.singles[i][l] += w
		}
		weight[g.key(x)] = append(weight[g.key(x)], e)
		lowest = min(lowest, e)
	})
	t.logZ = math.Log(sum) - least
	for _, p := range append(slices.Clone(t.factors), t.singles...) {
		for i := range p {
			p[i] /= sum
		}
	}
	t.states = map[string]float64{}
	for k, e := range weight {
		m, s := slices.Min(e), 0.0
		for _, v := range e {
			s += math.Exp(m - v)
		}
		t.states[k] = m - math.Log(s)
	}
	return t
}

// key names the late variables' state.
func (g graph) key(x []int32) string {
	x = slices.Clone(x)
	for i := range x {
		if g.late != nil && !g.late[i] {
			x[i] = 0
		}
	}
	return fmt.Sprint(x)
}

func near(t *testing.T, want, got, tolerance float64, what ...any) {
	t.Helper()
	if !(math.Abs(want-got) <= tolerance) {
		require.Failf(t, "differs", "%v, want %v: %v", got, want, fmt.Sprint(what...))
	}
}

// Sums, marginals of variables and tables, and the best states of random graphs are those
// of enumeration, whole and in segments.
func TestRandomGraphs(t *testing.T) {
	ctx, cases := t.Context(), 400
	if exact.Long() {
		cases = 100_000
	}
	zero := 0
	for seed := range cases {
		g := random(rand.New(rand.NewPCG(uint64(seed), 1)))
		want := g.truth()
		p, err := elimination.New(ctx, g.cards, g.scopes, elimination.Options{Late: g.late})
		require.NoError(t, err)
		if seed%3 == 0 {
			if q, err := elimination.New(ctx, g.cards, g.scopes, elimination.Options{Late: g.late, Bytes: max(16, p.Bytes()*2/3)}); err == nil {
				p = q
			} else {
				var w *energy.WidthError
				require.ErrorAs(t, err, &w)
				require.LessOrEqual(t, w.LowerBound, p.Width+1e-9)
			}
		}
		r := p.NewRun()
		logZ, err := r.Sum(ctx, g.tables)
		if math.IsInf(want.logZ, -1) || math.IsNaN(want.logZ) {
			zero++
			require.ErrorIs(t, err, elimination.ErrZero, seed)
			continue
		}
		require.NoError(t, err, seed)
		tolerance := 1e-12 * max(1, math.Abs(want.logZ))
		for _, table := range g.tables { // enumeration rounds these
			for _, e := range table {
				if !math.IsInf(e, 1) {
					tolerance = max(tolerance, 2e-15*math.Abs(e)*float64(len(g.tables)))
				}
			}
		}
		near(t, want.logZ, logZ, tolerance, "log Z of seed ", seed)
		again, err := r.Marginals(ctx, g.tables, func(k int, got []float64) {
			require.Len(t, got, len(want.factors[k]))
			for i, v := range got {
				near(t, want.factors[k][i], v, max(1e-12, tolerance), "table ", k, " of seed ", seed)
			}
		}, func(v int32, got []float64) {
			require.Len(t, got, len(want.singles[v]))
			for l, p := range got {
				near(t, want.singles[v][l], p, max(1e-12, tolerance), "variable ", v, " of seed ", seed)
			}
		})
		require.NoError(t, err)
		require.Equal(t, logZ, again)
		k := 1 + seed%12
		x, e, err := r.Best(ctx, g.tables, k)
		require.NoError(t, err)
		all := []float64{}
		for _, v := range want.states {
			all = append(all, v)
		}
		slices.Sort(all)
		require.Len(t, e, min(k, len(all)), seed)
		seen := map[string]bool{}
		n := len(g.cards)
		for i, v := range e {
			near(t, all[i], v, max(1e-11, tolerance), "state ", i, " of seed ", seed)
			key := g.key(x[i*n : (i+1)*n])
			require.False(t, seen[key], "a state twice")
			seen[key] = true
			near(t, want.states[key], v, max(1e-11, tolerance), "its energy")
		}
	}
	require.Less(t, zero, cases/2)
}

// The draws of a state have the probabilities of enumeration: χ² of 60 graphs, with -long
// of 200, at an error rate of 1e-6 in all.
func TestDraws(t *testing.T) {
	exact.SkipRepeated(t)
	ctx := t.Context()
	tested, problems := 0, 60
	if exact.Long() {
		problems = 200
	}
	for seed := uint64(0); tested < problems; seed++ {
		g := random(rand.New(rand.NewPCG(seed, 2)))
		want := map[string]float64{}
		truth := g.truth()
		if !(truth.logZ > math.Inf(-1)) {
			continue
		}
		g.states(func(x []int32, e float64) {
			if p := math.Exp(0 - e - truth.logZ); p > 0 {
				want[fmt.Sprint(x)] = p
			}
		})
		p, err := elimination.New(ctx, g.cards, g.scopes, elimination.Options{})
		require.NoError(t, err)
		if q, err := elimination.New(ctx, g.cards, g.scopes, elimination.Options{Bytes: max(16, p.Bytes()*2/3)}); err == nil && seed%2 == 0 {
			p = q
		}
		r := p.NewRun()
		_, err = r.Prepare(ctx, g.tables)
		require.NoError(t, err)
		const draws = 2000
		n := len(g.cards)
		x, src := make([]int32, n*draws), make([]rand.Source, draws)
		for s := range src {
			src[s] = rand.NewPCG(seed, uint64(s))
		}
		require.NoError(t, r.Draw(ctx, x, src))
		one := make([]int32, n)
		require.NoError(t, r.Draw(ctx, one, []rand.Source{rand.NewPCG(seed, 7)}))
		count := map[string]int{}
		for s := range draws {
			state := make([]int32, n)
			for v := range state {
				state[v] = x[v*draws+s]
			}
			if s == 7 {
				require.Equal(t, one, state, "a sample depends on its own source alone")
			}
			count[fmt.Sprint(state)]++
			require.Contains(t, want, fmt.Sprint(state), "a state without probability")
		}
		chi, df, rest, others := 0.0, -1, 0.0, 0
		for key, p := range want {
			if p*draws < 10 {
				rest, others = rest+p, others+count[key]
				continue
			}
			d := float64(count[key]) - p*draws
			chi, df = chi+d*d/(p*draws), df+1
		}
		if rest*draws >= 10 {
			d := float64(others) - rest*draws
			chi, df = chi+d*d/(rest*draws), df+1
		}
		tested++
		if df > 0 { // Laurent and Massart 2000: P(χ² − df > 2√(df·a) + 2a) ≤ e^−a
			a := math.Log(200 / 1e-6)
			require.Less(t, chi, float64(df)+2*math.Sqrt(float64(df)*a)+2*a, seed)
		}
	}
}

// grid is an Ising model with random couplings on rows × cols sites.
func grid(rows, cols int, seed uint64) graph {
	r := rand.New(rand.NewPCG(seed, 3))
	var g graph
	add := func(table []float64, scope ...int32) {
		g.scopes, g.tables = append(g.scopes, scope), append(g.tables, table)
	}
	for i := range rows {
		for j := range cols {
			v := int32(i*cols + j)
			g.cards = append(g.cards, 2)
			h := r.NormFloat64()
			add([]float64{h, -h}, v)
			for k, there := range []bool{j+1 < cols, i+1 < rows} {
				if w := r.NormFloat64(); there {
					add([]float64{w, -w, -w, w}, v, v+[]int32{1, int32(cols)}[k])
				}
			}
		}
	}
	return g
}

// A strip is summed along its length, in segments when memory is short; the results agree,
// and so do logarithms with linear space.
func TestStrip(t *testing.T) {
	ctx := t.Context()
	g := grid(8, 60, 1)
	p, err := elimination.New(ctx, g.cards, g.scopes, elimination.Options{})
	require.NoError(t, err)
	require.LessOrEqual(t, p.Width, 12.0)
	r := p.NewRun()
	logZ, err := r.Sum(ctx, g.tables)
	require.NoError(t, err)
	whole := map[int32][]float64{}
	_, err = r.Marginals(ctx, g.tables, nil, func(v int32, p []float64) { whole[v] = slices.Clone(p) })
	require.NoError(t, err)
	less, err := elimination.New(ctx, g.cards, g.scopes, elimination.Options{Bytes: p.Bytes() / 8})
	require.NoError(t, err)
	require.LessOrEqual(t, less.Bytes(), p.Bytes()/8)
	s := less.NewRun()
	again, err := s.Marginals(ctx, g.tables, nil, func(v int32, p []float64) { near(t, whole[v][0], p[0], 1e-13) })
	require.NoError(t, err)
	near(t, logZ, again, 1e-12*math.Abs(logZ))

	// The largest weights of tables of a wide range: the same graph, with one table that
	// forces logarithms.
	g.tables[0] = []float64{0, 1e4}
	want, err := r.Sum(ctx, g.tables)
	require.NoError(t, err)
	g.tables[0] = []float64{0, math.Inf(1)}
	got, err := r.Sum(ctx, g.tables)
	require.NoError(t, err)
	near(t, want, got, 1e-12*math.Abs(want))
}

func TestRefusal(t *testing.T) {
	g := grid(316, 317, 2)
	_, err := elimination.New(t.Context(), g.cards, g.scopes, elimination.Options{})
	var w *energy.WidthError
	require.ErrorAs(t, err, &w)
	require.GreaterOrEqual(t, w.LowerBound, 4.0)
	require.Greater(t, w.Width, 300.0)
	require.ErrorContains(t, err, "a graph of 100172 variables and width ≥ ")
	var complete graph // of width 60 exactly
	for i := range int32(60) {
		complete.cards = append(complete.cards, 2)
		for j := range i {
			complete.scopes = append(complete.scopes, []int32{j, i})
		}
	}
	_, err = elimination.New(t.Context(), complete.cards, complete.scopes, elimination.Options{})
	require.ErrorAs(t, err, &w)
	require.Equal(t, 60.0, w.LowerBound)
	require.Equal(t, 60.0, w.Width)
	g = grid(40, 40, 3)
	_, err = elimination.New(t.Context(), g.cards, g.scopes, elimination.Options{Bytes: 1 << 20})
	require.ErrorAs(t, err, &w)
	require.Equal(t, int64(1<<20), w.Limit)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = elimination.New(ctx, g.cards, g.scopes, elimination.Options{})
	require.ErrorIs(t, err, context.Canceled)
	g = grid(10, 10, 3)
	p, err := elimination.New(t.Context(), g.cards, g.scopes, elimination.Options{})
	require.NoError(t, err)
	_, err = p.NewRun().Sum(ctx, g.tables)
	require.True(t, errors.Is(err, context.Canceled))
}

// Variables that share tables with thousands of others are no obstacle if the others are
// loosely tied, and no reason to search long if they are not.
func TestHubs(t *testing.T) {
	const n = 20000
	for _, c := range []struct {
		name  string
		hubs  int32
		rim   bool // the others form a ring
		width float64
	}{{"star", 1, false, 2}, {"two stars", 2, false, 3}, {"wheel", 1, true, 4}, {"bicycle", 2, true, 5}} {
		t.Run(c.name, func(t *testing.T) {
			g := graph{cards: slices.Repeat([]int32{2}, n)}
			add := func(t []float64, scope ...int32) {
				g.scopes, g.tables = append(g.scopes, scope), append(g.tables, t)
			}
			for v := c.hubs; v < n; v++ {
				for h := range c.hubs {
					add([]float64{0.1, 0, 0, 0.1}, h, v)
				}
				if c.rim {
					add([]float64{0, 0.2, 0.2, 0}, v, max(c.hubs, (v+1)%n))
				}
			}
			p, err := elimination.New(t.Context(), g.cards, g.scopes, elimination.Options{})
			require.NoError(t, err)
			require.Equal(t, c.width, p.Width)
			got, err := p.NewRun().Sum(t.Context(), g.tables)
			require.NoError(t, err)
			// Given the hubs' levels, of which only whether they agree matters, the others
			// are a ring, or independent.
			want := math.Inf(-1)
			for ones := range c.hubs + 1 {
				zeros := c.hubs - ones
				a, b := math.Exp(-0.1*float64(zeros)), math.Exp(-0.1*float64(ones))
				z := float64(n-c.hubs) * math.Log(a+b)
				if c.rim { // transfer matrix (a, bw; aw, b)
					w := math.Exp(-0.2)
					root := math.Sqrt((a-b)*(a-b) + 4*a*b*w*w)
					z = float64(n-c.hubs)*math.Log((a+b+root)/2) + math.Log1p(math.Pow((a+b-root)/(a+b+root), float64(n-c.hubs)))
				}
				ways := math.Log(float64(1 + ones*zeros)) // of two hubs: 1, 2, 1
				want = max(want, z+ways) + math.Log1p(math.Exp(-math.Abs(z+ways-want)))
			}
			near(t, want, got, 1e-12*want)
		})
	}
	var dense graph
	for i := range int32(700) {
		dense.cards = append(dense.cards, 2)
		for j := range i {
			dense.scopes = append(dense.scopes, []int32{j, i})
		}
	}
	_, err := elimination.New(t.Context(), dense.cards, dense.scopes, elimination.Options{})
	var w *energy.WidthError
	require.ErrorAs(t, err, &w)
	require.Equal(t, 700.0, w.LowerBound)
}

func BenchmarkSum(b *testing.B) {
	for _, c := range []struct{ rows, cols int }{{16, 200}, {20, 20}} {
		b.Run(fmt.Sprintf("grid=%dx%d", c.rows, c.cols), func(b *testing.B) {
			g := grid(c.rows, c.cols, 4)
			p, err := elimination.New(b.Context(), g.cards, g.scopes, elimination.Options{Bytes: 200 << 20})
			require.NoError(b, err)
			r := p.NewRun()
			sum := func() { _, err := r.Sum(b.Context(), g.tables); require.NoError(b, err) }
			began := exact.CPU()
			sum() // touches new memory, page by page
			first := exact.CPU() - began
			began = exact.CPU()
			for b.Loop() {
				sum()
			}
			b.ReportMetric((exact.CPU()-began).Seconds()*1e9/float64(b.N)/p.Entries, "ns/entry")
			b.ReportMetric(first.Seconds()*1e9/p.Entries, "first-ns/entry")
			b.ReportMetric(p.Width, "width")
		})
	}
}

func BenchmarkLogarithms(b *testing.B) {
	g := grid(16, 40, 4)
	g.tables[0] = []float64{0, 1e4}
	p, err := elimination.New(b.Context(), g.cards, g.scopes, elimination.Options{Bytes: 200 << 20})
	require.NoError(b, err)
	r := p.NewRun()
	began := exact.CPU()
	for b.Loop() {
		_, err := r.Sum(b.Context(), g.tables)
		require.NoError(b, err)
	}
	b.ReportMetric((exact.CPU()-began).Seconds()*1e9/float64(b.N)/p.Entries, "ns/entry")
}

func BenchmarkMarginals(b *testing.B) {
	g := grid(16, 200, 4)
	p, err := elimination.New(b.Context(), g.cards, g.scopes, elimination.Options{Bytes: 200 << 20})
	require.NoError(b, err)
	r := p.NewRun()
	began := exact.CPU()
	for b.Loop() {
		_, err := r.Marginals(b.Context(), g.tables, nil, func(int32, []float64) {})
		require.NoError(b, err)
	}
	b.ReportMetric((exact.CPU()-began).Seconds()/float64(b.N), "CPU-s/op")
	b.ReportMetric(float64(p.Bytes())/(1<<20), "MiB")
}

func BenchmarkDraw(b *testing.B) {
	g := grid(16, 16, 4)
	p, err := elimination.New(b.Context(), g.cards, g.scopes, elimination.Options{})
	require.NoError(b, err)
	r := p.NewRun()
	_, err = r.Prepare(b.Context(), g.tables)
	require.NoError(b, err)
	const n = 1 << 12 // as package junction draws them
	x, src := make([]int32, n*256), make([]rand.Source, n)
	for s := range src {
		src[s] = rand.NewPCG(1, uint64(s))
	}
	began := exact.CPU()
	for b.Loop() {
		require.NoError(b, r.Draw(b.Context(), x, src))
	}
	b.ReportMetric(n*float64(b.N)/(exact.CPU()-began).Seconds(), "draws/s")
}

func BenchmarkRefusal(b *testing.B) {
	g := grid(316, 317, 2)
	began := exact.CPU()
	for b.Loop() {
		_, err := elimination.New(b.Context(), g.cards, g.scopes, elimination.Options{})
		require.Error(b, err)
	}
	b.ReportMetric((exact.CPU()-began).Seconds()/float64(b.N), "CPU-s/op")
}

// Positions from the bits of a word are those from rows of levels, which logarithms use. A level of
// energy 2000 makes a run use logarithms, one of 600 does not, and neither is ever drawn. The hub of
// a wheel is drawn more than 64 variables before the last ones.
func TestDrawsFromBits(t *testing.T) {
	wheel := graph{cards: slices.Repeat([]int32{2}, 150)}
	r := rand.New(rand.NewPCG(4, 44))
	for v := int32(1); v < 150; v++ {
		for _, u := range []int32{0, max(1, (v+1)%150)} {
			a := r.NormFloat64()
			wheel.scopes, wheel.tables = append(wheel.scopes, []int32{u, v}), append(wheel.tables, []float64{a, 0, 0, a})
		}
	}
	for _, g := range []graph{wheel, grid(7, 11, 5)} {
		g.scopes, g.tables = append(g.scopes, []int32{5}), append(g.tables, nil)
		p, err := elimination.New(t.Context(), g.cards, g.scopes, elimination.Options{})
		require.NoError(t, err)
		const n = 50
		var drawn [2][]int32
		for k, e := range []float64{600, 2000} {
			g.tables[len(g.tables)-1] = []float64{0, e}
			run := p.NewRun()
			_, err = run.Prepare(t.Context(), g.tables)
			require.NoError(t, err)
			x, src := make([]int32, n*len(g.cards)), make([]rand.Source, n)
			for s := range src {
				src[s] = rand.NewPCG(1, uint64(s))
			}
			require.NoError(t, run.Draw(t.Context(), x, src))
			drawn[k] = x
		}
		require.True(t, slices.Equal(drawn[0], drawn[1]))
		require.False(t, slices.Equal(drawn[0][:n], drawn[0][n:2*n]))
	}
}
