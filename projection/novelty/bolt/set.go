package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"go.etcd.io/bbolt"
)

// Set is a set of sequences in a file. It implements novelty.Seen and keeps no sequences in memory.
// Its errors name the file, and Err returns the first error. A Set is safe for concurrent use.
//
// If a run is resumed from a checkpoint, the set also contains the samples that were finished after
// the checkpoint. They stay in the set, so the resumed run produces other samples in their place.
type Set struct {
	path     string
	identity string
	db       *bbolt.DB
	n        atomic.Int64
	size     atomic.Int64 // size of the file in bytes after the last write
	// true if a panic interrupted a transaction, which may still hold locks
	torn atomic.Bool

	mu  sync.Mutex
	err error
}

// Open opens a file, or creates it if there is none. The error names the file. It wraps [ErrLocked]
// if the file is already open. Other errors come from the context or the operating system, or
// describe what is wrong with the file.
func Open(ctx context.Context, path string, c Config) (*Set, error) {
	db, err := open(ctx, path, c)
	if err != nil {
		return nil, fmt.Errorf("bolt: %s: %w", path, err)
	}
	var identity string
	var n int
	broken, err := guard(func() (err error) {
		identity, n, err = prepare(db, c.ReadOnly)
		return err
	})
	if err != nil {
		if !broken { // or a lock may be held that closing waits for
			err = errors.Join(err, db.Close())
		}
		return nil, fmt.Errorf("bolt: %s: %w", path, err)
	}
	s := &Set{path: path, identity: identity, db: db}
	s.n.Store(int64(n))
	if err := s.measure(); err != nil {
		return nil, fmt.Errorf("bolt: %s: %w", path, errors.Join(err, db.Close()))
	}
	return s, nil
}

// Close closes the file, so that other processes can open it. Later calls of other methods fail.
// Close returns the error of the operating system, if any.
func (s *Set) Close() error {
	if s.torn.Load() {
		return s.named(errors.New("damaged or cut short: it stays open until the process ends"))
	}
	return s.named(s.db.Close())
}

// Err returns the first error that occurred in a method without an error result, or nil. The
// results of that method call and of later ones must not be used.
func (s *Set) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Check returns the result of [Set.Err]. A novelty.Projector calls Check before a run.
func (s *Set) Check() error { return s.Err() }

// named adds the name of the file to an error. It returns nil if err is nil.
func (s *Set) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("bolt: %s: %w", s.path, err)
}

// keep stores err for the method Err, unless an error is already stored.
func (s *Set) keep(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// view runs a read transaction. If the file is damaged, or truncated while it is open, view
// returns an error instead of crashing the process.
func (s *Set) view(read func(tx *bbolt.Tx) error) error {
	return s.guarded(func() error {
		return s.db.View(func(tx *bbolt.Tx) error {
			err := read(tx)
			return errors.Join(err, whole(tx, s.path))
		})
	})
}

// update runs a write transaction, with the same protection as view.
func (s *Set) update(write func(tx *bbolt.Tx) error) error {
	err := s.guarded(func() error { return s.db.Update(write) })
	if err == nil {
		err = s.measure()
	}
	return err
}

// measure records the size of the file.
func (s *Set) measure() error {
	info, err := os.Stat(s.path)
	if err == nil {
		s.size.Store(info.Size())
	}
	return err
}

// guarded checks the size of the file and then calls do by [guard].
func (s *Set) guarded(do func() error) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if want := s.size.Load(); info.Size() < want {
		return fmt.Errorf("cut short while it was open: %d bytes, want %d", info.Size(), want)
	}
	broken, err := guard(do)
	if broken {
		s.torn.Store(true)
	}
	return err
}

// Len returns the number of sequences.
func (s *Set) Len() int { return int(s.n.Load()) }

// Contains reports whether x is in the set. It returns false for a sequence that a file cannot
// store.
func (s *Set) Contains(x []int32) bool {
	key, err := appendKey(nil, x)
	if err != nil {
		return false
	}
	known := false
	err = s.view(func(tx *bbolt.Tx) error {
		k, _ := seenOf(tx).Cursor().Seek(key)
		known = bytes.Equal(k, key)
		return nil
	})
	s.keep(s.named(err))
	return known
}

// Add adds x to the set and reports whether x was new. It returns once the sequence is on disk.
//
// A sequence with a negative token, or whose key takes more than 32,768 bytes, is not added;
// [Set.Err] then returns an error. In the key, a token below 2⁷ takes one byte, a token below 2¹⁴
// two bytes, and a token below 2²¹ three bytes.
func (s *Set) Add(x []int32) bool {
	if s.Contains(x) { // without a transaction that writes
		return false
	}
	added, err := s.Import(context.Background(), slices.Values([][]int32{x}))
	s.keep(err)
	return added > 0
}

// Recall adds x to the set, unless the set already contains x. A run that is resumed from a
// checkpoint calls Recall for the samples of the checkpoint.
func (s *Set) Recall(x []int32) { s.Add(x) }

