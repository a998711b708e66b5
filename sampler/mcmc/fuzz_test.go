package mcmc

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/sweep"
	"github.com/gibbsite-go/gibbsite/internal/sweep/sweeptest"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// A checkpoint whose body is anything at all, with length and checksum right, is
// refused or gives chains that run: no panic, no state outside the model. Kernels
// stand in the middle of a step, so that all of what they save is read.
func FuzzLoadChains(f *testing.F) {
	methods := everyMethod()
	for m := range methods {
		for _, edits := range exact.MangleSeeds()[:40] {
			f.Add(byte(m), edits)
		}
	}
	m := exact.NewQuadratic(9, 1)
	cfg := sampler.Config{Chains: 3, Warmup: 2}
	files := make([][]byte, len(methods))
	f.Fuzz(func(t *testing.T, number byte, edits []byte) {
		i := int(number) % len(methods)
		if files[i] == nil {
			var b bytes.Buffer
			c := exact.Must(sampler.NewChains(context.Background(), m, methods[i], cfg))
			require.NoError(t, c.Run(context.Background(), 3))
			k := c.Kernels()[0]
			was := sweep.PollWork
			sweep.PollWork = 8
			again := false
			k.Step(sampler.Control{Stop: func() bool { again = !again; return again }}, make([]sampler.Info, 3), c.States(), sweeptest.Streams(3))
			sweep.PollWork = was
			require.NoError(t, c.Save(&b))
			files[i] = b.Bytes()
		}
		c := exact.Must(sampler.NewChains(context.Background(), m, methods[i], cfg))
		if c.Load(context.Background(), bytes.NewReader(exact.Mangle(files[i], edits))) != nil {
			return
		}
		_ = c.Run(context.Background(), 2) // a failing chain is an error
		for _, l := range c.States() {
			require.True(t, l == 0 || l == 1)
		}
	})
}
