package durable

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Guard passes results and panics of its function through; the packages that map files truncate
// them to test faults.
func TestGuard(t *testing.T) {
	done := false
	assert.NoError(t, Guard(func() { done = true }))
	assert.True(t, done)
	assert.PanicsWithValue(t, "no fault", func() { _ = Guard(func() { panic("no fault") }) })
}

func TestDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
	f, err := Disk{}.Open(path)
	require.NoError(t, err)
	b, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, "text", string(b))
}
