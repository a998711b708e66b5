package shard_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/anneal"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/gibbsite-go/gibbsite/sampler/shard"
)

func annealed(change ...func(*shard.AIS)) shard.AIS {
	a := shard.AIS{
		Model: exact.Must(model.NewIsing(model.Lattice{6}, 0.6, 0.2)), Method: mcmc.Gibbs{},
		Config: anneal.AISConfig{Chains: 330, Seed: 3, Stages: 8},
	}
	for _, f := range change {
		f(&a)
	}
	return a
}

// words is a run of sequences, masked one by one; seed is the diffusion's.
func words(seed uint64) shard.Samples[int32] {
	m := exact.Must(model.NewMarkov(6, 2, 1, []float64{0.5, 0.5}, []float64{0.9, 0.1, 0.1, 0.9}))
	d := exact.Must(denoise.NewMarkov(m, denoise.Absorbing))
	return shard.Samples[int32]{
		Samples: 330, Block: 5,
		New: func(ctx context.Context, first, count int) (shard.Sampler[int32], error) {
			return diffusion.New(ctx, d, diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{Seed: seed, First: first, Count: count})
		},
		Functions: []func([]int32) float64{func(x []int32) float64 { return float64(x[0]) }}, Names: []string{"first"},
	}
}

// reals is a run of pairs of reals.
func reals() shard.Samples[float32] {
	d := exact.Must(denoise.NewGaussian([]float64{0, 1}, []float64{1, .5, .5, 1}))
	return shard.Samples[float32]{
		Samples: 330, Block: 5,
		New: func(ctx context.Context, first, count int) (shard.Sampler[float32], error) {
			return diffusion.New(ctx, d, diffusion.Gaussian{Schedule: noise.Cosine{}}, diffusion.Config{Seed: 5, Steps: 8, First: first, Count: count})
		},
		Functions: []func([]float32) float64{func(x []float32) float64 { return float64(x[1]) }},
	}
}

// Samples and weights of any parts are those of the whole, to the bit.
func TestKinds(t *testing.T) {
	for kind, run := range map[string]shard.Run{"ais": annealed(), "samples": words(4), "reals": reals()} {
		t.Run(kind, func(t *testing.T) {
			if kind != "reals" {
				assert.Equal(t, kind, run.Kind())
			}
			var want []byte
			for _, n := range []int{1, 2, 3, 11} {
				dir := t.TempDir()
				do(t, dir, run, all(n)...)
				if n == 1 {
					want = merged(t, dir, run)
				}
				require.Equal(t, want, merged(t, dir, run), n)
			}
		})
	}
	// Another seed is another run, of other samples.
	dir, other := t.TempDir(), t.TempDir()
	do(t, dir, words(4), all(2)...)
	_, err := shard.Merge(context.Background(), dir, words(5))
	require.ErrorContains(t, err, "Config.Seed is")
	do(t, other, words(5), all(2)...)
	a, b := exact.Must(shard.Merge(context.Background(), dir, words(4))), exact.Must(shard.Merge(context.Background(), other, words(5)))
	assert.NotEqual(t, a.Digest(), b.Digest())
}

func TestSamplesAreTheRunners(t *testing.T) {
	run, dir := words(4), t.TempDir()
	require.NoError(t, shard.Task{Index: 1, Count: 3}.Do(ctx, dir, run, shard.Options{States: true}))
	maker, err := run.New(ctx, 0, 0)
	require.NoError(t, err)
	x := make([]int32, 330*6)
	require.NoError(t, maker.Sample(ctx, x))
	b, err := os.ReadFile(filepath.Join(dir, "states-000000000110.npy"))
	require.NoError(t, err)
	assert.Contains(t, string(b[:128]), "(110, 6)")
	for i, l := range x[110*6 : 220*6] {
		require.Equal(t, byte(l), b[len(b)-4*110*6+4*i])
	}
	assert.Equal(t, 110, len(b[128:])/24)
}

func TestLogZ(t *testing.T) {
	for _, back := range []bool{false, true} {
		run := annealed(func(a *shard.AIS) {
			if back {
				a.Config.Exact = make([]int32, 330*6)
				for i := range a.Config.Exact {
					a.Config.Exact[i] = int32(i / 6 % 2)
				}
			}
		})
		want, err := anneal.AIS(ctx, run.Model, run.Method, run.Config)
		require.NoError(t, err)
		dir := t.TempDir()
		do(t, dir, run, all(4)...)
		tally := exact.Must(shard.Merge(context.Background(), dir, run))
		z, ess, err := run.LogZ(tally)
		require.NoError(t, err)
		assert.InEpsilon(t, want.Value, z.Value, 1e-12, back)
		assert.InEpsilon(t, want.StdErr, z.StdErr, 1e-9, back)
		assert.InEpsilon(t, want.ESS, ess, 1e-9, back)
	}
	_, _, err := annealed().LogZ(nil)
	require.ErrorContains(t, err, "t = nil")

	// Elements are the populations, where there are any.
	populations := annealed(func(a *shard.AIS) { a.Config.Population = 33 })
	want, err := anneal.AIS(ctx, populations.Model, populations.Method, populations.Config)
	require.NoError(t, err)
	var saved [][]byte
	for _, parts := range []int{1, 4, 10} {
		dir := t.TempDir()
		do(t, dir, populations, all(parts)...)
		tally := exact.Must(shard.Merge(ctx, dir, populations))
		assert.Equal(t, 10, tally.Chains())
		z, ess, err := populations.LogZ(tally)
		require.NoError(t, err)
		assert.InEpsilon(t, want.Value, z.Value, 1e-12)
		assert.InEpsilon(t, want.StdErr, z.StdErr, 1e-9)
		assert.InEpsilon(t, want.ESS, ess, 1e-9)
		saved = append(saved, exact.Must(tally.MarshalBinary()))
	}
	assert.Equal(t, saved[0], saved[1])
	assert.Equal(t, saved[0], saved[2])
	n, block := shard.AIS{Config: anneal.AISConfig{Population: 9}}.Size()
	assert.Equal(t, [2]int{16, 1}, [2]int{n, block})
	n, block = shard.AIS{}.Size()
	assert.Equal(t, [2]int{64, sampler.Config{Chains: 64}.Block()}, [2]int{n, block})
}

