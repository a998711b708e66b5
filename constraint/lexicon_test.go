package constraint

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestLexicon(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		levels := rapid.IntRange(1, 3).Draw(rt, "levels")
		draw := rapid.SliceOfN(rapid.Int32Range(0, int32(levels-1)), 0, 5)
		words := rapid.SliceOfN(draw, 0, 60).Draw(rt, "words")
		var l Lexicon
		in := map[string]bool{}
		for _, x := range words {
			key := fmt.Sprint(x)
			require.Equal(rt, !in[key], l.Add(x))
			in[key] = true
			require.True(rt, l.Contains(x))
			require.Equal(rt, len(in), l.Len())
		}
		exact.Accepts(rt, &l, levels, 6, func(x []int32) bool { return in[fmt.Sprint(x)] })
		exact.Accepts(rt, Complement(&l), levels, 6, func(x []int32) bool { return !in[fmt.Sprint(x)] })
		requireClasses(rt, &l, levels+1)
		requireConsistent(rt, &l)

		var all [][]int32
		for x := range l.All() {
			all = append(all, slices.Clone(x))
		}
		require.Len(rt, all, len(in))
		require.True(rt, slices.IsSortedFunc(all, slices.Compare))

		d, err := Compile(context.Background(), &l, levels, Limits{})
		if len(in) == 0 {
			require.ErrorIs(rt, err, ErrInfeasible)
			require.Equal(rt, 1, l.Nodes())
			return
		}
		require.NoError(rt, err)
		require.Equal(rt, d.States(), l.Nodes(), "minimal after every insertion")
	})
}

// requireConsistent checks the book-keeping of a lexicon: every state that
// exists is reachable, counted and registered under its edges.
func requireConsistent(t require.TestingT, l *Lexicon) {
	refs := make([]int32, len(l.node))
	reached := make([]bool, len(l.node))
	var visit func(s int32)
	n := 0
	visit = func(s int32) {
		if reached[s] {
			return
		}
		reached[s] = true
		n++
		edges := l.edges(s)
		require.True(t, slices.IsSortedFunc(edges, func(a, b edge) int { return int(a.token - b.token) }))
		for _, e := range edges {
			refs[e.to]++
			visit(e.to)
		}
		if s != 0 {
			require.Equal(t, s, l.register.find(&l.nodes, l.node[s].final, edges))
		}
	}
	if len(l.node) == 0 {
		return
	}
	visit(0)
	require.Equal(t, l.Nodes(), n)
	require.Equal(t, n-1, l.register.used)
	for s, r := range refs {
		if reached[s] {
			require.Equal(t, r, l.node[s].refs)
		}
	}
}

func TestLexiconOfManyLevels(t *testing.T) {
	// States with hundreds of edges, in a random order.
	var l Lexicon
	order := rand.New(rand.NewPCG(3, 4)).Perm(1000)
	for _, a := range order {
		for b := range int32(3) {
			require.True(t, l.Add([]int32{int32(a), b, 7}))
		}
	}
	require.Equal(t, 3000, l.Len())
	require.Equal(t, 4, l.Nodes())
	for a := range int32(1001) {
		require.Equal(t, a < 1000, l.Contains([]int32{a, 2, 7}))
	}
	requireConsistent(t, &l)
	stop := 0
	for range l.All() {
		if stop++; stop == 5 {
			break
		}
	}
	require.Equal(t, 5, stop)
}

// Transitions of many states at once are those of each, also of states that do not
// exist, and are appended.
func TestEdgesOfManyStates(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	var l Lexicon
	for range 300 {
		l.Add([]int32{r.Int32N(20), r.Int32N(20), r.Int32N(20)})
	}
	states := []int{-1, l.Nodes() + 1000}
	for range 500 {
		states = append(states, r.IntN(len(l.node)))
	}
	tokens, to, ends := []int32{7}, []int{8}, []int{9}
	wantTokens, wantTo, wantEnds := []int32{7}, []int{8}, []int{9}
	tokens, to, ends = l.AppendEdgesOf(tokens, to, ends, states)
	for _, s := range states {
		wantTokens, wantTo = l.AppendEdges(wantTokens, wantTo, s)
		wantEnds = append(wantEnds, len(wantTokens))
	}
	require.Equal(t, wantTokens, tokens)
	require.Equal(t, wantTo, to)
	require.Equal(t, wantEnds, ends)
	tokens, _, ends = new(Lexicon).AppendEdgesOf(nil, nil, nil, []int{0, 1})
	require.Empty(t, tokens)
	require.Equal(t, []int{0, 0}, ends)
}

func TestEmptyLexicon(t *testing.T) {
	var l Lexicon
	require.False(t, l.Contains(nil))
	require.False(t, l.Contains([]int32{0}))
	for range l.All() {
		t.Fatal("a sequence in the empty set")
	}
	require.True(t, l.Add(nil))
	require.False(t, l.Add(nil))
	require.True(t, l.Contains(nil))
	require.Panics(t, func() { l.Add([]int32{-1}) })
}

// TestNoveltyFollowsTheLexicon builds a product once and adds to the set it
// excludes.
func TestNoveltyFollowsTheLexicon(t *testing.T) {
	var l Lexicon
	p, err := Intersect(Complement(&l), Count{Levels: []int32{1}, Min: 1, Max: Unbounded})
	require.NoError(t, err)
	known := map[string]bool{}
	exact.Sequences(2, 5, func(x []int32) {
		if len(x)%2 == 0 {
			l.Add(x)
			known[fmt.Sprint(x)] = true
		}
	})
	exact.Accepts(t, p, 2, 6, func(x []int32) bool { return !known[fmt.Sprint(x)] && occurrences(x, 1) > 0 })
}

