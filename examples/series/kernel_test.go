package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/denoise"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// few are seven kernels of two sizes in four dimensions, and the same as a mixture.
func few(t *testing.T) (*kernels, *continuous.Mixture) {
	const n, count = 4, 7
	r := rand.New(rand.NewPCG(3, 4))
	random := func(size int) (x []float64) {
		for range size {
			x = append(x, r.NormFloat64())
		}
		return x
	}
	var qr mat.QR
	qr.Factorize(mat.NewDense(n, n, random(n*n)))
	k := &kernels{n: n, mean: random(n), basis: &mat.Dense{}, values: []float64{0.01, 0.2, 1, 3}, y: random(n * count), size: []float64{0.1, 0.7}, of: []int{0, 1, 1, 0, 1, 0, 0}}
	qr.QTo(k.basis)
	weights, means, covs := make([]float64, count), make([][]float64, count), make([][]float64, count)
	for j := range count {
		var at mat.VecDense
		at.MulVec(k.basis, mat.NewVecDense(n, k.y[j*n:(j+1)*n]))
		at.AddVec(&at, mat.NewVecDense(n, k.mean))
		var half mat.Dense
		half.Apply(func(_, i int, v float64) float64 { return v * math.Sqrt(k.size[k.of[j]]*k.values[i]) }, k.basis)
		var cov mat.Dense
		cov.Mul(&half, half.T())
		weights[j], means[j], covs[j] = 1, at.RawVector().Data, cov.RawMatrix().Data
	}
	m, err := continuous.NewMixture(weights, means, covs)
	require.NoError(t, err)
	return k, m
}

// Predictions and their covariances are those of the mixture, which computes every
// component by itself.
func TestKernelsAreAMixture(t *testing.T) {
	k, m := few(t)
	exact, err := denoise.NewMixture(m)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(5, 6))
	for _, alpha := range []float64{0.001, 0.3, 0.9, 0.9999} {
		x := make([]float32, 4)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		q := energy.Noised[float32]{X: x, Time: []float64{0.5}, Alpha: []float64{alpha}}
		mine, want := make([]float32, 4), make([]float32, 4)
		require.NoError(t, k.Denoise(context.Background(), mine, q))
		require.NoError(t, exact.Denoise(context.Background(), want, q))
		for i := range want {
			assert.InDelta(t, want[i], mine[i], 1e-5)
		}
		rows := []float64{1, 0, 2, -1, 0, 1, 0, 0.5}
		mean, product := make([]float64, 4), make([]float64, 8)
		otherMean, otherProduct := make([]float64, 4), make([]float64, 8)
		trace, err := k.Moments(mean, product, rows, x, alpha)
		require.NoError(t, err)
		otherTrace, err := exact.Moments(otherMean, otherProduct, rows, x, alpha)
		require.NoError(t, err)
		assert.InDelta(t, otherTrace, trace, 1e-9)
		assert.InDeltaSlice(t, otherMean, mean, 1e-9)
		assert.InDeltaSlice(t, otherProduct, product, 1e-9)
	}
	assert.ErrorContains(t, k.Denoise(context.Background(), make([]float32, 4), energy.Noised[float32]{X: make([]float32, 4), Alpha: []float64{0.5}, Clean: []bool{true, false, false, false}}), "cannot predict clean entries")
}

// Draws given equations meet them and have the mean and the spread of the mixture given
// these.
func TestKernelsGivenEquations(t *testing.T) {
	k, m := few(t)
	rows, values := []float64{1, 1, 0, 0, 0, 0, 1, -1}, []float64{0.3, -0.2}
	given, err := k.Where(rows, values)
	require.NoError(t, err)
	exact, _, err := m.Where(rows, values)
	require.NoError(t, err)
	const draws = 40000
	src, other := rand.NewPCG(1, 2), rand.NewPCG(3, 4)
	var mine, want [2][4]float64
	x := make([]float32, 4)
	for range draws {
		given.Draw(x, src)
		require.InDelta(t, 0.3, float64(x[0]+x[1]), 1e-5)
		require.InDelta(t, -0.2, float64(x[2]-x[3]), 1e-5)
		for i, v := range x {
			mine[0][i], mine[1][i] = mine[0][i]+float64(v)/draws, mine[1][i]+float64(v*v)/draws
		}
		exact.Draw(x, other)
		for i, v := range x {
			want[0][i], want[1][i] = want[0][i]+float64(v)/draws, want[1][i]+float64(v*v)/draws
		}
	}
	for i := range 4 { // five standard errors of numbers of variance about 1
		assert.InDelta(t, want[0][i], mine[0][i], 5*math.Sqrt(2.0/draws))
		assert.InDelta(t, want[1][i], mine[1][i], 5*math.Sqrt(8.0/draws))
	}
}

// Kernels of the shape of the data put fewer bars on their own ends than round ones.
func TestBarsUnderLimits(t *testing.T) {
	path := share(t, 1500)
	edges := func(bandwidth string) float64 {
		o, err := parse([]string{"-csv", path, "-columns", "Open,High,Low,Close", "-heldout", "12", "-length", "12", "-training", "600", "-steps", "20", "-method", "cps", "-bandwidth", bandwidth})
		require.NoError(t, err)
		p, err := load(context.Background(), o)
		require.NoError(t, err)
		all, err := p.repeat(context.Background(), o, methods[0])
		require.NoError(t, err)
		edge, count := 0.0, 0.0
		for i := range p.starts {
			var raw [4][]float64
			for k := range raw {
				raw[k] = p.raw(all[0].window(p, i, 0), p.prices[k])
			}
			for r := range p.length {
				open, high, low, last := raw[0][r], raw[1][r], raw[2][r], raw[3][r]
				if near := 1e-5 * high; high-max(open, last) < near || min(open, last)-low < near {
					edge++
				}
				count++
			}
		}
		return edge / count
	}
	shaped, round := edges("0"), edges("0.05")
	assert.Less(t, shaped, 0.6*round, "%v of bars with open or close on high or low", shaped)
}
