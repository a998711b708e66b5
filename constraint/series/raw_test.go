package series

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bars returns standardised bars whose raw prices are in order but for the
// rounding of float32, in channels close, x, low, high, open.
func bars(n int) (Shape, []float32) {
	r := rand.New(rand.NewPCG(1, 2))
	s := Shape{Length: n, Channels: 5, Shift: []float64{100, 7, 100.5, 99.5, 100.2}, Scale: []float64{3.1, 1, 2.9, 3.3, 3.05}}
	x := make([]float32, 0, 5*n)
	for range n {
		open := 100 + 5*r.NormFloat64()
		raw := []float64{open, r.NormFloat64(), open, open, open} // all equal: any rounding breaks the order
		for c, v := range raw {
			x = append(x, float32((v-s.Shift[c])/s.Scale[c]))
		}
	}
	return s, x
}

func broken(raw []float64, p Prices, channels int) (bad int) {
	for t := range len(raw) / channels {
		row := raw[t*channels:]
		if !(row[p.Low] <= min(row[p.Open], row[p.Close]) && row[p.High] >= max(row[p.Open], row[p.Close])) {
			bad++
		}
	}
	return bad
}

// Back in raw units, many bars are out of order by rounding; finished ones are
// not, in float64 exactly, with and without ticks, and hardly moved.
func TestPricesStayInOrder(t *testing.T) {
	shape, x := bars(480)
	p := Prices{Open: 4, High: 3, Low: 2, Close: 0}
	raw := shape.Raw(x)
	assert.Greater(t, broken(raw, p, 5), 30, "or there is nothing to put right")
	before := slices.Clone(raw)
	moved, err := p.Finish(raw, 5, 1e-4)
	require.NoError(t, err)
	assert.Zero(t, broken(raw, p, 5))
	assert.Less(t, moved, 1e-5)
	for i := range raw {
		assert.InDelta(t, before[i], raw[i], moved)
		if i%5 == 1 {
			assert.Equal(t, before[i], raw[i], "no price")
		}
	}
	for _, tick := range []float64{0.01, 0.05, 0.25, 5} {
		p.Tick = tick
		raw := shape.Raw(x)
		moved, err := p.Finish(raw, 5, tick)
		require.NoError(t, err)
		assert.Zero(t, broken(raw, p, 5))
		assert.LessOrEqual(t, moved, tick/2*1.0001)
		for i, v := range raw {
			if i%5 == 1 {
				continue
			}
			n := v / tick
			assert.InDelta(t, math.Round(n), n, 1e-9)
			if tick == 0.01 { // what a file with two decimals holds
				back, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', 2, 64), 64)
				require.NoError(t, err)
				assert.Equal(t, back, v)
			}
		}
	}
}

func TestPricesRefuse(t *testing.T) {
	raw := func() []float64 { return []float64{1, 3, 0, 2, 1, 3, 1.5, 2} } // the second low is .5 above open
	good := Prices{Open: 0, High: 1, Low: 2, Close: 3}
	for want, c := range map[string]struct {
		p    Prices
		x    []float64
		n    int
		most float64
	}{
		"at 1 open 1, high 3, low 1.5, close 2: one would move by 0.5, want ≤ 0.4": {good, raw(), 4, 0.4},
		"one would move by 0, want ≤ NaN":                                          {good, raw(), 4, math.NaN()},
		"channel = 4, want 0 … 3":                                                  {Prices{0, 1, 2, 4, 0}, raw(), 4, 1},
		"channel = 1 twice":                                                        {Prices{0, 1, 1, 2, 0}, raw(), 4, 1},
		"Tick = -1, want ≥ 0":                                                      {Prices{0, 1, 2, 3, -1}, raw(), 4, 1},
		"Tick = NaN, want ≥ 0":                                                     {Prices{0, 1, 2, 3, math.NaN()}, raw(), 4, 1},
		"len(raw) = 7, want a multiple of 4":                                       {good, raw()[:7], 4, 1},
		"price at 0 = +Inf, want a finite number":                                  {good, []float64{1, math.Inf(1), 0, 1}, 4, 1},
		"price at 0 = 1e+20, want at most 2⁵² ticks of 1":                          {Prices{0, 1, 2, 3, 1}, []float64{1e20, 1e20, 1e20, 1e20}, 4, 1e30},
	} {
		before := slices.Clone(c.x)
		_, err := c.p.Finish(c.x, c.n, c.most)
		assert.ErrorContains(t, err, want)
		assert.Equal(t, before, c.x, "an error must leave the series alone")
	}
	x := raw()
	moved, err := good.Finish(x, 4, 0.5)
	require.NoError(t, err)
	assert.Equal(t, 0.5, moved)
	assert.Equal(t, []float64{1, 3, 0, 2, 1, 3, 1, 2}, x)
}

func TestRawPanics(t *testing.T) {
	assert.Equal(t, []float64{1, 2}, Shape{Length: 1, Channels: 2}.Raw([]float32{1, 2}))
	assert.Panics(t, func() { Shape{Length: 1, Channels: 2}.Raw([]float32{1}) })
	assert.Panics(t, func() { Shape{Length: 1, Channels: 2, Shift: []float64{1}}.Raw([]float32{1, 2}) })
	assert.Panics(t, func() { Shape{Length: 1, Channels: 2, Scale: []float64{1}}.Raw([]float32{1, 2}) })
}
