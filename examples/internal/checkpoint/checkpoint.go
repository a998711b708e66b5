// Package checkpoint lets a long program be interrupted and resumed. With -checkpoint FILE the
// program saves its state periodically. With -resume it continues, and the results are
// bit-identical to those of an uninterrupted run.
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

// Flags holds the options -checkpoint and -resume. A program embeds it in its options.
type Flags struct {
	Checkpoint string
	Resume     bool
}

// interval is the time between two saves. It is a string so that a test can set a shorter one
// when building a program.
var interval = "10s"

// Every is the time between two saves. Tests set a shorter time.
var Every, _ = time.ParseDuration(interval)

// Define adds the flags -checkpoint and -resume to a flag set.
func (c *Flags) Define(f *flag.FlagSet) {
	f.StringVar(&c.Checkpoint, "checkpoint", "", "save each part of the run to `file`.<part>, periodically and on exit")
	f.BoolVar(&c.Resume, "resume", false, "resume from -checkpoint")
}

// Check returns an error if the command line has -resume without -checkpoint.
func (c *Flags) Check() error {
	if c.Resume && c.Checkpoint == "" {
		return errors.New("-resume without -checkpoint")
	}
	return nil
}

// Saver is a value that can be saved, such as a runner or a trace. Load must read exactly the
// bytes that Save wrote.
type Saver interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}

// File is the checkpoint file of one part of a run. The zero value stands for a run without
// checkpoints and saves nothing.
type File struct {
	path  string
	parts []Saver
	last  time.Time
	was   fs.FileInfo // state of the file when this run last read or wrote it; nil before that
}

// Path returns the name of the checkpoint file for one part of the run, or "" if -checkpoint is not
// given. It is meant for runners that write their checkpoints themselves.
func (c *Flags) Path(name string) string {
	if c.Checkpoint == "" {
		return ""
	}
	return c.Checkpoint + "." + name
}

// Load calls the function load with the path of the checkpoint file for a part of the run, if this
// file exists and -resume is given. Without -resume an existing file is an error, because the run
// would overwrite it.
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
	return fmt.Errorf("%s exists: resume from it with -resume, or remove it to start again", path)
}

// Open returns the checkpoint of a part of the run. With -resume, Open loads the checkpoint file if
// it exists. The file does not exist if the earlier run was interrupted before it reached this
// part. Without -resume an existing file is an error, because the run would overwrite it.
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

// Tick saves the file if at least [Every] has passed since the last save.
func (f *File) Tick() error {
	if f.path == "" || time.Since(f.last) < Every {
		return nil
	}
	f.last = time.Now()
	return f.Save()
}

// Save replaces the file atomically, so that an interrupted program leaves the previous version.
// If another run has written the file since, Save returns an error.
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

// Write atomically replaces a file by the output of write, and keeps its permissions. If path is a
// symbolic link, it replaces the link's target. A device or a pipe, such as /dev/stdout, is not
// replaced, but written to.
func Write(path string, write func(w io.Writer) error) error {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() && !info.IsDir() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		}
		mode = info.Mode().Perm()
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // nothing is there if all went well
	if err := errors.Join(write(f), f.Sync(), f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Clock counts the steps of a run and the time spent on them. A checkpoint stores the clock
// together with the state of the run.
type Clock struct {
	Steps   int
	Seconds float64
}

// looks is the number of times that a run checks whether to save.
const looks = 200

// Run calls the function step repeatedly, each time with the number of steps to make, until the run
// has made the given number of steps in total. It saves periodically and at the end, and calls
// progress after each call of step. After an error, the last saved file contains only complete
// calls.
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
