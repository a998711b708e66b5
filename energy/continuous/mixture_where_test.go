package continuous_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/stretchr/testify/require"
)

// turned is mix, turned by an angle: its covariances are full.
func turned(t testing.TB, angle float64) *continuous.Mixture {
	c, s := math.Cos(angle), math.Sin(angle)
	cov := func(a, b float64) []float64 {
		return []float64{c*c*a + s*s*b, c * s * (a - b), c * s * (a - b), s*s*a + c*c*b}
	}
	at := func(x, y float64) []float64 { return []float64{c*x - s*y, s*x + c*y} }
	m, err := continuous.NewMixture([]float64{1, 3}, [][]float64{at(-1, 0.5), at(2, 1)}, [][]float64{cov(0.5, 0.25), cov(1, 2)})
	require.NoError(t, err)
	return m
}

// along integrates f over the line of the points that satisfy ax + by = y.
func along(a, b, value float64, f func(x, y float64) float64) float64 {
	const h = 0.01
	norm, sum := math.Hypot(a, b), 0.0
	x, y := a*value/(norm*norm), b*value/(norm*norm)
	for u := -15.0; u < 15; u += h {
		sum += f(x-b*u/norm, y+a*u/norm)
	}
	return sum * h / norm // δ(ax + by − value) is 1/norm along the line
}

// The mixture given an equation has the moments of its density along the line;
// one that keeps the weights has not.
func TestWhereIsTheDensityOnTheLine(t *testing.T) {
	const angle = 0.7
	for name, m := range map[string]*continuous.Mixture{"diagonal": mix(t), "full": turned(t, angle)} {
		for _, value := range []float64{-1.5, 0.2, 2.5} {
			a, b := 1.0, 0.5
			p := density
			if name == "full" {
				c, s := math.Cos(angle), math.Sin(angle)
				p = func(x, y float64) float64 { return density(c*x+s*y, c*y-s*x) }
			}
			given, logp, err := m.Where([]float64{a, b}, []float64{value})
			require.NoError(t, err)
			z := along(a, b, value, p)
			require.InDelta(t, math.Log(z), logp, 1e-10, name)
			mean := make([]float64, 2)
			given.Mean(mean)
			require.InDelta(t, along(a, b, value, func(x, y float64) float64 { return x * p(x, y) })/z, mean[0], 1e-9)
			require.InDelta(t, value, a*mean[0]+b*mean[1], 1e-12)
			square := 0.0
			for k := range given.Components() {
				part, col := make([]float64, 2), make([]float64, 2)
				w := given.Component(k, part)
				given.Covariance(k, col, []float64{1, 0})
				square += w * (part[0]*part[0] + col[0])
			}
			require.InDelta(t, along(a, b, value, func(x, y float64) float64 { return x * x * p(x, y) })/z, square, 1e-9)
			broken := 0.0 // components given the equation, with the weights of before
			for k := range given.Components() {
				part := make([]float64, 2)
				given.Component(k, part)
				broken += m.Component(k, make([]float64, 2)) * part[0]
			}
			require.Greater(t, math.Abs(broken-mean[0]), 1e-3)
			x := make([]float32, 2)
			src := rand.NewPCG(1, 1)
			for range 20 {
				given.Draw(x, src)
				require.InDelta(t, value, a*float64(x[0])+b*float64(x[1]), 1e-6)
			}
		}
	}
}

