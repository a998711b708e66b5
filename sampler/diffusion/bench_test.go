package diffusion_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
)

// stale is a denoiser that leaves the logits of an earlier call in place, so
// that benchmarks time the sampler alone. It fills them once.
func stale(sites, levels int) energy.DenoiserFunc[int32] {
	r := rand.New(rand.NewPCG(1, 1))
	filled := false
	return energy.DenoiserFunc[int32]{Sites: sites, Levels: levels, F: func(_ context.Context, v []float32, _ energy.Noised[int32]) error {
		if !filled {
			for i := range v {
				v[i] = float32(4 * r.NormFloat64())
			}
			filled = true
		}
		return nil
	}}
}

// BenchmarkDiffusion times one step of one sample.
func BenchmarkDiffusion(b *testing.B) {
	const steps = 64
	for _, c := range []struct {
		name          string
		sites, levels int
		process       diffusion.Process[int32]
		projector     diffusion.Projector
		steps         int
	}{
		{"masked/L=1024/V=50257", 1024, 50257, diffusion.Masked{Mask: 50256}, nil, steps},
		{"first-hitting/L=1024/V=50257", 1024, 50257, diffusion.Masked{Mask: 50256, FirstHitting: true}, nil, 1024},
		{"uniform/L=128/V=32768", 128, 32768, diffusion.Uniform{}, nil, steps},
		{"remask/L=1024/V=50257", 1024, 50257, diffusion.Remask{Mask: 50256}, nil, steps},
		{"conditioned/L=32/V=40", 32, 40, diffusion.Masked{Mask: 39}, counting(39), steps},
		{"conditioned/L=128/V=32768", 128, 32768, diffusion.Masked{Mask: 32767}, counting(32767), steps},
	} {
		b.Run(c.name, func(b *testing.B) {
			d, err := diffusion.New(context.Background(), stale(c.sites, c.levels), c.process, diffusion.Config{Steps: c.steps, Batch: 1, Workers: 1, Projector: c.projector})
			if err != nil {
				b.Fatal(err)
			}
			x := make([]int32, c.sites)
			if err := d.Sample(context.Background(), x); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if err := d.Sample(context.Background(), x); err != nil {
					b.Fatal(err)
				}
				n += c.steps
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/step")
		})
	}
}

// counting asks for 2 to 38 tokens of the first half of the vocabulary.
func counting(tokens int) diffusion.Projector {
	half := make([]int32, tokens/2)
	for l := range half {
		half[l] = int32(l)
	}
	return projection.Path{Language: constraint.Count{Levels: half, Min: 2, Max: 38}}
}

// BenchmarkParticles times one step of one particle under a count.
func BenchmarkParticles(b *testing.B) {
	const sites, particles = 32, 64
	p, err := diffusion.NewParticles(context.Background(), sticky(sites), diffusion.Masked{Mask: 2, FirstHitting: true}, diffusion.ParticlesConfig{
		Config:    diffusion.Config{Workers: 1, Batch: 1, Projector: projection.Path{Language: constraint.Count{Levels: []int32{1}, Min: 4, Max: 9}}},
		Particles: particles,
	})
	if err != nil {
		b.Fatal(err)
	}
	x := make([]int32, sites)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if err := p.Sample(context.Background(), x); err != nil {
			b.Fatal(err)
		}
		n += sites * particles
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/step")
}
