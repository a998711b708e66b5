package diffusion_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/pool"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// faulty is a projector that fails where a test wants it to. It knows the numbers of
// samples by the order in which they begin.
type faulty struct {
	fail func(sample int, from, to float64) error // nil: never
}

func (f faulty) Bind(ctx context.Context, sites, levels, samples int) (diffusion.Projection, error) {
	return &faults{fail: f.fail, number: make([]int, samples)}, nil
}

type faults struct {
	fail   func(sample int, from, to float64) error
	number []int // by slot
	begun  int
}

func (p *faults) Reset(slot int) { p.number[slot], p.begun = p.begun, p.begun+1 }

func (p *faults) Copy(dst, src int) {}

func (p *faults) Project(ctx context.Context, slot int, v []float32, from, to float64, src rand.Source) (float64, error) {
	if p.fail != nil {
		if err := p.fail(p.number[slot], from, to); err != nil {
			for i := range v {
				v[i] = float32(math.NaN()) // what is left does not matter
			}
			return math.NaN(), err
		}
	}
	v[0] += .25
	return 0, nil
}

var errScore = errors.New("no score")

// at fails for some samples in the first step that begins at time t or later.
func at(t float64, samples ...int) func(int, float64, float64) error {
	return func(sample int, from, to float64) error {
		for _, s := range samples {
			if s == sample && (from <= t || to == 0) {
				return fmt.Errorf("%w: %w", errScore, &projection.NotConverged{Method: "test", Residual: float64(sample), Want: 0, Iterations: 7})
			}
		}
		return nil
	}
}

// A projection that fails for some samples loses no others: these have the bits of
// a run in which nothing fails, at any step, batch and number of workers.
func TestAnErrorBelongsToItsSample(t *testing.T) {
	const sites, n, mask = 5, 64, 3
	for name, of := range map[string]struct {
		process diffusion.Process[int32]
		c       denoise.Corruption
	}{
		"masked":        {diffusion.Masked{Mask: mask}, denoise.Absorbing},
		"first hitting": {diffusion.Masked{Mask: mask, FirstHitting: true}, denoise.Absorbing},
		"remask":        {diffusion.Remask{Mask: mask}, denoise.Absorbing},
		"ordered":       {diffusion.Ordered{Mask: mask}, denoise.Absorbing},
		"uniform":       {diffusion.Uniform{}, denoise.Noisy},
	} {
		draw := func(cfg diffusion.Config, fail func(int, float64, float64) error) (x []int32, made int, err error) {
			cfg.Steps, cfg.Seed, cfg.Projector = 6, 3, faulty{fail}
			d := exact.Must(diffusion.New(background, letters(t, of.c), of.process, cfg))
			x = make([]int32, n*sites)
			err = d.Sample(background, x)
			return x, d.Len(), err
		}
		want, _, err := draw(diffusion.Config{}, nil)
		require.NoError(t, err)
		for when, from := range map[string]float64{"first step": 1, "middle": .6, "last step": 0} {
			var row []int32
			for _, cfg := range []diffusion.Config{{Batch: 64, Workers: 2}, {Batch: 5, Workers: 1}, {Batch: 1}} {
				x, made, err := draw(cfg, at(from, 3, 17))
				require.Equal(t, n, made, "%s, %s: %v", name, when, err)
				var failed diffusion.SampleErrors
				require.ErrorAs(t, err, &failed)
				require.Len(t, failed, n)
				require.ErrorIs(t, err, errScore)
				for i, err := range failed {
					got := x[i*sites : (i+1)*sites]
					if i != 3 && i != 17 {
						require.NoError(t, err)
						require.Equal(t, want[i*sites:(i+1)*sites], got)
						continue
					}
					require.ErrorContains(t, err, fmt.Sprintf("sample %d, step ", i))
					var not *projection.NotConverged
					require.ErrorAs(t, err, &not)
					require.EqualValues(t, i, not.Residual)
					if from == 1 {
						require.Equal(t, []int32{-1, -1, -1, -1, -1}, got, "nothing was decided")
					}
					for _, l := range got {
						require.True(t, l >= -1 && l < mask, "%s, %s: token %d", name, when, l)
					}
				}
				if row == nil {
					row = x[3*sites : 4*sites]
				}
				require.Equal(t, row, x[3*sites:4*sites], "what a failed sample leaves does not depend on the batch")
			}
		}
	}
}

