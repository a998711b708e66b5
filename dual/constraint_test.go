package dual_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/continuous"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
	"github.com/gibbsite-go/gibbsite/sampler/mcmc"
	"github.com/stretchr/testify/require"
)

// spins is a ring of eight with two statistics that only know states: the number of spins
// up, and that of neighbours that differ.
func spins(t testing.TB) (base energy.Model, up, walls dual.Energetic[int32]) {
	base = exact.Must(model.NewIsing(model.Lattice{8}, 0.3, 0.2))
	up = dual.Statistic(func(x []int32) (n float64) {
		for _, l := range x {
			n += float64(l)
		}
		return n
	})
	walls = dual.Statistic(func(x []int32) (n float64) {
		for i, l := range x {
			n += math.Abs(float64(l - x[(i+1)%8]))
		}
		return n
	})
	return base, up, walls
}

// means returns those of two statistics at multipliers, by enumeration that shares no code.
func means(base energy.Model, tilt func(u, w float64) float64, h ...dual.Energetic[int32]) []float64 {
	z, sum := 0.0, make([]float64, len(h))
	e, v := make([]float64, 1), make([]float64, len(h))
	for _, x := range exact.States(8, 2) {
		base.Energy(e, x)
		for k, m := range h {
			m.Energy(v[k:k+1], x)
		}
		p := math.Exp(-e[0] - tilt(v[0], v[1]))
		z += p
		for k := range h {
			sum[k] += p * v[k]
		}
	}
	for k := range sum {
		sum[k] /= z
	}
	return sum
}

// A range binds on the side where the base is outside; the other multiplier is 0. An
// equality meets its value from either side.
func TestRangesAndEqualities(t *testing.T) {
	exact.SkipUnderRace(t)
	base, up, walls := spins(t)
	free := means(base, func(_, _ float64) float64 { return 0 }, up, walls)
	require.Greater(t, free[0], 4.5)
	for _, c := range []struct {
		low, high, walls float64
		side             int // of the range that binds, −1 if none does
	}{{2, 3, 4, 0}, {6.5, 7, 2, 1}, {3, 7, 3, -1}} {
		lag := exact.Must(dual.NewLagrangian(base, dual.Between(up, c.low, c.high).Named("up", "spins", 0.01), dual.Between(walls, c.walls, c.walls).Named("walls", "", 0)))
		require.Equal(t, []dual.Row{
			{Name: "up", Unit: "spins", Bound: c.high, Tolerance: 0.01}, {Name: "up", Unit: "spins", Bound: c.low, AtLeast: true, Tolerance: 0.01},
			{Name: "walls", Bound: c.walls, Equal: true},
		}, lag.Rows())
		s := exact.Must(dual.Solve(ctx, lag))
		for j := range 2 {
			require.Equal(t, c.side == j, s.Lambda[j] > 1e-9, "%v %v", c, s.Lambda)
		}
		got := means(base, func(u, w float64) float64 { return (s.Lambda[0]-s.Lambda[1])*u + s.Lambda[2]*w }, up, walls)
		require.InDelta(t, c.walls, got[1], 1e-9)
		if c.side == 0 {
			require.InDelta(t, c.high, got[0], 1e-9)
		}
		if c.side == 1 {
			require.InDelta(t, c.low, got[0], 1e-9)
		}

		// The same on a list of states.
		var x []int32
		for _, s := range exact.States(8, 2) {
			x = append(x, s...)
		}
		f0, h := make([]float64, 256), make([]float64, 3*256)
		base.Energy(f0, x)
		for s := range 256 {
			up.Energy(h[3*s:3*s+1], x[8*s:8*s+8])
			h[3*s+1] = h[3*s]
			walls.Energy(h[3*s+2:3*s+3], x[8*s:8*s+8])
		}
		list := exact.Must(dual.SolveStates(ctx, f0, h, 1, lag.Rows()))
		require.InDeltaSlice(t, s.Lambda, list.Lambda, 1e-9)
		require.Equal(t, lag.Rows(), list.Rows)

		// And by sampling: its report is in the same terms.
		inf := loop(t, lag, 3, 1, dual.Config{})
		require.NoError(t, inf.Solve(ctx, 20000, 0.1))
		lines := inf.Certificate().Report(0.1).Constraints
		require.Len(t, lines, 2, "a range is one line")
		require.Equal(t, []float64{c.low, c.high}, []float64{lines[0].Low, lines[0].High})
		require.InDelta(t, got[0], lines[0].Value, 0.03)
		require.InDelta(t, got[1], lines[1].Value, 0.11)
		require.InDelta(t, s.Lambda[0]-s.Lambda[1], lines[0].Lambda, 0.1)
		require.InDelta(t, -lines[0].Lambda, lines[0].Price, 1e-12)
	}
	_, err := dual.SolveStates(ctx, []float64{0, 1}, []float64{1, 2}, 1, make([]dual.Row, 2))
	require.ErrorContains(t, err, "len(rows) = 2, want 1")
	_, err = dual.SolveStates(ctx, []float64{0, 1}, []float64{1, 2}, 1, []dual.Row{{Name: "load", Bound: math.NaN()}})
	require.ErrorContains(t, err, `"load" has the bound NaN`)
}

