package durable

import (
	"io"
	"os"
	"runtime"
)

// OS is the file system of the machine.
type OS struct{}

// Create implements [FS].
func (OS) Create(name string) (File, error) { return os.Create(name) }

// Open implements [FS].
func (OS) Open(name string) (io.ReadCloser, error) { return os.Open(name) }

// Rename implements [FS].
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// SyncDir implements [FS]. Windows cannot sync a folder, and does not need to.
func (OS) SyncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}
