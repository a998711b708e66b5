package session

import (
	"context"
	"io"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
	"github.com/gibbsite-go/gibbsite/internal/wire"
)

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