// A shadow price is the change of the optimum by the bound, found by differences.
func TestShadowPrices(t *testing.T) {
	base, up, walls := spins(t)
	optimum := func(most, least float64) *dual.Report {
		lag := exact.Must(dual.NewLagrangian(base, dual.AtMost(up, most).Named("up", "spins", 0), dual.AtLeast(walls, least).Named("walls", "", 0)))
		return exact.Must(dual.Solve(ctx, lag)).Report()
	}
	at := optimum(3, 5)
	const d = 1e-4
	require.InDelta(t, (*optimum(3+d, 5).Dual-*optimum(3-d, 5).Dual)/(2*d), at.Constraints[0].Price, 1e-6)
	require.InDelta(t, (*optimum(3, 5+d).Dual-*optimum(3, 5-d).Dual)/(2*d), at.Constraints[1].Price, 1e-6)
	require.Negative(t, at.Constraints[0].Price)
	require.Positive(t, at.Constraints[1].Price)
}

// Errors name what cannot be met.
func TestErrorsNameConstraints(t *testing.T) {
	base, up, walls := spins(t)
	high, low := dual.AtLeast(up, 6).Named("staff", "people", 0), dual.AtMost(up, 5).Named("budget", "people", 0)
	lag := exact.Must(dual.NewLagrangian(base, high, low, dual.AtMost(walls, 7)))
	_, err := dual.Solve(ctx, lag)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	require.ErrorContains(t, err, `·("staff" ≥ 6 people) + 0.`)
	err = loop(t, lag, 1, 1, dual.Config{}).Run(ctx, 3000)
	require.ErrorIs(t, err, constraint.ErrInfeasible)
	require.ErrorContains(t, err, `"staff" ≥ 6 people`)
	_, err = dual.Solve(ctx, exact.Must(dual.NewLagrangian(base, dual.AtLeast(up, 8).Named("staff", "", 0))))
	require.ErrorContains(t, err, `only in the limit of infinite multipliers, in the direction 1·("staff" ≥ 8)`)
	require.Contains(t, (&dual.UndecidedError{Lambda: []float64{2}, Violation: []float64{0.5}, Deviation: []float64{0.1}, Rows: []dual.Row{{Name: "staff", Unit: "people", Bound: 6, AtLeast: true}}}).Error(),
		`"staff": mean 5.5, mean deviation 0.1, want ≥ 6 people, at λ = 2`)
	crowd := make([]constraint.Set, 9)
	for k := range crowd {
		crowd[k] = dual.AtLeast(up, 9)
	}
	_, err = dual.Solve(ctx, exact.Must(dual.NewLagrangian(base, crowd...)))
	require.ErrorContains(t, err, "3 more")
}

