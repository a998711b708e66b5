// Package training runs the training of a network in a program, with a progress bar, periodic
// checkpoints and a time limit.
package training

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gibbsite-go/gibbsite/energy/neural/train"
	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint"
	"github.com/gibbsite-go/gibbsite/examples/internal/progress"
)

// Config holds the settings of [Run].
type Config struct {
	Name string // name shown by the progress bar
	// total number of the trainer's steps, including those of earlier calls, at which to stop
	Steps int
	Until time.Time // time at which to stop earlier; the zero value for no limit

	// Checkpoint is the file to which the training is saved. If it exists, the training
	// continues from it. "" means none.
	Checkpoint string

	// Seen, if not nil, is called periodically during the training with the loss of the latest
	// step.
	Seen func(step int, loss float64)
}

const (
	every = 250 // steps between checkpoints
	part  = 10  // steps between checks of the time
)

// Run trains the network and returns the number of steps that this call made.
func Run(ctx context.Context, t *train.Trainer, c Config) (made int, err error) {
	if c.Checkpoint != "" {
		if err := resume(ctx, t, c.Checkpoint); err != nil {
			return 0, err
		}
	}
	bar := progress.New(c.Name)
	defer bar.Done()
	from := t.Step()
	for t.Step() < c.Steps {
		err := t.Run(ctx, min(part, c.Steps-t.Step()))
		late := !c.Until.IsZero() && time.Now().After(c.Until)
		if c.Checkpoint != "" && (err != nil && ctx.Err() != nil || late || t.Step()%every == 0 || t.Step() == c.Steps) {
			if err := checkpoint.Write(c.Checkpoint, t.Save); err != nil {
				return t.Step() - from, err
			}
		}
		if err != nil {
			return t.Step() - from, err
		}
		bar.Set(t.Step(), c.Steps)
		if c.Seen != nil {
			c.Seen(t.Step(), t.Loss())
		}
		if late {
			break
		}
	}
	return t.Step() - from, nil
}

// resume loads the checkpoint, if there is one.
func resume(ctx context.Context, t *train.Trainer, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.Load(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
