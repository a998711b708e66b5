package bolt

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTruncatedWhileOpen: a file that is cut short while it is open gives errors, at
// whole pages and within one, and lets itself be closed.
func TestTruncatedWhileOpen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not truncate a file that is mapped")
	}
	for _, size := range []int64{0, 1, 4096, 10_000, 40_000} {
		for name, call := range map[string]func(s *Set) error{
			"Contains": func(s *Set) error { s.Contains(numbered(1)); return s.Err() },
			"Add":      func(s *Set) error { s.Add(numbered(1 << 20)); return s.Err() },
			"All": func(s *Set) error {
				for range s.All() {
				}
				return s.Err()
			},
			"Verify": func(s *Set) error { return s.Verify(t.Context()) },
		} {
			path := filepath.Join(t.TempDir(), "known.db")
			s, err := Open(t.Context(), path, Config{})
			require.NoError(t, err)
			_, err = s.Import(t.Context(), func(yield func([]int32) bool) {
				for n := range 5000 {
					if !yield(numbered(n)) {
						return
					}
				}
			})
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, size))
			require.ErrorContains(t, call(s), path, "%s after a cut at %d", name, size)
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			select {
			case <-closed:
			case <-time.After(time.Minute):
				t.Fatalf("%s after a cut at %d: Close does not return", name, size)
			}
		}
	}
}
