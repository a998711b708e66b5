package gibbsite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/projection"
	"github.com/gibbsite-go/gibbsite/projection/novelty"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/diagnose"
	"github.com/gibbsite-go/gibbsite/sampler/diffusion"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
)

// The benchmarks of this file stand behind the figures in README.md. A step
// moves every chain once; run them with
//
//	go test -run '^$' -bench . -benchtime 100ms -count 10 .
//
// and take the least of each ten: a busy machine only ever adds.

const benchChains = 100

// seededRBM is a machine of 784 visible and 500 hidden units with weights
// N(0, 0.05²) and biases N(0, 0.5²).
func seededRBM(b *testing.B) *model.RBM {
	r := rand.New(rand.NewPCG(1, 784))
	normal := func(n int, sd float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(sd * r.NormFloat64())
		}
		return v
	}
	m, err := model.NewRBM(normal(500*784, 0.05), normal(500, 0.5), normal(784, 0.5))
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func torus(b *testing.B, side int) *model.Ising {
	m, err := model.NewIsing(model.Lattice{side, side}, 0.2, 0.2)
	if err != nil {
		b.Fatal(err)
	}
	return m
}

// steps benchmarks one step of the chains on one worker, after warm-up and
// without an observer, and estimates how many effective draws of the mean level
// that brings per second.
func steps(b *testing.B, m energy.Model, method sampler.Method, chains int) {
	const warmup, draws = 200, 300
	trace := diagnose.NewTrace(energy.Magnetization)
	ch, err := sampler.NewChains(context.Background(), m, method, sampler.Config{Chains: chains, Seed: 1, Warmup: warmup, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	run := func(n int) {
		if err := ch.Run(ctx, n); err != nil {
			b.Fatal(err)
		}
	}
	run(1)
	b.ResetTimer()
	run(b.N)
	b.StopTimer()
	sites, _ := m.Shape()
	perStep := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
	b.ReportMetric(perStep/1e6, "ms/step")
	b.ReportMetric(perStep/float64(chains*sites), "ns/site")
	b.ReportMetric(0, "ns/op")
	if b.N < draws {
		return // too few steps for an estimate to be worth its time
	}
	for draw := range draws {
		run(1)
		for c := range chains {
			trace.Observe(c, draw, ch.States()[c*sites:(c+1)*sites], &ch.Info()[c])
		}
	}
	summary := trace.Summary()
	summary.Seconds = perStep * draws / 1e9
	if e := summary.ESSPerSecond(0); e.Defined() {
		b.ReportMetric(e.Value, "ESS/s")
	}
}

func BenchmarkDMALA(b *testing.B) {
	for _, side := range []int{5, 50, 100} {
		b.Run(fmt.Sprintf("model=torus/side=%d", side), func(b *testing.B) { steps(b, torus(b, side), mcmc.DMALA{}, benchChains) })
	}
	b.Run("model=rbm/784x500", func(b *testing.B) { steps(b, seededRBM(b), mcmc.DMALA{}, benchChains) })
}

func BenchmarkGibbs(b *testing.B) {
	for _, side := range []int{5, 50} {
		b.Run(fmt.Sprintf("model=torus/side=%d", side), func(b *testing.B) { steps(b, torus(b, side), mcmc.Gibbs{Scan: mcmc.Chromatic}, benchChains) })
	}
	b.Run("model=torus/side=1024", func(b *testing.B) {
		steps(b, torus(b, 1024), mcmc.Gibbs{Scan: mcmc.Chromatic}, 1)
	})
}

func BenchmarkBlockGibbs(b *testing.B) {
	b.Run("model=rbm/784x500", func(b *testing.B) { steps(b, seededRBM(b), mcmc.BlockGibbs{}, benchChains) })
}

func BenchmarkGWG(b *testing.B) {
	b.Run("model=torus/side=50", func(b *testing.B) { steps(b, torus(b, 50), mcmc.GWG{}, benchChains) })
}

// BenchmarkMasked is a step of masked diffusion of one sequence from log-weights
// that are there: drawing, without a denoiser.
func BenchmarkMasked(b *testing.B) {
	const sites, levels = 1024, 50257
	for name, c := range map[string]struct {
		process diffusion.Masked
		steps   int
	}{
		"L=1024/V=50257":               {diffusion.Masked{Mask: levels - 1}, 64},
		"L=1024/V=50257/first-hitting": {diffusion.Masked{Mask: levels - 1, FirstHitting: true}, sites},
	} {
		b.Run(name, func(b *testing.B) {
			r, filled := rand.New(rand.NewPCG(1, 1)), false
			denoiser := energy.DenoiserFunc[int32]{Sites: sites, Levels: levels, F: func(_ context.Context, v []float32, _ energy.Noised[int32]) error {
				for i := 0; i < len(v) && !filled; i++ {
					v[i] = float32(4 * r.NormFloat64())
				}
				filled = true // later calls leave what is there
				return nil
			}}
			d, err := diffusion.New(context.Background(), denoiser, c.process, diffusion.Config{Steps: c.steps, Batch: 1, Workers: 1})
			if err != nil {
				b.Fatal(err)
			}
			x, n := make([]int32, sites), 0
			sample := func() {
				if err := d.Sample(context.Background(), x); err != nil {
					b.Fatal(err)
				}
				n += c.steps
			}
			sample()
			n = 0
			for b.Loop() {
				sample()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n)/1e6, "ms/step")
		})
	}
}

// BenchmarkFFBS is an exact draw of a sequence from a product of rows restricted
// to a random automaton: filtering forward, sampling backward.
func BenchmarkFFBS(b *testing.B) {
	for _, c := range []struct{ sites, levels, states, classes int }{{32, 40, 64, 40}, {128, 32768, 40, 256}} {
		b.Run(fmt.Sprintf("L=%d/V=%d/Q=%d/K=%d", c.sites, c.levels, c.states, c.classes), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			next, accepting := make([]int32, c.states*c.levels), make([]bool, c.states)
			for s := range c.states {
				accepting[s] = s%4 == 0
				to := make([]int32, c.classes)
				for k := range to {
					to[k] = int32(r.IntN(c.states))
				}
				for v := range c.levels {
					next[s*c.levels+v] = to[v%c.classes]
				}
			}
			language, err := constraint.NewDFA(b.Context(), c.levels, next, accepting)
			if err != nil {
				b.Fatal(err)
			}
			x, d := bind(b, projection.Path{Language: language}, c.sites, c.levels)
			v := logWeights(r, c.sites*c.levels)
			for b.Loop() {
				if _, err := d.Draw(b.Context(), x, v, r); err != nil {
					b.Fatal(err)
				}
			}
			perCall(b)
		})
	}
}

