// Package session owns the life of a run, the same for all of them: what a call checks, one
// call at a time, when a checkpoint is due, how it is written and read, in a stream and in
// files, and where a run stands after it was stopped.
//
// The rules, with what differed between runs before in brackets:
//
//   - Run(ctx, n) makes n steps more, whatever was stopped before: after a stop at k of n,
//     Run(ctx, n−k) comes to where Run(ctx, n) would have come. A run of fixed length (AIS,
//     stepping stones) has no n and makes what is left. [Annealing wanted the n of the Run
//     that was stopped again.]
//   - A nil context, a negative n, and a call while another one is under way are errors, in
//     this order. [The order differed; Groups, Resampler and Rejection had none of them, Save
//     and Load were not looked at.]
//   - The context is asked before every step, and inside of long ones. Its end is the error
//     of Run; the step under way goes on with the next Run, or is made again.
//   - A panic leaves the run as it was before the step, reaches the caller as a
//     *pool.Panic, and the next Run goes on. [Only chains had the stack of where it was.]
//   - Any other error leaves it before the step too: the next Run tries that again. [Annealing
//     began its schedule anew.]
//   - A checkpoint file, if there is a path, is saved each time that Every more steps are made,
//     to the step [chains: at the end of a round after it], at the end of a Run, and where the
//     context ended it; not after another error, unless the steps are samples, of which those
//     that were made are done. A failure to save is the error of Run.
//   - A checkpoint is the settings, the frames of state, and what runs inside have written. It
//     is read into memory of its own: on an error the run is as it was.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Checkpoint is where a run saves itself, and after how many steps; 0: only where a Run ends.
type Checkpoint struct {
	Path  string
	Every int
}

// Check returns an error unless the counts of a configuration, whose names are given with
// spaces between them, and Every are ≥ 0. config, such as "fit: Config", begins it.
func (c Checkpoint) Check(config, names string, counts ...int) error {
	counts = append(counts, c.Every)
	for k, name := range strings.Fields(names + " Checkpoint.Every") {
		if v := counts[k]; v < 0 {
			return fmt.Errorf("%s.%s = %d, want ≥ 0", config, name, v)
		}
	}
	return nil
}

// Session is the life of one run. The fields are set where the run is made.
type Session struct {
	Who        string // begins the message of an error: "anneal: AIS"
	Checkpoint Checkpoint
	Len        func() int // steps made: what Run makes more of, and Every counts

	// Progress, if not nil, is told how many of the steps of a Run are made.
	Progress func(done, total int)

	// Write writes a checkpoint, and Read reads one in place of the run, or returns an error
	// and changes nothing.
	Write func(w io.Writer) error
	Read  func(ctx context.Context, r io.Reader) error

	busy  atomic.Bool
	filed int // Len at the last checkpoint file
}

// ErrDone is returned by a step after which a Run ends.
var ErrDone = errors.New("session: the run is done")

// Begin begins a call that makes n steps. Each has its End.
func (s *Session) Begin(ctx context.Context, call string, n int) error {
	if ctx == nil {
		return fmt.Errorf("%s: %s: ctx = nil", s.Who, call)
	}
	if n < 0 {
		return fmt.Errorf("%s: %s: n = %d, want ≥ 0", s.Who, call, n)
	}
	if !s.busy.CompareAndSwap(false, true) {
		return fmt.Errorf("%s: %s: another call of this run is under way, want one at a time", s.Who, call)
	}
	return nil
}

// End ends a call. A function that may panic defers it, and a panic then becomes one of a job.
func (s *Session) End() {
	s.busy.Store(false)
	if v := recover(); v != nil {
		pool.Throw(v)
	}
}

// Run makes n steps more by calls of step, which makes one or several, up to number to at
// most: there a checkpoint is due, or the Run ends.
func (s *Session) Run(ctx context.Context, n int, step func(to int) error) error {
	if err := s.Begin(ctx, "Run", n); err != nil {
		return err
	}
	defer s.End()
	return s.Finish(ctx, s.Advance(ctx, n, step))
}

