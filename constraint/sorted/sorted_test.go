package sorted

import (
	"context"
	"errors"
	"flag"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
)

var _, _ novelty.Sparse = Layered{}, noAdd{}

// noAdd makes a Corpus of a lexicon alone.
type noAdd struct{ *Lexicon }

func (noAdd) Add(x []int32) bool { panic("immutable") }

func (l noAdd) AppendEdges(tokens []int32, states []int, state int) ([]int32, []int) {
	return l.appendEdges(tokens, states, state)
}

// built writes sequences to a file and opens it.
func built(t require.TestingT, dir string, levels int, all ...[]int32) *Lexicon {
	path := filepath.Join(dir, "lexicon")
	n, err := Build(context.Background(), path, levels, slices.Values(all))
	require.NoError(t, err)
	l, err := Open(path)
	require.NoError(t, err)
	require.Equal(t, n, l.Len())
	require.NoError(t, l.Verify())
	return l
}

// has reports whether x is one of all.
func has(all [][]int32, x []int32) bool {
	return slices.ContainsFunc(all, func(y []int32) bool { return slices.Equal(x, y) })
}

// checkEdges compares the listed transitions of every state with Next. In a large alphabet it calls
// Next only at the tokens listed, at their neighbours, at tokens that differ in one byte, and at
// about 1,800 others.
func checkEdges(t require.TestingT, a novelty.Sparse, levels int) {
	seen := map[int]bool{a.Start(): true}
	todo := []int{a.Start()}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		tokens, states := a.AppendEdges([]int32{7}, []int{7}, s)
		require.Equal(t, int32(7), tokens[0])
		i := 1
		for _, token := range tried(tokens[1:], levels) {
			to := a.Next(s, token)
			if to < 0 {
				continue
			}
			require.Less(t, i, len(tokens))
			require.Equal(t, token, tokens[i])
			require.Equal(t, to, states[i])
			require.Less(t, to, a.States())
			if i++; !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
		require.Len(t, tokens, i)
	}
}

