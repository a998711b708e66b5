package bolt

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzOpen: a file in which bytes are changed, or that is anything at all, is refused, or gives
// sequences or an error. It never ends the process, and it can be closed.
func FuzzOpen(f *testing.F) {
	good := filepath.Join(f.TempDir(), "good.db")
	s, err := Open(f.Context(), good, Config{})
	require.NoError(f, err)
	for n := range 900 { // leaves below a branch, and pages that are free
		_, err = s.Import(f.Context(), func(yield func([]int32) bool) { yield(numbered(n)) })
		require.NoError(f, err)
		if n == 3 {
			_, err = s.Import(f.Context(), func(yield func([]int32) bool) {
				for n := range 900 {
					if !yield(numbered(n)) {
						return
					}
				}
			})
			require.NoError(f, err)
			break
		}
	}
	require.NoError(f, s.Close())
	whole, err := os.ReadFile(good)
	require.NoError(f, err)
	f.Add(true, whole)
	for page := range byte(len(whole) / 4096) {
		for _, at := range []byte{0, 8, 10, 12, 16, 20, 24, 28, 32} {
			f.Add(false, []byte{page, 0, at, 1})
			f.Add(false, []byte{page, 0, at, 0xFF})
		}
	}
	path := filepath.Join(f.TempDir(), "known.db")
	f.Fuzz(func(t *testing.T, raw bool, edits []byte) {
		file := edits
		if !raw { // page, place in it, what to xor
			file = append([]byte(nil), whole...)
			for ; len(edits) >= 4; edits = edits[4:] {
				file[(int(edits[0])*4096+int(edits[1])<<8+int(edits[2]))%len(file)] ^= edits[3]
			}
		}
		for _, readOnly := range []bool{true, false} {
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, os.WriteFile(path, file, 0o600))
			s, err := Open(t.Context(), path, Config{Wait: -1, ReadOnly: readOnly})
			if err != nil {
				require.ErrorContains(t, err, "bolt: "+path)
				continue
			}
			n := 0
			for range s.All() {
				n++
			}
			s.Contains(numbered(5))
			if !readOnly {
				s.Add(numbered(1 << 20))
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if err := s.Verify(ctx); err == nil && s.Err() == nil && readOnly {
				require.Equal(t, s.Len(), n)
			}
			cancel()
			_ = s.Close()
		}
	})
}
