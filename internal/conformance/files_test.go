package conformance_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint/sorted"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/energy/neural"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// varying are the runs whose checkpoints are not the same everywhere: the numbers of some depend on
// the instruction set, which those name, and others are stopped wherever their workers are.
var varying = map[string]bool{
	"bipartite gibbs": true, "distillation of networks": true, "forgetting": true, "forgetting of low rank": true,
	"training": true, "training of low rank": true,
	"ais": true, "annealing": true, "population": true, "stepping stones": true,
}

// Files have the same bytes on every machine, whatever its byte order and word length, so that
// each reads those of all others; and what is loaded goes on to the same bits.
func TestGoldenFiles(t *testing.T) {
	var b strings.Builder
	hash := func(data []byte) string { return fmt.Sprintf("%d bytes %x", len(data), sha256.Sum256(data))[:40] }
	file := func(path string) string { return hash(exact.Must(os.ReadFile(path))) }
	folder := t.TempDir()

	runs := resumables()
	for _, name := range sortedNames(runs) {
		if varying[name] {
			continue
		}
		r := runs[name](filepath.Join(folder, name))
		require.NoError(t, r.goOn(t.Context()), name)
		var first, second bytes.Buffer
		require.NoError(t, r.Save(&first), name)
		r = runs[name](filepath.Join(folder, name+" loaded"))
		require.NoError(t, r.Load(t.Context(), bytes.NewReader(first.Bytes())), name)
		require.NoError(t, r.goOn(t.Context()), name)
		require.NoError(t, r.Save(&second), name)
		fmt.Fprintf(&b, "checkpoint of %s: %s, gone on %s\n", name, hash(first.Bytes()), hash(second.Bytes()))
	}

	for _, levels := range []int{2, 5, 300} {
		m := exact.Must(model.NewPotts(model.Lattice{3, 4}, levels, 0.4, nil))
		path := filepath.Join(folder, fmt.Sprint("draws", levels))
		c := exact.Must(sampler.NewChains(t.Context(), m, mcmc.Gibbs{}, sampler.Config{Chains: 5, Seed: 2, Workers: 1, DrawsFile: path}))
		require.NoError(t, c.Run(t.Context(), 20))
		var sums [5]uint32 // by chain: the order of the frames in the file depends on the clock
		seen := 0
		n, err := diagnose.Replay(path, func(s, _ int, x []int32, _ *sampler.Info) {
			for _, l := range x {
				sums[s] = sums[s]*31 + uint32(l)
			}
			seen++
		})
		require.NoError(t, err)
		fmt.Fprintf(&b, "draws of %d levels: read %d, %d: %08x\n", levels, n, seen, sums)
	}

	path := filepath.Join(folder, "lexicon")
	words := [][]int32{{1, 2, 3}, {70000, 0, 5}, {1, 2, 2}, {0, 0, 0}}
	n := exact.Must(sorted.Build(t.Context(), path, 1<<20, slices.Values(words)))
	l := exact.Must(sorted.Open(path))
	defer l.Close()
	for _, w := range words {
		require.True(t, l.Contains(w))
	}
	fmt.Fprintf(&b, "sorted lexicon of %d: %s\n", n, file(path))

	data := []float32{1.5, float32(math.Pi), -0x1p-130, float32(math.Inf(1)), 65504, 0}
	for _, dtype := range []neural.DType{neural.F32, neural.F16, neural.BF16} {
		var out bytes.Buffer
		require.NoError(t, neural.WriteFile(&out, dtype, []neural.Tensor{{Name: "a", Shape: []int{2, 3}, Data: data}}, map[string]string{"format": "pt"}))
		f := exact.Must(neural.ReadFile("a", bytes.NewReader(out.Bytes()), int64(out.Len())))
		read := make([]float32, len(data))
		require.NoError(t, f.Read(read, "a"))
		fmt.Fprintf(&b, "tensors of %s: %s, read %v\n", dtype, hash(out.Bytes()), read)
	}
	exact.Golden(t, "testdata/files.golden", b.String())
}
