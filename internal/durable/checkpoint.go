package durable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
)

// Checkpointer is a run that can be saved and loaded.
type Checkpointer interface {
	Save(w io.Writer) error
	Load(ctx context.Context, r io.Reader) error
}

// SaveFile saves a run in the file path, see [Save]. who begins the message of
// an error.
func SaveFile(who, path string, c Checkpointer) error {
	if at, err := os.Stat(path); err == nil && !at.Mode().IsRegular() {
		return fmt.Errorf("%s: SaveFile: %s is no file (%v), want a new path or a file", who, path, at.Mode().Type())
	}
	if err := Save(OS{}, path, c.Save); err != nil {
		return fmt.Errorf("%s: SaveFile: %w", who, err)
	}
	return nil
}

// LoadFile restores what [SaveFile] saved, or the generation before if the file
// is missing or damaged. A checkpoint of other settings is refused, not passed
// over.
func LoadFile(ctx context.Context, who, path string, c Checkpointer) error {
	if err := Load(OS{}, path, func(r io.Reader) error { return c.Load(ctx, r) }, Foreign); err != nil {
		return fmt.Errorf("%s: LoadFile: %w", who, err)
	}
	return nil
}

// Foreign reports whether an error says that a checkpoint is of another run: no
// other generation will do better.
func Foreign(err error) bool {
	var other *fingerprint.Mismatch
	return errors.As(err, &other)
}
