package diffusion_test

import (
	"context"
	"flag"
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// The particles of a text model in the memory of a laptop: 1024 sites, 50 257
// tokens, 64 particles, on Linux with
//
//	go test ./sampler/diffusion -run ParticlesMemory -v -large
//
// It fails above 1 GB of resident memory. Without the flag it is a small model.
var large = flag.Bool("large", false, "run TestParticlesMemory at 1024 sites, 50 257 tokens and 64 particles")

func TestParticlesMemory(t *testing.T) {
	sites, levels, n := 16, 300, 4
	if *large {
		sites, levels, n = 1024, 50257+1, 64
	}
	row := make([]float32, levels)
	for l := range row {
		row[l] = float32(3 * math.Sin(float64(l*l)))
	}
	shown := 0
	model := energy.DenoiserFunc[int32]{Sites: sites, Levels: levels, F: func(_ context.Context, v []float32, q energy.Noised[int32]) error {
		shown += len(q.Time)
		for ; len(v) > 0; v = v[levels:] {
			copy(v, row)
		}
		return nil
	}}
	half := make([]int32, (levels-1)/2)
	for i := range half {
		half[i] = int32(2 * i)
	}
	even := constraint.Count{Levels: half, Min: sites / 2, Max: sites/2 + 1}
	f, err := diffusion.NewParticles(context.Background(), model, diffusion.Masked{Mask: int32(levels - 1)}, diffusion.ParticlesConfig{
		Config: diffusion.Config{Steps: 2, Seed: 1, Projector: projection.Path{Language: even}}, Particles: n,
	})
	require.NoError(t, err)
	x := make([]int32, sites)
	require.NoError(t, f.Sample(context.Background(), x))
	count := 0
	for _, l := range x {
		if l%2 == 0 && int(l) < levels-1 {
			count++
		}
	}
	require.Contains(t, []int{sites / 2, sites/2 + 1}, count)
	require.Equal(t, 2*n, shown)
	if !*large {
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	peak := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, peak)
	kilobytes, err := strconv.Atoi(string(peak[1]))
	require.NoError(t, err)
	t.Logf("peak resident memory %.0f MB", float64(kilobytes)*1024/1e6)
	require.Less(t, kilobytes*1024, 1_000_000_000)
}
