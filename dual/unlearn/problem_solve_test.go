package unlearn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/dual/unlearn"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
)

var (
	known     = []float64{0.4, 0.3, 0.2, 0.1}
	forgotten = []float64{0.1, 0.2, 0.3, 0.4}
)

// The four-state figures of the project's list of formulas.
func TestUnlearnKnown(t *testing.T) {
	u := exact.Must(unlearn.New(known, forgotten))
	for _, c := range []struct {
		f            unlearn.Formulation
		b            float64
		lambda, cost float64
	}{
		{unlearn.ReverseKL, 0.8, 0.280936205020, 0.054075329692},
		{unlearn.ForwardKL, 0.6, 0.090574485505, 0.007097172561},
		{unlearn.Likelihood, 0.18, 2.1491573868, 0.020941142277},
	} {
		s, err := u.Solve(t.Context(), c.f, []float64{c.b})
		require.NoError(t, err)
		require.InDelta(t, c.lambda, s.Lambda[0], 1e-8, c.f)
		require.InDelta(t, c.cost, s.Cost, 1e-8, c.f)
		require.InDelta(t, c.b, s.Value[0], 1e-12, c.f)
	}
	_, err := u.Law(unlearn.ForwardKL, []float64{0.25})
	require.NoError(t, err)
	_, err = u.Law(unlearn.ForwardKL, []float64{0.2500001})
	require.ErrorContains(t, err, "at state 3", "λ_max = 0.25")
}

// Ratios of densities go up to 1e30 where q hardly has probability; the bound is
// met on what has.
func TestLikelihoodRatioTails(t *testing.T) {
	const side = 400
	density := func(m float64) []float64 {
		p, sum := make([]float64, side), 0.0
		for k := range p {
			x := -6 + 9*(float64(k)+0.5)/side
			p[k] = math.Exp(-(x - m) * (x - m) / (2 * 0.25))
			sum += p[k]
		}
		for k := range p {
			p[k] /= sum
		}
		return p
	}
	u := exact.Must(unlearn.New(density(0), density(-1.5)))
	for _, b := range []float64{0.9, 0.5, 0.1, 1e-3} {
		s, err := u.Solve(t.Context(), unlearn.LikelihoodRatio, []float64{b})
		require.NoError(t, err, b)
		require.InEpsilon(t, b, s.Value[0], 1e-9)
		require.Positive(t, s.Lambda[0])
	}
}

// Beyond b_crit the dual of the reverse-KL problem has no maximum.
func TestCritical(t *testing.T) {
	u := exact.Must(unlearn.New([]float64{0.7, 0.25, 0.05}, []float64{0.2, 0.75, 0.05}))
	require.InDelta(t, 1.6094379124, u.Critical(), 1e-10)
	_, err := u.Solve(t.Context(), unlearn.ReverseKL, []float64{1.609})
	require.NoError(t, err)
	_, err = u.Solve(t.Context(), unlearn.ReverseKL, []float64{2.2})
	var critical *unlearn.CriticalError
	require.ErrorAs(t, err, &critical)
	require.InDelta(t, 1.6094, critical.Critical, 5e-5)
	require.InDelta(t, 0.9472370315, critical.Supremum, 1e-10)
	require.Contains(t, critical.Error(), "b_crit")

	// Far below b_crit there is a λ, where Newton's steps would land on a frozen distribution.
	u = exact.Must(unlearn.New([]float64{0.103, 0.328, 0.569}, []float64{0.305, 0.010, 0.685}))
	s, err := u.Solve(t.Context(), unlearn.ReverseKL, []float64{4.3056})
	require.NoError(t, err)
	require.InDelta(t, 0.5186, s.Lambda[0], 5e-5)
	require.InDelta(t, 4.3056, s.Value[0], 1e-9)

	// ForwardKL fails for a reason of its own, and states it.
	u = exact.Must(unlearn.New(known, forgotten))
	_, err = u.Solve(t.Context(), unlearn.ForwardKL, []float64{8})
	require.NoError(t, err)
	_, err = u.Solve(t.Context(), unlearn.ForwardKL, []float64{40})
	require.ErrorAs(t, err, &critical)
	require.Equal(t, unlearn.ForwardKL, critical.Formulation)
	require.Regexp(t, "forward-kl: bounds \\[40\\] need λ nearer", err.Error())
	require.NotContains(t, err.Error(), "reverse")
	require.NotContains(t, err.Error(), "crit")
	require.InDelta(t, 0.25, critical.Lambda[0], 1e-6)
	require.Less(t, critical.Value[0], 40.0)
}