// A second equation after a first is both at once; a component far away is left
// out.
func TestWhereTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n = 5
	var weights []float64
	var means, covs [][]float64
	for range 4 {
		root, mean, cov := make([]float64, n*n), make([]float64, n), make([]float64, n*n)
		for i := range root {
			root[i] = rng.NormFloat64()
		}
		for i := range n {
			mean[i] = 2 * rng.NormFloat64()
			for j := range n {
				for k := range n {
					cov[i*n+j] += root[i*n+k] * root[j*n+k]
				}
			}
		}
		weights, means, covs = append(weights, rng.Float64()), append(means, mean), append(covs, cov)
	}
	means[3][0] = 1e6
	m, err := continuous.NewMixture(weights, means, covs)
	require.NoError(t, err)
	rows := make([]float64, 2*n)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	both, logBoth, err := m.Where(rows, []float64{0.3, -1})
	require.NoError(t, err)
	one, logOne, err := m.Where(rows[:n], []float64{0.3})
	require.NoError(t, err)
	two, logTwo, err := one.Where(rows[n:], []float64{-1})
	require.NoError(t, err)
	require.InDelta(t, logBoth, logOne+logTwo, 1e-9)
	require.Equal(t, 3, both.Components())
	want, got := make([]float64, n), make([]float64, n)
	both.Mean(want)
	two.Mean(got)
	require.InDeltaSlice(t, want, got, 1e-9)

	for what, c := range map[string]struct{ rows, values []float64 }{
		"one or more":  {nil, nil},
		"want 5":       {rows[:3], []float64{1}},
		"as many":      {make([]float64, 6*n), make([]float64, 6)},
		"rows[0] = N":  {[]float64{math.NaN(), 0, 0, 0, 0}, []float64{1}},
		"values[0] = ": {rows[:n], []float64{math.Inf(1)}},
		"dependent":    {append(append([]float64{}, rows[:n]...), rows[:n]...), []float64{1, 1}},
	} {
		_, _, err := m.Where(c.rows, c.values)
		require.ErrorContains(t, err, what)
	}
	_, _, err = one.Where(rows[:n], []float64{0.3})
	require.ErrorContains(t, err, "no variance along")
}

// Mean, covariance and draws of x_0 given x_t are Bayes' rule, by integration.
func TestMomentsOfThePosterior(t *testing.T) {
	const angle = 0.7
	c, s := math.Cos(angle), math.Sin(angle)
	for name, m := range map[string]*continuous.Mixture{"diagonal": mix(t), "full": turned(t, angle)} {
		p := density
		if name == "full" {
			p = func(x, y float64) float64 { return density(c*x+s*y, c*y-s*x) }
		}
		x := []float32{0.5, 0.75}
		for _, alpha := range []float64{0.2, 0.7} {
			w := func(x0, y0 float64) float64 {
				dx, dy := float64(x[0])-math.Sqrt(alpha)*x0, float64(x[1])-math.Sqrt(alpha)*y0
				return p(x0, y0) * math.Exp(-(dx*dx+dy*dy)/(2*(1-alpha)))
			}
			z := integrate(w)
			expect := func(f func(x, y float64) float64) float64 {
				return integrate(func(x, y float64) float64 { return f(x, y) * w(x, y) }) / z
			}
			mx, my := expect(func(x, _ float64) float64 { return x }), expect(func(_, y float64) float64 { return y })
			xx := expect(func(x, _ float64) float64 { return (x - mx) * (x - mx) })
			xy := expect(func(x, y float64) float64 { return (x - mx) * (y - my) })
			yy := expect(func(_, y float64) float64 { return (y - my) * (y - my) })
			mean, product := make([]float64, 2), make([]float64, 4)
			trace := m.Moments(mean, product, []float64{1, 0, 2, -1}, x, alpha)
			require.InDeltaSlice(t, []float64{mx, my}, mean, 1e-8, name)
			require.InDeltaSlice(t, []float64{xx, xy, 2*xx - xy, 2*xy - yy}, product, 1e-8, name)
			require.InDelta(t, xx+yy, trace, 1e-8)

			const n = 20000
			var first, second float64
			src := []rand.Source{rand.NewPCG(1, 2)}
			for range n {
				x0 := []float32{x[0], x[1]}
				m.DrawPosterior(x0, x0, []float64{alpha}, src)
				first += float64(x0[0]) / n
				second += (float64(x0[0]) - mx) * (float64(x0[1]) - my) / n
			}
			require.InDelta(t, mx, first, 4.9*math.Sqrt(xx/n))
			fourth := expect(func(x, y float64) float64 { return (x - mx) * (x - mx) * (y - my) * (y - my) })
			require.InDelta(t, xy, second, 4.9*math.Sqrt(fourth/n))
		}
	}
	require.Panics(t, func() {
		mix(t).Moments(make([]float64, 2), make([]float64, 3), make([]float64, 3), make([]float32, 2), 0.5)
	})
	for want, src := range map[string]rand.Source{"nil": nil, "(*rand.PCG)(nil), want a value": (*rand.PCG)(nil)} {
		require.PanicsWithValue(t, "continuous: Mixture: DrawPosterior: src[1] = "+want, func() {
			mix(t).DrawPosterior(make([]float32, 4), make([]float32, 4), []float64{0.5, 0.5}, []rand.Source{rand.NewPCG(1, 1), src})
		})
	}
}
