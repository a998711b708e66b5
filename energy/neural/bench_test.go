package neural

import (
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/simd"
)

// The products of one forward pass of 6 × 256, L 64, V 512, batch 32, alone and
// within the network: the share is the quotient of the two figures of a sitting.
func BenchmarkForward(b *testing.B) {
	cfg := Config{Length: 64, Levels: 512, Width: 256, Heads: 8, Blocks: 6}
	const batch, chunk = 32, 8
	rows := chunk * cfg.Length
	flop := 2 * float64(batch*cfg.Length) * float64(cfg.Blocks*(12*cfg.Width*cfg.Width+2*cfg.Length*cfg.Width)+cfg.Width*cfg.Levels)
	report := func(b *testing.B) {
		b.ReportMetric(flop*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
	}
	b.Run("network", func(b *testing.B) {
		net, err := New(cfg, rand.NewPCG(1, 1))
		if err != nil {
			b.Fatal(err)
		}
		in := randomInput(cfg, chunk, 1)
		p := net.NewPass(chunk)
		y := make([]float32, rows*cfg.Levels)
		for b.Loop() {
			for range batch / chunk {
				p.Forward(in)
				p.Output(y, nil)
			}
		}
		report(b)
	})
	b.Run("products", func(b *testing.B) {
		w := cfg.Width
		work := make([]float32, rows*4*w)
		x, q, weights := make([]float32, rows*4*w), make([]float32, rows*4*w), make([]float32, 4*w*w)
		for b.Loop() {
			for range batch / chunk {
				for range cfg.Blocks {
					simd.GemmT(q[:rows*3*w], x[:rows*w], weights[:3*w*w], rows, 3*w, w)
					for range chunk * cfg.Heads {
						n, d := cfg.Length, w/cfg.Heads
						simd.GemmT(work[:n*n], x[:n*d], q[:n*d], n, n, d)
						simd.Gemm(work[:n*d], x[:n*n], q[:n*d], n, d, n)
					}
					simd.GemmT(work[:rows*w], x[:rows*w], weights[:w*w], rows, w, w)
					simd.GemmT(q[:rows*4*w], x[:rows*w], weights, rows, 4*w, w)
					simd.GemmT(work[:rows*w], q[:rows*4*w], weights, rows, w, 4*w)
				}
				simd.GemmT(q[:rows*2*w], x[:rows*w], weights[:2*w*w], rows, 2*w, w)
			}
		}
		report(b)
	})
}

func BenchmarkTraining(b *testing.B) {
	cfg := Config{Length: 32, Levels: 20, Width: 128, Heads: 4, Blocks: 4}
	net := randomNet(b, cfg, 1)
	in := randomInput(cfg, 8, 1)
	p := net.NewTraining(8)
	y := make([]float32, 8*cfg.Length*cfg.Levels)
	for b.Loop() {
		for range 8 {
			p.Forward(in)
			p.Output(y, nil)
			p.Backward(y)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/step")
}

// The field of one state of the posterior of the COMPAS experiment (Zhang, Liu and Liu
// 2022, section 6.4): 4888 rows, 7501 weights. A step of DMALA of 50 chains is 50 of them.
func BenchmarkPosterior(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y := make([]float32, 4888*13), make([]float32, 4888)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for i := range y {
		y[i] = float32(r.IntN(2))
	}
	m, err := NewPosterior(x, y, 500, 100, 0)
	if err != nil {
		b.Fatal(err)
	}
	n, _ := m.Shape()
	state, e, h := make([]int32, n), make([]float64, 1), make([]float32, n)
	for i := range state {
		state[i] = int32(r.IntN(2))
	}
	for b.Loop() {
		m.Field(e, h, state)
	}
}
