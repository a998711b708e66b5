package bolt

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzOpen: a file in which bytes are changed, or that is anything at all, is refused by its name,
// or gives sequences or an error: it neither ends the process nor keeps it at work. If Verify
// finds no fault in it, sequences can be added.
func FuzzOpen(f *testing.F) {
	good := filepath.Join(f.TempDir(), "good.db")
	s, err := Open(f.Context(), good, Config{})
	require.NoError(f, err)
	_, err = s.Import(f.Context(), func(yield func([]int32) bool) {
		for n := range 900 { // leaves below a branch, and free pages
			if !yield(numbered(n)) {
				return
			}
		}
	})
	require.NoError(f, err)
	require.NoError(f, s.Close())
	whole, err := os.ReadFile(good)
	require.NoError(f, err)
	f.Add(true, whole)
	f.Add(true, whole[:8192])
	for page := range byte(16) { // type, number of entries, pages that follow, length of a key
		for _, at := range []byte{8, 10, 14, 20} {
			f.Add(false, []byte{page, 0, at, 1})
		}
	}
	for _, edit := range [][3]byte{{11, 15, 155}, {14, 14, 31}, {11, 47, 94}, {9, 15, 42}, {14, 16, 255}, {14, 19, 1}, {14, 22, 211}} {
		f.Add(false, []byte{edit[0], 0, edit[1], edit[2]})
	}
	path := filepath.Join(f.TempDir(), "known.db")
	f.Fuzz(func(t *testing.T, raw bool, edits []byte) {
		file := edits
		if !raw { // page, place in it (two bytes), what to xor
			file = slices.Clone(whole)
			for ; len(edits) >= 4; edits = edits[4:] {
				file[(int(edits[0])*4096+int(edits[1])<<8+int(edits[2]))%len(file)] ^= edits[3]
			}
		}
		require.NoError(t, os.RemoveAll(path)) // not truncated: one that is damaged may still be mapped
		require.NoError(t, os.WriteFile(path, file, 0o600))
		s, err := Open(t.Context(), path, Config{Wait: -1})
		if err != nil {
			require.ErrorContains(t, err, "bolt: "+path)
			return
		}
		n := 0
		for range s.All() {
			n++
		}
		s.Contains(numbered(5))
		if s.Verify(t.Context()) == nil {
			require.Equal(t, s.Len(), n)
			require.True(t, s.Add(numbered(1<<20)), "%v", s.Err())
		}
		_ = s.Close()
	})
}
