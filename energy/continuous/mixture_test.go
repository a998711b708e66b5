package continuous_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

// mix is a mixture in two dimensions with its parameters.
func mix(t testing.TB) *continuous.Mixture {
	m, err := continuous.NewDiagonal([]float64{1, 3}, []float64{-1, 0.5, 2, 1}, []float64{0.5, 0.25, 1, 2})
	require.NoError(t, err)
	return m
}

// density is the mixture's, from its definition.
func density(x, y float64) float64 {
	normal := func(x, m, v float64) float64 { return math.Exp(-(x-m)*(x-m)/(2*v)) / math.Sqrt(2*math.Pi*v) }
	return 0.25*normal(x, -1, 0.5)*normal(y, 0.5, 0.25) + 0.75*normal(x, 2, 1)*normal(y, 1, 2)
}

// integrate sums f over a grid that is wide and fine enough for sums of smooth
// functions to be exact to 1e-10: the trapezoid rule on Gaussians.
func integrate(f func(x, y float64) float64) float64 {
	const h = 0.05
	sum := 0.0
	for x := -9.0; x < 12; x += h {
		for y := -12.0; y < 14; y += h {
			sum += f(x, y)
		}
	}
	return sum * h * h
}

func TestGaussianMixture(t *testing.T) {
	m := mix(t)
	require.Equal(t, 2, m.Sites())
	require.Equal(t, 2, m.Components())
	x := []float32{0.5, -0.25, 3, 2, -1, 1}
	e := make([]float64, 3)
	m.Energy(e, x)
	for s := range e {
		require.InDelta(t, -math.Log(density(float64(x[2*s]), float64(x[2*s+1]))), e[s], 1e-12)
	}
	exact.Score(t, m, x)
	mean := make([]float64, 2)
	m.Mean(mean)
	require.InDeltaSlice(t, []float64{1.25, 0.875}, mean, 1e-14)
}

func TestGaussianMixtureTilt(t *testing.T) {
	m := mix(t)
	tilt := []float64{0.3, -0.7}
	tilted, logZ := m.Tilt(tilt)
	w := func(x, y float64) float64 { return density(x, y) * math.Exp(0.3*x-0.7*y) }
	z := integrate(w)
	require.InDelta(t, math.Log(z), logZ, 1e-9)
	mean := make([]float64, 2)
	tilted.Mean(mean)
	require.InDelta(t, integrate(func(x, y float64) float64 { return x * w(x, y) })/z, mean[0], 1e-9)
	require.InDelta(t, integrate(func(x, y float64) float64 { return y * w(x, y) })/z, mean[1], 1e-9)
	e := make([]float64, 1)
	tilted.Energy(e, []float32{1, 2})
	require.InDelta(t, -math.Log(w(1, 2)/z), e[0], 1e-9)
}

// The posterior mean is Bayes' rule, by integration.
func TestGaussianMixturePosterior(t *testing.T) {
	m := mix(t)
	x := []float32{0.5, -0.25, 1, 0.5, 1, 0.5}
	alpha := []float64{0.9, 0.2, 0.2}
	for _, tilt := range [][]float64{nil, {0.3, -0.7}} {
		v := make([]float32, len(x))
		m.Posterior(v, x, alpha, tilt)
		for s, a := range alpha {
			w := func(x0, y0 float64) float64 {
				dx, dy := float64(x[2*s])-math.Sqrt(a)*x0, float64(x[2*s+1])-math.Sqrt(a)*y0
				l := -(dx*dx + dy*dy) / (2 * (1 - a))
				if tilt != nil {
					l += tilt[0]*x0 + tilt[1]*y0
				}
				return density(x0, y0) * math.Exp(l)
			}
			z := integrate(w)
			require.InDelta(t, integrate(func(x, y float64) float64 { return x * w(x, y) })/z, float64(v[2*s]), 1e-6, "float32")
			require.InDelta(t, integrate(func(x, y float64) float64 { return y * w(x, y) })/z, float64(v[2*s+1]), 1e-6, "float32")
		}
	}
	v := make([]float32, 2)
	// At ᾱ = 1 the state is the sample, at 0 it says nothing.
	m.Posterior(v, x[:2], []float64{1}, nil)
	require.Equal(t, x[:2], v)
	m.Posterior(v, x[:2], []float64{0}, nil)
	require.Equal(t, []float32{1.25, 0.875}, v)
}

