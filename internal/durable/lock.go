package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// ErrInUse is the error for a file that another run has locked.
var ErrInUse = errors.New("another run is using the file")

// Lock is the exclusive right of one run to write a file. While a run holds it, the file path.lock
// exists and is locked in the way that the system provides. Release removes path.lock. If a crash
// leaves it behind, the next run can still acquire the lock.
//
//	Linux, Android, macOS, iOS, BSD, illumos    flock
//	Solaris, AIX                                 a record lock (fcntl)
//	Windows                                      the file is open without sharing, and is deleted on close
//	Plan 9                                       the file is open for exclusive use
//	js, wasip1                                   none between processes; there is no file
//
// On every system, two runs of one process exclude each other. On a shared or local file system
// without locks of the above kind (ENOTSUP, ENOSYS, ENOLCK), there is no lock between processes.
type Lock struct {
	target, key string
	release     func()
}

func lockName(path string) string { return path + ".lock" }

// held is the set of locks held by this process.
var held = struct {
	sync.Mutex
	names map[string]bool
}{names: map[string]bool{}}

// lockOf returns the file to which path refers, and the unique name of its lock in this process.
func lockOf(path string) (target, key string, err error) {
	if target, err = Target(path); err != nil {
		return "", "", err
	}
	folder, err := filepath.Abs(filepath.Dir(target))
	if err != nil {
		return "", "", err
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	return target, filepath.Join(folder, filepath.Base(target)), nil
}

// Acquire locks the file at path. The file need not exist. If another run holds the lock, the error
// wraps [ErrInUse]. The error message contains the path and says what to do.
func Acquire(path string) (*Lock, error) {
	target, key, err := lockOf(path)
	if err != nil {
		return nil, err
	}
	held.Lock()
	defer held.Unlock()
	var unlock func()
	if err = ErrInUse; !held.names[key] {
		unlock, err = lockFile(lockName(target))
	}
	switch {
	case errors.Is(err, ErrInUse):
		return nil, fmt.Errorf("%s: %w: wait until that run ends, or give this one a path of its own", path, ErrInUse)
	case err != nil:
		return nil, err
	}
	held.names[key] = true
	return &Lock{target: target, key: key, release: func() {
		held.Lock()
		defer held.Unlock()
		unlock()
		delete(held.names, key)
	}}, nil
}

// Holds reports whether l locks the file at path.
func (l *Lock) Holds(path string) bool {
	_, key, err := lockOf(path)
	return err == nil && key == l.key
}

// Release releases the lock. Later calls, and calls on a nil lock, do nothing.
func (l *Lock) Release() {
	if l != nil && l.release != nil {
		l.release()
		l.release = nil
	}
}

// Stamp identifies a generation of a file. A generation is the version that one [Save] wrote.
// Stamps show whether a file has been replaced.
type Stamp struct{ info os.FileInfo }

// StampOf returns the stamp of the file at path, or the zero value if the file is missing.
func StampOf(path string) Stamp {
	info, err := os.Stat(path)
	if err != nil {
		return Stamp{}
	}
	return Stamp{info}
}

// Replaced reports whether the file was replaced between the stamps s and t. If the file was
// missing at the time of either stamp, Replaced returns false.
func (s Stamp) Replaced(t Stamp) bool {
	return s.info != nil && t.info != nil &&
		(!os.SameFile(s.info, t.info) || s.info.Size() != t.info.Size() || !s.info.ModTime().Equal(t.info.ModTime()))
}
