package bolt

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/gibbsite-go/gibbsite/internal/durable"
)

// Config holds the settings of [Open]. The zero value is the recommended setting.
type Config struct {
	// Wait is the time to wait for another process that has the file open. 0 means 5 s, and −1
	// means not to wait.
	Wait time.Duration

	// ReadOnly opens an existing file for reading only. Other processes may read the file at
	// the same time. Adding to the set is then an error.
	ReadOnly bool
}

// ErrLocked means that the file is already open, in another process or in this one.
var ErrLocked = errors.New("the file is open elsewhere")

// defaultWait is the default of Config.Wait. It is long enough for a process that is about to
// end.
const defaultWait = 5 * time.Second

// turn is the time between two attempts to lock the file.
const turn = 50 * time.Millisecond

// Names in the file. It has one bucket, named for the format. That bucket holds the identity of the
// file and a bucket of sequences. The number that Sequence returns for this inner bucket is the
// number of sequences in it.
var (
	formatName   = []byte("gibbsite.novelty.1")
	identityName = []byte("identity")
	seenName     = []byte("seen")
)

// open opens the file, waiting for its lock if necessary.
func open(ctx context.Context, path string, c Config) (db *bbolt.DB, err error) {
	if ctx == nil {
		return nil, errors.New("ctx = nil, want a context")
	}
	wait := c.Wait
	switch {
	case wait == 0:
		wait = defaultWait
	case wait == -1:
		wait = 0
	case wait < 0:
		return nil, fmt.Errorf("Config.Wait = %v, want ≥ 0, or −1", c.Wait)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if c.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	for began := time.Now(); ; {
		_, err = guard(func() (err error) {
			db, err = bbolt.Open(path, 0o666, &bbolt.Options{
				Timeout:  time.Nanosecond, // one try
				ReadOnly: c.ReadOnly, FreelistType: bbolt.FreelistMapType, NoStatistics: true,
			})
			return err
		})
		if err == nil || !errors.Is(err, bolterrors.ErrTimeout) {
			return db, err
		}
		left := wait - time.Since(began)
		if left <= 0 {
			return nil, fmt.Errorf("%w; waited %v: close it there, or open it with Config.ReadOnly here and there", ErrLocked, wait)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(min(turn, left)):
		}
	}
}

// guard calls do, which accesses the file. It converts a panic in do to an error: a memory
// fault, or what bbolt says about a damaged page. broken reports that there was one.
func guard(do func() error) (broken bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			broken, err = true, fmt.Errorf("damaged: %v: restore the file from a copy", v)
		}
	}()
	if fault := durable.Guard(func() { err = do() }); fault != nil {
		return true, fmt.Errorf("damaged, or cut short while it was open: %w: restore the file from a copy", fault)
	}
	return false, err
}

// prepare creates the buckets of a new file, or checks those of an existing one. It returns the
// identity of the file and the number of sequences.
func prepare(db *bbolt.DB, readOnly bool) (identity string, n int, err error) {
	look := func(tx *bbolt.Tx) error {
		if err := whole(tx, db.Path()); err != nil {
			return err
		}
		root := tx.Bucket(formatName)
		if root == nil {
			if name, _ := tx.Cursor().First(); name != nil {
				return fmt.Errorf("not a set of sequences: it has a bucket %q, want %q", name, formatName)
			}
			return errNew
		}
		seen, id := root.Bucket(seenName), root.Get(identityName)
		if seen == nil || len(id) == 0 {
			return fmt.Errorf("bucket %q is not complete", formatName)
		}
		identity, n = string(id), int(seen.Sequence())
		return nil
	}
	err = db.View(look)
	if err != errNew {
		return identity, n, err
	}
	if readOnly {
		return "", 0, errors.New("the file holds no set yet")
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		root, err := tx.CreateBucket(formatName)
		if err != nil {
			return err
		}
		if _, err = root.CreateBucket(seenName); err != nil {
			return err
		}
		identity = rand.Text()
		return root.Put(identityName, []byte(identity))
	})
	return identity, 0, err
}

// errNew means that a file has no buckets yet.
var errNew = errors.New("new")

// whole returns an error if the file no longer exists, or if it is shorter than the size
// recorded in it. Pages of a shorter file would be read beyond its end.
func whole(tx *bbolt.Tx, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() < tx.Size() {
		return fmt.Errorf("cut short: %d bytes, want %d", info.Size(), tx.Size())
	}
	return nil
}

// seenOf returns the bucket of sequences.
func seenOf(tx *bbolt.Tx) *bbolt.Bucket { return tx.Bucket(formatName).Bucket(seenName) }

// put adds a key to the bucket of sequences and reports whether the key was new.
func put(seen *bbolt.Bucket, key []byte) (added bool, err error) {
	if k, _ := seen.Cursor().Seek(key); bytes.Equal(k, key) {
		return false, nil
	}
	if err := seen.Put(key, nil); err != nil {
		return false, err
	}
	_, err = seen.NextSequence()
	return true, err
}
