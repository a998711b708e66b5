//go:build unix && !aix && (!solaris || illumos)

package durable

import (
	"os"
	"syscall"
)

func exclude(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
