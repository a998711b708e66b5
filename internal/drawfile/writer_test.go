package drawfile_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func head(text string) drawfile.Head {
	l := &fingerprint.List{}
	l.Text("setting", text)
	return drawfile.Head{Kind: drawfile.Tokens, Sites: 3, First: 10, Count: 5, Block: 2, Settings: l}
}

// put writes draws first … first+n−1 of a block; state and energy tell the chain,
// the draw and the round.
func put(w *drawfile.Writer, block, chains, first, n, round int) {
	var p drawfile.Page
	p.Begin(block)
	w.Append(&p) // nothing is on it
	for draw := first; draw < first+n; draw++ {
		b := p.Draw(draw)
		for s := range chains {
			b = wire.AppendInt32s(b, []int32{int32(10 + 2*block + s), int32(draw), int32(round)})
		}
		for range chains {
			b = drawfile.AppendInfo(b, float64(draw), math.NaN(), round, 2)
		}
		if p.Drawn(b) {
			w.Append(&p)
		}
	}
	w.Append(&p)
}

type seen map[[2]int]int // chain, draw: round

func read(t *testing.T, path string) (seen, int, error) {
	t.Helper()
	s := seen{}
	n, err := drawfile.Read(path, func(d *drawfile.Draw[int32]) {
		key := [2]int{d.Chain, d.Draw}
		_, again := s[key] // assert.Contains looks at every key
		assert.False(t, again, "%v comes once", key)
		if d.Draw > 0 {
			_, before := s[[2]int{d.Chain, d.Draw - 1}]
			assert.True(t, before, "%v comes in order", key)
		}
		assert.Equal(t, []int32{int32(d.Chain), int32(d.Draw), int32(d.Moved)}, d.X)
		assert.Equal(t, float64(d.Draw), d.Energy)
		assert.True(t, math.IsNaN(d.Accept))
		assert.Equal(t, 2, d.Invalid)
		s[key] = d.Moved
	})
	return s, n, err
}

func TestDrawsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws")
	w := drawfile.NewWriter(path, head("a"))
	require.NoError(t, w.Open())
	for block, chains := range []int{2, 2, 1} {
		put(w, block, chains, 0, 1500, 1) // more than a page
		require.Equal(t, 1500, w.Have(block))
	}
	put(w, 0, 2, 1500, 7, 1)
	require.NoError(t, w.Sync())
	s, n, err := read(t, path)
	require.NoError(t, err)
	assert.Equal(t, 1500, n)
	assert.Len(t, s, 5*1500+2*7)
	require.NoError(t, w.Close())
	require.NoError(t, w.Close(), "twice is once")

	// Made again from draw 100 on, by the same writer and by another.
	for round := 2; round < 4; round++ {
		require.NoError(t, w.Open())
		put(w, 1, 2, 100*round, 10, round)
		require.NoError(t, w.Open(), "after a panic nobody has closed it")
		require.NoError(t, w.Close())
		w = drawfile.NewWriter(path, head("a"))
	}
	require.NoError(t, w.Open())
	assert.Equal(t, []int{1507, 310, 1500}, []int{w.Have(0), w.Have(1), w.Have(2)})
	require.NoError(t, w.Close())
	path2 := filepath.Join(t.TempDir(), "again")
	w = drawfile.NewWriter(path2, head("a"))
	require.NoError(t, w.Open())
	put(w, 1, 2, 0, 300, 1)
	put(w, 1, 2, 200, 50, 2)
	put(w, 1, 2, 150, 10, 3)
	require.NoError(t, w.Close())
	s, n, err = read(t, path2)
	require.NoError(t, err)
	assert.Zero(t, n, "other chains have no draws")
	assert.Len(t, s, 2*160)
	assert.Equal(t, []int{1, 3, 3}, []int{s[[2]int{12, 149}], s[[2]int{13, 150}], s[[2]int{12, 159}]})
}

