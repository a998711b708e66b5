// Package checkpoint lets a long program be interrupted and resumed: -checkpoint FILE
// saves its state periodically, and -resume continues from there to the bits of an
// uninterrupted run.
package checkpoint

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Flags are the options. A program embeds them in its own.
type Flags struct {
	Checkpoint string
	Resume     bool
}

// interval is the time between two saves; a test builds programs with a shorter one.
var interval = "10s"

// Every is the time between two saves; tests shorten it.
var Every, _ = time.ParseDuration(interval)

// Define adds the flags.
func (c *Flags) Define(f *flag.FlagSet) {
	f.StringVar(&c.Checkpoint, "checkpoint", "", "save each part of the run to `file`.<part>, periodically and on exit")
	f.BoolVar(&c.Resume, "resume", false, "go on from -checkpoint")
}

// Check refuses -resume without a file.
func (c *Flags) Check() error {
	if c.Resume && c.Checkpoint == "" {
		return errors.New("-resume without -checkpoint")
	}
	return nil
}

// Saver is what can be kept: runners and traces. Load reads what Save wrote, and
// no more.
type Saver interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}

// File is the checkpoint of one part of a run. The zero value saves nothing.
type File struct {
	path  string
	parts []Saver
	last  time.Time
	was   fs.FileInfo // as this run has read or written it; nil: not yet
}

// Path returns the file of the part of a run with that name, for a runner that
// saves itself; "" without -checkpoint.
func (c *Flags) Path(name string) string {
	if c.Checkpoint == "" {
		return ""
	}
	return c.Checkpoint + "." + name
}

// Load has a runner load its file if it is there, under the rules of Open.
func (c *Flags) Load(ctx context.Context, name string, load func(ctx context.Context, path string) error) error {
	path := c.Path(name)
	if path == "" {
		return nil
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(path + ".old") // the generation before, if a save was cut short
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !c.Resume:
		return taken(path)
	}
	return load(ctx, path)
}

func taken(path string) error {
	return fmt.Errorf("%s is there already: -resume goes on from it; remove it to begin anew", path)
}

// Open returns the file of the part of a run with that name and, with -resume,
// loads it if it is there: a run may have been stopped before it came to this
// part. Without -resume a file that is there is an error, for it would be
// overwritten.
func (c *Flags) Open(ctx context.Context, name string, parts ...Saver) (*File, error) {
	if c.Checkpoint == "" {
		return &File{}, nil
	}
	f := &File{path: c.Path(name), parts: parts, last: time.Now()}
	in, err := os.Open(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return nil, err
	}
	defer in.Close()
	if !c.Resume {
		return nil, taken(f.path)
	}
	for _, p := range parts {
		if err := p.Load(ctx, in); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if f.was, err = in.Stat(); err != nil {
		return nil, err
	}
	if n, err := io.Copy(io.Discard, in); err != nil || n > 0 {
		return nil, fmt.Errorf("%s: %d bytes too many: %w", f.path, n, errors.Join(err, errors.New("not the checkpoint of this run")))
	}
	return f, nil
}

// Tick saves if it is time to.
func (f *File) Tick() error {
	if f.path == "" || time.Since(f.last) < Every {
		return nil
	}
	f.last = time.Now()
	return f.Save()
}

// Save replaces the file in one piece: a program that is cut off leaves the old
// one. A file that another run has written since is an error.
func (f *File) Save() error {
	if f.path == "" {
		return nil
	}
	switch now, err := os.Stat(f.path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case f.was == nil || !os.SameFile(now, f.was) || !now.ModTime().Equal(f.was.ModTime()) || now.Size() != f.was.Size():
		return fmt.Errorf("%s: another run has written this file: wait until it has ended, or give -checkpoint another name", f.path)
	}
	err := Write(f.path, func(w io.Writer) error {
		for _, p := range f.parts {
			if err := p.Save(w); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		f.was, err = os.Stat(f.path)
	}
	return err
}

// Write replaces a file in one piece by what write writes; of a link, the file that it
// names.
func Write(path string, write func(w io.Writer) error) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing is there if all went well
	if err := errors.Join(write(f), f.Sync(), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Clock is how far a run of steps is and how long they took. A checkpoint keeps it with
// the run.
type Clock struct {
	Steps   int
	Seconds float64
}

// looks is the number of times that a run looks whether it is time to save.
const looks = 200

// Run calls step with numbers of steps until so many are made in all, saves on the
// way and at the end, and tells progress. After an error the last file is of a whole
// number of calls.
func (c *Clock) Run(steps int, step func(n int) error, saved *File, progress func(done, total int)) error {
	for c.Steps < steps {
		start := time.Now()
		n := min(max(1, steps/looks), steps-c.Steps)
		if err := step(n); err != nil {
			return err
		}
		c.Steps += n
		c.Seconds += time.Since(start).Seconds()
		progress(c.Steps, steps)
		if err := saved.Tick(); err != nil {
			return err
		}
	}
	return saved.Save()
}