// BenchmarkNovel moves predictions off a corpus of 134 thousand sequences, and
// takes the probability that a draw is not among them. The corpus is made up:
// words of a chain over 16 letters, padded to 29 sites.
func BenchmarkNovel(b *testing.B) {
	const sites, letters, words = 29, 16, 134_000
	r := rand.New(rand.NewPCG(1, 1))
	lexicon := new(constraint.Lexicon)
	var some [][]int32
	for w := range words {
		x := make([]int32, sites)
		for i := range x {
			x[i] = letters // the padding
		}
		at := int32(0)
		for i := range 12 + r.IntN(8) {
			at = (at + int32(min(r.ExpFloat64()*2, 15))) % letters
			x[i] = at
		}
		lexicon.Add(x)
		if w%2000 == 0 {
			some = append(some, x)
		}
	}
	tables := make([][]float32, len(some))
	for k, x := range some {
		tables[k] = logWeights(r, sites*(letters+1))
		for i, l := range x {
			tables[k][i*(letters+1)+int(l)] += 6 // what the corpus has is likely
		}
	}
	x, d := bind(b, novelty.Projector{Seen: lexicon}, sites, letters+1)
	b.Run("project", func(b *testing.B) {
		v, i := make([]float32, len(tables[0])), 0
		for b.Loop() {
			copy(v, tables[i%len(tables)])
			if _, err := d.(diffusion.Projection).Project(context.Background(), 0, v, 1, 0, nil); err != nil {
				b.Fatal(err)
			}
			i++
		}
		perCall(b)
	})
	b.Run("probability", func(b *testing.B) {
		i := 0
		if _, err := d.LogZ(b.Context(), tables[0]); err != nil { // compiles the corpus
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := d.LogZ(b.Context(), tables[i%len(tables)]); err != nil {
				b.Fatal(err)
			}
			i++
		}
		perCall(b)
	})
	b.Run("draw", func(b *testing.B) {
		i := 0
		for b.Loop() {
			if _, err := d.Draw(b.Context(), x, tables[i%len(tables)], r); err != nil {
				b.Fatal(err)
			}
			i++
		}
		perCall(b)
	})
}

// bind returns the projection bound to one sample, as what draws, and a state.
func bind(b *testing.B, p diffusion.Projector, sites, levels int) ([]int32, diffusion.Drawer) {
	bound, err := p.Bind(context.Background(), sites, levels, 1)
	if err != nil {
		b.Fatal(err)
	}
	d, ok := bound.(diffusion.Drawer)
	if !ok {
		b.Fatalf("%T does not draw", bound)
	}
	return make([]int32, sites), d
}

func logWeights(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// perCall reports microseconds per call.
func perCall(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e3, "µs/call")
	b.ReportMetric(0, "ns/op")
}
