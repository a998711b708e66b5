package twisted

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/constraint"
)

// Moments of truncated normals against closed forms where these have digits, and
// against the exponential and the uniform distribution, their limits.
func TestTruncated(t *testing.T) {
	inf := math.Inf(1)
	phi := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	below := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for _, c := range [][2]float64{{-inf, inf}, {-1, 2}, {0.3, 0.9}, {-inf, -1.5}, {2.5, inf}, {-8, 0.01}, {1, 1.5}} {
		lo, hi := c[0], c[1]
		z := below(hi) - below(lo)
		edge := func(x float64) float64 {
			if math.IsInf(x, 0) {
				return 0
			}
			return x * phi(x)
		}
		mean := (phi(lo) - phi(hi)) / z
		logp, m, v := truncated(lo, hi)
		assert.InDelta(t, math.Log(z), logp, 1e-10, "%v", c)
		assert.InDelta(t, mean, m, 1e-10, "%v", c)
		assert.InDelta(t, 1+(edge(lo)-edge(hi))/z-mean*mean, v, 1e-9, "%v", c)
	}
	logp, m, v := truncated(60, inf) // an exponential of rate 60, nearly
	assert.InDelta(t, -1800-math.Log(60*math.Sqrt(2*math.Pi))+math.Log1p(-1.0/3600+3.0/3600/3600), logp, 1e-9)
	assert.InDelta(t, 60+1.0/60-2/216000.0, m, 1e-6)
	assert.InDelta(t, 1.0/3600, v, 1e-6)
	_, m, v = truncated(-5.000001, -5)
	assert.InDelta(t, -5.0000005, m, 1e-12)
	assert.InDelta(t, 1e-12/12, v, 1e-17)
	_, m, v = truncated(-inf, -60)
	assert.InDelta(t, -60-1.0/60+2/216000.0, m, 1e-6)
	assert.Positive(t, v)
	logp, _, _ = truncated(1, 1)
	assert.True(t, math.IsInf(logp, -1))
}

// gaussian returns the scratch for a system and a Gaussian of its u.
func gaussian(t *testing.T, s constraint.Slabs, n int, seed uint64) (w *propagation, mu, g []float64) {
	r, err := newRows(s, n, 0, false)
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(seed, 1))
	w = newPropagation(r)
	mu, g = make([]float64, r.q), make([]float64, r.q*r.q)
	for i := range r.q {
		mu[i] = rng.NormFloat64()
		for k := range i {
			g[i*r.q+k] = 0.5 * rng.NormFloat64()
		}
		g[i*r.q+i] = 0.5 + rng.Float64()
	}
	return w, mu, g
}

// One bound is found exactly, and so are several that are independent given an
// equation; the sites then have the mean of the truncated normal.
func TestPropagationIsExactForOneBound(t *testing.T) {
	row := func(v ...float64) constraint.Row {
		r := constraint.Row{}
		for i, x := range v {
			r.Index, r.Value = append(r.Index, int32(i)), append(r.Value, x)
		}
		return r
	}
	inf := math.Inf(1)
	w, mu, g := gaussian(t, constraint.Slabs{A: []constraint.Row{row(1, 2, 0), row(0, 1, 1)}, Lower: []float64{0.5, -inf}, Upper: []float64{0.5, -1}}, 3, 1)
	p, c := make([]float64, 1), make([]float64, 1)
	// By hand: u ~ N(μ, GGᵀ), its first entry 0.5/√5, and s = site·u.
	first := (0.5/math.Sqrt(5) - mu[0]) / g[0]
	wantE := -first*first/2 - math.Log(g[0]*math.Sqrt(2*math.Pi))
	got := w.given(mu, g)
	assert.InDelta(t, wantE, got, 1e-12)
	a, b := w.site[0], w.site[1]
	mean := a*(0.5/math.Sqrt(5)) + b*(mu[1]+g[2]*first)
	sd := math.Abs(b) * g[3]
	logp, tm, tv := truncated(-inf, (-1-mean)/sd)
	assert.InDelta(t, logp, w.fit(p, c, 2), 1e-10)
	w.given(mu, g)
	w.evidence(p, c)
	s := w.base[0] + w.slope[0]*w.mean[0]
	assert.InDelta(t, mean+sd*tm, s, 1e-9)
	assert.InDelta(t, tv*sd*sd, w.slope[0]*w.slope[0]/(w.factor[0]*w.factor[0]), 1e-9)
}

