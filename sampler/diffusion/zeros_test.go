package diffusion

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// keeper keeps the k likeliest levels of every row of a joint. What is kept changes with
// the state.
type keeper struct {
	*joint
	k int
}

// rows returns probabilities.
func (d keeper) rows(x []int32, alpha float64, clean []bool) []float64 {
	_, levels := d.Shape()
	p := d.posterior(x, alpha, clean)
	for i := range x {
		row := p[i*levels : (i+1)*levels]
		least := slices.Sorted(slices.Values(row))[levels-d.k]
		sum := 0.0
		for l, w := range row {
			if w < least {
				row[l] = 0
			}
			sum += row[l]
		}
		for l := range row {
			row[l] /= sum
		}
	}
	return p
}

func (d keeper) Denoise(_ context.Context, v []float32, q energy.Noised[int32]) error {
	size := len(v) / len(q.Time)
	for s := range q.Time {
		var clean []bool
		if q.Clean != nil {
			clean = q.Clean[s*d.sites : (s+1)*d.sites]
		}
		for i, p := range d.rows(q.X[s*d.sites:(s+1)*d.sites], q.Alpha[s], clean) {
			v[s*size+i] = float32(math.Log(p)) - 1
		}
	}
	return nil
}

// law is the distribution of the samples of a process on a grid, or of first hitting.
func (d keeper) law(b Steps[int32], steps int, step func(p Steps[int32], t, s float64) stepLaw) []float64 {
	_, levels := d.Shape()
	row := func(x []int32, i int, alpha float64) []float64 { return d.rows(x, alpha, nil)[levels*i : levels*(i+1)] }
	if step == nil {
		return jumpLaw(levels, func(x []int32, i int) []float64 { return row(x, i, 0) })
	}
	return guidedLaw(3, levels, d.masked, b, steps, func(x []int32, i int, t, s float64) []float64 {
		return step(b, t, s)(x[i], row(x, i, b.Alpha(t)))
	})
}

// Weights of paths estimate p(x, C) for every x in C without bias where predictions have
// zeros that other states do not have: E W·1[x] = p(x, C) for one particle, and the mean
// estimate of P(C) for many.
func TestParticlesOfPredictionsWithZeros(t *testing.T) {
	exact.SkipRepeated(t)
	ctx := context.Background()
	const n = 3000
	heard := 0.0
	for name, c := range map[string]struct {
		p     Process[int32]
		steps int
		step  func(p Steps[int32], t, s float64) stepLaw
	}{
		"first hitting": {Masked{Mask: 3, FirstHitting: true}, 3, nil},
		"grid":          {Masked{Mask: 3}, 4, func(p Steps[int32], t, s float64) stepLaw { return maskedStep(3, p.Alpha(t), p.Alpha(s), 0) }},
		"uniform":       {Uniform{}, 4, func(p Steps[int32], t, s float64) stepLaw { return uniformStep(p.Alpha(t), p.Alpha(s)) }},
	} {
		for seed := range uint64(3) {
			masked := name != "uniform"
			d := keeper{newJoint(3, 3, masked, seed), 2}
			_, levels := d.Shape()
			b, err := c.p.Bind(ctx, 3, levels)
			require.NoError(t, err)
			law := d.law(b, c.steps, c.step)
			// The language is what the first prediction rules out, and a little more.
			first := make([]int32, 3)
			for i := range first {
				first[i] = int32(levels - 1)
			}
			rows := d.rows(first, b.Alpha(1), nil)
			set := newLanguage(3, levels, func(x []int32) bool {
				out := x[0] == x[1]
				for i, l := range x {
					out = out || rows[i*levels+int(l)] == 0
				}
				return out && !slices.Contains(x, 3)
			})
			want := 0.0
			for k, p := range law {
				if set.allowed[k] {
					want += p
				}
			}
			for _, tables := range []int{0, 1} {
				what := fmt.Sprintf("%s, seed %d, %d tables", name, seed, tables)
				cfg := Config{Steps: c.steps, Projector: set, Seed: seed, tables: tables}
				if want < 1e-9 {
					continue
				}
				one, err := NewParticles(ctx, d, c.p, ParticlesConfig{Config: cfg, Particles: 1})
				require.NoError(t, err)
				x := make([]int32, 3*n)
				_ = one.Sample(ctx, x) // many paths have no weight
				mean, square := make([]float64, len(law)), make([]float64, len(law))
				for i, w := range one.weight {
					if !math.IsInf(w, -1) {
						k := exact.Index(x[3*i:3*i+3], levels)
						mean[k] += math.Exp(w) / n
						square[k] += math.Exp(2*w) / n
					}
				}
				for k, p := range law {
					if !set.allowed[k] {
						assert.Zero(t, mean[k], what)
						continue
					}
					se := math.Sqrt(max(square[k]-mean[k]*mean[k], p) / n)
					assert.InDelta(t, p, mean[k], 6*se, "%s, state %d", what, k)
				}
				many, err := NewParticles(ctx, d, c.p, ParticlesConfig{Config: cfg, Particles: 16})
				require.NoError(t, err)
				_ = many.Sample(ctx, x[:3*300])
				log, se := many.LogProb()
				assert.InDelta(t, want, math.Exp(log), 6*se*want+1e-4, what)
				heard += want
			}
		}
	}
	assert.Greater(t, heard, 1.0, "cases that are not empty")
}

// A potential that one state in 27 has to itself leaves one effective particle, and
// weights that are equal leave all of them.
func TestParticlesReportHeavyWeights(t *testing.T) {
	m := newJoint(3, 3, true, 2)
	var mu sync.Mutex
	run := func(height float64) (p *Particles, all []Weights) {
		p, err := NewParticles(context.Background(), m, Masked{Mask: 3}, ParticlesConfig{
			Config: Config{Steps: 4, Seed: 3, Workers: 2}, Particles: 32,
			Potential: func(logG []float64, x []int32, _ []float64) {
				for k := range logG {
					if logG[k] = 0; x[3*k] == 2 && x[3*k+1] == 1 && x[3*k+2] == 0 {
						logG[k] = height
					}
				}
			},
			Weighed: func(w Weights) {
				mu.Lock()
				defer mu.Unlock()
				all = append(all, w)
			},
		})
		require.NoError(t, err)
		few, none := p.Effective()
		assert.True(t, math.IsNaN(few) && math.IsNaN(none))
		require.NoError(t, p.Sample(context.Background(), make([]int32, 3*200)))
		return p, all
	}
	p, all := run(12)
	few, samples := p.Effective()
	assert.Less(t, few, 1.1)
	assert.Less(t, samples, 170.0)
	assert.GreaterOrEqual(t, samples, 1.0)
	last, resampled, least := map[int]int{}, 0, math.Inf(1)
	for _, w := range all {
		require.GreaterOrEqual(t, w.Step, last[w.Sample])
		last[w.Sample] = w.Step
		require.True(t, w.Effective >= 1-1e-12 && w.Effective <= 32+1e-9 && w.Largest >= 1.0/32-1e-12 && w.Largest <= 1, "%+v", w)
		require.LessOrEqual(t, 1/w.Effective, w.Largest+1e-12)
		if w.Resampled {
			resampled++
			least = min(least, w.Effective)
		}
	}
	assert.Len(t, last, 200)
	assert.Greater(t, resampled, 200)
	assert.Equal(t, few, least)

	p, _ = run(0)
	few, samples = p.Effective()
	assert.InDelta(t, 32, few, 1e-9)
	assert.InDelta(t, 200, samples, 1e-6)
}
