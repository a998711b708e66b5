package durable

import (
	"os"
	"syscall"
	"time"
)

// From the documentation of CreateFile and of system error codes.
const (
	deleteOnClose    = 0x04000000
	sharingViolation = syscall.Errno(32)
)

// vanishing is how long a file that is being deleted may refuse access.
const vanishing = time.Second

// lockFile creates a file that nobody else can open, and that goes when it is closed.
func lockFile(name string) (unlock func(), err error) {
	p, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		h, err := syscall.CreateFile(p, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL|deleteOnClose, 0)
		switch {
		case err == nil:
			return func() { _ = syscall.CloseHandle(h) }, nil
		case err == sharingViolation:
			return nil, ErrInUse
		case err != syscall.ERROR_ACCESS_DENIED || time.Since(began) > vanishing:
			return nil, &os.PathError{Op: "lock", Path: name, Err: err}
		}
	}
}
