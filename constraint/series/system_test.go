package series_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/constraint/series"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Limits on a market of five channels, in dollars and shares, while the
// denoiser sees standardised numbers.
func ExampleBuilder() {
	b := series.NewBuilder(series.Shape{
		Length: 24, Channels: 5, Names: []string{"open", "high", "low", "close", "volume"},
		Shift: []float64{100, 102, 98, 100, 5000}, Scale: []float64{10, 11, 9, 10, 800},
	})
	b.OHLC(0, 1, 2, 3)
	b.Mean(3, 104)
	b.ArgMax(1, 17)
	b.Bounds(4, 0, math.Inf(1))
	b.Autocorrelation(3, 12, 0.2)
	s, err := b.Build()
	fmt.Println(s.Len(), s.RowName(96), err)
	// Output: 146 mean of close = 104 <nil>
}

// Every constraint, in raw units, against its definition on random series.
func TestSeriesBuilderMeansWhatItSays(t *testing.T) {
	const length, channels = 9, 4
	rng := rand.New(rand.NewPCG(8, 8))
	shape := series.Shape{
		Length: length, Channels: channels, Shift: []float64{3, -2, 0, 10}, Scale: []float64{2, 0.5, 1, 7}, Tolerance: 0.1,
	}
	at := func(x []float64, t, c int) float64 { return x[t*channels+c] }
	largest := func(x []float64, c, t int) float64 {
		worst := math.Inf(-1)
		for i := range length {
			if i != t {
				worst = max(worst, at(x, i, c)-at(x, t, c))
			}
		}
		return worst
	}
	for name, c := range map[string]struct {
		add  func(b *series.Builder)
		want func(x []float64) float64 // the violation
	}{
		"mean": {func(b *series.Builder) { b.Mean(1, -1.5) }, func(x []float64) float64 {
			m := 0.0
			for t := range length {
				m += at(x, t, 1) / length
			}
			return math.Abs(m+1.5)/0.5 - 0.1
		}},
		"mean change": {func(b *series.Builder) { b.MeanChange(3, 0.25) }, func(x []float64) float64 {
			m := 0.0
			for t := 1; t < length; t++ {
				m += (at(x, t, 3) - at(x, t-1, 3)) / (length - 1)
			}
			return math.Abs(m-0.25)/7 - 0.1
		}},
		"sum": {func(b *series.Builder) { b.Sum(0, 2, 5, 4) }, func(x []float64) float64 {
			return math.Abs(at(x, 2, 0)+at(x, 3, 0)+at(x, 4, 0)-4)/2 - 0.1
		}},
		"at":      {func(b *series.Builder) { b.At(2, 8, 0.5) }, func(x []float64) float64 { return math.Abs(at(x, 8, 2)-0.5) - 0.1 }},
		"arg max": {func(b *series.Builder) { b.ArgMax(0, 4) }, func(x []float64) float64 { return largest(x, 0, 4) / 2 }},
		"arg min": {func(b *series.Builder) { b.ArgMin(3, 1) }, func(x []float64) float64 {
			y := make([]float64, len(x))
			for i, v := range x {
				y[i] = -v
			}
			return largest(y, 3, 1) / 7
		}},
		"bounds": {func(b *series.Builder) { b.Bounds(1, -3, 1) }, func(x []float64) float64 {
			worst := math.Inf(-1)
			for t := range length {
				worst = max(worst, (at(x, t, 1)-1)/0.5, (-3-at(x, t, 1))/0.5)
			}
			return worst
		}},
		"ohlc": {func(b *series.Builder) { b.OHLC(0, 3, 1, 2) }, func(x []float64) float64 {
			worst := math.Inf(-1)
			for t := range length {
				o, h, l, c := at(x, t, 0), at(x, t, 3), at(x, t, 1), at(x, t, 2)
				worst = max(worst, (o-h)/7, (c-h)/7, (l-o)/2, (l-c)/1)
			}
			return worst
		}},
		"up":   {func(b *series.Builder) { b.Trend(2, 0, 3, false) }, func(x []float64) float64 { return max(at(x, 0, 2)-at(x, 1, 2), at(x, 1, 2)-at(x, 2, 2)) }},
		"down": {func(b *series.Builder) { b.Trend(2, 6, 8, true) }, func(x []float64) float64 { return at(x, 7, 2) - at(x, 6, 2) }},
		"row": {func(b *series.Builder) {
			b.Row("mine", constraint.Row{Index: []int32{0, 7}, Value: []float64{1, 2}}, 1, 2)
		}, func(x []float64) float64 { y := x[0] + 2*x[7]; return max(1-y, y-2) / 7 }},
		"impute": {func(b *series.Builder) {
			x := make([]float64, length*channels)
			for i := range x {
				x[i] = math.NaN()
			}
			x[6] = 1
			b.Impute(x)
		}, func(x []float64) float64 { return math.Abs(x[6] - 1) }},
		"autocorrelation": {func(b *series.Builder) { b.Autocorrelation(3, 2, 0.3) }, func(x []float64) float64 {
			mean, num, den := 0.0, 0.0, 0.0
			for t := range length {
				mean += at(x, t, 3) / length
			}
			for t := range length {
				den += (at(x, t, 3) - mean) * (at(x, t, 3) - mean)
				if t >= 2 {
					num += (at(x, t, 3) - mean) * (at(x, t-2, 3) - mean)
				}
			}
			return math.Abs(num/den-0.3) - 0.1
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := series.NewBuilder(shape)
			c.add(b)
			s, err := b.Build()
			require.NoError(t, err)
			assert.NotEmpty(t, s.RowName(s.Len()-1))
			for range 20 {
				v, raw := make([]float32, length*channels), make([]float64, length*channels)
				for i := range v {
					v[i] = float32(rng.NormFloat64())
					raw[i] = shape.Shift[i%channels] + shape.Scale[i%channels]*float64(v[i])
				}
				g := make([]float64, s.Len())
				s.Value(g, v)
				worst := math.Inf(-1)
				for _, x := range g {
					worst = max(worst, x)
				}
				require.InDelta(t, c.want(raw), worst, 1e-6)
				got, what := s.Violation(v)
				require.Equal(t, max(worst, 0), got)
				require.Equal(t, worst > 0, what != "")
			}
		})
	}
}

