package diagnose

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// FuzzReplay: a file of draws whose frames hold anything at all, with length and checksum right,
// or a file that is anything at all, is refused, or gives the draws of each chain in order.
func FuzzReplay(f *testing.F) {
	tokens, reals := filepath.Join(f.TempDir(), "tokens"), filepath.Join(f.TempDir(), "reals")
	c := exact.Must(sampler.NewChains(f.Context(), exact.NewQuadratic(5, 1), mcmc.Gibbs{}, sampler.Config{Chains: 12, Seed: 1, DrawsFile: tokens}))
	require.NoError(f, c.Run(f.Context(), 3))
	require.NoError(f, c.Run(f.Context(), 2))
	target := exact.Must(continuous.NewQuadratic([]float64{1, 0.3, 0.3, 2}, nil, 0))
	r := exact.Must(langevin.New(f.Context(), target, langevin.Config{Chains: 2, Seed: 1, DrawsFile: reals}))
	require.NoError(f, r.Run(f.Context(), 3))
	files := [][]byte{exact.Must(os.ReadFile(tokens)), exact.Must(os.ReadFile(reals))}
	for kind, file := range files {
		for _, edits := range exact.MangleSeeds()[:80] {
			f.Add(byte(kind), edits)
		}
		f.Add(byte(2+kind), file)
		f.Add(byte(2+kind), file[:len(file)-9])
	}
	path := filepath.Join(f.TempDir(), "draws")
	f.Fuzz(func(t *testing.T, kind byte, edits []byte) {
		file := edits
		if kind%4 < 2 {
			file = exact.Mangle(files[kind%2], edits)
		}
		require.NoError(t, os.WriteFile(path, file, 0o600))
		if kind%2 == 0 {
			replayInOrder[int32](t, path)
		} else {
			replayInOrder[float32](t, path)
		}
	})
}

func replayInOrder[S energy.Site](t *testing.T, path string) {
	last := map[int]int{}
	draws, err := Replay(path, func(chain, draw int, x []S, info *sampler.Info) {
		before, seen := last[chain]
		require.True(t, chain >= 0 && draw >= 0 && len(x) > 0)
		require.True(t, !seen || draw > before, "draw %d of chain %d after %d", draw, chain, before)
		last[chain] = draw
	})
	if err != nil {
		require.Zero(t, draws)
	}
	require.GreaterOrEqual(t, draws, 0)
}
