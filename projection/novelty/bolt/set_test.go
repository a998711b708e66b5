package bolt

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
)

// set is what Set and Corpus have in common.
type set interface {
	Contains(x []int32) bool
	Add(x []int32) bool
	Recall(x []int32)
	Len() int
	All() iter.Seq[[]int32]
	Import(ctx context.Context, all iter.Seq[[]int32]) (int, error)
	Verify(ctx context.Context) error
	Check() error
	Err() error
	Close() error
}

// forms opens a file in both forms.
var forms = map[string]func(ctx context.Context, path string, c Config) (set, error){
	"set":    func(ctx context.Context, path string, c Config) (set, error) { return Open(ctx, path, c) },
	"corpus": func(ctx context.Context, path string, c Config) (set, error) { return OpenCorpus(ctx, path, c) },
}

// TestSetAgainstAMap adds sequences one by one and many at a time, closes and opens
// the file again and again, and compares with a map.
func TestSetAgainstAMap(t *testing.T) {
	for name, open := range forms {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "known.db")
			r := rand.New(rand.NewPCG(3, 1))
			in := map[string][]int32{}
			draw := func() (x []int32, key string) {
				x = make([]int32, r.IntN(4))
				for i := range x {
					x[i] = []int32{0, 1, 200, 1 << 15, 1<<31 - 1}[r.IntN(5)]
				}
				b, err := appendKey(nil, x)
				require.NoError(t, err)
				return x, string(b)
			}
			for range 4 {
				s, err := open(t.Context(), path, Config{})
				require.NoError(t, err)
				require.NoError(t, s.Check())
				for range 15 {
					x, key := draw()
					_, known := in[key]
					require.Equal(t, known, s.Contains(x))
					require.Equal(t, !known, s.Add(x))
					require.True(t, s.Contains(x))
					s.Recall(x)
					in[key] = x
				}
				var many [][]int32
				fresh := 0
				for range 40 {
					x, key := draw()
					if _, known := in[key]; !known {
						fresh++
					}
					in[key] = x
					many = append(many, x)
				}
				added, err := s.Import(t.Context(), slices.Values(many))
				require.NoError(t, err)
				require.Equal(t, fresh, added)
				require.Equal(t, len(in), s.Len())
				require.False(t, s.Contains([]int32{-1}))
				require.NoError(t, s.Err())
				require.NoError(t, s.Verify(t.Context()))
				require.NoError(t, s.Close())
			}
			s, err := open(t.Context(), path, Config{ReadOnly: true})
			require.NoError(t, err)
			other, err := open(t.Context(), path, Config{ReadOnly: true, Wait: -1}) // at the same time
			require.NoError(t, err)
			require.NoError(t, other.Close())
			n := 0
			for x := range s.All() {
				key, err := appendKey(nil, x)
				require.NoError(t, err)
				require.Contains(t, in, string(key))
				n++
			}
			require.Equal(t, len(in), n)
			for range s.All() {
				break
			}
			require.NoError(t, s.Err())
			require.False(t, s.Add([]int32{7, 7, 7, 7, 7}))
			require.ErrorContains(t, s.Err(), "read-only")
			require.ErrorContains(t, s.Check(), path)
			require.NoError(t, s.Close())
		})
	}
}

// TestManySequences: more than one transaction writes or reads at a time.
func TestManySequences(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	s, err := Open(t.Context(), path, Config{})
	require.NoError(t, err)
	const n = 2*importSize + 5
	numbers := func(yield func([]int32) bool) {
		for i := range int32(n) {
			if !yield([]int32{i * 7919 % n, 1}) {
				return
			}
		}
	}
	added, err := s.Import(t.Context(), numbers)
	require.NoError(t, err)
	require.Equal(t, n, added)
	added, err = s.Import(t.Context(), numbers)
	require.NoError(t, err)
	require.Zero(t, added)
	next := int32(0)
	for x := range s.All() {
		require.Equal(t, []int32{next, 1}, x)
		next++
		if next == 100 {
			require.True(t, s.Add([]int32{0})) // behind what is read: no deadlock, and not among it
		}
	}
	require.EqualValues(t, n, next)
	require.NoError(t, s.Close())
	c, err := OpenCorpus(t.Context(), path, Config{})
	require.NoError(t, err)
	require.Equal(t, n+1, c.Len())
	require.NoError(t, c.Verify(t.Context()))
	require.NoError(t, c.Close())
}

// TestSeveralGoroutines asks a set at the same time.
func TestSeveralGoroutines(t *testing.T) {
	for name, open := range forms {
		s, err := open(t.Context(), filepath.Join(t.TempDir(), "known.db"), Config{})
		require.NoError(t, err, name)
		require.True(t, s.Add([]int32{1, 2}))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 200 {
					if !s.Contains([]int32{1, 2}) || s.Contains([]int32{2, 1}) || s.Err() != nil {
						t.Errorf("%s: wrong", name)
						return
					}
				}
			})
		}
		all.Wait()
		require.NoError(t, s.Close())
	}
}