// Series are no different, and Fill leaves what it could not complete as it was.
func TestAnErrorOfASeriesBelongsToIt(t *testing.T) {
	const n = 7
	mixture := exact.Must(denoise.NewGaussian([]float64{1, 2}, []float64{1, .5, .5, 2}))
	nan := float32(math.NaN())
	bits := func(x []float32) []uint32 {
		b := make([]uint32, len(x))
		for i, v := range x {
			b[i] = math.Float32bits(v)
		}
		return b
	}
	given := make([]float32, 2*n)
	for i := range n {
		given[2*i], given[2*i+1] = nan, float32(i) // the projector moves site 0
	}
	for _, fill := range []bool{false, true} {
		draw := func(cfg diffusion.Config, fail func(int, float64, float64) error) ([]float32, error) {
			cfg.Steps, cfg.Projector = 8, faulty{fail}
			d := exact.Must(diffusion.New(background, mixture, diffusion.Gaussian{}, cfg))
			x := append([]float32(nil), given...)
			call := d.Sample
			if fill {
				call = d.Fill
			}
			err := call(background, x)
			require.Equal(t, n, d.Len())
			return x, err
		}
		want, err := draw(diffusion.Config{}, nil)
		require.NoError(t, err)
		for _, from := range []float64{1, .5, 0} {
			for _, state := range []bool{false, true} {
				cfg := diffusion.Config{Batch: 3, ProjectState: state}
				want := want
				x, err := draw(cfg, at(from, 1, 6))
				if state {
					want, _ = draw(cfg, nil)
				}
				var failed diffusion.SampleErrors
				require.ErrorAs(t, err, &failed)
				require.Equal(t, 2, failed.Failed())
				for i := range n {
					got := x[2*i : 2*i+2]
					switch {
					case failed[i] == nil:
						require.Equal(t, bits(want[2*i:2*i+2]), bits(got))
					case fill:
						require.Equal(t, bits(given[2*i:2*i+2]), bits(got))
					case from == 1:
						require.True(t, got[0] != got[0] && got[1] != got[1], "nothing was decided")
					default:
						require.False(t, got[0] != got[0] || got[1] != got[1], "what there was")
					}
				}
			}
		}
	}
}

// A failure is part of a checkpoint: a run that stops and begins again says of
// every sample what one that does not stop says, and draws the others to its bits.
func TestFailuresResume(t *testing.T) {
	const sites, n = 5, 23
	begin := func(cfg diffusion.Config, fail func(int, float64, float64) error) *diffusion.Runner[int32] {
		cfg.Steps, cfg.Batch, cfg.Seed = 6, 4, 3
		cfg.Projector = faulty{fail}
		return exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), diffusion.Masked{Mask: 3}, cfg))
	}
	infeasible := func(sample int, from, to float64) error {
		if sample == 6 {
			return constraint.ErrInfeasible
		}
		return at(.5, 2, 5, 19)(sample, from, to)
	}
	want := make([]int32, n*sites)
	var failed diffusion.SampleErrors
	require.ErrorAs(t, begin(diffusion.Config{}, infeasible).Sample(background, want), &failed)
	require.Equal(t, 4, failed.Failed())
	for _, stop := range []int{9, 20, 40} { // steps of batches
		var cfg diffusion.Config
		cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
		ctx, cancel := context.WithCancel(background)
		cfg.Progress = func(int, int) {
			if stop--; stop == 0 {
				cancel()
			}
		}
		first := begin(cfg, infeasible)
		err := first.Sample(ctx, make([]int32, n*sites))
		if first.Len() < n {
			require.ErrorIs(t, err, context.Canceled)
		}
		var before *diffusion.Unfinished
		if errors.As(err, &before) {
			require.Len(t, before.Finished, first.Len())
		}
		again := begin(cfg, func(sample int, from, to float64) error { return infeasible(sample+first.Len(), from, to) })
		require.NoError(t, again.LoadFile(context.Background(), cfg.Checkpoint.Path))
		for from := 0; from < n; from += 7 {
			to := min(from+7, n)
			x := make([]int32, (to-from)*sites)
			var part diffusion.SampleErrors
			if err := again.Sample(background, x); err != nil {
				require.ErrorAs(t, err, &part)
			}
			require.Equal(t, want[from*sites:to*sites], x)
			for i := from; i < to; i++ {
				if failed[i] == nil {
					require.True(t, part == nil || part[i-from] == nil)
					continue
				}
				require.EqualError(t, part[i-from], failed[i].Error())
				require.Equal(t, errors.Is(failed[i], constraint.ErrInfeasible), errors.Is(part[i-from], constraint.ErrInfeasible))
			}
		}
		require.Equal(t, n, again.Len())
	}
}

