package pdi_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/pdi"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// authors returns the mixture experiment of Hadou et al. 2026: twelve Gaussians
// in 30 dimensions, standardised, and ten bounds E[aᵀx] ≥ b with b from 0.8 to 2;
// extra bounds are sums of two of those. All inequalities are multiplied by scale.
func authors(t testing.TB, beta, scale float64, extra int) *constrained {
	const d, k, m = 30, 12, 10
	r := rand.New(rand.NewPCG(30, 12))
	w, means, v := make([]float64, k), make([]float64, k*d), make([]float64, k*d)
	for i := range means {
		means[i] = 4 * r.NormFloat64()
	}
	for i := range d {
		mean, square := 0.0, 0.0
		for c := range k {
			mean += means[c*d+i] / k
			square += means[c*d+i] * means[c*d+i] / k
		}
		for c := range k {
			v[c*d+i] = 2 / (square - mean*mean + 2)
			means[c*d+i] = (means[c*d+i] - mean) / math.Sqrt(square-mean*mean+2)
		}
	}
	for c := range w {
		w[c] = 1
	}
	p := &constrained{base: exact.Must(continuous.NewDiagonal(w, means, v))}
	var rows [][]float64
	order := r.Perm(m)
	for j := range m + extra {
		a := make([]float64, d+1)
		if j >= m {
			for i := range a {
				a[i] = (rows[j%m][i] + rows[(j*7+3)%m][i]) / 2
			}
		} else {
			norm := 0.0
			for i := range d {
				a[i] = -r.NormFloat64()
				norm += a[i] * a[i]
			}
			for i := range d {
				a[i] /= math.Sqrt(norm)
			}
			a[d] = 0.8 + 1.2*float64(order[j])/(m-1)
		}
		rows = append(rows, a)
		own := slices.Clone(a)
		for i := range own {
			own[i] *= scale
		}
		p.terms = append(p.terms, exact.Must(continuous.NewLinear(own[:d], own[d])))
	}
	p.predictor = exact.Must(pdi.NewMixture(p.base, beta, atMost(p.terms)...))
	return p
}

// The defaults meet the bounds of the authors' mixture, whatever the units of g,
// with dependent rows, and in a tenth of the steps. The paper's rule, the broken
// twin, does not.
func TestPredictive(t *testing.T) {
	exact.SkipRepeated(t)
	cases := []struct {
		name           string
		scale          float64
		extra          int
		samples, steps int
		allowed        float64
	}{{"50 steps", 1, 0, 1024, 50, 0.01}, {"g × 1e-3", 1e-3, 0, 1024, 50, 0.01}, {"g × 1e3", 1e3, 0, 1024, 50, 0.01},
		{"15 dependent rows", 1, 15, 1024, 50, 0.01}, {"500 steps", 1, 0, 1024, 500, 0.003}}
	if !exact.Long() {
		cases = cases[2:4]
	}
	for _, c := range cases {
		p := authors(t, 1.0/50, c.scale, c.extra)
		d := exact.Must(pdi.New(context.Background(), p.predictor, pdi.Config{}))
		_, worst := p.judge(sample(t, d, c.samples, c.samples, c.steps, 0))
		t.Logf("%s: worst violation %.4f", c.name, worst/c.scale)
		require.LessOrEqual(t, worst/c.scale, c.allowed, c.name)
	}
	p := authors(t, 1.0/50, 1e-3, 0)
	twin := exact.Must(pdi.New(context.Background(), p.predictor, pdi.Config{Rule: dual.Ascent{Step: dual.Constant(0.05)}}))
	_, broken := p.judge(sample(t, twin, 256, 256, 50, 0))
	t.Logf("the paper's rule, g × 1e-3: %.4f", broken/1e-3)
	require.Greater(t, broken/1e-3, 0.1)
}

// Predictions that are estimates: base and raised predictions draw the same
// numbers, so C is that of the exact predictor up to its own error. Noise of its
// own in each is the size of what is looked for.
func TestPredictiveEstimates(t *testing.T) {
	exact.SkipRepeated(t)
	base := exact.Must(continuous.NewDiagonal([]float64{2, 1}, []float64{-1, 0, 1.5, 0.5}, []float64{0.4, 0.3}))
	atLeast := exact.Must(continuous.NewLinear([]float64{-1, 0}, 0.5))
	lag := exact.Must(dual.NewRealLagrangian(base, 1, dual.AtMost(atLeast, 0)))
	p := exact.Must(pdi.NewGibbsScore(lag, pdi.GibbsOptions{Candidates: 128, Center: []float64{0, 0.2}, Spread: []float64{1.5}, Score: true}))
	mean := func(cfg pdi.Config) float64 {
		d := exact.Must(pdi.New(context.Background(), p, cfg))
		x := sample(t, d, 512, 512, 60, 0)
		g := make([]float64, 512)
		lag.Violation(g, x)
		sum := 0.0
		for _, v := range g {
			sum += v / 512
		}
		require.Greater(t, d.Effective()[30], 1.0)
		return sum
	}
	worst, free := mean(pdi.Config{}), mean(pdi.Config{Fixed: true})
	t.Logf("violation %.4f; unconstrained %.4f", worst, free)
	require.LessOrEqual(t, math.Abs(worst), 0.03)
	require.Greater(t, free, 0.3)
}

// A row that is 0 everywhere moves nothing and harms nothing.
func TestPredictiveZeroRow(t *testing.T) {
	base := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{0, 0}, []float64{1}))
	zero := exact.Must(continuous.NewLinear([]float64{0, 0}, 0))
	atLeast := exact.Must(continuous.NewLinear([]float64{-1, 0}, 0.5))
	p := exact.Must(pdi.NewMixture(base, 1, dual.AtMost(zero, 0), dual.AtMost(atLeast, 0)))
	d := exact.Must(pdi.New(context.Background(), p, pdi.Config{}))
	x := sample(t, d, 256, 256, 50, 0)
	c := exact.Must(dual.Judge(p, d.Lambda(), x))
	require.Zero(t, c.Lambda[0])
	require.InDelta(t, 0, c.Violation[1], 0.02)
	require.Positive(t, d.Average()[1])
}

// What the last of few steps reveals is large: λ answers it before the samples leave.
func TestFewSteps(t *testing.T) {
	exact.SkipRepeated(t)
	for seed := 1; seed <= 6; seed++ {
		p := newConstrained(t)
		_, worst := p.judge(run(t, p.predictor, pdi.Config{}, 1024, 50, seed))
		require.LessOrEqual(t, worst, 0.004, "seed %d", seed)
	}
}