func TestBadKinds(t *testing.T) {
	for want, f := range map[string]func(*shard.AIS){
		"AIS.Config.First, Count = 0, 32": func(a *shard.AIS) { a.Config.Count = 32 },
		"AIS.Config.Checkpoint.Path":      func(a *shard.AIS) { a.Config.Checkpoint.Path = "x" },
		"len(Config.Exact) = 7":           func(a *shard.AIS) { a.Config.Exact = make([]int32, 7) },
		"method = nil":                    func(a *shard.AIS) { a.Method = nil },
		"Chains = -4":                     func(a *shard.AIS) { a.Config.Chains = -4 },
	} {
		require.Error(t, shard.Task{Index: 0, Count: 1}.Do(ctx, t.TempDir(), annealed(f), shard.Options{}), want)
		_, _, err := annealed(f).Part(context.Background(), 0, max(annealed(f).Config.Chains, 1))
		if want != "Chains = -4" {
			require.ErrorContains(t, err, want)
		}
	}
	_, _, err := annealed().Part(context.Background(), 320, 11)
	require.ErrorContains(t, err, "elements 320 … 330, want some of 0 … 329")

	for want, f := range map[string]func(*shard.Samples[int32]){
		"Samples.Samples = 0":  func(s *shard.Samples[int32]) { s.Samples = 0 },
		"Samples.Block = -1":   func(s *shard.Samples[int32]) { s.Block = -1 },
		"Samples.New = nil":    func(s *shard.Samples[int32]) { s.New = nil },
		"Samples.Names = [a b": func(s *shard.Samples[int32]) { s.Names = []string{"a", "b"} },
		"function 0 is nil":    func(s *shard.Samples[int32]) { s.Functions[0] = nil },
		"want a Sampler": func(s *shard.Samples[int32]) {
			s.New = func(context.Context, int, int) (shard.Sampler[int32], error) { return nil, nil }
		},
		"injected": func(s *shard.Samples[int32]) {
			s.New = func(context.Context, int, int) (shard.Sampler[int32], error) { return nil, errInjected }
		},
	} {
		s := words(1)
		f(&s)
		_, _, err := s.Part(context.Background(), 0, 5)
		require.ErrorContains(t, err, want)
	}
	_, _, err = words(1).Part(context.Background(), 325, 6)
	require.ErrorContains(t, err, "325 … 330, want some of 0 … 329")
	n, block := shard.Samples[float32]{Samples: 3}.Size()
	assert.Equal(t, [2]int{3, 64}, [2]int{n, block})
}

// failing makes no samples.
type failing struct{ shard.Sampler[int32] }

func (failing) Sample(context.Context, []int32) error { return errInjected }

func TestFailedKinds(t *testing.T) {
	s := words(1)
	whole := s.New
	s.New = func(ctx context.Context, first, count int) (shard.Sampler[int32], error) {
		r, err := whole(ctx, first, count)
		return failing{r}, err
	}
	_, fill, err := s.Part(context.Background(), 0, 330)
	require.NoError(t, err)
	require.ErrorIs(t, fill(ctx, nil), errInjected)
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	_, fill, err = annealed().Part(context.Background(), 0, 330)
	require.NoError(t, err)
	require.ErrorIs(t, fill(stopped, nil), context.Canceled)
	r, w := io.Pipe()
	require.NoError(t, r.Close())
	_, fill, err = annealed().Part(context.Background(), 0, 330)
	require.NoError(t, err)
	require.ErrorIs(t, fill(ctx, w), io.ErrClosedPipe)
}

// What would lose work is refused before it is done.
func TestDoChecksFirst(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	started := shard.Options{Started: func(int, int) { t.Error("it began") }}
	err := shard.Task{Index: 0, Count: 1}.Do(t.Context(), missing, annealed(), started)
	require.ErrorContains(t, err, "want a folder that exists")
	err = shard.Task{Index: 0, Count: 1}.Do(t.Context(), "", annealed(), started)
	require.ErrorContains(t, err, `dir = ""`)
	bad := words(1)
	bad.Names = []string{"p(1,2)"}
	err = shard.Task{Index: 0, Count: 1}.Do(t.Context(), t.TempDir(), bad, started)
	require.ErrorContains(t, err, `Samples.Names[0] = "p(1,2)"`)
}

// A folder is a folder whatever signs its name has, and exact draws are settings.
func TestFoldersAndDraws(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run[1]")
	require.NoError(t, os.Mkdir(dir, 0o777))
	draws := func(level int32) func(*shard.AIS) {
		return func(a *shard.AIS) {
			a.Config.Exact = make([]int32, 330*6)
			for i := range a.Config.Exact {
				a.Config.Exact[i] = level
			}
		}
	}
	one, other := annealed(draws(0)), annealed(draws(1))
	require.NoError(t, shard.Task{Index: 0, Count: 2}.Do(t.Context(), dir, one, shard.Options{}))
	require.NoError(t, shard.Task{Index: 1, Count: 2}.Do(t.Context(), dir, one, shard.Options{}))
	_, err := shard.Merge(context.Background(), dir, one)
	require.NoError(t, err)
	_, err = shard.Merge(context.Background(), dir, other)
	require.ErrorContains(t, err, "Exact")
}
