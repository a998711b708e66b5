package diffusion_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion/noise"
)

// Every sample of every process is in the language, judged by the table of the
// automaton, on random problems. GIBBSITE_SAMPLES asks for more samples:
//
//	GIBBSITE_SAMPLES=1000000 go test -run TestPathIsNeverViolated ./sampler
func TestPathIsNeverViolated(t *testing.T) {
	const problems, processes, batch = 5, 5, 400
	rounds := 1
	if s := os.Getenv("GIBBSITE_SAMPLES"); s != "" {
		n, err := strconv.Atoi(s)
		require.NoError(t, err)
		rounds = (n + problems*processes*batch - 1) / (problems * processes * batch)
	}
	r := rand.New(rand.NewPCG(3, 3))
	samples := 0
	for range problems {
		p := newRefProblem(t, r)
		m, err := model.NewMarkov(refSites, refK, 1, p.Start, p.Trans)
		require.NoError(t, err)
		noisy, err := denoise.NewMarkov(m, denoise.Noisy)
		require.NoError(t, err)
		for _, c := range [processes]struct {
			model   energy.Denoiser[int32]
			process diffusion.Process[int32]
			cfg     diffusion.Config
		}{
			{p.denoiser, diffusion.Masked{Mask: refK, Schedule: noise.Cosine{}}, diffusion.Config{Steps: 4}},
			{p.denoiser, diffusion.Masked{Mask: refK, FirstHitting: true}, diffusion.Config{}},
			{p.denoiser, diffusion.Remask{Mask: refK, Rule: diffusion.RemaskLoop}, diffusion.Config{Steps: 8}},
			{p.denoiser, diffusion.Ordered{Mask: refK, Block: 2}, diffusion.Config{Steps: 6}},
			{noisy, diffusion.Uniform{}, diffusion.Config{Steps: 8}},
		} {
			c.cfg.Projector = p.path
			d, err := diffusion.New(context.Background(), c.model, c.process, c.cfg)
			require.NoError(t, err)
			x := make([]int32, batch*refSites)
			for range rounds {
				require.NoError(t, d.Sample(context.Background(), x))
				for s := 0; s < len(x); s += refSites {
					require.True(t, p.Accepts(x[s:s+refSites]), "%T", c.process)
					samples++
				}
			}
		}
	}
	t.Logf("%d samples, no violation", samples)
}

// Clamps that the language forbids are an error that names them.
func TestInfeasibleClampsAreErrors(t *testing.T) {
	model := sticky(6)
	path := projection.Path{Language: constraint.Count{Levels: []int32{1}, Max: 1}, Name: "at most one"}
	for _, process := range []diffusion.Process[int32]{diffusion.Masked{Mask: 2}, diffusion.Remask{Mask: 2}, diffusion.Ordered{Mask: 2}} {
		d, err := diffusion.New(context.Background(), model, process, diffusion.Config{Projector: path, Clamp: []int32{1, -1, -1, -1, -1, 1}})
		require.NoError(t, err)
		err = d.Sample(context.Background(), make([]int32, 6))
		require.ErrorIs(t, err, constraint.ErrInfeasible)
		assert.ErrorContains(t, err, "sample 0, step 0: projection: at most one")
	}
	_, err := diffusion.New(context.Background(), model, diffusion.Masked{Mask: 2}, diffusion.Config{
		Projector: projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 7, Max: 9}},
	})
	assert.ErrorIs(t, err, constraint.ErrInfeasible)
}

// With a memory, a run produces every sequence once and then says that there
// are no more.
func TestNovelSamplesNeverRepeat(t *testing.T) {
	for _, batch := range []int{1, 5, 16} {
		d, err := diffusion.New(context.Background(), sticky(4), diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.Config{
			Projector: novelty.Projector{}, Batch: batch, Seed: 1, Retries: 10_000,
		})
		require.NoError(t, err)
		x := make([]int32, 16*4)
		require.NoError(t, d.Sample(context.Background(), x))
		seen := map[[4]int32]bool{}
		for s := 0; s < len(x); s += 4 {
			seen[[4]int32(x[s:s+4])] = true
		}
		assert.Len(t, seen, 16)
		err = d.Sample(context.Background(), x[:4])
		assert.True(t, errors.Is(err, constraint.ErrInfeasible), err)
	}
}

func TestConditionedStepsDoNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("counts allocations of long runs")
	}
	path := projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 2, Max: 5}}
	for name, run := range map[string]func(steps int) func(){
		"diffusion": func(steps int) func() {
			d, err := diffusion.New(context.Background(), sticky(12), diffusion.Masked{Mask: 2}, diffusion.Config{Steps: steps, Workers: 1, Batch: 4, Projector: path})
			require.NoError(t, err)
			x := make([]int32, 4*12)
			return func() { _ = d.Sample(context.Background(), x) }
		},
		"particles": func(steps int) func() {
			p, err := diffusion.NewParticles(context.Background(), sticky(12), diffusion.Masked{Mask: 2}, diffusion.ParticlesConfig{
				Config: diffusion.Config{Steps: steps, Workers: 1, Batch: 2, Projector: path}, Particles: 8,
			})
			require.NoError(t, err)
			x := make([]int32, 2*12)
			return func() { _ = p.Sample(context.Background(), x) }
		},
	} {
		few, many := testing.AllocsPerRun(5, run(4)), testing.AllocsPerRun(5, run(400))
		assert.LessOrEqual(t, many-few, 1.0, name) // pools may be emptied by a collection
	}
}