// Advance is Run within a call that has begun, without a checkpoint file at its end.
func (s *Session) Advance(ctx context.Context, n int, step func(to int) error) error {
	begin := s.Len()
	end := begin + min(n, math.MaxInt-begin)
	for at := begin; at < end; {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		to := end
		if every := s.Checkpoint.Every; s.Checkpoint.Path != "" && every > 0 && s.filed < end-every {
			to = max(at+1, s.filed+every)
		}
		err := step(to)
		if err != nil && err != ErrDone {
			return err
		}
		if at = s.Len(); s.Progress != nil {
			s.Progress(at-begin, end-begin)
		}
		if err != nil {
			return nil
		}
		if at < end {
			if err := s.Keep(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Unfiled returns the number of steps made since the last checkpoint file.
func (s *Session) Unfiled() int { return s.Len() - s.filed }

// Keep saves a checkpoint file if one is due.
func (s *Session) Keep() error {
	if every := s.Checkpoint.Every; every == 0 || s.Unfiled() < every {
		return nil
	}
	return s.save()
}

// Finish saves a checkpoint file at the end of a call whose error is err, unless that is
// another than the end of the context, and returns both errors.
func (s *Session) Finish(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		return err
	}
	if file := s.save(); file != nil {
		err = errors.Join(err, file)
	}
	return err
}

// save saves a checkpoint file if there is a path.
func (s *Session) save() error {
	if s.Checkpoint.Path == "" {
		return nil
	}
	if err := durable.SaveFile(s.Who, s.Checkpoint.Path, underWay{s}); err != nil {
		return err
	}
	s.filed = s.Len()
	return nil
}

// underWay writes and reads a run while a call is under way.
type underWay struct{ s *Session }

func (u underWay) Save(w io.Writer) error                      { return u.s.Write(w) }
func (u underWay) Load(ctx context.Context, r io.Reader) error { return u.s.read(ctx, r) }

func (s *Session) read(ctx context.Context, r io.Reader) error {
	if err := s.Read(ctx, r); err != nil {
		return err
	}
	s.filed = s.Len()
	return nil
}

// Save writes a checkpoint.
func (s *Session) Save(w io.Writer) error {
	if check.Nil(w) {
		return fmt.Errorf("%s: Save: w = nil", s.Who)
	}
	return s.file(context.Background(), "Save", func() error { return s.Write(w) })
}

// Load reads a checkpoint.
func (s *Session) Load(ctx context.Context, r io.Reader) error {
	if check.Nil(r) {
		return fmt.Errorf("%s: Load: r = nil", s.Who)
	}
	return s.file(ctx, "Load", func() error { return s.read(ctx, r) })
}

// file is a call with its name in the error.
func (s *Session) file(ctx context.Context, call string, do func() error) error {
	if err := s.Begin(ctx, call, 0); err != nil {
		return err
	}
	defer s.End()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %s: %w", s.Who, call, err)
	}
	return nil
}

// SaveFile saves a checkpoint in a file, see [durable.SaveFile].
func (s *Session) SaveFile(path string) error {
	if err := s.Begin(context.Background(), "SaveFile", 0); err != nil {
		return err
	}
	defer s.End()
	return durable.SaveFile(s.Who, path, underWay{s})
}

// LoadFile loads the checkpoint in a file, or the generation before it, see
// [durable.LoadFile].
func (s *Session) LoadFile(ctx context.Context, path string) error {
	if err := s.Begin(ctx, "LoadFile", 0); err != nil {
		return err
	}
	defer s.End()
	return durable.LoadFile(ctx, s.Who, path, underWay{s})
}

// Frames are what a checkpoint holds: settings and frames of state. See [durable.Write].
type Frames struct {
	Magic    string // of the first frame, names the format version
	Settings *fingerprint.List
	Count    int                         // of the frames of state
	Limit    int                         // bytes of a frame at most
	Frame    func(f *wire.Fields, i int) // goes through the fields of frame i
}

// Write writes a checkpoint, within it what inside writes, which may be nil.
func (f *Frames) Write(w io.Writer, inside func(io.Writer) error) error {
	return durable.Write(w, f.Magic, f.Settings, f.Count, func(i int, body []byte) ([]byte, error) {
		fields := wire.Appending(body)
		f.Frame(fields, i)
		return fields.Rest()
	}, inside)
}

// Read reads what Write wrote. An error for other settings is a [*fingerprint.Mismatch].
func (f *Frames) Read(ctx context.Context, r io.Reader, inside func(io.Reader) error) error {
	return durable.Read(ctx, r, f.Magic, f.Settings, func() int { return f.Count }, uint64(f.Limit), func(i int, body []byte) ([]byte, error) {
		fields := wire.Reading(body)
		f.Frame(fields, i)
		return fields.Rest()
	}, inside)
}
