package projection_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/projection"
)

// sums are the methods of a PathProjection that sum or maximise over the language.
var sums = map[string]func(ctx context.Context, e *projection.PathProjection, x []int32, f []float64, v []float32) error{
	"Draw": func(ctx context.Context, e *projection.PathProjection, x []int32, _ []float64, v []float32) error {
		_, err := e.Draw(ctx, x, v, rand.NewPCG(1, 1))
		return err
	},
	"DrawGiven": func(ctx context.Context, e *projection.PathProjection, x []int32, _ []float64, v []float32) error {
		for i := range x {
			x[i] = -1
		}
		_, err := e.DrawGiven(ctx, x, v, rand.NewPCG(1, 1))
		return err
	},
	"DrawUntil": func(ctx context.Context, e *projection.PathProjection, x []int32, _ []float64, v []float32) error {
		_, _, err := e.DrawUntil(ctx, x, v, rand.NewPCG(1, 1), 1, func([]int32) bool { return true })
		return err
	},
	"LogZ": func(ctx context.Context, e *projection.PathProjection, _ []int32, f []float64, v []float32) (err error) {
		f[0], err = e.LogZ(ctx, v)
		return err
	},
	"MAP": func(ctx context.Context, e *projection.PathProjection, x []int32, _ []float64, v []float32) error {
		_, err := e.MAP(ctx, x, v)
		return err
	},
	"Marginals": func(ctx context.Context, e *projection.PathProjection, _ []int32, f []float64, v []float32) error {
		return e.Marginals(ctx, f, v)
	},
	"LogMarginals": func(ctx context.Context, e *projection.PathProjection, _ []int32, f []float64, v []float32) error {
		return e.LogMarginals(ctx, f, v)
	},
	"Mean": func(ctx context.Context, e *projection.PathProjection, _ []int32, f []float64, v []float32) (err error) {
		f[0], err = e.Mean(ctx, make([]float64, len(f)), v)
		return err
	},
	"Entropy": func(ctx context.Context, e *projection.PathProjection, _ []int32, f []float64, v []float32) (err error) {
		f[0], err = e.Entropy(ctx, v)
		return err
	},
	"LogProb": func(ctx context.Context, e *projection.PathProjection, x []int32, f []float64, v []float32) (err error) {
		f[0], err = e.LogProb(ctx, x, v)
		return err
	},
	"Count": func(ctx context.Context, e *projection.PathProjection, _ []int32, f []float64, v []float32) error {
		n, err := e.Count(ctx, v)
		if err == nil {
			f[0] = float64(n.BitLen())
		}
		return err
	},
	"KBest": func(ctx context.Context, e *projection.PathProjection, x []int32, _ []float64, v []float32) error {
		seq, err := e.KBest(ctx, v)
		if err != nil {
			return err
		}
		for y := range seq {
			copy(x, y)
			return nil
		}
		return context.Cause(ctx)
	},
}

// A sum over a finite or a nested language polls its context on the way, ends with its
// cause, and leaves the projection as it was.
func TestSumsAreCancelled(t *testing.T) {
	exact.SkipUnderRace(t)
	even := exact.Must(constraint.NewDFA(t.Context(), 2, []int32{0, 1, 1, 0}, []bool{true, false}))
	for name, c := range map[string]struct {
		language      constraint.Language
		sites, levels int
	}{
		"finite": {even, 1 << 13, 2},
		"nested": {nestedLists(t), 40, 9},
	} {
		e, err := projection.Path{Language: c.language}.Compile(t.Context(), c.sites, c.levels)
		require.NoError(t, err)
		v := make([]float32, c.sites*c.levels)
		for of, sum := range sums {
			x, f := make([]int32, c.sites), make([]float64, len(v))
			require.NoError(t, sum(t.Context(), e, x, f, v))
			y, g := make([]int32, c.sites), make([]float64, len(v))
			polls := exact.Cancelled(
				func(ctx context.Context) error { return sum(ctx, e, y, g, v) },
				func(err error) { require.ErrorIs(t, err, context.Canceled, "%s %s", name, of) })
			assert.Greater(t, polls, 2, "%s %s", name, of)
			require.NoError(t, sum(t.Context(), e, y, g, v))
			require.Equal(t, x, y, "%s %s", name, of)
			require.Equal(t, f, g, "%s %s", name, of)
		}
		why := errors.New("why")
		ended, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		for of, sum := range sums {
			require.ErrorIs(t, sum(ended, e, make([]int32, c.sites), make([]float64, len(v)), v), why, "%s %s", name, of)
		}
	}
}

// A nil v is the uniform distribution for every method, and Marginals are probabilities.
func TestNilIsUniform(t *testing.T) {
	for _, language := range []constraint.Language{constraint.Count{Levels: []int32{1}, Min: 2, Max: 2}, nestedLists(t)} {
		const sites, levels = 7, 9
		e, err := projection.Path{Language: language}.Compile(t.Context(), sites, levels)
		require.NoError(t, err)
		zeros := make([]float32, sites*levels)
		for of, sum := range sums {
			x, f := make([]int32, sites), make([]float64, len(zeros))
			y, g := make([]int32, sites), make([]float64, len(zeros))
			require.NoError(t, sum(t.Context(), e, x, f, zeros))
			require.NoError(t, sum(t.Context(), e, y, g, nil))
			require.Equal(t, x, y, of)
			require.Equal(t, f, g, of)
		}
		p, logs := make([]float64, len(zeros)), make([]float64, len(zeros))
		require.NoError(t, e.Marginals(t.Context(), p, nil))
		require.NoError(t, e.LogMarginals(t.Context(), logs, nil))
		for i := range sites {
			total := 0.0
			for l, q := range p[i*levels : (i+1)*levels] {
				total += q
				require.InDelta(t, math.Exp(logs[i*levels+l]), q, 1e-15)
			}
			require.InDelta(t, 1, total, 1e-12)
		}
	}
}
