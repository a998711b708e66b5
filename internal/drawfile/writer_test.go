package drawfile_test

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"runtime"
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
	return drawfile.Head{Kind: drawfile.Tokens, Sites: 3, First: 10, Count: 5, Block: 2, Levels: 3000, Settings: l}
}

// put writes draws first … first+n−1 of a block; state and energy tell the chain,
// the draw and the round.
func put(w *drawfile.Writer, block, chains, first, n, round int) {
	var p drawfile.Page
	p.Begin(block)
	w.Append(&p) // nothing is on it
	for draw := first; draw < first+n; draw++ {
		var x []int32
		for s := range chains {
			x = append(x, int32(10+2*block+s), int32(draw), int32(round))
		}
		drawfile.States(w, &p, draw, x)
		for range chains {
			p.Info(float64(draw), math.NaN(), round, 2)
		}
		if p.Full() {
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

	// Made again from draw 300 and from 200 on, by the same writer and by another.
	for round := 2; round < 4; round++ {
		require.NoError(t, w.Open())
		put(w, 1, 2, 500-100*round, 10, round)
		require.NoError(t, w.Open(), "after a panic nobody has closed it")
		require.NoError(t, w.Close())
		w = drawfile.NewWriter(path, head("a"))
	}
	require.NoError(t, w.Open())
	assert.Equal(t, []int{1507, 210, 1500}, []int{w.Have(0), w.Have(1), w.Have(2)})
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
	for _, words := range [][]int{{1, 0, 0, 1, 0}, {0, 3, 0, 1, 0}, {0, 0, -1, 1, 0}, {0, 0, 0, 0, 1}, {0, 0, 0, 1 << 30, 0}, {0, 0, 0, 2, 0}, {0, 0, 0, 1, 1}, {0, 0, 1, 1, 0}} {
		require.NoError(t, os.Remove(path))
		w := drawfile.NewWriter(path, l)
		require.NoError(t, w.Open())
		require.NoError(t, w.Close())
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		body := wire.AppendInts(wire.AppendUint64s(nil, l.Settings.Sum()+uint64(words[0])), words[1:]...)
		b = wire.Append(b, "draws\n", append(body, make([]byte, 2*(6+32))...))
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

// Draws that are missing are an error, unless chains have missed them.
func TestMissingDraws(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws")
	w := drawfile.NewWriter(path, head("a"))
	require.NoError(t, w.Open())
	put(w, 0, 2, 0, 3, 1)
	put(w, 0, 2, 4, 1, 1)
	require.ErrorContains(t, w.Close(), "draw 4 of block 0, want ≤ 3")
	require.NoError(t, w.Open())
	require.NoError(t, w.Skip(0, 4))
	put(w, 0, 2, 4, 1, 1)
	put(w, 1, 2, 0, 5, 1)
	put(w, 2, 1, 0, 5, 1)
	require.NoError(t, w.Close())
	seen := 0
	n, err := drawfile.Read(path, func(d *drawfile.Draw[int32]) { seen++ })
	require.NoError(t, err)
	assert.Equal(t, []int{5, 23}, []int{n, seen})

	// A frame taken out of the file, one that comes twice, and two that changed places.
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	var at []int
	for i := range whole {
		if bytes.HasPrefix(whole[i:], []byte("draws\n")) {
			at = append(at, i)
		}
	}
	at = append(at, len(whole))
	require.Len(t, at, 6)
	frame := func(i int) []byte { return whole[at[i]:at[i+1]] }
	for i := range 4 {
		for _, bad := range [][]byte{
			slices.Concat(whole[:at[i]], whole[at[i+1]:]),
			slices.Concat(whole[:at[i]], frame(i), frame(i), whole[at[i+1]:]),
			slices.Concat(whole[:at[i]], frame(i+1), frame(i), whole[at[i+2]:]),
		} {
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			_, err := drawfile.Read(path, func(*drawfile.Draw[int32]) { t.Error("a draw of a damaged file") })
			require.ErrorContains(t, err, "want", "frame %d", i)
			require.ErrorContains(t, w.Open(), "want", "frame %d", i)
		}
	}
}

// A file has one writer at a time.
func TestOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws")
	w, other := drawfile.NewWriter(path, head("a")), drawfile.NewWriter(path, head("a"))
	require.NoError(t, w.Open())
	put(w, 0, 2, 0, 3, 1)
	require.ErrorContains(t, other.Open(), path+": another run is using the file: wait until")
	require.NoError(t, w.Close())
	require.NoError(t, other.Open())
	assert.Equal(t, 3, other.Have(0))
	require.NoError(t, other.Close())
	_, err := os.Lstat(path + ".lock")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Levels take the bits that they need and come back, whatever their number; others
// are refused.
func TestLevels(t *testing.T) {
	size := map[int]int{}
	for levels, bits := range map[int]int{1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 16: 4, 17: 8, 256: 8, 257: 16, 1 << 16: 16, 1<<16 + 1: 32, 0: 32} {
		const sites = 27
		h := head("a")
		h.Sites, h.Count, h.Block, h.Levels = sites, 2, 2, levels
		path := filepath.Join(t.TempDir(), "draws")
		w := drawfile.NewWriter(path, h)
		require.NoError(t, w.Open())
		x := make([]int32, 2*sites)
		for i := range x {
			if x[i] = int32(uint64(i) * 2654435761 >> 3 & 0xffffff); levels > 0 {
				x[i] %= int32(levels)
			}
		}
		x[5] = int32(levels - 1)
		var p drawfile.Page
		for draw := range 2 {
			drawfile.States(w, &p, draw, x)
			p.Info(1, 1, 0, 0)
			p.Info(1, 1, 0, 0)
		}
		w.Append(&p)
		require.NoError(t, w.Sync())
		at := 0
		n, err := drawfile.Read(path, func(d *drawfile.Draw[int32]) {
			require.Equal(t, x[at%len(x):][:sites], d.X, "%d levels", levels)
			at += sites
		})
		require.NoError(t, err)
		require.Equal(t, []int{2, 2 * len(x)}, []int{n, at})
		info, err := os.Stat(path)
		require.NoError(t, err)
		size[levels] = int(info.Size())
		require.Equal(t, size[levels], int(info.Size()))
		if bits < 32 {
			x[7] = 1 << bits
			drawfile.States(w, &p, 2, x)
			w.Append(&p)
			require.ErrorContains(t, w.Close(), "a level is not 0 … ", "%d levels", levels)
		}
		require.NoError(t, w.Close())
	}
	for levels, bits := range map[int]int{2: 1, 4: 2, 16: 4, 256: 8, 1 << 16: 16} {
		assert.Equal(t, 4*(27*4-(27*bits+7)/8), size[0]-size[levels], "%d levels", levels)
	}
}

// Files of the first version, of 32 bits a site and frames without numbers, are read
// and refused to a run.
func TestFirstVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws")
	h := head("a")
	b := wire.Append(nil, "gibbsite draws 1\n", h.Settings.Append(wire.AppendInts(nil, h.Kind, h.Sites, h.First, h.Count, h.Block)))
	for block, chains := range []int{2, 2, 1} {
		body := wire.AppendInts(wire.AppendUint64s(nil, h.Settings.Sum()), block, 0, 1)
		for s := range chains {
			body = wire.AppendInt32s(body, []int32{int32(10 + 2*block + s), 0, 1})
		}
		for range chains {
			body = wire.AppendInts(wire.AppendFloat64s(body, []float64{0, math.NaN()}), 1, 2)
		}
		b = wire.Append(b, "draws\n", body)
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
	s, n, err := read(t, path)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Len(t, s, 5)
	assert.ErrorContains(t, drawfile.NewWriter(path, h).Open(), "a file of an earlier version, want a new one")
	h.Levels = 2
	require.NoError(t, os.Remove(path))
	w := drawfile.NewWriter(path, head("a"))
	require.NoError(t, w.Open())
	require.NoError(t, w.Close())
	assert.ErrorContains(t, drawfile.NewWriter(path, h).Open(), "a file of states of another size")
}

// A full disk ends the writing with an error.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	w := drawfile.NewWriter("/dev/full", head("a"))
	require.Error(t, w.Open())
}

// TestClaimsOfAHead: a file takes memory by its size, not by the numbers of chains and sites
// that its head claims.
func TestClaimsOfAHead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "draws")
	for _, claims := range [][]int{
		{drawfile.Tokens, 1 << 28, 0, 1, 1, 1},       // sites
		{drawfile.Reals, 1, 0, math.MaxInt32, 1, 32}, // chains
	} {
		settings := head("a").Settings
		body := settings.Append(wire.AppendInts(nil, claims...))
		file := wire.Append(nil, "gibbsite draws 2\n", body)
		file = wire.Append(file, "draws\n", wire.AppendInts(wire.AppendUint64s(nil, settings.Sum()), 0, 0, 0, 0)) // no draw
		require.NoError(t, os.WriteFile(path, file, 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var n int
		var err error
		if claims[0] == drawfile.Tokens {
			n, err = drawfile.Read(path, func(*drawfile.Draw[int32]) { t.Error("no draw is there") })
		} else {
			n, err = drawfile.Read(path, func(*drawfile.Draw[float32]) { t.Error("no draw is there") })
		}
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Zero(t, n)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "%v", claims)
	}

	// Sizes whose product exceeds what an int holds, and a first chain whose last does.
	for _, claims := range [][]int{{drawfile.Tokens, 1, math.MaxInt - 1, 2, 1, 32}, {drawfile.Tokens, 1, math.MaxInt, 1, 1, 32}} {
		body := head("a").Settings.Append(wire.AppendInts(nil, claims...))
		require.NoError(t, os.WriteFile(path, wire.Append(nil, "gibbsite draws 2\n", body), 0o600))
		_, err := drawfile.Read(path, func(*drawfile.Draw[int32]) {})
		require.ErrorContains(t, err, "a head with impossible sizes")
	}
}
