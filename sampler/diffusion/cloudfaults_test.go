package diffusion

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// A sample of particles fails if one of its particles does, and only then; the
// others have the bits of a run in which nothing fails. So it is where predictions
// are made in parts, and in a checkpoint.
func TestAnErrorOfAParticleEndsItsSample(t *testing.T) {
	const n, particles = 30, 4
	bad := func(x []int32) bool { return x[0] == 1 && x[1] == x[2] && x[2] == 1 }
	for _, tables := range []int{0, 3} {
		load := false
		draw := func(spoilt float64, edit func(*ParticlesConfig)) (p *Particles, x []int32, err error) {
			m, set, _ := particleSetup(t, 1)
			cfg := ParticlesConfig{Config: Config{Steps: 3, Projector: quiet{set}, Seed: 4, tables: tables}, Particles: particles}
			cfg.Potential = func(logG []float64, x []int32, t []float64) {
				for s := range logG {
					logG[s] = 0
					if t[s] == 0 && bad(x[3*s:3*s+3]) {
						logG[s] = spoilt
					}
				}
			}
			edit(&cfg)
			p, err = NewParticles(context.Background(), m, Masked{Mask: 2}, cfg)
			require.NoError(t, err)
			if load {
				require.NoError(t, p.LoadFile(context.Background(), cfg.Checkpoint.Path))
				load = false
			}
			x = make([]int32, 3*n)
			err = p.Sample(context.Background(), x)
			require.Equal(t, n, p.Len())
			return p, x, err
		}
		hit := make([]bool, n)
		_, want, err := draw(0, func(c *ParticlesConfig) {
			c.Workers = 1
			c.Observe = func(s *Snapshot) {
				if s.To == 0 && bad(s.X) {
					hit[s.Sample/particles] = true
				}
			}
		})
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "run")
		for _, batch := range []int{1, 7, 30} {
			p, x, err := draw(math.NaN(), func(c *ParticlesConfig) { c.Batch, c.Checkpoint.Path = batch, file })
			var failed SampleErrors
			require.ErrorAs(t, err, &failed)
			require.Len(t, failed, n)
			for i, err := range failed {
				row := x[3*i : 3*i+3]
				require.Equal(t, hit[i], err != nil)
				if hit[i] {
					require.ErrorContains(t, err, "potential = NaN")
					require.Equal(t, []int32{-1, -1, -1}, row)
					continue
				}
				require.Equal(t, want[3*i:3*i+3], row)
			}
			require.Positive(t, failed.Failed())
			require.Less(t, failed.Failed(), n)
			require.Equal(t, n-failed.Failed(), p.mean.N)
			logP, se := p.LogProb()
			resumed, y, err := draw(math.NaN(), func(c *ParticlesConfig) { c.Batch, c.Checkpoint.Path, load = batch, file, true })
			require.Equal(t, x, y)
			var same SampleErrors
			require.ErrorAs(t, err, &same)
			for i := range same {
				require.Equal(t, failed[i] == nil, same[i] == nil)
			}
			p2, se2 := resumed.LogProb()
			require.Equal(t, [2]float64{logP, se}, [2]float64{p2, se2})
		}
	}
}

// The estimate counts a sample whose particles have all died as 0, and is right; if
// it were left out, it would not be.
func TestDeadSamplesCountForNothing(t *testing.T) {
	const n = 4000
	// p = ½{00,11}, C = {01,11}: a particle that shows 0 first is lost.
	m := &joint{sites: 2, tokens: 2, masked: true, p: []float64{0.5, 0, 0, 0.5}}
	c := newLanguage(2, 3, func(x []int32) bool { return x[1] == 1 && x[0] != 2 })
	p, err := NewParticles(context.Background(), m, Masked{Mask: 2, FirstHitting: true}, ParticlesConfig{Config: Config{Projector: c, Workers: 1}, Particles: 2})
	require.NoError(t, err)
	x := make([]int32, 2*n)
	err = p.Sample(context.Background(), x)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	var failed SampleErrors
	require.ErrorAs(t, err, &failed)
	for i, err := range failed {
		want := []int32{1, 1}
		if err != nil {
			want = []int32{-1, -1}
		}
		require.Equal(t, want, x[2*i:2*i+2])
	}
	logP, se := p.LogProb()
	const bound = 4.9 // 1e-6, two-sided
	assert.Less(t, math.Abs(math.Exp(logP)/.5-1), bound*se)
	without := math.Exp(logP) * n / float64(n-failed.Failed())
	assert.Greater(t, math.Abs(without/.5-1), bound*se, "%d of %d died", failed.Failed(), n)
}