// Derivatives of the autocorrelation against differences, in both precisions.
func TestSeriesDerivatives(t *testing.T) {
	b := series.NewBuilder(series.Shape{Length: 7, Channels: 2})
	b.Autocorrelation(1, 3, 0.1)
	b.Mean(0, 1)
	s, err := b.Build()
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 2))
	z, v := make([]float64, 14), make([]float32, 14)
	for i := range z {
		v[i] = float32(rng.NormFloat64())
		z[i] = float64(v[i])
	}
	slabs, curves := s.Split()
	assert.Equal(t, 1, slabs.Len())
	grad, g := make([]float64, 14), make([]float64, 2)
	pull := make([]float32, 14)
	s.Pull(pull, v, []float64{0, 1, 3})
	var sum [14]float64
	for j := range 2 {
		curves.Gradient(grad, j, z)
		for i := range z {
			const h = 1e-6
			z[i] += h
			curves.Eval(g, z)
			up := g[j]
			z[i] -= 2 * h
			curves.Eval(g, z)
			require.InDelta(t, (up-g[j])/(2*h), grad[i], 1e-8)
			z[i] += h
			sum[i] += float64(1+2*j) * grad[i]
		}
	}
	for i := range sum {
		require.InDelta(t, sum[i], pull[i], 1e-5)
	}
	clear(z) // a constant channel
	curves.Eval(g, z)
	assert.InDeltaSlice(t, []float64{-0.105, 0.095}, g, 1e-12)
	curves.Gradient(grad, 0, z)
	assert.Equal(t, make([]float64, 14), grad)
}