// TestErrorsNameTheFile: whatever is wrong is said with the name of the file, and
// stays so.
func TestErrorsNameTheFile(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errEnded)
	for name, open := range forms {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "known.db")
			refused := func(ctx context.Context, c Config, want string) {
				t.Helper()
				_, err := open(ctx, path, c)
				require.ErrorContains(t, err, want)
				require.ErrorContains(t, err, "bolt: "+path)
			}
			refused(t.Context(), Config{ReadOnly: true}, "no such file")
			refused(t.Context(), Config{Wait: -2}, "Config.Wait = -2ns, want ≥ 0, or −1")
			refused(ended, Config{}, "ended")
			refused(nil, Config{}, "ctx = nil") //nolint:staticcheck // as a caller might
			require.NoFileExists(t, path)

			s, err := open(t.Context(), path, Config{})
			require.NoError(t, err)
			require.True(t, s.Add([]int32{1}))
			_, err = s.Import(ended, slices.Values([][]int32{{2}}))
			require.ErrorIs(t, err, errEnded)
			require.ErrorContains(t, err, path)
			require.ErrorIs(t, s.Verify(ended), errEnded)
			added, err := s.Import(t.Context(), slices.Values([][]int32{{3}, {-4}, {5}}))
			require.ErrorContains(t, err, "x[0] = -4, want ≥ 0")
			require.Equal(t, 1, added)
			require.True(t, s.Contains([]int32{3}))
			require.NoError(t, s.Err(), "Import has said so")
			require.False(t, s.Add(make([]int32, 40000)))
			require.ErrorContains(t, s.Err(), path)
			require.ErrorContains(t, s.Err(), "40000 tokens takes 40000 bytes, want ≤ 32768")

			waits, stop := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errEnded)
			defer stop()
			refused(waits, Config{Wait: time.Minute}, "ended")
			refused(t.Context(), Config{Wait: -1}, "the file is open elsewhere; waited 0s")
			require.NoError(t, s.Close())
			require.False(t, s.Add([]int32{9}))
			require.ErrorContains(t, s.Err(), "40000 tokens", "the first error stays")
			require.Error(t, s.Verify(t.Context()))

			closed, err := open(t.Context(), path, Config{})
			require.NoError(t, err)
			require.NoError(t, closed.Close())
			closed.Add([]int32{9})
			require.ErrorContains(t, closed.Err(), "not open")
		})
	}
}

var errEnded = errors.New("ended")

// TestFilesThatAreNone: what is no set of sequences, or not whole, is refused and
// left as it is.
func TestFilesThatAreNone(t *testing.T) {
	folder := t.TempDir()
	good := filepath.Join(folder, "good.db")
	s, err := Open(t.Context(), good, Config{})
	require.NoError(t, err)
	_, err = s.Import(t.Context(), func(yield func([]int32) bool) {
		for i := range int32(3000) {
			yield([]int32{i, i})
		}
	})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(good)
	require.NoError(t, err)

	edit := func(name string, change func(tx *bbolt.Tx) error) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, whole, 0o600))
		db, err := bbolt.Open(path, 0o600, nil)
		require.NoError(t, err)
		require.NoError(t, db.Update(change))
		require.NoError(t, db.Close())
		return path
	}
	file := func(name string, b []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, b, 0o600))
		return path
	}
	for path, want := range map[string]string{
		folder: "", // bbolt says what it likes
		file("text", []byte("some other file\n")): "",
		file("short", whole[:len(whole)/2]):       "",
		edit("other", func(tx *bbolt.Tx) error {
			if err := tx.DeleteBucket(formatName); err != nil {
				return err
			}
			_, err := tx.CreateBucket([]byte("accounts"))
			return err
		}): `it has a bucket "accounts"`,
		edit("none", func(tx *bbolt.Tx) error { return tx.DeleteBucket(formatName) }):                     "the file holds no set yet",
		edit("half", func(tx *bbolt.Tx) error { return tx.Bucket(formatName).DeleteBucket(seenName) }):    "not complete",
		edit("anonymous", func(tx *bbolt.Tx) error { return tx.Bucket(formatName).Delete(identityName) }): "not complete",
	} {
		before, _ := os.ReadFile(path)
		_, err := OpenCorpus(t.Context(), path, Config{ReadOnly: true})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "bolt: "+path)
		after, _ := os.ReadFile(path)
		require.Equal(t, before, after)
	}

	// Keys that are none, and a number that is not theirs.
	for path, want := range map[string]string{
		edit("key", func(tx *bbolt.Tx) error { return seenOf(tx).Put([]byte{0xF3}, nil) }): "no token begins with byte 0xf3",
	} {
		_, err := OpenCorpus(t.Context(), path, Config{})
		require.ErrorContains(t, err, want)
		s, err := Open(t.Context(), path, Config{})
		require.NoError(t, err)
		require.ErrorContains(t, s.Verify(t.Context()), want)
		for range s.All() {
		}
		require.ErrorContains(t, s.Err(), want)
		require.NoError(t, s.Close())
	}
	s, err = Open(t.Context(), edit("number", func(tx *bbolt.Tx) error { return seenOf(tx).SetSequence(7) }), Config{})
	require.NoError(t, err)
	require.ErrorContains(t, s.Verify(t.Context()), "3000 sequences, want 7")
	require.NoError(t, s.Close())

	// An automaton that is not the file's.
	c, err := OpenCorpus(t.Context(), good, Config{})
	require.NoError(t, err)
	c.lexicon.Add([]int32{5})
	require.ErrorContains(t, c.Verify(t.Context()), "the automaton holds a sequence that the file does not")
	require.True(t, c.set.Add([]int32{6}))
	require.ErrorContains(t, c.Verify(t.Context()), "the file holds a sequence that the automaton does not")
	require.NoError(t, c.Close())
	_, err = c.set.Import(t.Context(), slices.Values([][]int32{{8}}))
	require.ErrorContains(t, err, "not open")
}