// Whatever the byte that a kill stopped at, what is whole before it is read and
// written on.
func TestTornFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws")
	w := drawfile.NewWriter(path, head("a"))
	require.NoError(t, w.Open())
	for block, chains := range []int{2, 2, 1} {
		put(w, block, chains, 0, 3, 1)
	}
	put(w, 0, 2, 3, 2, 1)
	require.NoError(t, w.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := 0; cut < len(whole); cut += 97 {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		w := drawfile.NewWriter(path, head("a"))
		require.NoError(t, w.Open(), "cut at %d", cut)
		for block, chains := range []int{2, 2, 1} {
			put(w, block, chains, w.Have(block), 5-w.Have(block), 1)
		}
		require.NoError(t, w.Close())
		s, n, err := read(t, path)
		require.NoError(t, err, "cut at %d", cut)
		require.Equal(t, 5, n)
		require.Len(t, s, 25)
	}
	for i := range whole {
		bad := slices.Clone(whole)
		bad[i] ^= 4
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		var first int
		n, err := drawfile.Read(path, func(d *drawfile.Draw[int32]) { first++ })
		if err == nil {
			require.Less(t, n, 5, "byte %d", i)
			require.Less(t, first, 19, "byte %d", i)
		}
	}
}

func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "draws")
	w := drawfile.NewWriter(path, head("a"))
	require.NoError(t, w.Open())
	put(w, 0, 2, 0, 3, 1)
	require.NoError(t, w.Close())
	var other *fingerprint.Mismatch
	require.ErrorAs(t, drawfile.NewWriter(path, head("b")).Open(), &other)
	assert.Equal(t, "setting", other.Setting)
	require.Error(t, drawfile.NewWriter(filepath.Join(dir, "no", "folder"), head("a")).Open())
	_, err := drawfile.Read(path, func(*drawfile.Draw[float32]) {})
	assert.ErrorContains(t, err, "a file of draws of int32, want float32")
	_, err = drawfile.Read(path+"?", func(*drawfile.Draw[int32]) {})
	assert.ErrorIs(t, err, os.ErrNotExist)

	require.NoError(t, os.WriteFile(path, []byte("something else, and longer than what a file begins with; something else, and longer than what a file begins with"), 0o600))
	assert.ErrorContains(t, drawfile.NewWriter(path, head("a")).Open(), "it begins with")
	_, err = drawfile.Read(path, func(*drawfile.Draw[int32]) {})
	assert.ErrorContains(t, err, "it begins with")

	// Frames of another run, or of an impossible size, behind a good head.
	l := head("a")
	for _, words := range [][]int{{1, 0, 0, 1}, {0, 3, 0, 1}, {0, 0, -1, 1}, {0, 0, 0, 0}, {0, 0, 0, 1 << 30}, {0, 0, 0, 2}} {
		require.NoError(t, os.Remove(path))
		w := drawfile.NewWriter(path, l)
		require.NoError(t, w.Open())
		require.NoError(t, w.Close())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		body := wire.AppendInts(wire.AppendUint64s(nil, l.Settings.Sum()+uint64(words[0])), words[1:]...)
		b = wire.Append(b, "draws\n", append(body, make([]byte, 2*(12+32))...))
		require.NoError(t, os.WriteFile(path, b, 0o600))
		_, err = drawfile.Read(path, func(*drawfile.Draw[int32]) {})
		assert.Error(t, err, "%d", words)
		assert.Error(t, drawfile.NewWriter(path, l).Open(), "%d", words)
	}
	for _, bad := range []func(*drawfile.Head){
		func(h *drawfile.Head) { h.Kind = 2 }, func(h *drawfile.Head) { h.Sites = 0 }, func(h *drawfile.Head) { h.Block = 1 << 17 },
	} {
		h := head("a")
		bad(&h)
		require.NoError(t, os.Remove(path))
		w := drawfile.NewWriter(path, h)
		require.NoError(t, w.Open())
		require.NoError(t, w.Close())
		_, err := drawfile.Read(path, func(*drawfile.Draw[int32]) {})
		assert.ErrorContains(t, err, "impossible sizes")
	}
}

// A full disk ends the writing with an error.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	w := drawfile.NewWriter("/dev/full", head("a"))
	require.Error(t, w.Open())
}
