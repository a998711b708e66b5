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
		{"PI at first", dual.PI{Integral: dual.Constant(0.5), Proportional: 2}, []float64{1, 0}, []float64{0.25, 0.5}, []float64{1.125, 0.25}},
		// β = 2, v = ½.
		{"ascent by itself", dual.Ascent{}, []float64{1, 0}, []float64{0.1, -1}, []float64{1.4, 0}},
		{"extragradient", dual.Extragradient{Step: dual.Constant(0.5)}, []float64{1, 0.1}, []float64{1, -1}, []float64{1.5, 0}},
		{"adagrad", dual.AdaGrad{Rate: 0.5}, []float64{0.25, 2}, []float64{0.1, -1}, []float64{0.25 + math.Sqrt2, 2 - math.Sqrt2}},
	} {
		u, err := c.rule.Bind(ctx, len(c.lambda))
		require.NoError(t, err, c.name)
		require.NoError(t, u.Update(c.lambda, batch(0, c.mean...)), c.name)
		require.InDeltaSlice(t, c.want, c.lambda, 1e-14, c.name)
	}
}

// The proportional term answers changes only, and nothing winds up at a bound.
func TestPIRemembers(t *testing.T) {
	u := exact.Must(dual.PI{Integral: dual.Constant(1), Proportional: 1, Smooth: 0.5}.Bind(ctx, 1))
	lambda := []float64{0.5}
	require.NoError(t, u.Update(lambda, batch(0, 1)))
	require.Equal(t, []float64{1.5}, lambda)
	require.NoError(t, u.Update(lambda, batch(1, 2))) // ξ from 1 to 1.5
	require.Equal(t, []float64{3}, lambda, "at the bound")
	for step := 2; step < 50; step++ {
		require.NoError(t, u.Update(lambda, batch(step, 2)))
	}
	require.NoError(t, u.Update(lambda, batch(50, -1)))
	require.InDelta(t, 3-1-1.5, lambda[0], 1e-12, "at once")
}

// The second step of a pair starts where the first did.
func TestExtragradientPairs(t *testing.T) {
	u := exact.Must(dual.Extragradient{Step: dual.Constant(0.5)}.Bind(ctx, 1))
	lambda := []float64{1}
	for step, c := range []struct{ mean, want float64 }{{1, 1.5}, {-0.5, 0.75}, {1, 1.25}, {0, 0.75}} {
		require.NoError(t, u.Update(lambda, batch(step, c.mean)))
		require.Equal(t, []float64{c.want}, lambda)
	}
}

func TestSchedules(t *testing.T) {
	require.Equal(t, 0.3, dual.Constant(0.3)(7))
	for _, n := range []int{0, 1, 10, 1e6} {
		require.InEpsilon(t, 2*math.Pow(float64(1+n), -0.6), dual.Power(2, 0.6)(n), 1e-14)
	}
}

// A rule keeps multipliers within bounds, and a restored updater goes on to
// the same bits.
func TestRulesProperties(t *testing.T) {
	rules := []dual.Rule{
		dual.Auto{}, dual.Ascent{}, dual.Extragradient{}, dual.AdaGrad{}, dual.PI{}, dual.PI{Proportional: 0.5, Smooth: 0.5},
		dual.Decay{Rate: 0.1}, dual.Decay{Rule: dual.Ascent{}, Rate: 0.2},
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
		dual.Decay{Rate: 1}, dual.Decay{Rate: math.NaN()}, dual.PI{Proportional: -2}, dual.PI{Proportional: math.Inf(1)},
		dual.PI{Smooth: 1}, dual.AdaGrad{Rate: math.Inf(1)}, dual.Decay{Rule: dual.AdaGrad{Rate: -1}},
	} {
		_, err := r.Bind(ctx, 2)
		require.Error(t, err, "%+v", r)
	}
	unchanged := func(r dual.Rule, b *dual.Batch, want string) {
		t.Helper()
		lambda := []float64{1, 2}
		require.ErrorContains(t, exact.Must(r.Bind(ctx, 2)).Update(lambda, b), want)
		require.Equal(t, []float64{1, 2}, lambda)
	}
	bad := dual.Constant(math.NaN())
	for _, r := range []dual.Rule{
		dual.Ascent{Step: bad}, dual.PI{Integral: bad}, dual.Extragradient{Step: bad}, dual.Decay{Rule: dual.Ascent{Step: bad}, Rate: 0.5},
	} {
		unchanged(r, batch(0, 1, 1), "step size at step 0 = NaN")
	}
	one, inf := batch(0, 1, 1), batch(0, 1, 1)
	one.States = 1
	unchanged(dual.Auto{}, one, "batch of 1 states")
	inf.Cov[0] = math.Inf(1)
	for _, r := range []dual.Rule{dual.Auto{}, dual.Ascent{}, dual.AdaGrad{}, dual.PI{}, dual.Extragradient{}, dual.Decay{}} {
		unchanged(r, inf, "variance of violation 0 = +Inf")
	}
}

func TestUpdateAllocates(t *testing.T) {
	if testing.CoverMode() != "" || exact.Race {
		t.Skip("instrumentation allocates")
	}
	for _, r := range []dual.Rule{dual.Auto{}, dual.Ascent{}, dual.Extragradient{}, dual.AdaGrad{}, dual.Decay{Rate: 0.1}, dual.PI{}} {
		u := exact.Must(r.Bind(ctx, 3))
		b, lambda := batch(1, 1, -1, 2), []float64{1, 0, 2}
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = u.Update(lambda, b) }))
	}
}

// A batch's moments are those of its rows.
func TestBatch(t *testing.T) {
	g := []float64{1, 2, 3, 5, 2, -1}
	b := &dual.Batch{States: 3, Mean: make([]float64, 2)}
	require.NoError(t, b.Measure(g))
	require.Equal(t, []float64{2, 2}, b.Mean)
	c, v := make([]float64, 4), make([]float64, 2)
	b.Covariance(c)
	b.Variance(v)
	require.Equal(t, []float64{1, 1.5, 1.5, 9}, c)
	require.Equal(t, []float64{1, 9}, v)
	b.States = 1
	b.Covariance(c)
	b.Variance(v)
	require.Equal(t, make([]float64, 4), c)
	require.Equal(t, make([]float64, 2), v)
}