// molecules returns a corpus of about 134 000 strings of at most 28 bytes as
// sequences: the QM9 molecules where the file is at hand, otherwise strings of
// the same size from a small grammar.
func molecules(tb testing.TB) (words [][]int32, name string) {
	data, err := os.ReadFile("../../shared/data/qm9_smiles.csv")
	if err == nil {
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		for _, s := range lines[1:] {
			words = append(words, tokens(s))
		}
		return words, "qm9"
	}
	tb.Logf("no corpus file: generated strings")
	r := rand.New(rand.NewPCG(5, 6))
	seen := map[string]bool{}
	parts := []string{"C", "C", "C", "N", "O", "C(C)", "C(=O)", "C1", "C#C", "CC1", "O1", "N"}
	for len(seen) < 133_885 {
		s := ""
		for range 5 + r.IntN(6) {
			s += parts[r.IntN(len(parts))]
		}
		if !seen[s] {
			seen[s] = true
			words = append(words, tokens(s))
		}
	}
	return words, "generated"
}

// tokens returns the bytes of s.
func tokens(s string) []int32 {
	x := make([]int32, len(s))
	for i := range x {
		x[i] = int32(s[i])
	}
	return x
}

func TestLexiconOfACorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("134 000 strings in two orders")
	}
	words, _ := molecules(t)
	var l, sorted Lexicon
	for _, x := range words {
		l.Add(x)
	}
	slices.SortFunc(words, slices.Compare)
	for _, x := range words {
		sorted.Add(x)
	}
	require.Equal(t, sorted.Len(), l.Len())
	require.Equal(t, sorted.Nodes(), l.Nodes())
	requireConsistent(t, &l)
	i := 0
	for x := range l.All() {
		require.Equal(t, words[i], x)
		i++
	}
}

func BenchmarkLexicon(b *testing.B) {
	words, corpus := molecules(b)
	for _, order := range []string{"given", "sorted"} {
		if order == "sorted" {
			words = slices.Clone(words)
			slices.SortFunc(words, slices.Compare)
		}
		b.Run("corpus="+corpus+"/order="+order, func(b *testing.B) {
			nodes, edges := 0, 0
			for b.Loop() {
				var l Lexicon
				for _, x := range words {
					l.Add(x)
				}
				nodes, edges = l.Nodes(), len(l.edge)
			}
			b.ReportMetric(float64(len(words)), "words")
			b.ReportMetric(float64(nodes), "states")
			b.ReportMetric(float64(edges), "edges")
		})
	}
}

func BenchmarkLexiconContains(b *testing.B) {
	words, corpus := molecules(b)
	var l Lexicon
	for _, x := range words {
		l.Add(x)
	}
	b.Run("corpus="+corpus, func(b *testing.B) {
		i := 0
		for b.Loop() {
			l.Contains(words[i%len(words)])
			i += 7919
		}
	})
}

// TestLexiconInAnyOrder adds the same sequences in three orders.
func TestLexiconInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	var words [][]int32
	for range 4000 {
		x := make([]int32, r.IntN(9))
		for i := range x {
			x[i] = int32(r.IntN(4))
		}
		words = append(words, x)
	}
	nodes, size := 0, 0
	for _, order := range []func(){
		func() {},
		func() { slices.SortFunc(words, slices.Compare) },
		func() { slices.Reverse(words) },
	} {
		order()
		var l Lexicon
		for _, x := range words {
			l.Add(x)
		}
		requireConsistent(t, &l)
		if nodes > 0 {
			require.Equal(t, []int{nodes, size}, []int{l.Nodes(), l.Len()})
		}
		nodes, size = l.Nodes(), l.Len()
	}
	require.Greater(t, nodes, 200)
}

// heap returns the bytes that build keeps alive.
func heap(build func() any) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	kept := build()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

// A million words with as many first tokens as GPT-2 has take at most 100 MB:
// memory is not quadratic in the fan-out of a state.
func TestLexiconOfManyFirstTokens(t *testing.T) {
	words := 1_000_000
	if testing.Short() || exact.Race {
		words = 100_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	var l *Lexicon
	bytes := heap(func() any {
		l = &Lexicon{}
		x := make([]int32, 3)
		for i := range words {
			x[0], x[1], x[2] = int32(i*20011%50257), int32(r.IntN(50257)), int32(r.IntN(1000))
			l.Add(x)
		}
		return l
	})
	t.Logf("%d words, %d states, %.1f MB", l.Len(), l.Nodes(), float64(bytes)/1e6)
	assert.Less(t, bytes, 100*words)
	assert.Len(t, l.edges(0), min(words, 50257))
}

// Strings like the molecules of ZINC, of up to 105 of 34 tokens, take at most 40
// bytes an edge.
func TestLexiconBytesPerEdge(t *testing.T) {
	words := 30_000
	if testing.Short() || exact.Race {
		words = 3000
	}
	r := rand.New(rand.NewPCG(1, 2))
	var l *Lexicon
	bytes := heap(func() any {
		l = &Lexicon{}
		x := make([]int32, 105)
		for range words {
			for i := range x { // common tokens are far more common
				x[i] = int32(min(r.IntN(34), r.IntN(34), r.IntN(34)))
			}
			for i := 20 + r.IntN(70); i < len(x); i++ {
				x[i] = 33 // padding
			}
			l.Add(x)
		}
		return l
	})
	edges := 0
	for s := range l.node {
		if s == 0 || l.node[s].refs > 0 {
			edges += int(l.node[s].edges)
		}
	}
	t.Logf("%d edges, %.1f bytes each", edges, float64(bytes)/float64(edges))
	assert.Less(t, float64(bytes)/float64(edges), 40.0)
}
