package dual

import (
	"errors"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
)

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before, which stays as path.old; see [sampler.Runner.SaveFile].
func (i *Inference[S]) SaveFile(path string) error {
	if err := durable.Save(durable.OS{}, path, i.Save); err != nil {
		return fmt.Errorf("dual: SaveFile: %w", err)
	}
	return nil
}

// LoadFile restores what SaveFile saved, as Load does. If the file path is
// missing or damaged, it restores the generation before it, path.old.
func (i *Inference[S]) LoadFile(path string) error {
	err := durable.Load(durable.OS{}, path, func(r io.Reader) error { return i.Load(r) }, func(err error) bool {
		var other *fingerprint.Mismatch
		return errors.As(err, &other)
	})
	if err != nil {
		return fmt.Errorf("dual: LoadFile: %w", err)
	}
	return nil
}