// grid returns the distributions of the three-Gaussian grid.
func grid(t testing.TB) *unlearn.Problem {
	const side, sigma = 64, 0.5
	component := func(cx, cy float64) []float64 {
		p := make([]float64, side*side)
		normal := func() {
			sum := 0.0
			for _, v := range p {
				sum += v
			}
			for k := range p {
				p[k] /= sum
			}
		}
		at := func(i int) float64 { return -4 + 8*float64(i)/(side-1) }
		for k := range p {
			x, y := at(k%side)-cx, at(k/side)-cy
			p[k] = math.Exp(-(x*x + y*y) / (2 * sigma * sigma))
		}
		normal()
		for k := range p {
			p[k] += 1e-12
		}
		normal()
		return p
	}
	a, b, c := component(-1.5, -1.5), component(1.5, -1.5), component(1.5, 1.5)
	q := make([]float64, len(a))
	for k := range q {
		q[k] = (a[k] + b[k] + c[k]) / 3
	}
	return exact.Must(unlearn.New(q, c))
}

// The three-Gaussian grid to the printed digits.
func TestTradeOff(t *testing.T) {
	levels := []float64{0.5, 0.2, 0.1, 0.05, 0.02}
	points, err := grid(t).TradeOff(t.Context(), levels, unlearn.LikelihoodRatio, unlearn.ReverseKL)
	require.NoError(t, err)
	want := []float64{0.071, 0.208, 0.284, 0.334, 0.372, 0.083, 0.257, 0.366, 0.449, 0.529}
	require.Len(t, points, len(want))
	for k, p := range points {
		require.InDelta(t, levels[k%5], p.Unlearned, 1e-9)
		require.InDelta(t, want[k], p.KL, 5e-4, "%+v", p)
	}
}

func TestTradeOffUnreachable(t *testing.T) {
	u := exact.Must(unlearn.New(known, forgotten))
	points, err := u.TradeOff(t.Context(), []float64{1, 0.8, 0.5}, unlearn.ForwardKL, unlearn.DiscreteSafe, unlearn.ReverseKL)
	var missing *unlearn.UnreachableError
	require.ErrorAs(t, err, &missing)
	// p at λ_max = ¼ leaves (1 − R/4)/(3/4), R = E_{q_u}[q_u/q] = 2.20833….
	require.InDelta(t, (1-2.2083333333/4)/0.75, missing.Lowest, 1e-9)
	require.Equal(t, 0.5, missing.Level)
	require.Contains(t, missing.Error(), "forward-kl")
	require.Len(t, points, 8)
	for _, p := range points {
		require.InDelta(t, p.Unlearned, 1-0.2*float64(round(p.Unlearned)), 1e-9)
	}
	for k := range 3 { // the same curve at λ_RU = λ/(1+λ)
		safe, reverse := points[2+k], points[5+k]
		require.InDelta(t, reverse.KL, safe.KL, 1e-9)
		require.InDelta(t, reverse.Lambda, safe.Lambda/(1+safe.Lambda), 1e-9)
	}
	_, err = u.TradeOff(t.Context(), []float64{2}, unlearn.ForwardKL)
	require.Error(t, err)
	_, err = u.TradeOff(t.Context(), []float64{0.5}, unlearn.Formulation(9))
	require.ErrorContains(t, err, "Formulation(9)")
}