func TestGaussianMixtureDraw(t *testing.T) {
	m := mix(t)
	src := rand.NewPCG(1, 2)
	const n = 40000
	var sum, squares float64
	x := make([]float32, 2)
	for range n {
		m.Draw(x, src)
		sum += float64(x[0])
		squares += float64(x[0]) * float64(x[0])
	}
	// E[x] = 1.25, Var = E[v] + Var(m) = 0.875 + 1.6875; E[x⁴] is below 120.
	require.InDelta(t, 1.25, sum/n, 4.9*math.Sqrt(2.5625/n))
	require.InDelta(t, 2.5625+1.25*1.25, squares/n, 4.9*math.Sqrt(120.0/n))
}

func TestGaussianMixtureRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct{ w, m, v []float64 }{
		{nil, nil, nil}, {[]float64{1, 1}, []float64{1, 2, 3}, []float64{1, 1}}, {[]float64{1}, []float64{1, 2}, []float64{1, 1, 1}},
		{[]float64{0}, []float64{1}, []float64{1}}, {[]float64{1}, []float64{nan}, []float64{1}}, {[]float64{1}, []float64{1}, []float64{-1}},
		{[]float64{inf}, []float64{1}, []float64{1}},
	} {
		_, err := continuous.NewDiagonal(c.w, c.m, c.v)
		require.Error(t, err)
	}
}

func TestFullMixtureRefuses(t *testing.T) {
	one := [][]float64{{0}}
	single := func(mean, cov []float64) error {
		return second(continuous.NewMixture([]float64{1}, [][]float64{mean}, [][]float64{cov}))
	}
	for want, err := range map[string]error{
		"0 weights, 1 means":              second(continuous.NewMixture(nil, one, one)),
		"len(means[0]) = 0":               single(nil, nil),
		"weights[0] = 0":                  second(continuous.NewMixture([]float64{0}, one, one)),
		"1 means and 2 covariances":       single([]float64{0}, []float64{1, 1}),
		"means[0][0] = NaN":               single([]float64{math.NaN()}, []float64{1}),
		"2 at (0, 1) and 1 at (1, 0)":     single([]float64{0, 0}, []float64{1, 2, 1, 1}),
		"has the eigenvalue -1, want ≥ 0": single([]float64{0}, []float64{-1}),
	} {
		require.ErrorContains(t, err, want)
	}
}

// mixFull is a mixture with correlations, and its density.
func mixFull(t testing.TB) (*continuous.Mixture, func(x, y float64) float64) {
	w, means, covs := []float64{1, 3}, [][]float64{{1, -1}, {-2, 0.5}}, [][]float64{{1, 0.6, 0.6, 0.8}, {0.5, -0.3, -0.3, 1.2}}
	m, err := continuous.NewMixture(w, means, covs)
	require.NoError(t, err)
	return m, func(x, y float64) float64 {
		p := 0.0
		for k, c := range covs {
			det := c[0]*c[3] - c[1]*c[2]
			u, v := x-means[k][0], y-means[k][1]
			p += w[k] / 4 / (2 * math.Pi * math.Sqrt(det)) * math.Exp(-(c[3]*u*u-2*c[1]*u*v+c[0]*v*v)/(2*det))
		}
		return p
	}
}

