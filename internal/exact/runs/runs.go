// Package runs provides helpers for tests of chains: short runs, hashes of states, and a check
// that a run resumed from a checkpoint gives the same bits. Only tests may import it.
package runs

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc64"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Hash returns a hash of states, for comparing runs and for golden files.
func Hash(x []int32) uint64 {
	b := make([]byte, 4*len(x))
	for i, l := range x {
		binary.LittleEndian.PutUint32(b[4*i:], uint32(l))
	}
	return crc64.Checksum(b, crc64.MakeTable(crc64.ECMA))
}

// Run starts new chains, makes n draws with them and returns the chains.
func Run(t *testing.T, m energy.Model, method sampler.Method, cfg sampler.Config, n int) *sampler.Chains {
	t.Helper()
	c, err := sampler.NewChains(context.Background(), m, method, cfg)
	require.NoError(t, err)
	require.NoError(t, c.Run(context.Background(), n))
	return c
}

// Resume asserts that the draws of a run do not change if the run is saved and resumed. The run
// makes 50 draws. In a first test it is saved at the start, and in a second test after 13 draws.
func Resume(t *testing.T, m energy.Model, method sampler.Method) {
	t.Helper()
	for _, at := range []int{0, 13} {
		cfg := sampler.Config{Chains: 40, Seed: 3, Warmup: 20, Thin: 2}
		want := Run(t, m, method, cfg, 50)

		first, err := sampler.NewChains(context.Background(), m, method, cfg)
		require.NoError(t, err)
		if at > 0 {
			require.NoError(t, first.Run(context.Background(), at))
		}
		var file bytes.Buffer
		require.NoError(t, first.Save(&file))

		second, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: 40, Seed: 99, Warmup: 20, Thin: 2, Workers: 1})
		require.NoError(t, err)
		require.NoError(t, second.Load(context.Background(), &file))
		assert.Equal(t, at, second.Len())
		require.NoError(t, second.Run(context.Background(), 50-at))
		assert.Equal(t, Hash(want.States()), Hash(second.States()), "%T saved after %d draws", method, at)
		assert.Equal(t, want.StepSizes(), second.StepSizes())
		assert.Equal(t, want.Stats(), second.Stats())
	}
}
