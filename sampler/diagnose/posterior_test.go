package diagnose

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// agreement is the relative difference allowed between this package and
// posterior. The largest is 3e−10, on the series with mean 10⁶ and variance 1,
// where rounding of the draws' deviations alone is 1e−10; all others are below
// 1e−12.
const agreement = 1e-9

// posteriorSeries reads the draws of testdata/posterior.
func posteriorSeries(t testing.TB) map[string][][]float64 {
	series := map[string][][]float64{}
	for _, f := range fields(t, "series.txt") {
		var chain []float64
		for _, word := range f[2:] {
			v, err := strconv.ParseFloat(word, 64)
			require.NoError(t, err)
			chain = append(chain, v)
		}
		series[f[0]] = append(series[f[0]], chain)
	}
	return series
}

func fields(t testing.TB, name string) (lines [][]string) {
	text, err := os.ReadFile("../../testdata/posterior/" + name)
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Fields(line))
		}
	}
	return lines
}

// figures are what posterior.R calls the functions of this package.
var figures = map[string]func(x [][]float64) (float64, error){
	"rhat":       RHat,
	"rhat_basic": rHatBasic,
	"rhat_bulk":  func(x [][]float64) (float64, error) { return potentialScale(rankNormalize(splitChains(x))) },
	"ess_bulk":   ESSBulk,
	"ess_tail":   ESSTail,
	"ess_mean":   ESSMean,
	"ess_q5":     func(x [][]float64) (float64, error) { return quantileESS(x, 0.05) },
	"ess_q95":    func(x [][]float64) (float64, error) { return quantileESS(x, 0.95) },
	"mcse_mean":  MCSEMean,
	"mean":       func(x [][]float64) (float64, error) { m, _ := meanSD(x); return m, nil },
	"sd":         func(x [][]float64) (float64, error) { _, s := meanSD(x); return s, nil },
	"q5":         func(x [][]float64) (float64, error) { return quantile(sorted(x), 0.05), nil },
	"q50":        func(x [][]float64) (float64, error) { return quantile(sorted(x), 0.50), nil },
	"q95":        func(x [][]float64) (float64, error) { return quantile(sorted(x), 0.95), nil },
	"acf1":       func(x [][]float64) (float64, error) { return lag(x, 1) },
	"acf3":       func(x [][]float64) (float64, error) { return lag(x, 3) },
}

func quantileESS(x [][]float64, p float64) (float64, error) {
	if err := checkDraws(x, MinDraws); err != nil {
		return 0, err
	}
	return essQuantile(x, quantile(sorted(x), p))
}

func lag(x [][]float64, t int) (float64, error) {
	rho, err := Autocorrelation(x[0])
	if err != nil {
		return 0, err
	}
	return rho[t], nil
}

// defined holds the figures that posterior leaves undefined and this package
// defines, as the documentation of RHat and ESSTail says, by the posterior
// figure that they must equal.
var defined = map[string]string{
	"alternate rhat":     "rhat_bulk",
	"balanced rhat":      "rhat_bulk",
	"alternate ess_tail": "ess_q5",
	"balanced ess_tail":  "ess_q5",
	"spin ess_tail":      "ess_q5",
	"allstuck ess_tail":  "ess_q5",
}

func TestAgreesWithPosterior(t *testing.T) {
	series := posteriorSeries(t)
	require.Len(t, series, 24)
	expected := map[string]float64{}
	var order [][]string
	for _, f := range fields(t, "expected.txt") {
		v := math.NaN() // NA
		if f[2] != "NA" {
			var err error
			v, err = strconv.ParseFloat(f[2], 64)
			require.NoError(t, err)
		}
		expected[f[0]+" "+f[1]] = v
		order = append(order, f)
	}
	require.Len(t, order, 24*len(figures))
	largest := 0.0
	for _, f := range order {
		key := f[0] + " " + f[1]
		want := expected[key]
		if instead, ok := defined[key]; ok {
			require.True(t, math.IsNaN(want), key)
			want = expected[f[0]+" "+instead]
		}
		got, err := figures[f[1]](series[f[0]])
		switch {
		case math.IsNaN(want):
			assert.Error(t, err, key)
			assert.True(t, errors.Is(err, ErrConstant) || errors.Is(err, ErrTooFew), "%s: %v", key, err)
			assert.Zero(t, got, key)
		case want > 1e12: // the halves do not vary: posterior divides by a rounding error
			assert.NoError(t, err, key)
			assert.True(t, math.IsInf(got, 1), "%s: %v", key, got)
		default:
			assert.NoError(t, err, key)
			// Zero means come with rounding errors of the draws, about 1.
			difference := math.Abs(got-want) / max(math.Abs(want), 1e-6)
			assert.LessOrEqual(t, difference, agreement, "%s: got %v, posterior has %v", key, got, want)
			largest = max(largest, difference)
		}
	}
	t.Logf("largest relative difference %.1e", largest)
}

// TestPosteriorHasPower: variants that leave out one step of the definition
// differ from posterior on these series by far more than is allowed.
func TestPosteriorHasPower(t *testing.T) {
	series := posteriorSeries(t)
	expected := map[string]float64{}
	for _, f := range fields(t, "expected.txt") {
		expected[f[0]+" "+f[1]], _ = strconv.ParseFloat(f[2], 64)
	}
	twins := []struct{ name, of, on string }{
		{"without splitting", "rhat", "trend"},
		{"without ranks", "rhat", "heavy"},
		{"without folding", "rhat", "scaled"},
		{"without ranks", "ess_bulk", "heavy"},
		{"without averaging ties", "ess_bulk", "levels"},
	}
	for _, w := range twins {
		x := series[w.on]
		var got float64
		var err error
		switch w.name + " " + w.of {
		case "without splitting rhat":
			got, err = potentialScale(rankNormalize(x))
		case "without ranks rhat":
			got, err = rHatBasic(x)
		case "without folding rhat":
			got, err = figures["rhat_bulk"](x)
		case "without ranks ess_bulk":
			got, err = ESSMean(x)
		case "without averaging ties ess_bulk":
			got, err = effective(rankNormalize(splitChains(breakTies(x))))
		}
		require.NoError(t, err)
		want := expected[w.on+" "+w.of]
		assert.Greater(t, math.Abs(got-want), 1e-3*want, "%s %s on %s", w.of, w.name, w.on)
	}
}

// breakTies orders equal draws by chain and position.
func breakTies(draws [][]float64) [][]float64 {
	out := newDraws(len(draws), len(draws[0]))
	for c, x := range draws {
		for i, v := range x {
			out[c][i] = v + 1e-9*float64(c*len(x)+i)
		}
	}
	return out
}
