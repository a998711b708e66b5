package diagnose

import (
	"fmt"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/drawfile"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// Replay calls observe with every draw in a file that [sampler.Config].DrawsFile has
// written, the draws of each chain in order, and returns the number of draws that every
// chain has. A [Trace] filled by Replay equals one filled during the run:
//
//	draws, err := diagnose.Replay("run.draws", mag.Observe)
//
// Chains have their numbers in the run. Draws that a resumed run made again are passed
// once. A draw left unfinished at the end of the file, by a killed process, is skipped; a
// file that is damaged before its end is an error. Memory is that of a few draws of a
// block and of an index, 40 bytes per 64 KB of file or so.
//
// The file may be one that is still being written to. S is int32, or float32 for
// chains on reals.
func Replay[S energy.Site](path string, observe func(chain, draw int, x []S, info *sampler.Info)) (draws int, err error) {
	if observe == nil {
		return 0, fmt.Errorf("diagnose: Replay: observe = nil")
	}
	draws, err = drawfile.Read(path, func(d *drawfile.Draw[S]) {
		observe(d.Chain, d.Draw, d.X, &sampler.Info{Energy: d.Energy, Accept: d.Accept, Moved: d.Moved, Invalid: d.Invalid})
	})
	if err != nil {
		return 0, fmt.Errorf("diagnose: Replay: %s: %w", path, err)
	}
	return draws, nil
}
