package durable_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lockEnvironment has, in the environment of a child, the path that it locks.
const lockEnvironment = "GIBBSITE_TEST_LOCK"

// One of many has the lock at any time, in one process; all get it in the end, and
// nothing stays.
func TestLocks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run")
	var inside, most atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				l, err := durable.Acquire(path)
				for ; err != nil; l, err = durable.Acquire(path) {
					assert.ErrorIs(t, err, durable.ErrInUse)
					runtime.Gosched()
				}
				most.Store(max(most.Load(), inside.Add(1)))
				inside.Add(-1)
				l.Release()
				l.Release()
			}
		})
	}
	all.Wait()
	assert.Equal(t, int64(1), most.Load())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)

	l, err := durable.Acquire(path)
	require.NoError(t, err)
	t.Chdir(dir)
	_, err = durable.Acquire("run")
	require.ErrorContains(t, err, "run: another run is using the file", "by another name")
	assert.True(t, l.Holds("./run"))
	assert.False(t, l.Holds("walk"))
	l.Release()
	_, err = durable.Acquire(filepath.Join(dir, "no", "folder"))
	require.ErrorIs(t, err, os.ErrNotExist)
	(*durable.Lock)(nil).Release()
}

// A process that is killed leaves no lock, though it leaves the file of one.
func TestLockOfAKilledProcess(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes")
	}
	if path := os.Getenv(lockEnvironment); path != "" {
		_, err := durable.Acquire(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		time.Sleep(time.Hour)
	}
	path := filepath.Join(t.TempDir(), "run")
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestLockOfAKilledProcess$")
	cmd.Env = append(os.Environ(), lockEnvironment+"="+path)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, time.Minute, time.Millisecond)
	_, err = durable.Acquire(path)
	require.ErrorIs(t, err, durable.ErrInUse)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	l, err := durable.Acquire(path)
	require.NoError(t, err)
	l.Release()
	_, err = os.Lstat(path + ".lock")
	require.ErrorIs(t, err, os.ErrNotExist)
}
