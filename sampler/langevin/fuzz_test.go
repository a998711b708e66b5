package langevin_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/langevin"
)

// A checkpoint whose body is anything at all, with length and checksum right, is
// refused or gives chains that run.
func FuzzLoadChains(f *testing.F) {
	target := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{0, 1}, []float64{1, 2}))
	cfg := langevin.Config{Chains: 3, Warmup: 2}
	var file bytes.Buffer
	c := exact.Must(langevin.New(context.Background(), target, cfg))
	require.NoError(f, c.Run(context.Background(), 3))
	require.NoError(f, c.Save(&file))
	for _, edits := range exact.MangleSeeds() {
		f.Add(edits)
	}
	f.Fuzz(func(t *testing.T, edits []byte) {
		c := exact.Must(langevin.New(context.Background(), target, cfg))
		if c.Load(context.Background(), bytes.NewReader(exact.Mangle(file.Bytes(), edits))) == nil {
			_ = c.Run(context.Background(), 2)
		}
	})
}