// tried returns the tokens at which checkEdges calls Next, in ascending order.
func tried(listed []int32, levels int) (all []int32) {
	few := levels <= 1000
	for token := range int32(levels) {
		if few || token < 300 || token%61 == 0 || int(token) >= levels-300 {
			all = append(all, token)
		}
	}
	if few {
		return all
	}
	for _, token := range listed {
		for _, by := range []int32{-1 << 16, -1 << 8, -1, 0, 1, 1 << 8, 1 << 16} {
			if to := token + by; to >= 0 && int(to) < levels {
				all = append(all, to)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestLexicon: random sets with sequences of any length, for tokens of each width,
// against the list; and a mutable set on top.
func TestLexicon(t *testing.T) {
	dir := t.TempDir()
	widths := []int{3, 300, 70000}
	rapid.Check(t, func(rt *rapid.T) {
		levels := rapid.SampledFrom(widths).Draw(rt, "levels")
		letter := rapid.SampledFrom([]int32{0, 1, 2, int32(levels - 1), int32(levels - 2)})
		all := rapid.SliceOfN(rapid.SliceOfN(letter, 0, 4), 0, 30).Draw(rt, "all")
		l := built(rt, dir, levels, all...)
		defer l.Close()
		probe := rapid.SliceOfN(rapid.SliceOfN(letter, 0, 5), 20, 20).Draw(rt, "probe")
		for _, x := range append(probe, all...) {
			require.Equal(rt, has(all, x), l.Contains(x))
		}
		if levels == 3 {
			exact.Accepts(rt, l, 3, 5, func(x []int32) bool { return has(all, x) })
		}
		checkEdges(rt, noAdd{l}, levels)
		both := Layered{l, new(constraint.Lexicon)}
		checkEdges(rt, both, levels)
		for _, x := range probe {
			require.Equal(rt, !has(all, x), both.Add(x))
			all = append(all, x)
		}
		for _, x := range all {
			require.True(rt, both.Contains(x))
			require.True(rt, constraint.Accepts(both, x))
		}
		if levels == 3 {
			exact.Accepts(rt, both, 3, 5, func(x []int32) bool { return has(all, x) })
		}
		checkEdges(rt, both, levels)
		count := map[string]bool{}
		for _, x := range all {
			b := make([]byte, 0, 20)
			for _, token := range x {
				b = append(b, byte(token), byte(token>>8), byte(token>>16), ' ')
			}
			count[string(b)] = true
		}
		require.Equal(rt, len(count), both.Len())
		of, n := l.Classes(levels)
		require.Equal(rt, levels, n)
		require.Len(rt, of, levels)
	})
}

// TestNovelWithFile: P(new) given a set on disk is that given the same set in memory.
func TestNovelWithFile(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 1))
	var all [][]int32
	lexicon := new(constraint.Lexicon)
	for range 60 {
		x := make([]int32, 6)
		for i := range x {
			x[i] = int32(r.IntN(4))
		}
		all = append(all, x)
		lexicon.Add(x)
	}
	set := Layered{built(t, t.TempDir(), 4, all[:30]...), new(constraint.Lexicon)}
	for _, x := range all[30:] {
		set.Add(x)
	}
	mapped, err := novelty.Projector{Seen: set}.Compile(t.Context(), 6, 4)
	require.NoError(t, err)
	inMemory, err := novelty.Projector{Seen: lexicon}.Compile(t.Context(), 6, 4)
	require.NoError(t, err)
	for range 20 {
		v := make([]float32, 24)
		for i := range v {
			v[i] = float32(2 * r.NormFloat64())
		}
		want, err := inMemory.LogProb(t.Context(), v)
		require.NoError(t, err)
		got, err := mapped.LogProb(t.Context(), v)
		require.NoError(t, err)
		require.InDelta(t, want, got, 1e-12)
		x := make([]int32, 6)
		_, err = mapped.Draw(t.Context(), x, v, r)
		require.NoError(t, err)
		require.False(t, lexicon.Contains(x))
	}
}

// TestDamagedFiles: every byte that is changed and every cut is noticed, and damage
// beyond the head makes nothing panic.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lexicon")
	_, err := Build(t.Context(), path, 3, slices.Values([][]int32{{0, 1}, {2}, {}}))
	require.NoError(t, err)
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range good {
		for _, bad := range [][]byte{good[:i], slices.Concat(good[:i], []byte{good[i] ^ 0x41}, good[i+1:])} {
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			l, err := Open(path)
			if err != nil {
				continue
			}
			require.Greater(t, i, headSize-1)
			require.ErrorContains(t, l.Verify(), "damaged")
			for state := range l.States() {
				for token := range int32(4) {
					l.Next(state, token)
				}
				l.Accepting(state)
			}
			require.NoError(t, l.Close())
		}
	}
	_, err = Open(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestBuildErrors(t *testing.T) {
	require.NoError(t, new(Lexicon).Close())
	require.NoError(t, new(Lexicon).Verify())
	require.False(t, new(Lexicon).Contains([]int32{0}))
	require.PanicsWithValue(t, "sorted: Layered: Base is nil", func() { Layered{}.Len() })
	require.PanicsWithValue(t, "sorted: Layered: Top is nil", func() { Layered{Base: new(Lexicon)}.Len() })
	dir := t.TempDir()
	path := filepath.Join(dir, "lexicon")
	var argument *constraint.ArgumentError
	for levels, all := range map[int]iter.Seq[[]int32]{
		0: slices.Values([][]int32{}), 2: nil, 3: slices.Values([][]int32{{0, 3}}), 4: slices.Values([][]int32{{-1}}),
	} {
		_, err := Build(t.Context(), path, levels, all)
		require.ErrorAs(t, err, &argument, "%d", levels)
	}
	stop := errors.New("stop")
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(stop)
	_, err := Build(gone, path, 2, slices.Values([][]int32{{0}}))
	require.ErrorIs(t, err, stop)
	_, err = Build(t.Context(), filepath.Join(dir, "no", "such", "place"), 2, slices.Values([][]int32{{0}}))
	require.ErrorIs(t, err, os.ErrNotExist)
	h := head{width: 1, count: 1 << 30, longest: 1 << 30, tokens: 1}
	_, err = readHead(h.appendTo(nil), 1<<31-1)
	require.Error(t, err)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "nothing half-written")
}

var strings = flag.Int("sorted.strings", 100000, "sequences of BenchmarkSorted, for instance 10000000")

// BenchmarkSorted builds a file of random sequences like those of molecules, 40
// tokens of 34 each, and maps it.
func BenchmarkSorted(b *testing.B) {
	path := filepath.Join(b.TempDir(), "lexicon")
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			r := rand.New(rand.NewPCG(82, 1))
			x := make([]int32, 40)
			n, err := Build(b.Context(), path, 34, func(yield func([]int32) bool) {
				for range *strings {
					for i := range x {
						x[i] = int32(min(r.IntN(34), r.IntN(34), r.IntN(34)))
					}
					if !yield(x) {
						return
					}
				}
			})
			require.NoError(b, err)
			b.ReportMetric(float64(n), "sequences")
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			start := time.Now()
			l, err := Open(path)
			require.NoError(b, err)
			require.False(b, l.Contains(make([]int32, 41)))
			b.ReportMetric(float64(time.Since(start).Microseconds()), "µs")
			require.NoError(b, l.Close())
		}
	})
}
