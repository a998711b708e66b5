package beam

import (
	"context"
	"errors"
	"fmt"
	"io"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local" // paths without a scheme

	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
)

// Write adds a step that writes a tally to the file at the given path. The tally is the result of
// [Chains], [Samples] or [AIS]; [Read] reads the file. The path may be on any Beam file system that
// the program imports (gs://…, s3://…). If the file system can rename files, the file gets its name
// only when it is complete.
func Write(s sdk.Scope, path string, tally sdk.PCollection) error {
	if path == "" {
		return errors.New("beam: Write: path is empty")
	}
	if !s.IsValid() || !tally.IsValid() {
		return errors.New("beam: Write: want the scope and a collection of a pipeline")
	}
	if _, err := sdk.TryParDo(s.Scope("gibbsite write"), &writeFn{Path: path}, tally); err != nil {
		return fmt.Errorf("beam: Write: %w", err)
	}
	return nil
}

type writeFn struct{ Path string }

// ProcessElement writes the tally to the file.
func (f *writeFn) ProcessElement(ctx context.Context, tally []byte) error {
	fs, err := filesystem.New(ctx, f.Path)
	if err != nil {
		return err
	}
	defer fs.Close()
	renamer, renames := fs.(filesystem.Renamer)
	path := f.Path
	if renames {
		path += ".tmp"
	}
	w, err := fs.OpenWrite(ctx, path)
	if err != nil {
		return err
	}
	_, err = w.Write(tally)
	if err = errors.Join(err, w.Close()); err != nil || !renames {
		return err
	}
	return renamer.Rename(ctx, path, f.Path)
}

// Read reads a tally from a file that [Write] wrote.
func Read(ctx context.Context, path string) (*diagnose.Tally, error) {
	fs, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("beam: Read: %w", err)
	}
	defer fs.Close()
	r, err := fs.OpenRead(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("beam: Read: %w", err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("beam: Read: %w", err)
	}
	t := &diagnose.Tally{}
	if err := t.UnmarshalBinary(b); err != nil {
		return nil, fmt.Errorf("beam: Read: %s: %w", path, err)
	}
	return t, nil
}
