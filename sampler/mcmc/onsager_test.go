package mcmc

import (
	"context"
	"flag"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/sampler"
)

var onsager = flag.Int("onsager", 0, "draws of a 1024×1024 lattice to hold to its exact energy")

// onsagerEnergy is the energy of an infinite Ising lattice per site (Onsager 1944),
// with the complete elliptic integral by the arithmetic-geometric mean.
func onsagerEnergy(j float64) float64 {
	c := math.Cosh(2 * j)
	k := 2 * math.Sinh(2*j) / (c * c)
	a, g := 1.0, math.Sqrt(1-k*k)
	for range 40 {
		a, g = (a+g)/2, math.Sqrt(a*g)
	}
	th := math.Tanh(2 * j)
	return -j / th * (1 + (2*th*th-1)/a)
}

// TestOnsager: the mean energy of a lattice of a million sites, in batches of
// draws, is Onsager's within 8 standard errors of 19 degrees of freedom (a false
// positive in 10⁶), and that of a coupling 2 % larger is not. It also prints what
// a sweep took; -cpu 1,2 compares cores.
func TestOnsager(t *testing.T) {
	assert.InDelta(t, -0.3*2*0.35225, onsagerEnergy(0.3), 1e-5)
	if *onsager == 0 {
		t.Skip("a longer check: go test ./sampler/mcmc -run Onsager -onsager 400 -v")
	}
	for _, g := range []sampler.Generator{sampler.Philox4x32, sampler.ARS4x32} {
		t.Run(g.String(), func(t *testing.T) { holdToOnsager(t, g) })
	}
}

func holdToOnsager(t *testing.T, g sampler.Generator) {
	const side, batches, thin = 1024, 20, 5
	m, err := model.NewIsing(model.Lattice{side, side}, 0.3, 0)
	require.NoError(t, err)
	each := max(1, *onsager/batches)
	sums := make([]float64, batches)
	c, err := sampler.NewChains(context.Background(), m, Gibbs{}, sampler.Config{
		Chains: 1, Seed: 1, Warmup: 200, Thin: thin, Generator: g,
		Observe: func(_, draw int, _ []int32, info *sampler.Info) {
			sums[draw/each] += info.Energy / float64(each) / (side * side)
		},
	})
	require.NoError(t, err)
	ctx := context.Background()
	require.NoError(t, c.Run(ctx, 0))
	start := time.Now()
	require.NoError(t, c.Run(ctx, each*batches))
	took := time.Since(start)
	mean, square := 0.0, 0.0
	for _, v := range sums {
		mean += v / batches
	}
	for _, v := range sums {
		square += (v - mean) * (v - mean) / (batches * (batches - 1))
	}
	se := math.Sqrt(square)
	t.Logf("energy per site %.6f ± %.6f, exactly %.6f; %.3f ns a spin, states read every %d sweeps",
		mean, se, onsagerEnergy(0.3), float64(took.Nanoseconds())/float64(each*batches*thin)/(side*side), thin)
	assert.InDelta(t, onsagerEnergy(0.3), mean, 8*se)
	assert.Greater(t, math.Abs(onsagerEnergy(0.306)-mean), 8*se)
}