// Every status that a report can have, and null in JSON for what is no number.
func TestReport(t *testing.T) {
	c := &dual.Certificate{
		Lambda: []float64{0, 1, 0.5, 0, 2}, Violation: []float64{-1, 0.001, 0.3, 0.02, -0.4}, ViolationSE: []float64{0.1, 0.01, 0.01, 0.05, 0.01},
		Slack: []float64{0, 0.001, 0.15, 0, -0.8}, SlackSE: []float64{0, 0.01, 0.005, 0, 0.02}, RHat: []float64{1, 1, 1, math.NaN(), 1}, ESS: []float64{9, 9, 9, math.NaN(), 9},
		Rows:  []dual.Row{{Name: "a", Bound: 5, Unit: "kg"}, {Name: "b", Bound: 2, AtLeast: true}, {Name: "c", Tolerance: 0.2}, {}, {Name: "e"}},
		Steps: 7, States: 3, Max: math.Inf(1), Dual: -2.5, HasDual: true,
	}
	r := c.Report(0.05)
	var got []string
	for _, l := range r.Constraints {
		got = append(got, l.Status)
	}
	require.Equal(t, []string{"slack", "binding", "violated", "undecided", "not settled"}, got)
	require.Equal(t, "does not hold within 0.05", r.Status)
	require.Equal(t, `does not hold within 0.05, 7 steps of 3 states, dual value -2.5
constraint  mean   ± se  wanted  λ    price  R-hat  ESS  status
a           4      0.1   ≤ 5 kg  0    0      1      9    slack
b           1.999  0.01  ≥ 2     1    1      1      9    binding (within 2 s.e.)
c           0.3    0.01  ≤ 0     0.5  -0.5   1      9    violated
row 3       0.02   0.05  ≤ 0     0    0      NaN    NaN  undecided
e           -0.4   0.01  ≤ 0     2    -2     1      9    not settled`, r.String())
	c.ViolationSE[1] = 0.0001
	require.Contains(t, c.Report(0.05).String(), "binding (within tolerance)\n")
	c.Violation[1] = -0.001
	require.Contains(t, c.Report(0.05).String(), "binding\n")
	c.ViolationSE[0] = 0
	require.Contains(t, c.Report(0.05).String(), "slack (all draws equal)\n")
	b := exact.Must(json.Marshal(r))
	require.Contains(t, string(b), `{"name":"a","unit":"kg","value":4,"se":0.1,"low":null,"high":5,"lambda":0,"price":0,"rhat":1,"ess":9,"status":"slack"}`)
	require.Contains(t, string(b), `"dual":-2.5,"steps":7,"states":3}`)

	// A row's own tolerance replaces that of the call.
	one := &dual.Certificate{Lambda: []float64{0}, Violation: []float64{90}, ViolationSE: []float64{1}, Slack: []float64{0}, SlackSE: []float64{0}, RHat: []float64{1}, ESS: []float64{1},
		Rows: []dual.Row{{Name: "cost", Bound: 1e6, Tolerance: 100}}, Max: math.Inf(1)}
	require.True(t, one.Holds(0.01))
	require.Contains(t, one.Report(0.01).String(), "holds within 0.01")
	one.Rows[0].Tolerance = 50
	require.False(t, one.Holds(0.01))
	held := (&dual.NotConverged{Steps: 3, Tolerance: 0.01, Certificate: one}).Error()
	require.Contains(t, held, `"cost" has the mean 1000090 ± 1, want ≤ 1000000 within 50`)
}

