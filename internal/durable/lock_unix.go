//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

// lockFile creates and locks a file. Unlocking removes it.
func lockFile(name string) (unlock func(), err error) {
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		for err = exclude(f); err == syscall.EINTR; {
			err = exclude(f)
		}
		switch {
		case err == syscall.EWOULDBLOCK || err == syscall.EAGAIN || err == syscall.EACCES:
			return nil, errors.Join(ErrInUse, f.Close())
		case err == syscall.ENOSYS || err == syscall.ENOTSUP || err == syscall.EOPNOTSUPP || err == syscall.ENOLCK: // a file system without locks
		case err != nil:
			return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, f.Close())
		}
		here, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if there, err := os.Stat(name); err == nil && os.SameFile(here, there) {
			return func() { _, _ = os.Remove(name), f.Close() }, nil
		}
		_ = f.Close() // who had the lock removed the file meanwhile
	}
}