// round tells the levels of TestTradeOffUnreachable apart: (1 − r)/0.2.
func round(r float64) float64 { return math.Round((1-r)*10) / 2 }

// Beyond b_crit the optimum is on a face of the simplex.
func TestGlobal(t *testing.T) {
	exact.SkipUnderRace(t)
	u := exact.Must(unlearn.New([]float64{0.7, 0.25, 0.05}, []float64{0.2, 0.75, 0.05}))
	s, err := u.Global(2.2)
	require.NoError(t, err)
	require.InDelta(t, 1.9412218564, s.Cost, 1e-9)
	require.Zero(t, s.P[1])
	require.InDelta(t, 2.2, s.Value[0], 1e-12)
	// Below b_crit it is the multiplier's distribution.
	v := exact.Must(unlearn.New(known, forgotten))
	s, err = v.Global(0.8)
	require.NoError(t, err)
	require.InDelta(t, 0.054075329692, s.Cost, 1e-10)
	s, err = v.Global(0.1)
	require.NoError(t, err)
	require.Zero(t, s.Cost, "q itself is far enough")
	_, err = v.Global(3)
	require.ErrorContains(t, err, "want ≤ 2.30")

	// No distribution of a fine grid on the simplex does better.
	best := math.Inf(1)
	const n = 400
	for i := 0; i <= n; i++ {
		for j := 0; i+j <= n; j++ {
			p := []float64{float64(i) / n, float64(j) / n, float64(n-i-j) / n}
			if unlearn.KL(p, []float64{0.2, 0.75, 0.05}) >= 2.2 {
				best = min(best, unlearn.KL(p, []float64{0.7, 0.25, 0.05}))
			}
		}
	}
	require.GreaterOrEqual(t, best, 1.9412218564-1e-9)
	require.Less(t, best, 1.9412218564+0.05)
}

// Several distributions at once: the first-order conditions hold and no
// distribution of a random sample that meets the bounds costs less.
func TestUnlearnSeveral(t *testing.T) {
	other := []float64{0.2, 0.5, 0.2, 0.1}
	u := exact.Must(unlearn.New(known, forgotten, other))
	for f, b := range map[unlearn.Formulation][]float64{
		unlearn.ReverseKL:       {0.6, 0.2},
		unlearn.ForwardKL:       {0.5, 0.14},
		unlearn.Likelihood:      {0.19, 0.22},
		unlearn.LikelihoodRatio: {0.8, 0.95},
		unlearn.DiscreteSafe:    {0.5, 0.2},
	} {
		s, err := u.Solve(t.Context(), f, b)
		require.NoError(t, err, f)
		sign := 1.0 // of what is too much
		if f == unlearn.ReverseKL || f == unlearn.ForwardKL || f == unlearn.DiscreteSafe {
			sign = -1
		}
		for i, l := range s.Lambda {
			g := sign * (s.Value[i] - b[i])
			require.LessOrEqual(t, g, 1e-9, f)
			require.InDelta(t, 0, l*g, 1e-9, f)
		}
		require.Positive(t, max(s.Lambda[0], s.Lambda[1]), f)
		most := math.Inf(1)
		if f == unlearn.ReverseKL || f == unlearn.ForwardKL {
			most = 0.45
		}
		path, err := u.Ascend(t.Context(), f, b, nil, nil, most, 4000)
		require.NoError(t, err, f)
		require.InDeltaSlice(t, s.Lambda, path[len(path)-2:], 1e-5, f)
	}
	_, err := u.Solve(t.Context(), unlearn.ReverseKL, []float64{3, 3})
	var critical *unlearn.CriticalError
	require.ErrorAs(t, err, &critical)
	require.Contains(t, critical.Error(), "beyond what any λ reaches")
	_, err = u.Solve(t.Context(), unlearn.Likelihood, []float64{0.05, 0.05})
	require.ErrorIs(t, err, constraint.ErrInfeasible)
}

