//go:build aix || (solaris && !illumos)

package durable

import (
	"io"
	"os"
	"syscall"
)

func exclude(f *os.File) error {
	return syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart})
}
