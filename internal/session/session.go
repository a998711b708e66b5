// Package session implements what all runs have in common. It checks calls and allows one call at
// a time, decides when a checkpoint is due, writes and reads checkpoints in streams and files,
// and defines the state of a run after it was stopped.
//
// The rules:
//
//   - Run(ctx, n) makes n more steps. After a stop at step k of n, Run(ctx, n−k) reaches
//     the state that Run(ctx, n) would have reached. A run of fixed length (AIS, stepping
//     stones) has no n and makes the steps that are left.
//   - A nil context, a negative n, and a call during another call are errors, which are checked
//     in this order.
//   - The context is checked before every step, and inside long steps. If it ends, Run returns
//     its error; the next Run continues the interrupted step or repeats it.
//   - A panic leaves the run as it was before the step and reaches the caller as a
//     *pool.Panic. The next Run continues.
//   - After any other error the run is also as it was before the step, and the next Run tries the
//     step again.
//   - A checkpoint file, if there is a path, is saved after every Every steps (chains: at the end
//     of the round), at the end of a Run, and when the context ends a Run. It is not saved after
//     another error, unless the steps are samples: samples that were made count. If saving fails,
//     Run returns that error.
//   - While Run is active the checkpoint file is locked. A Run with the same file in another
//     process or runner is an error, and so is a Run that loaded the file before another run
//     replaced it.
//   - A checkpoint holds the settings, the frames of state, and what inner runs have written. It
//     is read into separate memory: on an error the run is unchanged.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"github.com/gibbsite-go/gibbsite/internal/check"
	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Checkpoint holds the path of the file in which a run saves itself, and the number of steps
// between saves; 0 means that it saves only when a Run ends.
type Checkpoint struct {
	Path  string
	Every int
}

// Session controls one run. The fields are set when the run is created.
type Session struct {
	Who        string // prefix of error messages, such as "anneal: AIS"
	Checkpoint Checkpoint
	Len        func() int // steps made so far, which Run increases and Every counts

	// Progress, if not nil, is called with the number of steps of a Run made so far.
	Progress func(done, total int)

	// Write writes a checkpoint. Read reads a checkpoint and replaces the state of the run by it,
	// or returns an error and changes nothing.
	Write func(w io.Writer) error
	Read  func(ctx context.Context, r io.Reader) error

	busy  atomic.Bool
	filed int // Len at the last checkpoint file

	lock   *durable.Lock // of Checkpoint.Path
	locked bool          // by the current call, which unlocks it
	loaded durable.Stamp // of Checkpoint.Path, as it was loaded or saved
}

// ErrDone is the error of a step that ends its Run without an error.
var ErrDone = errors.New("session: the run is done")

// Begin begins a call that makes n steps. Every successful Begin must be followed by an End.
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

// BeginSaving is Begin for a call that may save the checkpoint file, which it therefore locks.
func (s *Session) BeginSaving(ctx context.Context, call string, n int) error {
	if err := s.Begin(ctx, call, n); err != nil {
		return err
	}
	err := s.Hold(call)
	if err != nil {
		s.End()
	}
	return err
}

// Hold is Lock until the End of the current call.
func (s *Session) Hold(call string) error {
	s.locked = s.lock == nil
	return s.Lock(call)
}

// Lock locks the checkpoint file, if there is a path, until Unlock. It returns an error if
// another run has locked the file, or has replaced it since it was loaded.
func (s *Session) Lock(call string) error {
	path := s.Checkpoint.Path
	if path == "" || s.lock != nil {
		return nil
	}
	l, err := durable.Acquire(path)
	if err != nil {
		return fmt.Errorf("%s: %s: Config.Checkpoint: %w", s.Who, call, err)
	}
	if s.loaded.Replaced(durable.StampOf(path)) {
		l.Release()
		return fmt.Errorf("%s: %s: Config.Checkpoint: %s: another run has replaced the file since it was loaded: load it again", s.Who, call, path)
	}
	s.lock = l
	return nil
}

// Unlock unlocks the checkpoint file.
func (s *Session) Unlock() {
	s.lock.Release()
	s.lock = nil
}

// End ends a call. Defer it in a function that may panic; it turns a panic into a
// *pool.Panic.
func (s *Session) End() {
	if s.locked {
		s.Unlock()
		s.locked = false
	}
	s.busy.Store(false)
	if v := recover(); v != nil {
		pool.Throw(v)
	}
}

// Run makes n more steps by calling step. Each call makes one or several steps, at most up to
// step number to, where a checkpoint is due or the Run ends.
func (s *Session) Run(ctx context.Context, n int, step func(to int) error) error {
	if err := s.BeginSaving(ctx, "Run", n); err != nil {
		return err
	}
	defer s.End()
	return s.Finish(ctx, s.Advance(ctx, n, step))
}

// Advance is Run within a call that has begun. It does not save the checkpoint file at its end.
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

// Keep saves the checkpoint file if that is due.
func (s *Session) Keep() error {
	if every := s.Checkpoint.Every; every == 0 || s.Unfiled() < every {
		return nil
	}
	return s.save()
}

// Finish saves the checkpoint file at the end of a call whose error is err, if err is nil or the
// context has ended. It returns err joined with any error of saving.
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
	if err := s.lock.SaveFile(s.Who, underWay{s}); err != nil {
		return err
	}
	s.filed, s.loaded = s.Len(), durable.StampOf(s.Checkpoint.Path)
	return nil
}

// underWay writes and reads a run during a call.
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

// file calls do and adds the name of the call to its error.
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
	var err error
	own := s.lock != nil && s.lock.Holds(path)
	if own { // between two draws of a run
		err = s.lock.SaveFile(s.Who, underWay{s})
	} else {
		err = durable.SaveFile(s.Who, path, underWay{s})
	}
	if err != nil {
		return err
	}
	if own || path == s.Checkpoint.Path {
		s.loaded = durable.StampOf(path)
	}
	return nil
}

// LoadFile loads the checkpoint in a file, or the previous one, see [durable.LoadFile].
func (s *Session) LoadFile(ctx context.Context, path string) error {
	if err := s.Begin(ctx, "LoadFile", 0); err != nil {
		return err
	}
	defer s.End()
	stamp := durable.StampOf(path)
	if err := durable.LoadFile(ctx, s.Who, path, underWay{s}); err != nil {
		return err
	}
	if path == s.Checkpoint.Path {
		s.loaded = stamp
	}
	return nil
}

// Frames describes the contents of a checkpoint: settings and frames of state. See
// [durable.Write].
type Frames struct {
	Magic    string // of the first frame; it names the format version
	Settings *fingerprint.List
	Count    int                         // number of frames of state
	Limit    int                         // maximum number of bytes in a frame
	Frame    func(f *wire.Fields, i int) // reads or writes the fields of frame i
}

// Write writes a checkpoint that includes what inside writes. inside may be nil.
func (f *Frames) Write(w io.Writer, inside func(io.Writer) error) error {
	return durable.Write(w, f.Magic, f.Settings, f.Count, func(i int, body []byte) ([]byte, error) {
		return wire.AppendFields(body, func(fields *wire.Fields) { f.Frame(fields, i) })
	}, inside)
}

// Read reads what Write wrote. If the settings differ, the error is a [*fingerprint.Mismatch].
func (f *Frames) Read(ctx context.Context, r io.Reader, inside func(io.Reader) error) error {
	return durable.Read(ctx, r, f.Magic, f.Settings, func() int { return f.Count }, uint64(f.Limit), func(i int, body []byte) ([]byte, error) {
		return wire.ReadFront(body, func(fields *wire.Fields) { f.Frame(fields, i) })
	}, inside)
}
