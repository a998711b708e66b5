package bolt

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// child names, in the environment of a child, what it does and its file.
const child = "GIBBSITE_TEST_BOLT"

// numbered is the n-th sequence that children add.
func numbered(n int) []int32 { return []int32{int32(n % 3), int32(n / 3), 50000} }

// TestKilled kills a process that adds sequences, again and again: what it had
// acknowledged is in the file, and not more than the one that it was adding besides.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	r := rand.New(rand.NewPCG(5, 1))
	acknowledged := 0
	for range 8 {
		begun := acknowledged
		acknowledged = killed(t, "add", path, 1+r.IntN(30), time.Duration(r.Int64N(int64(4*time.Millisecond))))
		require.Greater(t, acknowledged, begun)
		s, err := OpenCorpus(t.Context(), path, Config{})
		require.NoError(t, err)
		require.NoError(t, s.Verify(t.Context()))
		for n := range acknowledged {
			require.True(t, s.Contains(numbered(n)), "sequence %d of %d is lost", n, acknowledged)
		}
		require.LessOrEqual(t, s.Len(), acknowledged+1)
		acknowledged = s.Len()
		require.NoError(t, s.Close())
	}
	t.Logf("%d sequences", acknowledged)

	// The twin acknowledges before it adds: it does lose sequences.
	path = filepath.Join(t.TempDir(), "twin.db")
	acknowledged = killed(t, "hold", path, 3, 0)
	s, err := Open(t.Context(), path, Config{})
	require.NoError(t, err)
	require.Less(t, s.Len(), acknowledged)
	require.NoError(t, s.Close())
}

// killed starts a child, kills it some time after it has acknowledged so many more
// sequences, and returns the number of the last one that it acknowledged, plus 1.
func killed(t *testing.T, does, path string, more int, after time.Duration) (acknowledged int) {
	t.Helper()
	cmd, out := start(t, does, path)
	for scan := bufio.NewScanner(out); scan.Scan(); {
		number, found := strings.CutPrefix(scan.Text(), "added ")
		if !found {
			continue
		}
		n, err := strconv.Atoi(number)
		require.NoError(t, err)
		acknowledged = n + 1
		if more--; more == 0 {
			time.Sleep(after)
			require.NoError(t, cmd.Process.Kill())
		}
	}
	require.Error(t, cmd.Wait(), "the child ended by itself")
	return acknowledged
}

// start starts a child.
func start(t *testing.T, does, path string) (*exec.Cmd, io.Reader) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), child+"="+does+"\n"+path)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, out
}

// TestChild is the child of other tests.
func TestChild(t *testing.T) {
	does, path, found := strings.Cut(os.Getenv(child), "\n")
	if !found {
		t.Skip("for children of other tests")
	}
	s, err := Open(t.Context(), path, Config{})
	require.NoError(t, err)
	for n := s.Len(); ; n++ {
		if does == "add" {
			require.True(t, s.Add(numbered(n)))
			require.NoError(t, s.Err())
		}
		_, err := fmt.Printf("added %d\n", n)
		require.NoError(t, err)
		if does != "add" {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// TestAnotherProcess: a file that another process has open is refused with its name
// and after the time that was asked for, and free when that process has ended.
func TestAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	cmd, out := start(t, "hold", path)
	scan := bufio.NewScanner(out)
	for scan.Scan() && !strings.HasPrefix(scan.Text(), "added ") {
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	for _, wait := range []time.Duration{-1, 120 * time.Millisecond} {
		began := time.Now()
		_, err := Open(t.Context(), path, Config{Wait: wait})
		require.ErrorIs(t, err, ErrLocked)
		require.ErrorContains(t, err, path)
		require.GreaterOrEqual(t, time.Since(began), wait)
	}
	_, err := OpenCorpus(t.Context(), path, Config{ReadOnly: true, Wait: -1})
	require.ErrorIs(t, err, ErrLocked)
	time.AfterFunc(50*time.Millisecond, func() { _ = cmd.Process.Kill() })
	s, err := Open(t.Context(), path, Config{Wait: time.Minute}) // waits for its end
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_ = cmd.Wait()
}
