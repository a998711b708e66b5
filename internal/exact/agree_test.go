package exact

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/internal/laws"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tail sums P(X ≥ k), X ~ Binomial(n, p), term by term.
func tail(k, n int, p float64) float64 {
	var s laws.Accumulator
	ln, _ := math.Lgamma(float64(n + 1))
	for j := k; j <= n; j++ {
		lj, _ := math.Lgamma(float64(j + 1))
		lr, _ := math.Lgamma(float64(n - j + 1))
		s.Add(math.Exp(ln - lj - lr + float64(j)*math.Log(p) + float64(n-j)*math.Log1p(-p)))
	}
	return s.Value()
}

func TestBinomialPValueIsTheSumOfItsTerms(t *testing.T) {
	SkipRepeated(t)
	SkipUnderRace(t)
	for _, n := range []int{1, 2, 7, 100, 5000, 1_000_000} {
		for _, p := range []float64{1e-6, 0.01, 0.3, 0.5, 0.97} {
			sd := math.Sqrt(float64(n) * p * (1 - p))
			for _, z := range []float64{-6, -3, -1, 0, 1, 3, 6} {
				k := int(math.Round(float64(n)*p + z*sd))
				if k < 0 || k > n {
					continue
				}
				upper := tail(k, n, p)
				lower := tail(n-k, n, 1-p)
				want := math.Min(1, 2*math.Min(upper, lower))
				// Lgamma of a million loses 1e-9 relative in the sum.
				assert.InEpsilon(t, want, BinomialPValue(k, n, p), 1e-7, "k=%d n=%d p=%v", k, n, p)
			}
		}
	}
}

func TestBinomialPValueAtTheEdges(t *testing.T) {
	assert.Equal(t, 1.0, BinomialPValue(0, 0, 0.3))
	assert.Equal(t, 1.0, BinomialPValue(0, 9, 0))
	assert.Equal(t, 0.0, BinomialPValue(1, 9, 0))
	assert.Equal(t, 1.0, BinomialPValue(9, 9, 1))
	assert.Equal(t, 0.0, BinomialPValue(8, 9, 1))
	assert.Panics(t, func() { BinomialPValue(3, 2, 0.5) })
	assert.Panics(t, func() { BinomialPValue(1, 2, math.NaN()) })
	assert.Panics(t, func() { BinomialPValue(1, 2, -0.1) })
}

// draw adds n draws from p to counts.
func draw(r *rand.Rand, counts []int, p []float64, n int) {
	for range n {
		u, k := r.Float64(), 0
		for k < len(p)-1 && u >= p[k] {
			u -= p[k]
			k++
		}
		counts[k]++
	}
}

// geometric has cells from ½ down to 2⁻¹¹, most of which get pooled.
func geometric() []float64 {
	p := make([]float64, 12)
	for k := range p {
		p[k] = math.Ldexp(1, -k-1)
	}
	p[11] *= 2
	return p
}

func TestPValueCalibration(t *testing.T) {
	SkipRepeated(t)
	SkipUnderRace(t)
	const trials = 4000
	laws := map[string][]float64{"uniform": {.25, .25, .25, .25}, "ramp": ramp(30), "geometric": geometric(), "coin": {.9, .1}}
	for name, p := range laws {
		for _, n := range []int{5, 100, 3000} {
			r := rand.New(rand.NewPCG(7, uint64(n)))
			rates := []float64{0.5, 0.1, 0.01, 0.001}
			below := make([]int, len(rates))
			for range trials {
				counts := make([]int, len(p))
				draw(r, counts, p, n)
				v := PValue(counts, p)
				for j, rate := range rates {
					if v <= rate {
						below[j]++
					}
				}
			}
			for j, rate := range rates {
				// A rate that is kept is exceeded this often once in a million.
				assert.Greater(t, tail(below[j], trials, rate), 1e-6, "%s n=%d rate=%v: %d of %d", name, n, rate, below[j], trials)
			}
			if n == 3000 && name != "coin" {
				// And the bound is not empty: half the promise is used.
				assert.Greater(t, below[1], trials/10/4, name)
			}
		}
	}
}

func TestPValueFindsBrokenTwins(t *testing.T) {
	p := ramp(32)
	one := append([]float64(nil), p...) // mass moves between two cells
	one[3] += p[3] / 2
	one[30] -= p[3] / 2
	many := make([]float64, len(p)) // every cell is 4 % off
	for k := range p {
		many[k] = p[k] * (1 + 0.04*float64(1-2*(k%2)))
	}
	s := Sum(many)
	for k := range many {
		many[k] /= s
	}
	r := rand.New(rand.NewPCG(3, 4))
	for name, twin := range map[string][]float64{"one": one, "many": many} {
		counts := make([]int, len(p))
		draw(r, counts, twin, 100_000)
		assert.Less(t, PValue(counts, p), 1e-6, name)
		Counts(t, counts, twin, 1e-6)
	}
	good := make([]int, len(p))
	draw(r, good, p, 100_000)
	Counts(t, good, p, 1e-6)
	impossible := []int{500, 500, 1}
	assert.Zero(t, PValue(impossible, []float64{.5, .5, 0}))
}

// recorder records failures.
type recorder []string

func (v *recorder) Helper() {}
func (v *recorder) Errorf(format string, args ...any) {
	*v = append(*v, fmt.Sprintf(format, args...))
}

func TestCountsNamesTheWorstCell(t *testing.T) {
	var v recorder
	Counts(&v, []int{10, 90}, []float64{.5, .5}, 1e-6)
	require.Len(t, v, 1)
	assert.Contains(t, v[0], "worst cell 0: 10 of 100 draws, want about 50.0")
	Counts(&v, []int{45, 55}, []float64{.5, .5}, 1e-6)
	assert.Len(t, v, 1)
}

func TestTransitions(t *testing.T) {
	pi := ramp(8)
	p, twin := metropolis(pi, false), metropolis(pi, true)
	r := rand.New(rand.NewPCG(5, 6))
	counts := make([][]int, 8)
	for x := range 7 { // row 7 is not observed
		counts[x] = make([]int, 8)
		draw(r, counts[x], p.Row(x), 20_000)
	}
	var v recorder
	Transitions(&v, counts, p, 1e-6)
	assert.Empty(t, v)
	Transitions(&v, counts, twin, 1e-6)
	assert.Len(t, v, 1)
	none, _ := TransitionsPValue(make([][]int, 8), p)
	assert.Equal(t, 1.0, none)
	assert.Panics(t, func() { TransitionsPValue(counts[:7], p) })
}

func TestPValueRefuses(t *testing.T) {
	assert.Equal(t, 1.0, PValue([]int{0, 0}, []float64{.5, .5}))
	assert.Equal(t, 1.0, PValue([]int{7}, []float64{1}))
	assert.Panics(t, func() { PValue([]int{1}, []float64{.5, .5}) })
	assert.Panics(t, func() { PValue(nil, nil) })
	assert.Panics(t, func() { PValue([]int{1, -1}, []float64{.5, .5}) })
	assert.Panics(t, func() { PValue([]int{1, 1}, []float64{.5, .4}) })
	assert.Panics(t, func() { PValue([]int{1, 1}, []float64{math.NaN(), .5}) })
	var v recorder
	assert.Panics(t, func() { Counts(&v, []int{1, 1}, []float64{.5, .5}, 0) })
}
