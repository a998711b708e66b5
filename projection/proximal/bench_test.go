package proximal_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/projection/proximal"
)

// smooth returns the posterior mean of six AR(1) channels of unit variance and
// correlation ρ, given x = √ᾱ·x_0 + √(1−ᾱ)·noise, by elimination: the precision
// is tridiagonal.
func smooth(x []float64, rho, alpha float64) []float64 {
	const length, channels = 96, 6
	out := make([]float64, len(x))
	q := 1 / (1 - rho*rho)
	a := alpha / (1 - alpha)
	for c := range channels {
		var diag, rhs [length]float64
		for i := range length {
			diag[i] = q*(1+rho*rho) + a
			if i == 0 || i == length-1 {
				diag[i] = q + a
			}
			rhs[i] = math.Sqrt(alpha) / (1 - alpha) * x[i*channels+c]
		}
		for i := 1; i < length; i++ {
			f := -q * rho / diag[i-1]
			diag[i] -= f * -q * rho
			rhs[i] -= f * rhs[i-1]
		}
		for i := length - 1; i >= 0; i-- {
			if i < length-1 {
				rhs[i] += q * rho * rhs[i+1]
			}
			rhs[i] /= diag[i]
			out[i*channels+c] = rhs[i]
		}
	}
	return out
}

// reverse runs 200 steps of the deterministic reverse diffusion (DDIM) of
// AR(1) channels whose prediction is projected, from noise, and returns every
// prediction with its γ.
func reverse(rng *rand.Rand, solver *proximal.Solver, hard bool) (v [][]float64, gamma []float64) {
	const steps = 200
	alpha := []float64{1}
	for t := range steps {
		alpha = append(alpha, alpha[t]*(1-(1e-4+(0.1-1e-4)*float64(t)/(steps-1))))
	}
	x, z := make([]float64, 576), make([]float64, 576)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for t := steps; t > 0; t-- {
		mean := smooth(x, 0.95, alpha[t])
		g := math.Inf(1)
		if !hard {
			g = min(math.Exp(1/(1-alpha[t-1])), 1e5)
		}
		v, gamma = append(v, mean), append(gamma, g)
		if _, err := solver.Penalised(z, mean, g); err != nil {
			panic(err)
		}
		for i := range x {
			noise := (x[i] - math.Sqrt(alpha[t])*mean[i]) / math.Sqrt(1-alpha[t])
			x[i] = math.Sqrt(alpha[t-1])*z[i] + math.Sqrt(1-alpha[t-1])*noise
		}
	}
	return v, gamma
}

// BenchmarkProximal projects the predictions of a reverse diffusion, each from
// the multipliers of the one before, the first from none: 1194 rows are 66
// constraints, 1578 rows are 450.
func BenchmarkProximal(b *testing.B) {
	for _, ohlc := range []bool{false, true} {
		for _, hard := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(1, 7))
			s, _ := market(rng, ohlc)
			solver, err := proximal.Projector{Set: s}.Compile(b.Context(), 576)
			if err != nil {
				b.Fatal(err)
			}
			v, gamma := reverse(rng, solver, hard)
			z := make([]float64, 576)
			b.Run(fmt.Sprintf("rows=%d/hard=%v", len(s.A), hard), func(b *testing.B) {
				b.ReportAllocs()
				steps, inner, n, gap := 0, 0, 0, 0.0
				for b.Loop() {
					solver.Reset()
					for k := range v {
						c, err := solver.Penalised(z, v[k], gamma[k])
						if err != nil {
							b.Fatal(err)
						}
						steps, inner, n, gap = steps+c.Steps, inner+c.Inner, n+1, max(gap, c.Gap)
					}
				}
				b.ReportMetric(float64(steps)/float64(n), "newton")
				b.ReportMetric(float64(inner)/float64(n), "cg")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/projection")
			})
		}
	}
}

// BenchmarkMetric projects windows of 144 and 576 entries with 384 and 1536 rows in
// the metric of prices, from no multipliers and from those of a neighbour.
func BenchmarkMetric(b *testing.B) {
	for _, length := range []int{24, 96} {
		b.Run(fmt.Sprintf("n=%d", 6*length), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 11))
			set, inside := window(rng, length, true)
			v := make([]float64, len(inside))
			for i := range v {
				v[i] = inside[i] + 0.6*rng.NormFloat64()
			}
			p := proximal.Projector{Set: set, Metric: prices(length, []float64{1, 0.1})}
			benchmarkRows(b, p, 0.1, v, 0.01)
		})
	}
}

// BenchmarkDegenerate projects onto 150 rows of 60 entries through one point.
func BenchmarkDegenerate(b *testing.B) {
	set, v := through(rand.New(rand.NewPCG(0, 12)), 60, 150, false)
	benchmarkRows(b, proximal.Projector{Set: set}, 1, v, 0.01)
}

// benchmarkRows projects v, moved by a little noise every time.
func benchmarkRows(b *testing.B, p proximal.Projector, at float64, v []float64, noise float64) {
	s, err := p.Compile(b.Context(), len(v))
	if err != nil {
		b.Fatal(err)
	}
	s.At(at)
	for _, state := range []string{"cold", "warm"} {
		b.Run(state, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(2, 2))
			z, moved := make([]float64, len(v)), make([]float64, len(v))
			b.ReportAllocs()
			for b.Loop() {
				for i, x := range v {
					moved[i] = x + noise*rng.NormFloat64()
				}
				if state == "cold" {
					s.Reset()
				}
				if _, err := s.Solve(z, moved); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
