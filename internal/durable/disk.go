package durable

import (
	"io/fs"
	"os"
	"runtime"
	"runtime/debug"
)

// Disk is the file system of the operating system. Its names are paths.
type Disk struct{}

// Open opens the file at path for reading. It implements fs.FS.
func (Disk) Open(path string) (fs.File, error) { return os.Open(path) }

// fault is the panic value of an access to memory that is not there.
type fault interface {
	runtime.Error
	Addr() uintptr
}

// Guard calls read, a function that accesses a file that is mapped into memory. If the access
// causes a memory fault because the file has been truncated, Guard returns the fault. Other panics
// pass through.
func Guard(read func()) (broken error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		switch v := recover().(type) {
		case nil:
		case fault:
			broken = v
		default:
			panic(v)
		}
	}()
	read()
	return nil
}
