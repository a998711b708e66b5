package sampler

import (
	"errors"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/internal/durable"
	"github.com/gibbsite-go/gibbsite/internal/fingerprint"
)

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before: it is written to path.tmp, synced and read back, the file
// that was there becomes path.old, and the new one takes its place. It needs
// memory for one block of chains.
func (c *Runner[S]) SaveFile(path string) error {
	if err := durable.Save(durable.OS{}, path, c.Save); err != nil {
		return fmt.Errorf("%s: SaveFile: %w", c.system.Name(), err)
	}
	return nil
}

// LoadFile restores what SaveFile saved, as Load does. If the file path is
// missing or damaged, it restores the generation before it, path.old; Len says
// how far that had come. A checkpoint of other settings is refused.
func (c *Runner[S]) LoadFile(path string) error {
	err := durable.Load(durable.OS{}, path, func(r io.Reader) error { return c.Load(r) }, func(err error) bool {
		var other *fingerprint.Mismatch
		return errors.As(err, &other)
	})
	if err != nil {
		return fmt.Errorf("%s: LoadFile: %w", c.system.Name(), err)
	}
	return nil
}

// keep saves a checkpoint if Config.Checkpoint asks for one every so many draws
// and they have been made since the last.
func (c *Runner[S]) keep() error {
	every := c.cfg.Checkpoint.Every
	if c.cfg.Checkpoint.Path == "" || every == 0 || c.kept-c.filed < every {
		return nil
	}
	return c.keepNow()
}

// keepNow saves a checkpoint if Config.Checkpoint asks for any.
func (c *Runner[S]) keepNow() error {
	if c.cfg.Checkpoint.Path == "" {
		return nil
	}
	if err := c.SaveFile(c.cfg.Checkpoint.Path); err != nil {
		return err
	}
	c.filed = c.kept
	return nil
}