// On reals: a range of a linear statistic and an equality of a sum of two, by the exact
// means of a normal distribution, which λ moves by its covariance.
func TestRealConstraints(t *testing.T) {
	base := exact.Must(continuous.NewDiagonal([]float64{1}, []float64{2, 0}, []float64{1}))
	first := exact.Must(continuous.NewLinear([]float64{1, 0}, 0.5)) // h = x_0 + ½
	second := exact.Must(continuous.NewLinear([]float64{0, 1}, 0))
	sum := dual.Constraint[float32]{Name: "sum", Of: []dual.Energetic[float32]{first, second}, Coef: []float64{1, 2}, Low: 3, High: 3}
	lag := exact.Must(dual.NewRealLagrangian(base, 1, dual.Between(first, -1, 1).Named("first", "m", 0), sum))
	require.Equal(t, []dual.Row{{Name: "first", Unit: "m", Bound: 1}, {Name: "first", Unit: "m", Bound: -1, AtLeast: true}, {Name: "sum", Bound: 3, Equal: true}}, lag.Rows())
	x, g := []float32{2, 3}, make([]float64, 3)
	lag.Violation(g, x)
	require.InDeltaSlice(t, []float64{1.5, -3.5, 5.5}, g, 1e-12)
	require.NoError(t, lag.SetLambda([]float64{0.5, 0.25, -2}))
	require.Error(t, lag.SetLambda([]float64{0.5, -0.25, -2}))
	e, f := make([]float64, 1), make([]float64, 1)
	lag.Energy(e, x)
	base.Energy(f, x)
	require.InDelta(t, f[0]+0.5*1.5-0.25*3.5-2*5.5, e[0], 1e-6)
	for _, term := range lag.Terms() {
		require.IsType(t, first, term, "linear statistics stay linear")
	}

	// Not linear: energies and scores of the combination, against differences.
	square := energy.RealFunc{Dim: 2, E: func(x []float32) float64 { return float64(x[0] * x[0]) }, Grad: func(g, x []float32) { g[0], g[1] = 2*x[0], 0 }}
	mixed := dual.Constraint[float32]{Of: []dual.Energetic[float32]{square, first}, Coef: []float64{2, 3}, Low: 1, High: math.Inf(1)}
	lag = exact.Must(dual.NewRealLagrangian(base, 0.5, mixed))
	require.NoError(t, lag.SetLambda([]float64{0.7}))
	r := rand.New(rand.NewPCG(1, 43))
	for range 20 {
		x := []float32{float32(r.NormFloat64()), float32(r.NormFloat64())}
		g, s := make([]float64, 1), make([]float32, 2)
		lag.Violation(g, x)
		require.InDelta(t, 1-(2*float64(x[0])*float64(x[0])+3*(float64(x[0])+0.5)), g[0], 1e-5)
		lag.Score(s, x)
		for i := range 2 {
			const d = 1.0 / 64
			up, down := []float32{x[0], x[1]}, []float32{x[0], x[1]}
			up[i] += d
			down[i] -= d
			lag.Energy(e, up)
			lag.Energy(f, down)
			require.InDelta(t, -(e[0]-f[0])/(2*d), s[i], 1e-3)
		}
	}
}

// A contradiction of a hundredth of the range is named at the first look, although samples
// are on both sides of λᵀg = 0 for long; neither a problem near it nor one whose first
// samples all violate it is.
func TestSmallContradictions(t *testing.T) {
	exact.SkipUnderRace(t)
	base := energy.Func{Sites: 10, Levels: 2, E: func(x []int32) (e float64) {
		for i, l := range x {
			e += 0.3 * float64(l) * float64(i%4)
		}
		return e
	}}
	share := dual.Statistic(func(x []int32) (s float64) {
		for _, l := range x {
			s += float64(l) / 10
		}
		return s
	})
	for at, chains := range map[float64]int{0.5: 8, 0.9: 64} {
		for _, gap := range []float64{0.01, 0, -0.01} {
			lag := exact.Must(dual.NewLagrangian(base, dual.AtLeast(share, at+gap).Named("demand", "", 0), dual.AtMost(share, at).Named("supply", "", 0)))
			draws := exact.Must(sampler.NewChains(ctx, lag, mcmc.Gibbs{}, sampler.Config{Chains: chains, Seed: 1}))
			inf := exact.Must(dual.NewInference(ctx, lag, draws, dual.Config{}))
			err := inf.Run(ctx, 300)
			if gap <= 0 {
				require.NoError(t, err)
				continue
			}
			var diverged *dual.DivergedError
			require.ErrorAs(t, err, &diverged)
			require.True(t, diverged.Proven)
			require.Equal(t, 64, inf.Len())
			require.InDelta(t, 0.0045, diverged.Margin, 0.0005+1e-9)
			require.InDeltaSlice(t, []float64{0.5, 0.5}, diverged.Direction, 0.01)
			require.ErrorContains(t, err, `"demand" ≥ `)
		}
	}
	far := exact.Must(dual.NewLagrangian(base, dual.AtLeast(share, 0.97)))
	draws := exact.Must(sampler.NewChains(ctx, far, mcmc.Gibbs{}, sampler.Config{Chains: 4, Seed: 1}))
	slow := exact.Must(dual.NewInference(ctx, far, draws, dual.Config{Rule: dual.Ascent{Step: dual.Constant(1e-3)}}))
	require.NoError(t, slow.Run(ctx, 130), "the samples, not the states, are all on one side")
}