// Settings calls add with the identity of the file, for use in a checkpoint. The identity is a
// number that the file received when it was created; it does not depend on the sequences in the
// file. A run that is resumed with another file is therefore detected.
func (s *Set) Settings(add func(name string, value any)) { add("File", s.identity) }

// importSize is the number of sequences that are written to the file in one transaction.
const importSize = 1 << 13

// Import adds many sequences to the set, a few thousand at a time, and returns how many were new.
// The counted sequences are on disk even if Import returns an error. If a file cannot store a
// sequence, the error names the sequence. Other errors come from the file or the context. Import
// does not keep the yielded slices.
func (s *Set) Import(ctx context.Context, all iter.Seq[[]int32]) (added int, err error) {
	return s.put(ctx, all, func([]int32) {})
}

// put implements Import. For every sequence that was new, it calls the function notify once the
// sequence is on disk.
func (s *Set) put(ctx context.Context, all iter.Seq[[]int32], notify func(x []int32)) (added int, err error) {
	var keys [][]byte
	flush := func() error {
		var fresh [][]byte
		err := context.Cause(ctx)
		if err == nil && len(keys) > 0 {
			err = s.update(func(tx *bbolt.Tx) error {
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
			notify(x)
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

// All yields the sequences in lexicographic order, except that the empty sequence comes last.
// The slice is overwritten by the next step. Sequences added during the iteration may be
// included. An error ends the iteration; see Err.
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

// chunk is the number of keys that are read in one transaction. While a transaction is open,
// writers cannot enlarge the file.
const chunk = 1 << 12

// keys yields the keys in ascending order.
func (s *Set) keys(yield func(key []byte) bool) {
	var from []byte
	for more := true; more; {
		var keys [][]byte
		err := s.view(func(tx *bbolt.Tx) error {
			c := seenOf(tx).Cursor()
			k, v := c.Seek(from)
			if from != nil && bytes.Equal(k, from) {
				k, v = c.Next()
			}
			for ; k != nil && len(keys) < chunk; k, v = c.Next() {
				if len(k) > bbolt.MaxKeySize || len(v) > 0 {
					return fmt.Errorf("damaged: a key of %d bytes with a value of %d, want ≤ %d and 0: restore the file from a copy", len(k), len(v), bbolt.MaxKeySize)
				}
				if bytes.Compare(k, from) <= 0 && from != nil {
					return errors.New("damaged: keys are out of order: restore the file from a copy")
				}
				keys = append(keys, bytes.Clone(k))
				from = keys[len(keys)-1]
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
		}
		more = len(keys) == chunk
	}
}

// Verify reads the whole file. It returns an error unless pages, keys and the number of keys are
// consistent. Call it before adding to a file that may be damaged: writing to a damaged file can
// take time and memory without bound. If the context ends, Verify returns the context's cause.
func (s *Set) Verify(ctx context.Context) error {
	n := 0
	var x []int32
	for key := range s.keys {
		n++
		var err error
		if x, err = appendTokens(x[:0], key); err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return s.named(err)
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	err := s.view(func(tx *bbolt.Tx) (first error) {
		// Check reads in a goroutine, where a fault would end the process.
		if err := errors.Join(found(ctx, tx), overflows(tx)); err != nil {
			return err
		}
		for err := range tx.Check(bbolt.WithKVStringer(shortKeys{})) { // to the end, or it waits for ever
			if first == nil {
				first = err
			}
		}
		return first
	})
	if err == nil && n != s.Len() {
		err = fmt.Errorf("%d sequences, want %d", n, s.Len())
	}
	return s.named(err)
}

// shortKeys writes keys for the errors of Check. A damaged length may be longer than the file.
type shortKeys struct{}

func (shortKeys) KeyToString(key []byte) string {
	return fmt.Sprintf("%x", key[:min(len(key), 64)])
}

func (shortKeys) ValueToString([]byte) string { return "" }

// found returns an error unless every key is found where it is.
func found(ctx context.Context, tx *bbolt.Tx) error {
	c, search := seenOf(tx).Cursor(), seenOf(tx).Cursor()
	n := 0
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if again, _ := search.Seek(k); !bytes.Equal(again, k) {
			return errors.New("damaged: a key is not found where it is: restore the file from a copy")
		}
		if n++; n%chunk == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// overflows returns an error if a page claims to be followed by more pages than there are. Check
// would take time and memory for all of them.
func overflows(tx *bbolt.Tx) error {
	pages := int(tx.Size() / int64(tx.DB().Info().PageSize))
	for id := 2; id < pages; id++ { // those before are two copies of the root
		switch p, err := tx.Page(id); {
		case err != nil:
			return err
		case p == nil:
			return fmt.Errorf("page %d of %d is not there", id, pages)
		case p.Type == "free":
		case p.OverflowCount >= pages-id:
			return fmt.Errorf("damaged: page %d is followed by %d of its kind, want < %d: restore the file from a copy", id, p.OverflowCount, pages-id)
		default:
			id += p.OverflowCount
		}
	}
	return nil
}
