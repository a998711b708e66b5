package shard

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Options holds optional actions of [Task.Do]. The zero value requests none.
type Options struct {
	// States makes Do also save the states of the part, in the file states-FIRST.npy. FIRST is the
	// index of the part's first element, in twelve digits.
	States bool

	// Started, if not nil, is called before the part runs. The part consists of elements first …
	// first+count−1. Started is not called if the part is already finished.
	Started func(first, count int)
}

// Do runs the task's part of the run and saves the part's tally (the statistics of its draws) in a
// file. The folder dir must exist. The file gets its name only when it is complete and on disk. If
// the file already exists and is intact, Do does nothing. A damaged file is replaced. If the file
// belongs to another run or part, Do returns an error.
func (t Task) Do(ctx context.Context, dir string, run Run, o Options) error {
	if err := check.Given("shard: Task.Do", "run", run); err != nil {
		return err
	}
	if s, err := os.Stat(dir); err != nil || !s.IsDir() {
		return fmt.Errorf("shard: Task.Do: dir = %q, want a folder that exists", dir)
	}
	n, block := run.Size()
	first, count, err := t.Range(n, block)
	if err != nil {
		return err
	}
	tally, do, err := run.Part(ctx, first, count)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, t.file())
	done, err := finished(path, tally, first, count)
	if err != nil {
		return fmt.Errorf("shard: %s: %w", path, err)
	}
	if done && o.States {
		_, err := os.Stat(statesFile(dir, first))
		done = err == nil
	}
	if done {
		return nil
	}
	if o.Started != nil {
		o.Started(first, count)
	}
	folder := ""
	if o.States {
		folder = dir
	}
	if err := fill(ctx, do, first, folder); err != nil {
		return err
	}
	b, err := tally.MarshalBinary()
	if err == nil {
		err = place(path, func(w io.Writer) error { _, err := w.Write(b); return err })
	}
	return err
}

// Make computes one part of the run and returns the tally of the part (the statistics of its
// draws). The part consists of elements first … first+count−1. If dir is not empty, Make saves the
// states of the elements in that folder, in the file states-FIRST.npy. FIRST is the number of the
// first element, in twelve digits.
func Make(ctx context.Context, run Run, first, count int, dir string) (*diagnose.Tally, error) {
	if err := check.Given("shard: Make", "run", run); err != nil {
		return nil, err
	}
	tally, do, err := run.Part(ctx, first, count)
	if err != nil {
		return nil, err
	}
	if err := fill(ctx, do, first, dir); err != nil {
		return nil, err
	}
	return tally, nil
}

func fill(ctx context.Context, do func(context.Context, io.Writer) error, first int, dir string) error {
	if dir == "" {
		return do(ctx, nil)
	}
	return place(statesFile(dir, first), func(w io.Writer) error { return do(ctx, w) })
}

func statesFile(dir string, first int) string {
	return filepath.Join(dir, fmt.Sprintf("states-%012d.npy", first))
}

func (t Task) file() string { return fmt.Sprintf("part-%06d-of-%06d.tally", t.Index, t.Count) }

// finished reports whether the file path holds the elements first … first+count−1 of the run to
// which tally belongs. It returns false if the file is missing or damaged, and an error if the file
// belongs to another run or part.
func finished(path string, tally *diagnose.Tally, first, count int) (bool, error) {
	var was diagnose.Tally
	b, err := os.ReadFile(path)
	if err == nil {
		err = was.UnmarshalBinary(b)
	}
	if err != nil {
		return false, nil
	}
	if err := was.SameRun(tally); err != nil {
		return false, err
	}
	if !was.Covers(first, count) {
		return false, fmt.Errorf("the file does not hold elements %d … %d", first, first+count-1)
	}
	return true, nil
}

// places counts the calls of place, for unique file names.
var places atomic.Int64

// place writes a file under a unique name and then renames it to path. Two processes that do the
// same task at the same time, for instance because an engine repeats slow tasks, therefore never
// write to the same file. Both write the same bits.
func place(path string, write func(io.Writer) error) error {
	path, err := durable.Target(path)
	if err != nil {
		return fmt.Errorf("shard: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	own := fmt.Sprintf("%s.%s-%d-%d.tmp", path, host, os.Getpid(), places.Add(1))
	if err := durable.Replace(durable.OS{}, path, own, write); err != nil {
		return fmt.Errorf("shard: %w", err)
	}
	return nil
}
