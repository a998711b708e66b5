package checkpoint

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

type state struct{ Steps int }

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	c := Flags{Checkpoint: filepath.Join(dir, "run")}
	f, err := c.Open(t.Context(), "a", Value("this", &state{7}))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
	c.Resume = true
	var s state
	if _, err := c.Open(t.Context(), "a", Value("this", &s)); err != nil || s.Steps != 7 {
		t.Fatal(s, err)
	}
	if _, err := c.Open(t.Context(), "a", Value("another", &s)); err == nil || !strings.Contains(err.Error(), "another") {
		t.Error(err)
	}
	whole, err := os.ReadFile(c.Path("a"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		for _, b := range [][]byte{whole[:i], append(append(append([]byte{}, whole[:i]...), whole[i]^0x41), whole[i+1:]...)} {
			if err := os.WriteFile(c.Path("a"), b, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Open(t.Context(), "a", Value("this", &s)); err == nil {
				t.Errorf("damage at byte %d, %d bytes: nothing is noticed", i, len(b))
			}
		}
	}
	if err := os.WriteFile(c.Path("a"), append(whole, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Open(t.Context(), "a", Value("this", &s)); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("files left behind: %q", left)
	}
}

// Of two runs that begin on one file, one goes on; a run may go on from its own file.
func TestTwoRuns(t *testing.T) {
	c := Flags{Checkpoint: filepath.Join(t.TempDir(), "run")}
	open := func() *File {
		f, err := c.Open(t.Context(), "a", Value("this", &state{7}))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	one, two := open(), open()
	for range 3 {
		if err := one.Save(); err != nil {
			t.Fatal(err)
		}
		if err := two.Save(); err == nil || !strings.Contains(err.Error(), "another run has written this file") {
			t.Fatal(err)
		}
	}
	c.Resume = true
	three, four := open(), open()
	if err := four.Save(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*File{one, three} {
		if err := f.Save(); err == nil {
			t.Fatal("a run overwrites the file of another")
		}
	}
}

// A link to a file stays one.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "run"), filepath.Join(dir, "link")
	if err := os.Symlink("run", link); err != nil {
		t.Skip(err)
	}
	for _, at := range []string{path, link} {
		if err := Write(at, func(w io.Writer) error { _, err := io.WriteString(w, at); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != link {
		t.Errorf("%q, %v", b, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "run" {
		t.Errorf("%q, %v", to, err)
	}
}

// A file is replaced by a whole one or not at all, by whoever writes it at the same time, and
// keeps its permissions.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	full := errors.New("the disk is full")
	err := Write(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return errors.Join(err, full)
	})
	if b, _ := os.ReadFile(path); !errors.Is(err, full) || string(b) != "old" {
		t.Errorf("after %v, the file holds %q", err, b)
	}
	var all sync.WaitGroup
	began := sync.WaitGroup{}
	began.Add(2)
	for _, text := range []string{"one", "two"} {
		all.Go(func() {
			err := Write(path, func(w io.Writer) error {
				began.Done()
				began.Wait()
				_, err := io.WriteString(w, strings.Repeat(text, 1000))
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	b, err := os.ReadFile(path)
	if string(b) != strings.Repeat("one", 1000) && string(b) != strings.Repeat("two", 1000) {
		t.Errorf("%v, a mixture of two files: %.20q…", err, b)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%v are left", files)
	}
	if err := Write(os.DevNull, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Error(err)
	}
}
