package dual_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A number of steps beyond all bounds means: until the context ends. Memory
// grows with the steps made, not with those asked for.
func TestRunUntilCancelled(t *testing.T) {
	for _, n := range []int{math.MaxInt, math.MaxInt/2 + 1} {
		until, cancel := context.WithCancel(ctx)
		inf := loop(t, ring(t, 1), 1, 1, dual.Config{Observe: func(step int, _, _ []float64) {
			if step == 5 {
				cancel()
			}
		}})
		require.ErrorIs(t, inf.Run(until, n), context.Canceled)
		assert.Equal(t, 6, inf.Len())
		require.ErrorIs(t, inf.Solve(until, n, 1e-9), context.Canceled)
	}
}

// A bounded trajectory is the end of the whole one.
func TestKeep(t *testing.T) {
	const keep, steps = 50, 300
	whole := loop(t, ring(t, 1), 1, 1, dual.Config{})
	bounded := loop(t, ring(t, 1), 1, 1, dual.Config{Keep: keep})
	require.NoError(t, whole.Run(ctx, steps))
	require.NoError(t, bounded.Run(ctx, steps-60))
	var b bytes.Buffer
	require.NoError(t, bounded.Save(&b))
	resumed := loop(t, ring(t, 1), 1, 1, dual.Config{Keep: keep})
	require.NoError(t, resumed.Load(&b))
	for _, inf := range []*dual.Inference[int32]{bounded, resumed} {
		require.NoError(t, inf.Run(ctx, 60))
		mean := make([]float64, len(inf.Lambda()))
		for s := steps - keep; s < steps; s++ {
			lambda, violation := whole.At(s)
			gotLambda, gotViolation := inf.At(s)
			assert.Equal(t, lambda, gotLambda)
			assert.Equal(t, violation, gotViolation)
			for j, l := range lambda {
				mean[j] += l
			}
		}
		for j := range mean {
			mean[j] /= keep
		}
		assert.Equal(t, mean, inf.Average())
		assert.Panics(t, func() { inf.At(steps - keep - 1) })
	}
}

func TestOneRunAtATime(t *testing.T) {
	var inf *dual.Inference[int32]
	inf = loop(t, ring(t, 1), 1, 1, dual.Config{Observe: func(int, []float64, []float64) {
		assert.ErrorContains(t, inf.Step(ctx), "under way")
	}})
	require.NoError(t, inf.Run(ctx, 3))
	require.NoError(t, inf.Step(ctx))
	assert.Equal(t, 4, inf.Len())
}

// A loop resumes from its file, or from the generation before if that is damaged.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run")
	whole := loop(t, ring(t, 1), 1, 1, dual.Config{})
	require.NoError(t, whole.Run(ctx, 20))
	part := loop(t, ring(t, 1), 1, 1, dual.Config{})
	for range 2 {
		require.NoError(t, part.Run(ctx, 5))
		require.NoError(t, part.SaveFile(path))
	}
	for _, n := range []int{10, 5} {
		next := loop(t, ring(t, 1), 1, 1, dual.Config{})
		require.NoError(t, next.LoadFile(path))
		require.Equal(t, n, next.Len())
		require.NoError(t, next.Run(ctx, 20-n))
		assert.Equal(t, whole.Lambda(), next.Lambda())
		require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
	}
	assert.ErrorContains(t, loop(t, ring(t, 1), 1, 1, dual.Config{Inner: 2}).LoadFile(path+".old"), "Config.Inner")
	assert.Error(t, part.SaveFile(filepath.Join(path, "no")))
	assert.ErrorIs(t, part.LoadFile(path+".none"), os.ErrNotExist)
}