// The paper's dual-only ascent with its step of 0.02 reaches λ*.
func TestAscendPaper(t *testing.T) {
	u := exact.Must(unlearn.New(known, forgotten))
	path, err := u.Ascend(t.Context(), unlearn.ForwardKL, []float64{0.6}, dual.Ascent{Step: dual.Constant(0.02)}, nil, 0.249, 2000)
	require.NoError(t, err)
	require.InDelta(t, 0.090574485505, path[1999], 1e-8)
	_, err = u.Ascend(t.Context(), unlearn.ForwardKL, []float64{5}, dual.Ascent{Step: dual.Constant(1)}, nil, math.Inf(1), 10)
	require.ErrorContains(t, err, "no distribution at")
	for _, bad := range []func() error{
		func() error {
			_, err := u.Ascend(t.Context(), unlearn.Formulation(-1), []float64{1}, dual.Ascent{}, nil, math.Inf(1), 1)
			return err
		},
		func() error {
			_, err := u.Ascend(t.Context(), unlearn.ForwardKL, nil, dual.Ascent{}, nil, math.Inf(1), 1)
			return err
		},
		func() error {
			_, err := u.Ascend(t.Context(), unlearn.ForwardKL, []float64{1}, dual.AdaGrad{Rate: -1}, nil, math.Inf(1), 1)
			return err
		},
	} {
		require.Error(t, bad())
	}
}

// A sample of q and ratios is the same problem, up to sampling.
func TestFromRatios(t *testing.T) {
	var ratio []float64
	for k, q := range known {
		for range int(math.Round(q * 10)) { // the empirical distribution is q
			ratio = append(ratio, forgotten[k]/q)
		}
	}
	u := exact.Must(unlearn.FromRatios(ratio))
	s, err := u.Solve(t.Context(), unlearn.ForwardKL, []float64{0.6})
	require.NoError(t, err)
	require.InDelta(t, 0.090574485505, s.Lambda[0], 1e-8)
	_, err = unlearn.FromRatios()
	require.Error(t, err)
	_, err = unlearn.FromRatios([]float64{0, 0})
	require.Error(t, err)
}

// Ratios with heavy tails, of N(1.5, 1) for a sample of N(0, ¼): the
// bound holds for the distribution itself, at λ in the scale of the ratios as given, or the
// error names the shape of the tail.
func TestFromRatiosTails(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 43))
	const n = 20000
	ratio := func(x float64) float64 { return 0.5 * math.Exp(-(x-1.5)*(x-1.5)/2+2*x*x) } // N(1.5, 1) over N(0, ¼)
	draw := func() (v []float64) {
		for range n {
			v = append(v, ratio(r.NormFloat64()/2))
		}
		return v
	}
	u := exact.Must(unlearn.FromRatios(draw()))
	require.Greater(t, u.Tails()[0], 0.7)
	s, err := u.Solve(t.Context(), unlearn.LikelihoodRatio, []float64{0.3})
	require.NoError(t, err)
	sum, mean := 0.0, 0.0 // by quadrature
	for x := -8.0; x < 8; x += 1e-3 {
		w := math.Exp(-2*x*x - s.Lambda[0]*ratio(x))
		sum += w
		mean += w * ratio(x)
	}
	require.InEpsilon(t, 0.3, mean/sum, 0.05)
	var heavy *unlearn.TailError
	_, err = u.Solve(t.Context(), unlearn.LikelihoodRatio, []float64{0.99})
	require.ErrorAs(t, err, &heavy)
	require.ErrorContains(t, err, "ratios[0] has the shape")
	require.Equal(t, unlearn.LikelihoodRatio, heavy.Formulation)
	_, err = u.Solve(t.Context(), unlearn.ForwardKL, []float64{3})
	require.ErrorAs(t, err, &heavy)
	require.Equal(t, unlearn.ForwardKL, heavy.Formulation)

	// Half of a fair die's rolls are six, in a sample in which seven of a hundred are: λ
	// refers to the ratio 6, whatever its mean.
	die := make([]float64, 100)
	for k := range 7 {
		die[k] = 6
	}
	u = exact.Must(unlearn.FromRatios(die))
	s = exact.Must(u.Solve(t.Context(), unlearn.LikelihoodRatio, []float64{0.2}))
	a := math.Exp(-6 * s.Lambda[0])
	require.InDelta(t, 0.2, 6*0.07*a/(0.07*a+0.93), 1e-12)
	s = exact.Must(u.Solve(t.Context(), unlearn.ForwardKL, []float64{4}))
	require.InDelta(t, 1-6*s.Lambda[0], s.P[0]/s.P[99], 1e-9, "the acceptance of AcceptForward")
	p := exact.Must(u.Law(unlearn.ForwardKL, s.Lambda))
	require.InDeltaSlice(t, s.P, p, 1e-12)
	path := exact.Must(u.Ascend(t.Context(), unlearn.ForwardKL, []float64{4}, nil, s.Lambda, math.Inf(1), 3))
	require.InDelta(t, s.Lambda[0], path[2], 1e-6)
	require.Nil(t, exact.Must(unlearn.New(known, forgotten)).Tails())
	_, err = unlearn.FromRatios([]float64{1, 2}, []float64{1})
	require.ErrorContains(t, err, "FromRatios: len(ratios[1]) = 1, want 2")
	_, err = unlearn.FromRatios([]float64{1, -2})
	require.ErrorContains(t, err, "FromRatios: ratios[0][1] = -2")
}

