package exact

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// metropolis is the Metropolis chain for pi with uniform proposals on a ring.
func metropolis(pi []float64, broken bool) *Matrix {
	n := len(pi)
	return NewMatrix(n, func(x int, dst []float64) {
		stay := 1.0
		for _, y := range []int{(x + 1) % n, (x + n - 1) % n} {
			a := math.Min(1, pi[y]/pi[x])
			if broken {
				a = math.Min(1, math.Sqrt(pi[y]/pi[x]))
			}
			dst[y] += a / 2
			stay -= a / 2
		}
		dst[x] += stay
	})
}

func ramp(n int) []float64 {
	p := make([]float64, n)
	for k := range p {
		p[k] = float64(k+1) / float64(n*(n+1)/2)
	}
	return p
}

func TestMatrixKnowsItsLaw(t *testing.T) {
	pi := ramp(40)
	p := metropolis(pi, false)
	// Bounds: a handful of roundings of numbers ≤ 1.
	assert.LessOrEqual(t, p.RowError(), 1e-15)
	assert.LessOrEqual(t, p.MaxDiff(pi), 1e-16)
	assert.LessOrEqual(t, p.DetailedBalance(pi), 1e-16)
	assert.InDeltaSlice(t, pi, p.Stationary(), 1e-15)
	assert.LessOrEqual(t, p.Mul(p).MaxDiff(pi), 1e-16)

	twin := metropolis(pi, true)
	assert.Greater(t, twin.MaxDiff(pi), 1e-5)
	assert.Greater(t, twin.DetailedBalance(pi), 1e-5)
}

func TestDetailedBalanceIsMoreThanStationarity(t *testing.T) {
	uniform := []float64{1. / 3, 1. / 3, 1. / 3}
	turn := NewMatrix(3, func(x int, dst []float64) { dst[(x+1)%3] = 1 })
	assert.Zero(t, turn.MaxDiff(uniform))
	assert.InDelta(t, 1./3, turn.DetailedBalance(uniform), 1e-15)
	assert.InDeltaSlice(t, uniform, turn.Stationary(), 1e-15, "periodic")
	assert.Equal(t, []float64{0, 0, 1}, turn.Mul(turn).Apply([]float64{1, 0, 0}))
}

func TestStationarySeesTinyProbabilities(t *testing.T) {
	p := NewMatrix(2, func(x int, dst []float64) {
		dst[0], dst[1] = 1-1e-200, 1e-200
		if x == 1 {
			dst[0], dst[1] = 0.5, 0.5
		}
	})
	assert.InEpsilon(t, 2e-200, p.Stationary()[1], 1e-14)
}

func TestStationaryWithTransientStates(t *testing.T) {
	// 0 → 1 → {2, 3}, 2 ↔ 3: the closed class is last and 0 and 1 fade.
	p := NewMatrix(4, func(x int, dst []float64) {
		switch x {
		case 0:
			dst[1] = 1
		case 1:
			dst[2], dst[3] = 0.5, 0.5
		case 2:
			dst[2], dst[3] = 0.25, 0.75
		case 3:
			dst[2], dst[3] = 0.25, 0.75
		}
	})
	assert.InDeltaSlice(t, []float64{0, 0, 0.25, 0.75}, p.Stationary(), 1e-15)
	two := NewMatrix(2, func(x int, dst []float64) { dst[x] = 1 })
	assert.PanicsWithValue(t, "exact: Stationary: two closed classes, want one", func() { two.Stationary() })
	one := NewMatrix(1, func(x int, dst []float64) { dst[0] = 1 })
	assert.Equal(t, []float64{1}, one.Stationary())
}

func TestStationaryOfARandomMatrix(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := NewMatrix(100, func(x int, dst []float64) {
		for y := range dst {
			dst[y] = r.Float64()
		}
		s := Sum(dst)
		for y := range dst {
			dst[y] /= s
		}
	})
	pi := p.Stationary()
	require.InDelta(t, 1, Sum(pi), 1e-14)
	assert.LessOrEqual(t, p.MaxDiff(pi), 1e-16)
}

func TestMatrixRefuses(t *testing.T) {
	assert.Panics(t, func() { NewMatrix(0, nil) })
	assert.Panics(t, func() { NewMatrix(1025, nil) })
	assert.Panics(t, func() { NewMatrix(1, func(_ int, dst []float64) { dst[0] = math.NaN() }) })
	assert.Panics(t, func() { NewMatrix(1, func(_ int, dst []float64) { dst[0] = -1e-300 }) })
	p := NewMatrix(2, func(x int, dst []float64) { dst[x] = 0.5 })
	assert.Equal(t, 2, p.Len())
	assert.Equal(t, 0.5, p.RowError())
	assert.Panics(t, func() { p.Apply([]float64{1}) })
	assert.Panics(t, func() { p.DetailedBalance([]float64{1}) })
	assert.Panics(t, func() { p.Mul(NewMatrix(1, func(int, []float64) {})) })
}
