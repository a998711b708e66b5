package scored_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// Samples share predictions for states that show at most one token, and no others;
// that changes no bit. With clamped sites it is the same.
func TestSharedPredictionsChangeNothing(t *testing.T) {
	exact.SkipRepeated(t)
	exact.SkipUnderRace(t)
	const n = 40
	for _, clamp := range [][]int32{nil, {-1, 3, -1, -1, 0, -1}} {
		free := 6
		if clamp != nil {
			free = 4
		}
		draw := func(timeFree bool, batch int) (x []int32, v []scored.Report, calls int) {
			p := newProblem(t, 3, 6, 5, .1, 1, true)
			d := energy.DenoiserFunc[int32]{Sites: 6, Levels: 6, IgnoresTime: timeFree, F: p.denoiser.Denoise}
			p.calls = 0
			s, err := scored.NewExact(t.Context(), d, hitting(p), scored.ExactConfig{
				Config: scored.Config{Judge: p.judge, Seed: 3, Batch: batch, Clamp: clamp, Completions: 16}, Pilot: 100,
			})
			require.NoError(t, err)
			x = make([]int32, n*6)
			require.NoError(t, s.Sample(t.Context(), x))
			return x, s.Reports(), p.calls
		}
		want, own, all := draw(false, 1)
		for _, batch := range []int{1, 16} {
			x, v, calls := draw(true, batch)
			require.Equal(t, want, x)
			paths, counted := 0, 0
			for i := range v {
				require.Equal(t, own[i].Paths, v[i].Paths)
				require.Equal(t, free*v[i].Paths, own[i].Predictions)
				require.Equal(t, (free-2)*v[i].Paths, v[i].Predictions)
				paths, counted = paths+v[i].Paths, counted+v[i].Predictions
			}
			require.Equal(t, free*(paths+100), all)
			shared := calls - counted - 100*(free-2)
			assert.LessOrEqual(t, shared, 1+5*free+batch, "one for all masks, one for each token, and some that are asked for together")
		}
	}
}
