package diffusion

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/internal/slots"
)

// chunked makes particles that hold a few predictions at a time, whatever fits.
func chunked(t *testing.T, m *joint, p Process[int32], cfg ParticlesConfig, tables int) *Particles {
	t.Helper()
	cfg.tables = tables
	f, err := NewParticles(context.Background(), m, p, cfg)
	require.NoError(t, err)
	require.True(t, f.parts)
	require.Equal(t, tables, f.run.e.Tables)
	return f
}

// TestParticlesInParts: particles that move before they are resampled estimate
// P(x, x ∈ C) without bias, too; a twin whose weights lack what the last step took
// C to be must not.
func TestParticlesInParts(t *testing.T) {
	exact.SkipUnderRace(t)
	for i, c := range particleCases {
		m, set, law := particleSetup(t, i)
		for _, n := range []int{2, 5} {
			cfg := ParticlesConfig{Config: Config{Steps: c.steps, Projector: set, Workers: 1, Seed: 4, tables: 2}, Particles: n, Threshold: 0.9}
			mean, se := weighted(t, m, c.process, cfg, 6000/n)
			assert.True(t, agrees(mean, se, law), "%s, %d particles: %.4f ± %.4f, want %.4f", c.name, n, mean, se, law)
		}
		cfg := ParticlesConfig{Config: Config{Steps: c.steps, Projector: set, Workers: 1, Seed: 4, Batch: 1, tables: 1}, Particles: 3, Threshold: 0.9}
		f := chunked(t, m, c.process, cfg, 1)
		f.paths.Joint = forgetful(f.paths.Joint)
		require.NoError(t, f.Sample(context.Background(), make([]int32, 3000*m.sites)))
		logP, se := f.LogProb()
		want := 0.0
		for _, p := range law {
			want += p
		}
		assert.Greater(t, math.Abs(math.Exp(logP)-want), 6.5*se*math.Exp(logP), c.name)
	}
}

// forgetful steps reweigh nothing.
func forgetful(joint []slots.Joint) []slots.Joint {
	for i, p := range joint {
		joint[i] = unweighed{p}
	}
	return joint
}

type unweighed struct{ slots.Joint }

func (unweighed) Reweight([]float32, []int32, []int32, float64, float64) {}

// TestParticlesInPartsAreReproducible: neither workers nor the batch change a bit.
func TestParticlesInPartsAreReproducible(t *testing.T) {
	m, set, _ := particleSetup(t, 0)
	var want []int32
	for _, batch := range []int{1, 4} {
		for _, workers := range []int{1, 3} {
			cfg := ParticlesConfig{Config: Config{Steps: 4, Projector: set, Workers: workers, Seed: 4, Batch: batch}, Particles: 7}
			f := chunked(t, m, Masked{Mask: 2}, cfg, 3)
			x := make([]int32, 8*m.sites)
			require.NoError(t, f.Sample(context.Background(), x))
			if want == nil {
				want = x
			}
			require.Equal(t, want, x)
		}
	}
}