func TestSeriesBuilderRefusals(t *testing.T) {
	ok := series.Shape{Length: 5, Channels: 2, Names: []string{"a", "b"}}
	for want, f := range map[string]func() *series.Builder{
		"Length = 0": func() *series.Builder {
			return series.NewBuilder(series.Shape{Channels: 1})
		},
		"Channels = 0": func() *series.Builder {
			return series.NewBuilder(series.Shape{Length: 1})
		},
		"Length = 2, want at most ": func() *series.Builder {
			return series.NewBuilder(series.Shape{Length: 2, Channels: math.MaxInt})
		},
		"Length = 3, want at most 1 with Channels = 1073741824": func() *series.Builder {
			return series.NewBuilder(series.Shape{Length: 3, Channels: 1 << 30})
		},
		"len(Names) = 1": func() *series.Builder {
			s := ok
			s.Names = s.Names[:1]
			return series.NewBuilder(s)
		},
		"len(Shift) = 1": func() *series.Builder {
			s := ok
			s.Shift = []float64{1}
			return series.NewBuilder(s)
		},
		"len(Scale) = 1": func() *series.Builder {
			s := ok
			s.Scale = []float64{1}
			return series.NewBuilder(s)
		},
		"a constant channel": func() *series.Builder {
			s := ok
			s.Scale = []float64{1, 0}
			return series.NewBuilder(s)
		},
	} {
		b := f()
		b.Mean(0, 1)
		_, err := b.Build()
		assert.ErrorContains(t, err, want)
	}
	for want, add := range map[string]func(b *series.Builder){
		"Mean: channel = 2, want 0…1":          func(b *series.Builder) { b.Mean(2, 0) },
		"At: time = 5, want 0…4":               func(b *series.Builder) { b.At(1, 5, 0) },
		"mean of a = NaN":                      func(b *series.Builder) { b.Mean(0, math.NaN()) },
		"Sum: end = 6, want 3…5":               func(b *series.Builder) { b.Sum(1, 2, 6, 0) },
		"Trend: end = 2, want 3…5":             func(b *series.Builder) { b.Trend(1, 2, 2, true) },
		"Autocorrelation: lag = 5, want 1…4":   func(b *series.Builder) { b.Autocorrelation(0, 5, 0) },
		"Autocorrelation: value = 1.5":         func(b *series.Builder) { b.Autocorrelation(0, 1, 1.5) },
		"Impute: len(x) = 1, want 10":          func(b *series.Builder) { b.Impute([]float64{1}) },
		"2 ≤ b at 0 ≤ 1 = 2 … 1, want numbers": func(b *series.Builder) { b.Bounds(1, 2, 1) },
		": Slabs: Lower[0] = NaN":              func(b *series.Builder) { b.Row("mine", constraint.Row{}, math.NaN(), 1) },
		"OHLC: channel = 3, want 0…1": func(b *series.Builder) {
			b.OHLC(0, 1, 0, 3)
			b.At(0, 0, 0)
			b.Row("", constraint.Row{}, 0, 0)
		},
		"OHLC: channel twice = 1, want four different ones": func(b *series.Builder) { b.OHLC(0, 1, 1, 0) },
		"MeanChange: channel = -1":                          func(b *series.Builder) { b.MeanChange(-1, 0) },
		"ArgMax: time = -1, want 0…4":                       func(b *series.Builder) { b.ArgMax(0, -1) },
		"Bounds: channel = 9":                               func(b *series.Builder) { b.Bounds(9, 0, 1) },
		"Autocorrelation: channel = 9, want 0…1":            func(b *series.Builder) { b.Autocorrelation(9, 1, 0) },
	} {
		b := series.NewBuilder(ok)
		add(b)
		_, err := b.Build()
		assert.ErrorContains(t, err, want)
	}
}
