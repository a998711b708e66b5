// Package durable writes files that survive a crash. A new version (generation) of a file replaces
// the old one only when it is complete and on disk. The old generation is kept under another name.
// The package also guards reads of files that are mapped into memory.
package durable

import (
	"bufio"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// FS is the interface that the package requires of a file system. Tests implement it to inject
// faults.
type FS interface {
	Create(name string) (File, error) // opens the file for writing and truncates it
	Open(name string) (io.ReadCloser, error)
	Rename(from, to string) error // replaces the destination file if it exists
	Remove(name string) error
	SyncDir(name string) error // makes renames in the folder durable
}

// File is a file that is open for writing.
type File interface {
	io.Writer
	Sync() error
	Close() error
}

// Previous returns the name under which the previous generation of the file at path is kept.
func Previous(path string) string { return path + ".old" }

func temporary(path string) string { return path + ".tmp" }

var table = crc64.MakeTable(crc64.ECMA)

// Save calls write and replaces the file at path by its output. Save writes path.tmp, syncs that
// file, and reads it back to compare it with what was written. Then it renames path to path.old and
// path.tmp to path, and syncs the folder. Whatever fails and whenever the machine stops, at least
// one of path and path.old holds a complete generation. It is either the old generation or the new
// one. After an error no path.tmp is left.
func Save(fs FS, path string, write func(io.Writer) error) error {
	return replace(fs, path, temporary(path), write, func() error {
		if err := fs.Rename(path, Previous(path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}

// Replace is like [Save], but does not keep the previous generation. After a failure, path holds
// either the old file or the new file. The file is first written under the name tmp in the same
// folder.
func Replace(fs FS, path, tmp string, write func(io.Writer) error) error {
	return replace(fs, path, tmp, write, func() error { return nil })
}

// replace writes the file tmp, calls beforeRename, and renames tmp to path.
func replace(fs FS, path, tmp string, write func(io.Writer) error, beforeRename func() error) (err error) {
	defer func() {
		if err != nil {
			_ = fs.Remove(tmp)
		}
	}()
	sum, err := fill(fs, tmp, write)
	if err != nil {
		return fmt.Errorf("%s: %w", tmp, err)
	}
	if err := verify(fs, tmp, sum); err != nil {
		return fmt.Errorf("%s: reading back what was written: %w", tmp, err)
	}
	if err := beforeRename(); err != nil {
		return err
	}
	if err := fs.Rename(tmp, path); err != nil {
		return err
	}
	return fs.SyncDir(filepath.Dir(path))
}

// Files returns the paths of all files that saving to the given path uses: the file itself, its
// previous generation, the temporary file, and the lock.
func Files(path string) []string {
	return []string{path, Previous(path), temporary(path), lockName(path)}
}

// Target returns the file to which path refers. This is path itself or, if path is a symbolic link,
// the link's target. The target need not exist.
func Target(path string) (string, error) {
	at := path
	for range maxLinks {
		to, err := os.Readlink(at)
		if err != nil { // no link, or nothing there
			return at, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		at = to
	}
	return "", fmt.Errorf("%s: more than %d links one after the other", path, maxLinks)
}

// maxLinks is the maximum number of links to follow. Linux has the same limit, see
// path_resolution(7).
const maxLinks = 40

// sum counts the bytes written and computes their checksum.
type sum struct {
	w    io.Writer
	n    int64
	hash hash.Hash64
}

func (s *sum) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	s.n += int64(n)
	_, _ = s.hash.Write(b[:n])
	return n, err
}

func fill(fs FS, name string, write func(io.Writer) error) (s *sum, err error) {
	f, err := fs.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	s = &sum{w: f, hash: crc64.New(table)}
	b := bufio.NewWriterSize(s, 1<<16)
	if err := write(b); err != nil {
		return nil, err
	}
	if err := b.Flush(); err != nil {
		return nil, err
	}
	return s, f.Sync()
}

func verify(fs FS, name string, want *sum) error {
	f, err := fs.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h := crc64.New(table)
	n, err := io.Copy(h, f)
	switch {
	case err != nil:
		return err
	case n != want.n:
		return fmt.Errorf("%d bytes, want %d", n, want.n)
	case h.Sum64() != want.hash.Sum64():
		return fmt.Errorf("checksum %016x, want %016x", h.Sum64(), want.hash.Sum64())
	}
	return nil
}

// Load opens the file at path and calls read. If this fails, Load does the same with the previous
// generation of the file, unless abort returns true for the error. Load returns nil if read
// succeeds for either file, and otherwise the first error. There is one exception: if the file at
// path is missing and the previous generation exists, Load returns the second error.
func Load(fs FS, path string, read func(io.Reader) error, abort func(error) bool) error {
	err := load(fs, path, read)
	if err == nil || abort(err) {
		return err
	}
	older := load(fs, Previous(path), read)
	switch {
	case older == nil:
		return nil
	case errors.Is(err, os.ErrNotExist) && !errors.Is(older, os.ErrNotExist):
		return older
	}
	return err
}

func load(fs FS, path string, read func(io.Reader) error) error {
	f, err := fs.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b := bufio.NewReaderSize(f, 1<<16)
	if err := read(b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, err := b.ReadByte(); err != io.EOF {
		return fmt.Errorf("%s: bytes follow the checkpoint", path)
	}
	return nil
}

// OS is the operating system's file system.
type OS struct{}

// Create creates or truncates a file. It implements [FS].
func (OS) Create(name string) (File, error) { return os.Create(name) }

// Open opens a file for reading. It implements [FS].
func (OS) Open(name string) (io.ReadCloser, error) { return os.Open(name) }

// Rename renames a file, and replaces the destination if it exists. It implements [FS].
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove deletes a file. It implements [FS].
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir flushes a folder to disk. On Windows it does nothing, because Windows cannot sync a
// folder and does not need to. SyncDir implements [FS].
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
