package diagnose

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// diagnostics are the functions of draws[chain][draw].
var diagnostics = map[string]func([][]float64) (float64, error){
	"RHat": RHat, "rHatBasic": rHatBasic, "ESSBulk": ESSBulk, "ESSTail": ESSTail, "ESSMean": ESSMean, "MCSEMean": MCSEMean,
	"Autocorrelation": func(x [][]float64) (float64, error) {
		if len(x) == 0 {
			x = [][]float64{nil}
		}
		_, err := Autocorrelation(x[0])
		return 0, err
	},
}

func TestDiagnosticsRefuse(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	for name, f := range diagnostics {
		for _, x := range [][][]float64{{}, {{}}, {{1}}, {{1}, {2}}} {
			_, err := f(x)
			assert.ErrorIs(t, err, ErrTooFew, "%s of %v", name, x)
			assert.ErrorContains(t, err, "diagnose: "+name+": ")
		}
		_, err := f([][]float64{{7, 7, 7, 7, 7, 7}, {7, 7, 7, 7, 7, 7}})
		assert.ErrorIs(t, err, ErrConstant, name)

		var bad *NotFinite
		_, err = f([][]float64{{1, 2, nan, inf, 3, 4}})
		require.ErrorAs(t, err, &bad, name)
		assert.Equal(t, 2, bad.Draw)
		assert.ErrorContains(t, err, "chain 0, draw 2 is NaN")
	}
	_, err := RHat([][]float64{{1, 2, 3, 4, 5}, {1, 2, 3, inf, 5}})
	assert.EqualError(t, err, "diagnose: RHat: chain 1, draw 3 is -Inf")
	_, err = ESSBulk([][]float64{{1, 2, 3}, {1, 2}})
	assert.EqualError(t, err, "diagnose: ESSBulk: len(draws[1]) = 2, want 3 as in draws[0]")
	_, err = RHat([][]float64{{1, 2, 3}})
	assert.EqualError(t, err, "diagnose: RHat: 3 draws per chain, want ≥ 4: too few draws")
	_, err = ESSMean([][]float64{{1, 2, 3, 4, 5}})
	assert.EqualError(t, err, "diagnose: ESSMean: 5 draws per chain, want ≥ 6: too few draws")

	// All but the middle draw are equal, and it belongs to neither half.
	_, err = RHat([][]float64{{1, 1, 2, 1, 1}})
	assert.ErrorIs(t, err, ErrConstant)
	// Fewer than one draw in twenty differs: neither tail indicator varies.
	x := make([]float64, 50)
	for i := range x {
		x[i] = 1
	}
	x[20] = 0
	_, err = ESSTail([][]float64{x})
	assert.EqualError(t, err, "diagnose: ESSTail: both tails: the series is constant")
}

func TestDiagnosticsOutOfRange(t *testing.T) {
	for _, size := range []float64{1e-200, 1e200, math.MaxFloat64} {
		x := [][]float64{{-size, size, size, -size, -size, size, -size, -size}}
		for name, f := range diagnostics {
			got, err := f(x)
			switch name {
			case "RHat", "ESSBulk", "ESSTail": // depend on ranks alone
				assert.NoError(t, err, name)
				assert.False(t, math.IsNaN(got), name)
			default:
				assert.ErrorIs(t, err, ErrRange, "%s of ±%g", name, size)
			}
		}
	}
}

func TestRHatOfStuckChainsIsInfinite(t *testing.T) {
	x := [][]float64{{1, 1, 1, 1, 1, 1}, {2, 2, 2, 2, 2, 2}}
	for _, f := range []func([][]float64) (float64, error){RHat, rHatBasic} {
		r, err := f(x)
		require.NoError(t, err)
		assert.True(t, math.IsInf(r, 1))
	}
}

func TestESSIsCapped(t *testing.T) {
	// Two draws alternate with noise that keeps ρ̂_1 above −1.
	x := posteriorSeries(t)["capped"]
	got, err := ESSMean(x)
	require.NoError(t, err)
	assert.InDelta(t, 400*math.Log10(400), got, 1e-9)
}

// drawSeries draws a matrix of draws that is not constant.
func drawSeries(t *rapid.T) [][]float64 {
	chains := rapid.IntRange(1, 4).Draw(t, "chains")
	n := rapid.IntRange(MinDraws, 40).Draw(t, "draws")
	x := newDraws(chains, n)
	for c := range x {
		for i := range x[c] {
			x[c][i] = float64(rapid.IntRange(-8, 8).Draw(t, "x"))
		}
	}
	x[0][0], x[0][1] = 0, 1
	return x
}

// Shifts by integers and scalings by powers of two are exact, so the results
// must agree to the last rounding of a mean; ranks are not touched at all.
func TestDiagnosticsInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawSeries(t)
		moved, swapped := newDraws(len(x), len(x[0])), newDraws(len(x), len(x[0]))
		for c := range x {
			for i, v := range x[c] {
				moved[c][i] = 4*v + 64
				swapped[len(x)-1-c][i] = v
			}
		}
		for name, f := range diagnostics {
			if name == "Autocorrelation" {
				continue
			}
			want, err := f(x)
			for _, y := range [][][]float64{moved, swapped} {
				got, fail := f(y)
				assert.Equal(t, err, fail, name)
				if name == "MCSEMean" && &y[0] == &moved[0] {
					got /= 4
				}
				if want != got {
					assert.InEpsilon(t, want, got, 1e-9, name)
				}
			}
		}
	})
}

func TestAutocorrelationIsTheSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawSeries(t)[0]
		got, err := Autocorrelation(x)
		require.NoError(t, err)
		var mean float64
		for _, v := range x {
			mean += v / float64(len(x))
		}
		at := func(lag int) (sum float64) {
			for i := range len(x) - lag {
				sum += (x[i] - mean) * (x[i+lag] - mean)
			}
			return sum
		}
		for lag, rho := range got {
			// The transform of ≤ 128 points loses a few units in the last place.
			assert.InDelta(t, at(lag)/at(0), rho, 1e-13)
		}
	})
}

func TestDiagnosticsKeepTheDraws(t *testing.T) {
	x := posteriorSeries(t)["odd"]
	for _, f := range diagnostics {
		_, err := f(x)
		require.NoError(t, err)
	}
	assert.Equal(t, posteriorSeries(t)["odd"], x)
}
