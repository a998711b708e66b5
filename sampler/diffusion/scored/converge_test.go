package scored_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/scored"
)

// masked are the processes with masks.
var masked = []struct {
	name    string
	process func(mask int32) diffusion.Process[int32]
}{
	{"masked", func(mask int32) diffusion.Process[int32] { return diffusion.Masked{Mask: mask} }},
	{"first hitting", func(mask int32) diffusion.Process[int32] { return diffusion.Masked{Mask: mask, FirstHitting: true} }},
	{"remask", func(mask int32) diffusion.Process[int32] { return diffusion.Remask{Mask: mask} }},
	{"ordered", func(mask int32) diffusion.Process[int32] { return diffusion.Ordered{Mask: mask} }},
}

// No more than one in a hundred samples of a network's score ends without a
// feasible sample, at any quantile, under every process with masks; and predictions
// are at most 1.6 times those of a plain run. With a surrogate that looks ahead for
// the judge it is the same.
func TestScoresUnderMasksConverge(t *testing.T) {
	exact.SkipRepeated(t)
	n, problems, quantiles := 40, 1, []float64{.01}
	sizes := [][2]int{{32, 40}}
	if exact.Long() {
		n, problems, quantiles = 100, 2, []float64{.5, .1, .01}
		sizes = append(sizes, [2]int{64, 512})
	}
	for _, size := range sizes {
		sites, levels := size[0], size[1]
		for _, q := range quantiles {
			for _, of := range masked {
				for _, led := range []string{"judge", "surrogate"} {
					t.Run(fmt.Sprintf("L%d/V%d/%g/%s/%s", sites, levels, q, of.name, led), func(t *testing.T) {
						converges(t, sites, levels, n, problems, q, of.process, led == "surrogate")
					})
				}
			}
		}
	}
}

func converges(t *testing.T, sites, levels, n, problems int, q float64, of func(mask int32) diffusion.Process[int32], led bool) {
	failed, total := 0, 0
	var calls, plain, judged float64
	for k := range problems {
		p := newProblem(t, uint64(k+1), sites, levels, q, 1, false)
		process := of(int32(levels))
		cfg := scored.Config{Judge: p.judge, Seed: 5, Steps: sites}
		if led {
			cfg.Guide = p.guide
		}
		s, err := scored.New(t.Context(), p.denoiser, process, cfg)
		require.NoError(t, err)
		x := make([]int32, n*sites)
		each := errorsOf(t, n, s.Sample(t.Context(), x))
		calls += float64(p.calls)
		for i, v := range s.Reports() {
			total++
			judged += float64(v.Judged)
			var not *scored.NotConverged
			if errors.As(each[i], &not) {
				failed++
				continue
			}
			require.NoError(t, each[i])
			require.LessOrEqual(t, p.judge.score(x[i*sites:(i+1)*sites]), p.judge.tau)
		}
		plain += plainCalls(t, p, process, n)
	}
	t.Logf("%d of %d without, %.1f predictions (plain %.1f, × %.2f), %.0f scores",
		failed, total, calls/float64(total), plain/float64(total), calls/plain, judged/float64(total))
	assert.LessOrEqual(t, failed*100, total)
	if !led {
		assert.LessOrEqual(t, calls, 1.6*plain)
	}
}

// plainCalls is the number of predictions of n unconstrained samples.
func plainCalls(t *testing.T, p *problem, process diffusion.Process[int32], n int) float64 {
	p.calls = 0
	d, err := diffusion.New(t.Context(), p.denoiser, process, diffusion.Config{Steps: p.sites, Seed: 5})
	require.NoError(t, err)
	require.NoError(t, d.Sample(t.Context(), make([]int32, n*p.sites)))
	return float64(p.calls)
}
