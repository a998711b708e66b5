package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/poll"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

// Magics of a checkpoint's frames. A checkpoint consists of a frame with the settings of the run,
// frames of state, the data of nested runs, and an end frame. A state frame begins with the digest
// of the settings and the index of the frame. The magic of the first frame, which the caller
// chooses, identifies the format version.
const (
	stateMagic = "state\n" // magic of a state frame
	endMagic   = "end\n"   // magic of the end frame
)

// settingsLimit is the maximum length of the settings frame.
const settingsLimit = 1 << 20

// Write writes a checkpoint of a run to w. The first frame holds the given settings of the run. The
// next frames hold the state of the run; the argument count is their number. The function encode
// appends the contents of frame i to body and returns the result. If nested is not nil, Write then
// calls it to write the checkpoints of nested runs.
func Write(w io.Writer, magic string, settings *fingerprint.List, count int, encode func(i int, body []byte) ([]byte, error), nested func(io.Writer) error) error {
	if err := wire.Write(w, magic, settings.Append(nil)); err != nil {
		return err
	}
	sum := settings.Sum()
	var body, frame []byte
	for i := range count {
		var err error
		if body, err = encode(i, wire.AppendUint64s(body[:0], sum, uint64(i))); err != nil {
			return err
		}
		frame = wire.Append(frame[:0], stateMagic, body)
		if _, err := w.Write(frame); err != nil {
			return err
		}
	}
	if nested != nil {
		if err := nested(w); err != nil {
			return err
		}
	}
	return wire.Write(w, endMagic, wire.AppendUint64s(nil, sum))
}

// ReadSettings reads the first frame of a checkpoint, which holds settings, and returns their
// digest. If they differ from the given settings of the present run, the error is a
// [*fingerprint.Mismatch].
func ReadSettings(r io.Reader, magic string, settings *fingerprint.List) (sum uint64, err error) {
	body, err := wire.Read(r, magic, settingsLimit)
	if err != nil {
		return 0, err
	}
	saved, err := fingerprint.Read(body)
	if err != nil {
		return 0, err
	}
	if err := fingerprint.Compare(saved, settings); err != nil {
		return 0, err
	}
	return saved.Sum(), nil
}

// Read reads a checkpoint written by [Write]. It polls ctx before every frame. If the settings in
// the checkpoint differ from the given settings of the present run, the error is a
// [*fingerprint.Mismatch].
//
// Read passes the index and the body of every state frame to decode. A body has at most limit
// bytes, not counting its digest and index. If decode leaves over any bytes, Read returns an error.
// Before every frame, Read calls countFrames, which returns the number of state frames. This number
// may depend on the frames read so far. If nested is not nil, Read then calls it to read the
// checkpoints of nested runs.
func Read(ctx context.Context, r io.Reader, magic string, settings *fingerprint.List, countFrames func() int, limit uint64, decode func(i int, body []byte) ([]byte, error), nested func(io.Reader) error) error {
	sum, err := ReadSettings(r, magic, settings)
	if err != nil {
		return err
	}
	var body []byte
	for i := 0; i < countFrames(); i++ {
		if err := poll.Err(ctx); err != nil {
			return err
		}
		if body, err = wire.Read(r, stateMagic, limit+16); err != nil {
			return err
		}
		var head [2]uint64
		if body, err = wire.ReadUint64s(body, head[:]); err != nil {
			return err
		}
		if head[0] != sum || head[1] != uint64(i) {
			return fmt.Errorf("frame %d is number %d of another checkpoint", i, head[1])
		}
		if body, err = decode(i, body); err == nil {
			err = wire.ReadEnd(body)
		}
		if err != nil {
			return err
		}
	}
	if nested != nil {
		if err := nested(r); err != nil {
			return err
		}
	}
	if body, err = wire.Read(r, endMagic, 8); err != nil {
		return err
	}
	var end [1]uint64
	if body, err = wire.ReadUint64s(body, end[:]); err != nil || end[0] != sum {
		return fmt.Errorf("the end is that of another checkpoint")
	}
	return wire.ReadEnd(body)
}

// Checkpointer is a run that can be saved and loaded.
type Checkpointer interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}

// SaveFile saves a run in the file at path by [Save]. If path is a symbolic link, the link's target
// is replaced. If another run has locked the file, SaveFile returns the error of [Acquire]. Error
// messages begin with caller.
func SaveFile(caller, path string, c Checkpointer) error {
	l, err := Acquire(path)
	if err != nil {
		return fmt.Errorf("%s: SaveFile: %w", caller, err)
	}
	defer l.Release()
	return l.SaveFile(caller, c)
}

// SaveFile saves a run in the locked file, like the function [SaveFile] but without locking.
func (l *Lock) SaveFile(caller string, c Checkpointer) error {
	if at, err := os.Stat(l.target); err == nil && !at.Mode().IsRegular() {
		return fmt.Errorf("%s: SaveFile: %s is not a file (%v), want a new path or a file", caller, l.target, at.Mode().Type())
	}
	if err := Save(OS{}, l.target, c.Save); err != nil {
		return fmt.Errorf("%s: SaveFile: %w", caller, err)
	}
	return nil
}

// Replace calls write and replaces the locked file by its output, like the function [Replace].
func (l *Lock) Replace(write func(io.Writer) error) error {
	return Replace(OS{}, l.target, temporary(l.target), write)
}

// LoadFile restores a run saved by [SaveFile]. It loads the previous generation of the file if the
// file is missing or damaged. It returns an error if the settings in the checkpoint differ from
// those of the run.
func LoadFile(ctx context.Context, caller, path string, c Checkpointer) error {
	target, err := Target(path)
	if err == nil {
		err = Load(OS{}, target, func(r io.Reader) error { return c.Load(ctx, r) }, Foreign)
	}
	if err != nil {
		return fmt.Errorf("%s: LoadFile: %w", caller, err)
	}
	return nil
}

// Foreign reports whether the error err from loading a checkpoint means that the checkpoint belongs
// to another run. In that case, loading the previous generation would fail, too.
func Foreign(err error) bool {
	var other *fingerprint.Mismatch
	return errors.As(err, &other)
}
