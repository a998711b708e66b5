package durable

import (
	"os"
	"syscall"
	"time"
)

// Constants from the documentation of CreateFile and of system error codes.
const (
	// FILE_FLAG_DELETE_ON_CLOSE of CreateFile: delete the file when it is closed
	deleteOnClose = 0x04000000
	// ERROR_SHARING_VIOLATION: another process has the file open
	sharingViolation = syscall.Errno(32)
)

// vanishing is the maximum time for which a file that is being deleted may deny access.
const vanishing = time.Second

// lockFile creates a file that no other process can open and that is deleted when it is closed.
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