// A panic of a user's projection is the caller's, and so is the end of the context:
// then the samples that were finished have their errors.
func TestPanicsAndCancellationAreNoErrorsOfSamples(t *testing.T) {
	begin := func(cfg diffusion.Config, fail func(int, float64, float64) error) *diffusion.Runner[int32] {
		cfg.Steps, cfg.Batch, cfg.Projector = 6, 4, faulty{fail}
		return exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), diffusion.Masked{Mask: 3}, cfg))
	}
	for _, workers := range []int{1, 3} {
		var armed atomic.Bool
		armed.Store(true)
		d := begin(diffusion.Config{Workers: workers}, func(sample int, _, to float64) error {
			if sample == 2 && to == 0 && armed.CompareAndSwap(true, false) {
				panic(errScore)
			}
			return at(1, 1)(sample, 0, to)
		})
		func() {
			defer func() {
				v := recover()
				err, _ := v.(error)
				if p, ok := v.(*pool.Panic); ok {
					err = p
				}
				assert.ErrorIs(t, err, errScore)
			}()
			_ = d.Sample(background, make([]int32, 4*5))
		}()
		assert.Zero(t, d.Len())
	}
	ctx, cancel := context.WithCancel(background)
	d := begin(diffusion.Config{}, func(sample int, from, to float64) error {
		if sample == 9 && to == 0 {
			cancel()
			return context.Canceled // by the context of the call
		}
		if sample == 5 {
			return context.Canceled // its own
		}
		return nil
	})
	err := d.Sample(ctx, make([]int32, 16*5))
	assert.Equal(t, 8, d.Len())
	assert.ErrorIs(t, err, context.Canceled)
	var failed *diffusion.Unfinished
	require.ErrorAs(t, err, &failed)
	assert.Len(t, failed.Finished, 8)
	assert.Error(t, failed.Finished[5])
	assert.Equal(t, 1, failed.Finished.Failed())
	assert.False(t, errors.As(err, new(diffusion.SampleErrors)), "the call did not finish")
}

// What a memory refuses is given up alone. It is no part of the memory, in a
// checkpoint either.
func TestRefusedSamplesAreGivenUp(t *testing.T) {
	const sites, n = 4, 20 // of 16 different ones
	cfg := diffusion.Config{Batch: 3, Seed: 1, Retries: 500}
	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	begin := func() *diffusion.Runner[int32] {
		cfg.Projector = novelty.Projector{}
		return exact.Must(diffusion.New(background, sticky(sites), diffusion.Masked{Mask: 2, FirstHitting: true}, cfg))
	}
	x := make([]int32, n*sites)
	failed, finished := begin().Sample(background, x).(diffusion.SampleErrors)
	require.True(t, finished)
	require.Equal(t, n-16, failed.Failed())
	seen := map[[sites]int32]bool{}
	for i, err := range failed {
		if err == nil {
			seen[[sites]int32(x[i*sites:])] = true
			continue
		}
		require.ErrorIs(t, err, constraint.ErrInfeasible)
		require.ErrorContains(t, err, fmt.Sprintf("sample %d", i))
	}
	require.Len(t, seen, 16)
	again, y := begin(), make([]int32, n*sites)
	require.NoError(t, again.LoadFile(context.Background(), cfg.Checkpoint.Path))
	saved, finished := again.Sample(background, y).(diffusion.SampleErrors)
	require.True(t, finished)
	require.Equal(t, x, y)
	require.Equal(t, failed.Error(), saved.Error())
	require.Error(t, again.Sample(background, make([]int32, sites)), "it remembers all 16")
}

// Any number of failures, with reasons of any length, fits a checkpoint.
func TestRecordsOfFailures(t *testing.T) {
	cfg := diffusion.Config{Steps: 2, Projector: faulty{func(sample int, _, _ float64) error {
		if sample%2 == 1 {
			return errors.New(strings.Repeat("ü", 2000))
		}
		return nil
	}}}
	cfg.Checkpoint.Path = filepath.Join(t.TempDir(), "run")
	begin := func() *diffusion.Runner[int32] {
		return exact.Must(diffusion.New(background, letters(t, denoise.Absorbing), diffusion.Masked{Mask: 3}, cfg))
	}
	const n = 1200 // two frames and a part
	x := make([]int32, n*5)
	require.Error(t, begin().Sample(background, x))
	again, y := begin(), make([]int32, n*5)
	require.NoError(t, again.LoadFile(context.Background(), cfg.Checkpoint.Path))
	failed, finished := again.Sample(background, y).(diffusion.SampleErrors)
	require.True(t, finished)
	require.Equal(t, x, y)
	require.Equal(t, n/2, failed.Failed())
	require.True(t, utf8.ValidString(failed[n-1].Error()))
	require.Contains(t, failed[n-1].Error(), fmt.Sprintf("sample %d, step 0: üü", n-1))
	require.Less(t, len(failed[n-1].Error()), 1100)
}
