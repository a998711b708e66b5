package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// Set is a set of sequences in a file, a novelty.Seen. It takes no memory of its
// own. Its errors name the file, and the first one stays: see Err. It may be used by
// several goroutines at once.
//
// A run that is resumed from a checkpoint finds the samples of the checkpoint in the
// set, and also those that it had finished after it: these stay known, so that it
// goes on to others.
type Set struct {
	path     string
	identity string
	db       *bbolt.DB
	n        atomic.Int64

	mu  sync.Mutex
	err error
}

// Open opens a file, which it makes if there is none. The error is [ErrLocked] if
// another process has it, the cause of the context, that of the operating system, or
// says what is wrong with the file, always with its name.
func Open(ctx context.Context, path string, c Config) (*Set, error) {
	db, err := open(ctx, path, c)
	if err != nil {
		return nil, fmt.Errorf("bolt: %s: %w", path, err)
	}
	identity, n, err := prepare(db, c.ReadOnly)
	if err != nil {
		return nil, fmt.Errorf("bolt: %s: %w", path, errors.Join(err, db.Close()))
	}
	s := &Set{path: path, identity: identity, db: db}
	s.n.Store(int64(n))
	return s, nil
}

// Close closes the file, for others to open. Whatever is called afterwards is an
// error. The error is that of the operating system.
func (s *Set) Close() error { return s.named(s.db.Close()) }

// Err returns the first error of a method without one, nil if there was none. The
// results of that call and later ones are not to be used.
func (s *Set) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Check is Err: it lets a projector say what is wrong before a run.
func (s *Set) Check() error { return s.Err() }

// named names the file in an error.
func (s *Set) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bolt: %s: %w", s.path, err)
}

// keep keeps the first error.
func (s *Set) keep(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// Len returns the number of sequences.
func (s *Set) Len() int { return int(s.n.Load()) }

// Contains reports whether x is in the set. What a file cannot hold is not.
func (s *Set) Contains(x []int32) bool {
	key, err := appendKey(nil, x)
	if err != nil {
		return false
	}
	known := false
	err = s.db.View(func(tx *bbolt.Tx) error {
		k, _ := seenOf(tx).Cursor().Seek(key)
		known = bytes.Equal(k, key)
		return nil
	})
	s.keep(s.named(err))
	return known
}

// Add puts x into the set and reports whether it was not there. It returns when the
// sequence is on the disk. Negative tokens and sequences whose key takes more than
// 32768 bytes (one for a token below 128, two below 2¹⁴, three below 2²¹) are errors.
func (s *Set) Add(x []int32) bool {
	if s.Contains(x) { // without a transaction that writes
		return false
	}
	added, err := s.Import(context.Background(), slices.Values([][]int32{x}))
	s.keep(err)
	return added > 0
}

// Recall puts x into the set, which may have it already.
func (s *Set) Recall(x []int32) { s.Add(x) }

// Settings tells a checkpoint which file this is, by a number that it got when it was
// made: another one would be another run. What is in it changes.
func (s *Set) Settings(add func(name string, value any)) { add("File", s.identity) }

// importSize is how many sequences are put into the file at a time.
const importSize = 1 << 13

// Import puts many sequences into the set, some thousand at a time, and returns how
// many were not there. Those that it has counted are on the disk, whatever the
// error: that of a sequence that a file cannot hold, of the file, or the cause of the
// context. The slices that all yields are not kept.
func (s *Set) Import(ctx context.Context, all iter.Seq[[]int32]) (added int, err error) {
	return s.put(ctx, all, func([]int32) {})
}

// put is Import; it calls then for the sequences that were not there and are on the
// disk.
func (s *Set) put(ctx context.Context, all iter.Seq[[]int32], then func(x []int32)) (added int, err error) {
	var keys [][]byte
	flush := func() error {
		var fresh [][]byte
		err := context.Cause(ctx)
		if err == nil && len(keys) > 0 {
			err = s.db.Update(func(tx *bbolt.Tx) error {
				seen := seenOf(tx)
				for _, key := range keys {
					new, err := put(seen, key)
					if err != nil {
						return err
					}
					if new {
						fresh = append(fresh, key)
					}
				}
				return nil
			})
		}
		keys = keys[:0]
		if err != nil {
			return err
		}
		s.n.Add(int64(len(fresh)))
		added += len(fresh)
		for _, key := range fresh {
			x, err := appendTokens(nil, key)
			if err != nil {
				return err
			}
			then(x)
		}
		return nil
	}
	for x := range all {
		key, err := appendKey(nil, x)
		if err != nil {
			return added, s.named(errors.Join(err, flush()))
		}
		if keys = append(keys, key); len(keys) == importSize {
			if err := flush(); err != nil {
				return added, s.named(err)
			}
		}
	}
	return added, s.named(flush())
}

// All yields the sequences in lexicographic order, the empty one last. The slice is
// overwritten by the next step. What is added meanwhile may be among them. An error
// ends the sequence; see Err.
func (s *Set) All() iter.Seq[[]int32] {
	return func(yield func([]int32) bool) {
		var x []int32
		for key := range s.keys {
			var err error
			if x, err = appendTokens(x[:0], key); err != nil {
				s.keep(s.named(err))
				return
			}
			if !yield(x) {
				return
			}
		}
	}
}

// chunk is how many keys are read in one transaction: an open one keeps writers from
// enlarging the file.
const chunk = 1 << 12

// keys yields the keys in order.
func (s *Set) keys(yield func(key []byte) bool) {
	var from []byte
	for more := true; more; {
		var keys [][]byte
		err := s.db.View(func(tx *bbolt.Tx) error {
			c := seenOf(tx).Cursor()
			k, _ := c.Seek(from)
			if from != nil && bytes.Equal(k, from) {
				k, _ = c.Next()
			}
			for ; k != nil && len(keys) < chunk; k, _ = c.Next() {
				keys = append(keys, bytes.Clone(k))
			}
			return nil
		})
		if err != nil {
			s.keep(s.named(err))
			return
		}
		for _, key := range keys {
			if !yield(key) {
				return
			}
			from = key
		}
		more = len(keys) == chunk
	}
}

// Verify reads the whole file and returns an error unless its pages, keys and their
// number agree, or the cause of the context.
func (s *Set) Verify(ctx context.Context) error {
	err := s.db.View(func(tx *bbolt.Tx) (first error) {
		for err := range tx.Check() { // to the end, or it waits for ever
			if first == nil {
				first = err
			}
		}
		return first
	})
	n := 0
	var x []int32
	for key := range s.keys {
		if err != nil {
			break
		}
		n++
		if x, err = appendTokens(x[:0], key); err == nil {
			err = context.Cause(ctx)
		}
	}
	switch {
	case err != nil:
		return s.named(err)
	case n != s.Len():
		return s.named(fmt.Errorf("%d sequences, want %d", n, s.Len()))
	}
	return s.Err()
}
