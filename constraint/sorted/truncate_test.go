package sorted

import (
	"context"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
)

// truncated builds a file of n sequences of 12 tokens, opens it, and cuts it.
func truncated(t *testing.T, n int, size int64) (l *Lexicon, all [][]int32) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not truncate a file that is mapped")
	}
	if bits.UintSize == 32 {
		t.Skip("with ints of 32 bits a lexicon has at most 256 states, and its file a part of a page")
	}
	r := rand.New(rand.NewPCG(42, 1))
	for range n {
		x := make([]int32, 12)
		for i := range x {
			x[i] = int32(r.IntN(4))
		}
		all = append(all, x)
	}
	path := filepath.Join(t.TempDir(), "lexicon")
	_, err := Build(context.Background(), path, 4, slices.Values(all))
	require.NoError(t, err)
	l, err = Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	require.NoError(t, os.Truncate(path, size))
	return l, all
}

// TestTruncatedWhileOpen: whatever is left of the file, whole pages or a part of one,
// the lexicon reports an error after the first call, and so does what uses it.
func TestTruncatedWhileOpen(t *testing.T) {
	for _, size := range []int64{0, 1, 100, 5000, 20_000} {
		for name, call := range map[string]func(l *Lexicon, x []int32){
			"Contains":    func(l *Lexicon, x []int32) { l.Contains(x) },
			"Next":        func(l *Lexicon, x []int32) { l.Next(l.Start(), 1) },
			"Accepting":   func(l *Lexicon, x []int32) { l.Accepting(l.States() - 1) },
			"appendEdges": func(l *Lexicon, x []int32) { l.appendEdges(nil, nil, l.Start()) },
		} {
			l, all := truncated(t, 3000, size)
			call(l, all[7])
			require.ErrorContains(t, l.Err(), "changed while it was open", "%s after a cut at %d", name, size)
			require.ErrorContains(t, l.Err(), "lexicon changed", "it names the file")
			require.Error(t, l.Verify())
			require.False(t, l.Contains(all[7]), "nothing is known")
			require.NoError(t, l.Close())
		}
		l, all := truncated(t, 3000, size)
		require.Error(t, l.Verify())
		set := Layered{Base: l, Top: new(constraint.Lexicon)}
		set.Contains(all[3])
		require.ErrorContains(t, set.Err(), "changed")
		require.ErrorContains(t, set.Check(), "changed")
		l, _ = truncated(t, 3000, size)
		s, err := novelty.Projector{Seen: Layered{Base: l, Top: new(constraint.Lexicon)}}.Compile(t.Context(), 12, 4)
		if err == nil {
			_, err = s.LogProb(t.Context(), make([]float32, 48))
		}
		require.ErrorContains(t, err, "changed while it was open")
	}
}
