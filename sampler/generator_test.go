package sampler_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/exact/runs"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// Runs of one generator are the same in parts, on any number of workers and from a
// checkpoint, and other ones than those of the other.
func TestGeneratorOfARun(t *testing.T) {
	m := exact.NewQuadratic(9, 1)
	ctx := context.Background()
	seen := map[uint64]bool{}
	for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
		cfg := sampler.Config{Chains: 200, Warmup: 10, Seed: 2, Generator: g}
		want := runs.Run(t, m, mcmc.DMALA{}, cfg, 20).States()
		seen[runs.Hash(want)] = true
		for _, workers := range []int{1, 3} {
			c := cfg
			c.Workers = workers
			assert.True(t, slices.Equal(want, runs.Run(t, m, mcmc.DMALA{}, c, 20).States()), "%v: %d workers", g, workers)
		}
		var whole []int32
		for k := range 3 {
			part, err := cfg.Part(k, 3)
			require.NoError(t, err)
			whole = append(whole, runs.Run(t, m, mcmc.DMALA{}, part, 20).States()...)
		}
		assert.True(t, slices.Equal(want, whole), "%v: parts", g)

		var file bytes.Buffer
		require.NoError(t, runs.Run(t, m, mcmc.DMALA{}, cfg, 7).Save(&file))
		c := exact.Must(sampler.NewChains(context.Background(), m, mcmc.DMALA{}, cfg))
		require.NoError(t, c.Load(context.Background(), &file))
		require.NoError(t, c.Run(ctx, 13))
		assert.True(t, slices.Equal(want, c.States()), "%v: from a checkpoint", g)
	}
	assert.Len(t, seen, 2)
}

// A file of draws is that of one generator too.
func TestGeneratorOfDraws(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	cfg := sampler.Config{Chains: 4, Warmup: -1, DrawsFile: filepath.Join(t.TempDir(), "draws")}
	runs.Run(t, m, mcmc.Gibbs{}, cfg, 3)
	cfg.Generator = sampler.ARS4x32
	assert.ErrorContains(t, exact.Must(sampler.NewChains(context.Background(), m, mcmc.Gibbs{}, cfg)).Run(context.Background(), 3), "Config.Generator is unset")
}

// What says nothing of its generator, as checkpoints did before there
// were two, is of Philox: saving with that adds nothing.
func TestGeneratorOfCheckpoints(t *testing.T) {
	m := exact.NewQuadratic(4, 1)
	size := map[sampler.Generator]int{}
	for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
		var file bytes.Buffer
		require.NoError(t, runs.Run(t, m, mcmc.Gibbs{}, sampler.Config{Chains: 4, Warmup: -1, Generator: g}, 3).Save(&file))
		assert.Equal(t, g == sampler.ARS4x32, bytes.Contains(file.Bytes(), []byte("Config.Generator")))
		assert.Equal(t, g == sampler.ARS4x32, bytes.Contains(file.Bytes(), []byte("ARS4x32-7")))
		size[g] = file.Len()
	}
	assert.Greater(t, size[sampler.ARS4x32], size[sampler.Philox4x32])
}

// A stream of seed 1 and chain 0 from each generator.
func ExampleGenerator() {
	for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
		var s sampler.Stream
		if err := s.SeedOf(g, 1, 0); err != nil {
			panic(err)
		}
		fmt.Printf("%v: %08x %08x\n", g, s.Uint32(), s.Uint32())
	}
	// Output:
	// Philox4x32-10: e3e80670 ac08141b
	// ARS4x32-7: f0370c86 82d9e305
}

func TestGeneratorText(t *testing.T) {
	var k sampler.Generator
	f := flag.NewFlagSet("", flag.ContinueOnError)
	f.TextVar(&k, "generator", sampler.Philox4x32, "of random words")
	require.NoError(t, f.Parse([]string{"-generator", "ARS4x32-7"}))
	assert.Equal(t, sampler.ARS4x32, k)
	assert.EqualError(t, k.UnmarshalText([]byte("ars")), `generator = "ars", want "Philox4x32-10" or "ARS4x32-7"`)
	assert.Equal(t, sampler.ARS4x32, k)
	for _, k := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
		text, err := k.MarshalText()
		require.NoError(t, err)
		var back sampler.Generator
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, k, back)
	}
	_, err := sampler.Generator(2).MarshalText()
	assert.EqualError(t, err, "generator = 2, want 0 (Philox4x32-10) or 1 (ARS4x32-7)")
	assert.Equal(t, "sampler.Generator(2)", sampler.Generator(2).String())
}
