// Package session implements the life cycle that all runs share. A run is a computation in steps,
// such as Markov chains, that can be stopped, saved to a checkpoint and continued. The package
// checks the arguments of calls, and allows one call at a time. It decides when a checkpoint is
// due, and writes and reads checkpoints in streams and files. It also guarantees the state of a run
// after a stop.
//
// The rules:
//
//   - Run(ctx, n) makes n more steps. After a stop at step k of n, Run(ctx, n−k) reaches the
//     state that Run(ctx, n) would have reached. Runs of a fixed length, such as annealed
//     importance sampling, take no n and make the remaining steps.
//   - A nil context, a negative n, and a call during another call are errors, checked in this
//     order.
//   - The context is checked before every step, and inside long steps. If it ends, Run returns
//     the context's error. The next Run continues the interrupted step or repeats it.
//   - After a panic in a step, the run is as it was before the step, and the caller gets the
//     panic as a *pool.Panic. The next Run continues.
//   - After any other error, too, the run is as it was before the step. The next Run tries the step
//     again.
//   - If the run has a checkpoint path, the file is saved after every Checkpoint.Every steps. It is
//     also saved at the end of a Run, and when the context ends a Run. Chains save it at the end of
//     the round. After any other error, the file is saved only if every step of the run is a
//     finished sample, so that no sample is lost. If saving fails, Run returns that error.
//   - While Run is active the checkpoint file is locked. It is an error if another process or
//     runner has locked the file, or has replaced it since this run loaded it.
//   - A checkpoint holds the settings, the frames of state, and the checkpoints of inner runs. It
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

// Checkpoint holds the path of the checkpoint file of a run, and the number of steps between
// saves. An Every of 0 means that the file is saved only when a Run ends.
type Checkpoint struct {
	Path  string
	Every int
}

// Session controls the life cycle of one run. Its exported fields are set when the run is
// created.
type Session struct {
	Who        string // prefix of error messages, such as "anneal: AIS"
	Checkpoint Checkpoint
	// returns the number of steps made so far, in all Runs together
	Len func() int

	// Progress, if not nil, is called during a Run. The arguments are the number of steps made so
	// far in this Run, and the total that this Run is to make.
	Progress func(steps, total int)

	// Write writes a checkpoint. Read reads a checkpoint and replaces the state of the run;
	// if Read returns an error, it has changed nothing.
	Write func(w io.Writer) error
	Read  func(ctx context.Context, r io.Reader) error

	busy  atomic.Bool
	filed int // value of Len at the last save of the checkpoint file

	lock   *durable.Lock // lock of the file Checkpoint.Path; nil if unlocked
	locked bool          // the current call has acquired the lock and must release it
	loaded durable.Stamp // stamp of the file Checkpoint.Path when it was last loaded or saved
}

// ErrDone is the error that a step returns to end its Run early and successfully.
var ErrDone = errors.New("session: the run is done")

// Begin marks the start of a method call that will advance the run by n steps. It checks ctx and n,
// and returns an error if another call is under way. Every successful Begin must be followed by an
// End.
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

// BeginSaving begins a call that may save the checkpoint file. It also locks that file until End.
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

// Hold locks the checkpoint file like [Session.Lock], but only until the current call ends with
// [Session.End].
func (s *Session) Hold(call string) error {
	s.locked = s.lock == nil
	return s.Lock(call)
}

// Lock locks the checkpoint file, if there is a path, until Unlock. It returns an error if
// another run has locked the file, or has replaced the file since it was loaded.
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

// End ends a call and releases the call's lock on the checkpoint file. If the call may panic, defer
// End: it turns a panic into a *pool.Panic.
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

// Run makes n more steps by calls of step. Each call must make at least one step, and must not take
// the whole run beyond total steps. When the run has made total steps, a checkpoint is due or Run
// ends.
func (s *Session) Run(ctx context.Context, n int, step func(total int) error) error {
	if err := s.BeginSaving(ctx, "Run", n); err != nil {
		return err
	}
	defer s.End()
	return s.Finish(ctx, s.Advance(ctx, n, step))
}