func TestFullMixture(t *testing.T) {
	m, density := mixFull(t)
	x := []float32{0.5, -0.25, 3, 2, -1, 1}
	e := make([]float64, 3)
	m.Energy(e, x)
	for s := range e {
		require.InDelta(t, -math.Log(density(float64(x[2*s]), float64(x[2*s+1]))), e[s], 1e-12)
	}
	exact.Score(t, m, x)
	mean, product := make([]float64, 2), make([]float64, 2)
	m.Mean(mean)
	require.InDeltaSlice(t, []float64{-1.25, 0.125}, mean, 1e-14)
	require.InDelta(t, 0.75, m.Component(1, mean), 1e-15)
	require.Equal(t, []float64{-2, 0.5}, mean)
	m.Covariance(1, product, []float64{2, 1})
	require.InDeltaSlice(t, []float64{0.7, 0.6}, product, 1e-15)
	mix(t).Covariance(1, product, []float64{2, 3})
	require.Equal(t, []float64{2, 6}, product)

	// A tilt, and the posterior mean under one, by integration.
	tilt := []float64{0.3, -0.7}
	tilted, logZ := m.Tilt(tilt)
	w := func(x, y float64) float64 { return density(x, y) * math.Exp(0.3*x-0.7*y) }
	z := integrate(w)
	require.InDelta(t, math.Log(z), logZ, 1e-9)
	tilted.Energy(e[:1], []float32{1, 2})
	require.InDelta(t, -math.Log(w(1, 2)/z), e[0], 1e-9)
	v, same := make([]float32, 2), make([]float32, 2)
	m.Posterior(v, x[:2], []float64{0.2}, tilt)
	tilted.Posterior(same, x[:2], []float64{0.2}, nil)
	a := math.Sqrt(0.2)
	noisy := func(x0, y0 float64) float64 {
		dx, dy := 0.5-a*x0, -0.25-a*y0
		return w(x0, y0) * math.Exp(-(dx*dx+dy*dy)/1.6)
	}
	z = integrate(noisy)
	for i, f := range []func(x, y float64) float64{func(x, _ float64) float64 { return x }, func(_, y float64) float64 { return y }} {
		want := integrate(func(x, y float64) float64 { return f(x, y) * noisy(x, y) }) / z
		require.InDelta(t, want, float64(v[i]), 1e-6, "float32")
		require.InDelta(t, want, float64(same[i]), 1e-6, "float32")
	}
	require.Panics(t, func() { _, _ = m.Given(make([]bool, 3)) })
}

func TestFullMixtureDraw(t *testing.T) {
	m, _ := mixFull(t)
	src := rand.NewPCG(3, 4)
	const n = 40000
	var sum, product float64
	x := make([]float32, 2)
	for range n {
		m.Draw(x, src)
		sum += float64(x[0])
		product += float64(x[0]) * float64(x[1])
	}
	// Var x = 0.625 + 1.6875; E[xy] = ¼(0.6 − 1) + ¾(−0.3 − 1); E[x²y²] is
	// below √(E[x⁴]·E[y⁴]) < 40.
	require.InDelta(t, -1.25, sum/n, 4.9*math.Sqrt(2.3125/n))
	require.InDelta(t, -1.075, product/n, 4.9*math.Sqrt(40.0/n))
}

// A singular covariance has no density; posterior means and draws are as usual.
func TestSingularMixture(t *testing.T) {
	m, err := continuous.NewMixture([]float64{1}, [][]float64{{1, 2}}, [][]float64{{1, 1, 1, 1}})
	require.NoError(t, err)
	e, s, x := make([]float64, 1), make([]float32, 2), []float32{1, 2}
	m.Energy(e, x)
	m.Score(s, x)
	require.True(t, math.IsNaN(e[0]) && math.IsNaN(float64(s[0])))
	m.Draw(x, rand.NewPCG(1, 1))
	require.InDelta(t, 1, float64(x[1]-x[0]), 1e-6, "on the line")
	m.Posterior(s, []float32{3, 3}, []float64{0.5}, nil)
	require.InDelta(t, 1, float64(s[1]-s[0]), 1e-6, "on the line")
}

// Far from every component the posterior is still that of the differences: without a
// signal, the prior.
func TestPosteriorFarAway(t *testing.T) {
	m := exact.Must(continuous.NewDiagonal([]float64{0.9, 0.1}, []float64{0, 1}, []float64{1, 1}))
	for _, x := range []float32{0, 1e6, 1e9, 1e15} {
		v := make([]float32, 1)
		m.Posterior(v, []float32{x}, []float64{0}, nil)
		require.InDelta(t, 0.1, v[0], 1e-7, "x = %v", x)
	}
}

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
