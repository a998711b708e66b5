package diffusion

import (
	"context"
	"fmt"
	"io"

	"github.com/gibbsite-go/gibbsite/internal/durable"
)

// Save writes a checkpoint: all samples of the runner, those that it has loaded
// included. It needs a Config.Checkpoint.Path, without which none are kept.
func (d *Runner[S]) Save(w io.Writer) error { return d.write(w) }

// Load reads what Save wrote, into a new runner of the same model, process and
// Config; Count, Workers, Checkpoint, Observe and Progress may differ, and the
// error for others names the first that differs. Models are compared by their
// predictions for some states, to 1e-3. Sample and Fill then give out the samples
// of the checkpoint before they draw more, so they are called as in a run from the
// start. On an error the runner is as it was; if the error is that of a Recall
// (see [Committer]), the runner cannot be used.
func (d *Runner[S]) Load(ctx context.Context, r io.Reader) error {
	if err := d.read(ctx, r, false); err != nil {
		return fmt.Errorf("diffusion: Load: %w", err)
	}
	return nil
}

// SaveFile saves a checkpoint in the file path so that no failure loses both it
// and the one before, which stays as path.old; see [sampler.Runner.SaveFile].
func (d *Runner[S]) SaveFile(path string) error { return durable.SaveFile("diffusion", path, d) }

// LoadFile reads what SaveFile saved, as Load does. If the file path is missing
// or damaged, it reads the generation before it, path.old.
func (d *Runner[S]) LoadFile(ctx context.Context, path string) error {
	return durable.LoadFile(ctx, "diffusion", path, d)
}