func TestUnlearnErrors(t *testing.T) {
	for _, laws := range [][][]float64{
		{known}, {nil, nil}, {known, known[:3]}, {known, {1, 1, 0, 0}}, {{0.5, 0.5}, {1.5, -0.5}}, {{math.NaN(), 1}, {1, 0}},
	} {
		_, err := unlearn.New(laws[0], laws[1:]...)
		require.Error(t, err)
	}
	holes := exact.Must(unlearn.New([]float64{0.5, 0.5, 0}, []float64{0.5, 0, 0.5}))
	require.Zero(t, holes.Critical())
	for f := unlearn.ReverseKL; f <= unlearn.DiscreteSafe; f++ {
		_, err := holes.Solve(t.Context(), f, []float64{0.3})
		require.Equal(t, f == unlearn.Likelihood, err == nil, f)
		_, err = holes.Law(f, []float64{0.1})
		require.Equal(t, f == unlearn.Likelihood, err == nil, f)
	}
	_, err := holes.Global(1)
	require.Error(t, err)
	_, err = holes.TradeOff(t.Context(), nil, unlearn.Likelihood)
	require.Error(t, err)
	u := exact.Must(unlearn.New(known, forgotten))
	_, err = u.Solve(t.Context(), unlearn.ReverseKL, nil)
	require.Error(t, err)
	_, err = u.Solve(t.Context(), unlearn.ReverseKL, []float64{math.NaN()})
	require.Error(t, err)
	for _, lambda := range [][]float64{nil, {-1}, {math.Inf(1)}, {1}} {
		_, err = u.Law(unlearn.ReverseKL, lambda)
		require.Error(t, err)
	}
	two := exact.Must(unlearn.New(known, forgotten, forgotten))
	_, err = two.Global(1)
	require.ErrorContains(t, err, "2 distributions")
	uniform := make([]float64, 21)
	for k := range uniform {
		uniform[k] = 1.0 / 21
	}
	_, err = exact.Must(unlearn.New(uniform, uniform)).Global(0)
	require.ErrorContains(t, err, "21 states")
}

// Away from q itself there is nothing to go by, and the error has numbers.
func TestAwayFromItself(t *testing.T) {
	q := []float64{0.5, 0.25, 0.15, 0.09, 0.01}
	u := exact.Must(unlearn.New(q, q))
	for _, f := range []unlearn.Formulation{unlearn.ReverseKL, unlearn.ForwardKL} {
		_, err := u.Solve(t.Context(), f, []float64{0.1})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "NaN", f)
	}
}
