package dual_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/dual"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// batch returns a batch of ten states with the given mean and a covariance of
// variances 0.5 and correlation 0.5 per pair.
func batch(step int, mean ...float64) *dual.Batch {
	n := len(mean)
	b := &dual.Batch{Step: step, States: 10, Beta: 2, Mean: mean, Cov: make([]float64, n*n), Max: 3}
	for i := range b.Cov {
		b.Cov[i] = 0.25
		if i%(n+1) == 0 {
			b.Cov[i] = 0.5
		}
	}
	return b
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name   string
		rule   dual.Rule
		lambda []float64
		mean   []float64
		want   []float64
	}{
		{"ascent", dual.Ascent{Step: dual.Constant(0.5)}, []float64{1, 0.1, 2.9}, []float64{1, -1, 1}, []float64{1.5, 0, 3}},
		{"decay", dual.Decay{Rule: dual.Ascent{Step: dual.Constant(0.5)}, Rate: 0.1}, []float64{1, 2}, []float64{1, 0}, []float64{1.4, 1.8}},
		{"PI", dual.PI{Integral: dual.Constant(0.5), Proportional: 2}, []float64{1, 0}, []float64{0.25, 0.5}, []float64{1.625, 1.25}},
		// C = .9·.05 + .1·.5 on the diagonal, .025 beside it, 10⁻⁴ added;
		// β = 2, s_0 = 1. In the last case coordinate 1 is bound.
		{"newton", dual.Newton{}, []float64{1, 1}, []float64{0.01, 0.01}, []float64{1 + 2*0.01/0.1201, 1 + 2*0.01/0.1201}},
		{"newton bound", dual.Newton{}, []float64{1, 0}, []float64{0.01, -0.01}, []float64{1 + 2*0.01/0.0951, 0}},
	} {
		u, err := c.rule.Bind(ctx, len(c.lambda))
		require.NoError(t, err, c.name)
		require.NoError(t, u.Update(c.lambda, batch(0, c.mean...)), c.name)
		require.InDeltaSlice(t, c.want, c.lambda, 1e-14, c.name)
	}
}

func TestPIRemembers(t *testing.T) {
	u := exact.Must(dual.PI{Integral: dual.Constant(1), Proportional: 1}.Bind(ctx, 1))
	lambda := []float64{0.5}
	require.NoError(t, u.Update(lambda, batch(0, 1)))
	require.Equal(t, []float64{2.5}, lambda) // I = 1.5
	require.NoError(t, u.Update(lambda, batch(1, 0)))
	require.Equal(t, []float64{1.5}, lambda)
}

func TestSchedules(t *testing.T) {
	require.Equal(t, 0.3, dual.Constant(0.3)(7))
	for _, n := range []int{0, 1, 10, 1e6} {
		require.InEpsilon(t, 2*math.Pow(float64(1+n), -0.6), dual.Power(2, 0.6)(n), 1e-14)
	}
	require.Equal(t, 1.0, dual.Capped(1, dual.Power(2, 0.6))(0))
	require.Less(t, dual.Capped(1, dual.Power(2, 0.6))(5), 1.0)
}

// A rule keeps multipliers within bounds, and a restored updater goes on to
// the same bits.
func TestRulesProperties(t *testing.T) {
	rules := []dual.Rule{
		dual.Ascent{}, dual.Decay{Rate: 0.1}, dual.Decay{Rule: dual.Newton{}, Rate: 0.2},
		dual.PI{Proportional: 0.5}, dual.Newton{},
	}
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom(rules).Draw(t, "rule")
		a, b := exact.Must(rule.Bind(ctx, 2)), exact.Must(rule.Bind(ctx, 2))
		lambda := []float64{1, 2}
		other := []float64{1, 2}
		for step := range 8 {
			mean := rapid.SliceOfN(rapid.Float64Range(-5, 5), 2, 2).Draw(t, "mean")
			if err := a.Update(lambda, batch(step, mean...)); err != nil {
				t.Fatal(err)
			}
			if err := b.Update(other, batch(step, mean...)); err != nil {
				t.Fatal(err)
			}
			for j, v := range lambda {
				if !(v >= 0 && v <= 3) || v != other[j] {
					t.Fatalf("lambda = %v and %v", lambda, other)
				}
			}
			state := exact.Must(b.AppendBinary(nil))
			b = exact.Must(rule.Bind(ctx, 2))
			if err := b.UnmarshalBinary(state); err != nil {
				t.Fatal(err)
			}
			if b.UnmarshalBinary(append(state, 0)) == nil {
				t.Fatal("a byte too many was accepted")
			}
			if len(state) > 0 && b.UnmarshalBinary(state[:len(state)-1]) == nil {
				t.Fatal("a byte too few was accepted")
			}
			if err := b.UnmarshalBinary(state); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestRuleErrors(t *testing.T) {
	for _, r := range []dual.Rule{
		dual.Decay{Rate: 1}, dual.Decay{Rate: math.NaN()}, dual.PI{Proportional: -1}, dual.PI{Proportional: math.Inf(1)},
		dual.Newton{Start: -1}, dual.Newton{Keep: 1}, dual.Newton{Ridge: math.NaN()}, dual.Decay{Rule: dual.Newton{Keep: 2}},
	} {
		_, err := r.Bind(ctx, 2)
		require.Error(t, err, "%+v", r)
	}
	bad := dual.Constant(math.NaN())
	for _, r := range []dual.Rule{
		dual.Ascent{Step: bad}, dual.PI{Integral: bad}, dual.Newton{Step: bad}, dual.Decay{Rule: dual.Ascent{Step: bad}, Rate: 0.5},
	} {
		lambda := []float64{1, 2}
		require.Error(t, exact.Must(r.Bind(ctx, 2)).Update(lambda, batch(0, 1, 1)))
		require.Equal(t, []float64{1, 2}, lambda)
	}
	one := batch(0, 1, 1)
	one.States = 1
	require.ErrorContains(t, exact.Must(dual.Newton{}.Bind(ctx, 2)).Update([]float64{1, 1}, one), "batch of 1 states")
	inf := batch(0, 1, 1)
	inf.Cov[0] = math.Inf(1)
	require.ErrorContains(t, exact.Must(dual.Newton{}.Bind(ctx, 2)).Update([]float64{1, 1}, inf), "not finite")
}

func TestUpdateAllocates(t *testing.T) {
	if testing.CoverMode() != "" || exact.Race {
		t.Skip("instrumentation allocates")
	}
	for _, r := range []dual.Rule{dual.Ascent{}, dual.Decay{Rate: 0.1}, dual.PI{}, dual.Newton{}} {
		u := exact.Must(r.Bind(ctx, 3))
		b, lambda := batch(1, 1, -1, 2), []float64{1, 0, 2}
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = u.Update(lambda, b) }))
	}
}