// Two dependent bounds: expectation propagation is within a percent of an
// integral, and the sites are those that a third and fourth sweep leave alone.
func TestPropagationOfTwoBounds(t *testing.T) {
	inf := math.Inf(1)
	s := constraint.Slabs{
		A:     []constraint.Row{{Index: []int32{0}, Value: []float64{1}}, {Index: []int32{0, 1}, Value: []float64{1, 1}}},
		Lower: []float64{0, -0.2}, Upper: []float64{inf, 0.7},
	}
	w, mu, g := gaussian(t, s, 2, 5)
	p, c := make([]float64, 2), make([]float64, 2)
	w.given(mu, g)
	got := w.fit(p, c, 8)
	total, h := 0.0, 0.01
	for x := -9.0; x < 9; x += h {
		for y := -9.0; y < 9; y += h {
			u0, u1 := mu[0]+g[0]*x, mu[1]+g[2]*x+g[3]*y
			s1 := w.site[2]*u0 + w.site[3]*u1
			if w.site[0]*u0 >= 0 && s1 >= -0.2 && s1 <= 0.7 {
				total += math.Exp(-(x*x+y*y)/2) / (2 * math.Pi) * h * h
			}
		}
	}
	assert.InDelta(t, math.Log(total), got, 0.02)
	two := [2][]float64{make([]float64, 2), make([]float64, 2)}
	w.given(mu, g)
	assert.InDelta(t, got, w.fit(two[0], two[1], 2), 0.02)
}

// Rows that follow from others are left out, and those that contradict them are
// errors.
func TestRows(t *testing.T) {
	inf := math.Inf(1)
	sum := constraint.Row{Index: []int32{0, 1}, Value: []float64{1, 1}}
	twice := constraint.Row{Index: []int32{0, 1}, Value: []float64{2, 2}}
	one := constraint.Row{Index: []int32{2}, Value: []float64{1}}
	system := func(lo, hi []float64, a ...constraint.Row) constraint.Slabs {
		return constraint.Slabs{A: a, Lower: lo, Upper: hi}
	}
	r, err := newRows(system([]float64{1, 2, -inf, 0, -inf}, []float64{1, 2, 2.5, 0.1, inf}, sum, twice, twice, one, one), 3, 0, false)
	require.NoError(t, err)
	assert.Equal(t, [3]int{1, 2, 1}, [3]int{r.fixed, r.q, r.sites()})
	r, err = newRows(system([]float64{1, 0}, []float64{1, 0.1}, sum, one), 3, 0.1, true)
	require.NoError(t, err)
	assert.Equal(t, [3]int{2, 3, 0}, [3]int{r.fixed, r.q, r.sites()})
	assert.InDelta(t, 0.05, r.value[1], 1e-15)
	for what, s := range map[string]constraint.Slabs{
		"equations contradict":          system([]float64{1, 3}, []float64{1, 3}, sum, twice),
		"make the sum of an inequality": system([]float64{1, 3}, []float64{1, inf}, sum, twice),
		"no row has bounds":             system([]float64{-inf}, []float64{inf}, sum),
		"Lower[0] = NaN":                system([]float64{math.NaN()}, []float64{0}, sum),
		"twisted: Slabs: A[0].Inde":     system([]float64{0}, []float64{0}, constraint.Row{Index: []int32{3}, Value: []float64{1}}),
	} {
		_, err := newRows(s, 3, 0, false)
		if what[:7] == "twisted" {
			require.ErrorContains(t, err, "Index[0] = 3")
			continue
		}
		require.ErrorContains(t, err, what)
	}
}