// Advance makes n more steps, like [Session.Run], within a call that has begun. Unlike Run, it
// does not save the checkpoint file at its end.
func (s *Session) Advance(ctx context.Context, n int, step func(total int) error) error {
	begin := s.Len()
	end := begin + min(n, math.MaxInt-begin)
	for at := begin; at < end; {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		total := end
		if every := s.Checkpoint.Every; s.Checkpoint.Path != "" && every > 0 && s.filed < end-every {
			total = max(at+1, s.filed+every)
		}
		err := step(total)
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

// Unfiled returns the number of steps made since the checkpoint file was last saved.
func (s *Session) Unfiled() int { return s.Len() - s.filed }

// Keep saves the checkpoint file if at least Checkpoint.Every steps have been made since the last
// save.
func (s *Session) Keep() error {
	if every := s.Checkpoint.Every; every == 0 || s.Unfiled() < every {
		return nil
	}
	return s.save()
}

// Finish saves the checkpoint file at the end of a call that has advanced the run, and returns err
// joined with any error of saving. The argument err is the call's error so far. If err is not nil,
// Finish saves the file only if ctx has ended. After Finish, call [Session.End].
func (s *Session) Finish(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		return err
	}
	if file := s.save(); file != nil {
		err = errors.Join(err, file)
	}
	return err
}

// save saves the checkpoint file if there is a path.
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

// underWay gives package durable access to a run during a call.
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

// Save writes a checkpoint to w.
func (s *Session) Save(w io.Writer) error {
	if check.Nil(w) {
		return fmt.Errorf("%s: Save: w = nil", s.Who)
	}
	return s.file(context.Background(), "Save", func() error { return s.Write(w) })
}

// Load replaces the state of the run by a checkpoint read from r.
func (s *Session) Load(ctx context.Context, r io.Reader) error {
	if check.Nil(r) {
		return fmt.Errorf("%s: Load: r = nil", s.Who)
	}
	return s.file(ctx, "Load", func() error { return s.read(ctx, r) })
}

// file runs action as a separate call and adds the name of the call to any error of action.
func (s *Session) file(ctx context.Context, call string, action func() error) error {
	if err := s.Begin(ctx, call, 0); err != nil {
		return err
	}
	defer s.End()
	if err := action(); err != nil {
		return fmt.Errorf("%s: %s: %w", s.Who, call, err)
	}
	return nil
}

// SaveFile saves a checkpoint to a file; see [durable.SaveFile].
func (s *Session) SaveFile(path string) error {
	if err := s.Begin(context.Background(), "SaveFile", 0); err != nil {
		return err
	}
	defer s.End()
	var err error
	own := s.lock != nil && s.lock.Holds(path)
	if own { // called between two draws of a run, which holds the lock
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

// LoadFile restores the checkpoint in a file or, if the file is damaged, the previous checkpoint;
// see [durable.LoadFile].
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

// Frames describes the contents of a checkpoint. The first frame holds the settings. The other
// frames hold the state; their number is Count. See [durable.Write].
type Frames struct {
	Magic    string // text of the first frame, which names the format and its version
	Settings *fingerprint.List
	Count    int                         // number of frames of state
	Limit    int                         // maximum number of bytes in a frame
	Frame    func(f *wire.Fields, i int) // reads or writes the fields of frame i
}

// Write writes a checkpoint. If the function inside is not nil, Write calls it to write the data of
// nested runs.
func (f *Frames) Write(w io.Writer, inside func(io.Writer) error) error {
	return durable.Write(w, f.Magic, f.Settings, f.Count, func(i int, body []byte) ([]byte, error) {
		return wire.AppendFields(body, func(fields *wire.Fields) { f.Frame(fields, i) })
	}, inside)
}

// Read reads a checkpoint written by Write. If the settings differ, it returns a
// [*fingerprint.Mismatch].
func (f *Frames) Read(ctx context.Context, r io.Reader, inside func(io.Reader) error) error {
	return durable.Read(ctx, r, f.Magic, f.Settings, func() int { return f.Count }, uint64(f.Limit), func(i int, body []byte) ([]byte, error) {
		return wire.ReadFront(body, func(fields *wire.Fields) { f.Frame(fields, i) })
	}, inside)
}
