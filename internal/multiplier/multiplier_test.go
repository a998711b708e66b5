package multiplier_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/internal/multiplier"
)

func TestCheck(t *testing.T) {
	require.NoError(t, multiplier.Check("dual: Judge", []float64{0, 2}, nil))
	for _, v := range []float64{-1, math.NaN(), math.Inf(1)} {
		require.ErrorContains(t, multiplier.Check("dual: Judge", []float64{0, v}, nil), "dual: Judge: lambda[1] = ")
	}
}

func TestRange(t *testing.T) {
	start, most, err := multiplier.Range("dual: Config", 2, nil, nil, nil)
	require.NoError(t, err)
	require.Equal(t, []float64{0, 0}, start)
	require.True(t, math.IsInf(most, 1))

	given := []float64{1, 2}
	start, most, err = multiplier.Range("dual: Config", 2, given, new(2.0), nil)
	require.NoError(t, err)
	require.Equal(t, 2.0, most)
	start[0] = 5
	require.Equal(t, 1.0, given[0], "a copy")

	for _, c := range []struct {
		start []float64
		most  *float64
		say   string
	}{
		{nil, new(-1.0), "Config.Max = -1"}, {nil, new(math.NaN()), "Config.Max = NaN"}, {[]float64{1}, nil, "has 1 numbers, want 2"},
		{[]float64{1, 3}, new(2.0), "Start[1] = 3, want 0 … 2"}, {[]float64{-1, 0}, nil, "Start[0] = -1"}, {[]float64{0, 1}, new(0.0), "Start[1] = 1, want 0 … 0"}, {[]float64{math.Inf(1), 0}, nil, "Start[0] = +Inf"},
	} {
		_, _, err := multiplier.Range("dual: Config", 2, c.start, c.most, nil)
		require.ErrorContains(t, err, c.say)
	}
}

// Multipliers of equalities have either sign.
func TestEqualities(t *testing.T) {
	equal := []bool{false, true}
	require.NoError(t, multiplier.Check("x", []float64{0, -2}, equal))
	require.ErrorContains(t, multiplier.Check("x", []float64{-1, -2}, equal), "lambda[0] = -1")
	require.ErrorContains(t, multiplier.Check("x", []float64{0, math.Inf(-1)}, equal), "lambda[1] = -Inf")
	_, _, err := multiplier.Range("x", 2, []float64{0, -2}, new(2.0), equal)
	require.NoError(t, err)
	_, _, err = multiplier.Range("x", 2, []float64{0, -2.5}, new(2.0), equal)
	require.ErrorContains(t, err, "want -2 … 2")
}
