package simd

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
)

var (
	inf32 = float32(math.Inf(1))
	nan32 = float32(math.NaN())
)

// logWeights returns rows of random log-weights, some −Inf, of the given spread.
func logWeights(seed uint64, n int, spread float64) []float32 {
	r := newRand(seed)
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(r.NormFloat64() * spread)
		if r.IntN(10) == 0 {
			w[i] = -inf32
		}
	}
	return w
}

func TestWeights(t *testing.T) {
	for _, cols := range []int{1, 2, 3, 15, 16, 17, 40, 64, 127, 128, 129, 1000} {
		const rows = 7
		for _, floor := range []float32{0, 1e-9} {
			w := logWeights(uint64(cols), rows*cols, 30)
			p, total := make([]float32, len(w)), make([]float64, rows)
			Weights(p, total, w, cols, floor)
			for r := range rows {
				row := w[r*cols : (r+1)*cols]
				m := math.Inf(-1)
				for _, v := range row {
					m = math.Max(m, float64(v))
				}
				sum := 0.0
				for i, v := range row {
					got := p[r*cols+i]
					sum += float64(got)
					if v == -inf32 {
						require.Zero(t, got)
						continue
					}
					x := float32(float64(v) - m)
					want := math.Exp(float64(x))
					if x < expCut {
						want = 0
					}
					want = math.Max(want, float64(floor))
					require.LessOrEqual(t, ulps32(got, want), 2.5)
				}
				require.InEpsilon(t, 1+sum, 1+total[r], 1e-13)
			}
			if m := Peak(w[:cols]); floor == 0 {
				own := make([]float32, cols)
				require.Equal(t, total[0], WeightsFrom(own, w[:cols], m))
				require.Equal(t, p[:cols], own)
			}
			inPlace := append([]float32{}, w...)
			Weights(inPlace, total, inPlace, cols, floor)
			require.Equal(t, p, inPlace)
		}
	}
}

func TestRowsAtTheEdge(t *testing.T) {
	for _, c := range []struct {
		name  string
		w     []float32
		total float64
		lse   float64
		max   int32
	}{
		{"none", []float32{-inf32, -inf32, -inf32}, 0, math.Inf(-1), -1},
		{"nan", []float32{0, nan32, 1}, math.NaN(), math.NaN(), -1},
		{"nan first", []float32{nan32, 2, -inf32}, math.NaN(), math.NaN(), -1},
		{"+inf", []float32{0, inf32, 1}, math.NaN(), math.NaN(), 1},
		{"only nan", []float32{nan32, nan32, nan32}, math.NaN(), math.NaN(), -1},
		{"zeros", []float32{0, float32(math.Copysign(0, -1)), 0}, 3, math.Log(3), 0},
		{"huge", []float32{-3e38, 3e38, 0}, 1, float64(float32(3e38)), 1},
		{"denormal", []float32{1e-40, -1e-40, 1e-45}, 3, math.Log(3), 0},
		{"one", []float32{-inf32, -5, -inf32}, 1, -5, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, total, lse, idx := make([]float32, 3), make([]float64, 1), make([]float64, 1), make([]int32, 1)
			Weights(p, total, c.w, 3, 0)
			LogSumExp(lse, c.w, 3)
			ArgMax(idx, c.w, 3)
			same(t, c.total, total[0])
			same(t, c.lse, lse[0])
			assert.Equal(t, c.max, idx[0])
			soft, logSoft := make([]float32, 3), make([]float32, 3)
			Softmax(soft, c.w, 3)
			LogSoftmax(logSoft, c.w, 3)
			Categorical(idx, c.w, 3, []float64{0.5})
			if !(c.total > 0) {
				assert.Equal(t, -1, Pick(p, total[0], 0.5))
				assert.Equal(t, int32(-1), idx[0])
				assert.True(t, isNaN32(soft[0]) || isNaN32(soft[1]))
				assert.True(t, isNaN32(logSoft[0]) || isNaN32(logSoft[1]))
				return
			}
			assert.Positive(t, p[idx[0]])
			for i := range p {
				assert.Equal(t, soft[i] > 0, p[i] > 0)
				assert.Equal(t, float64(logSoft[i]) > expCut, p[i] > 0)
			}
		})
	}
}

func same(t *testing.T, want, got float64) {
	t.Helper()
	if want != want {
		assert.True(t, got != got, "got %v, want NaN", got)
	} else {
		assert.InDelta(t, want, got, 1e-12*(1+math.Abs(want)))
	}
}

func TestSoftmax(t *testing.T) {
	for _, cols := range []int{1, 2, 5, 40, 128, 513} {
		w := logWeights(uint64(cols)+100, 9*cols, 20)
		w[0] = 0 // no row without weight
		for r := range 9 {
			w[r*cols] = 0
		}
		p, lp, lse := make([]float32, len(w)), make([]float32, len(w)), make([]float64, 9)
		Softmax(p, w, cols)
		LogSoftmax(lp, w, cols)
		LogSumExp(lse, w, cols)
		for r := range 9 {
			total, m := 0.0, float64(rowMax(w[r*cols:(r+1)*cols]))
			for _, v := range w[r*cols : (r+1)*cols] {
				total += math.Exp(float64(v) - m)
			}
			l := m + math.Log(total)
			assert.InDelta(t, l, lse[r], 2e-7+1e-7*math.Abs(l))
			for i, v := range w[r*cols : (r+1)*cols] {
				got := p[r*cols+i]
				want := math.Exp(float64(float32(float64(v)-m))) / total
				if want > 1e-37 {
					require.Less(t, ulps32(got, want), 5.0) // 4, and the total's own error
				} else {
					require.InDelta(t, want, got, 1e-37)
				}
				require.False(t, got > 0 && got < 0x1p-126, "denormal")
				if v != -inf32 {
					require.InDelta(t, float64(v)-l, lp[r*cols+i], 3e-7*(1+math.Abs(float64(v)-m)))
				} else {
					require.Equal(t, -inf32, lp[r*cols+i])
				}
			}
		}
		inPlace := append([]float32{}, w...)
		Softmax(inPlace, inPlace, cols)
		require.Equal(t, p, inPlace)
		copy(inPlace, w)
		LogSoftmax(inPlace, inPlace, cols)
		require.Equal(t, lp, inPlace)
	}
}

// search is sort.Search from from on, with 64 bits on every machine.
func search(from, to int64, f func(int64) bool) int64 {
	for from < to {
		if mid := from + (to-from)/2; f(mid) {
			to = mid
		} else {
			from = mid + 1
		}
	}
	return from
}

// shares returns the measure of {u : pick(u) = l} for each l, by bisection on
// the grid of 53-bit uniforms; pick must be monotone in u.
func shares(cols int, pick func(u float64) int) []float64 {
	s := make([]float64, cols)
	from := int64(0)
	for l := range cols {
		to := search(from, 1<<53, func(i int64) bool {
			return pick(float64(i)*0x1p-53) > l
		})
		s[l] = float64(to-from) * 0x1p-53
		from = to
	}
	return s
}

// TestPickExact: every class owns exactly its share of the unit interval, classes
// of 1e−7 and below included. A sum in float32 does not pass.
func TestPickExact(t *testing.T) {
	r := newRand(5)
	for _, cols := range []int{1, 2, 3, 16, 17, 64, 128, 129, 300} {
		p := make([]float32, cols)
		total := 0.0
		for i := range p {
			switch r.IntN(4) {
			case 0:
				p[i] = float32(r.Float64())
			case 1:
				p[i] = float32(1e-7 * r.Float64())
			case 2:
				p[i] = float32(math.Exp(-80 * r.Float64()))
			}
		}
		p[r.IntN(cols)] = 1
		for i := 0; i < cols; i += blockTerms {
			total += blockSum(p[i:min(i+blockTerms, cols)])
		}
		worst := func(s []float64) (d float64) {
			for l, v := range s {
				d = max(d, math.Abs(v-float64(p[l])/total))
			}
			return d
		}
		got := shares(cols, func(u float64) int { return Pick(p, total, u) })
		assert.LessOrEqual(t, worst(got), 3e-15, "cols %d", cols)
		for l, v := range got {
			if p[l] == 0 {
				assert.Zero(t, v)
			}
		}
		if cols < 64 {
			continue
		}
		broken := shares(cols, func(u float64) int {
			s, last := float32(0), 0
			for l, v := range p {
				s += v
				last = l
				if s > float32(u*total) {
					break
				}
			}
			return last
		})
		assert.Greater(t, worst(broken), 3e-15, "the broken twin")
	}
}

func TestPickIsCategorical(t *testing.T) {
	r := newRand(6)
	for _, cols := range []int{1, 2, 7, 64, 128, 500, 3000} {
		w := logWeights(uint64(cols)+7, 20*cols, 10)
		idx, u := make([]int32, 20), make([]float64, 20)
		for i := range u {
			u[i] = r.Float64()
		}
		u[0], u[1], u[2] = 0, 1-0x1p-53, 1
		Categorical(idx, w, cols, u)
		p, total := make([]float32, len(w)), make([]float64, 20)
		Weights(p, total, w, cols, 0)
		for i := range idx {
			row := p[i*cols : (i+1)*cols]
			require.Equal(t, Pick(row, total[i], u[i]), int(idx[i]))
			if idx[i] >= 0 {
				require.Positive(t, row[idx[i]])
			}
		}
	}
	// Out of contract, yet never an index of weight 0.
	assert.Equal(t, 1, Pick([]float32{1, 2, 0}, 3, 1))
	assert.Equal(t, 1, Pick([]float32{1, 2, 0}, 5, 0.9))
}

// TestCategoricalFrequencies is a chi-square test at rate 1e−6.
func TestCategoricalFrequencies(t *testing.T) {
	const rows, cols = 100000, 9
	w := make([]float32, rows*cols)
	for i := range w {
		w[i] = float32(math.Log(float64(i%cols + 1)))
	}
	bits := make([]uint32, (2*rows+63)/64*64)
	Philox(bits, 1, 2, 3)
	u, idx := make([]float64, rows), make([]int32, rows)
	Unit64(u, bits[:2*rows])
	Categorical(idx, w, cols, u)
	var count [cols]float64
	for _, l := range idx {
		count[l]++
	}
	x2, twin := 0.0, 0.0
	for l, n := range count {
		want := rows * float64(l+1) / (cols * (cols + 1) / 2)
		x2 += (n - want) * (n - want) / want
		flat := float64(rows) / cols
		twin += (n - flat) * (n - flat) / flat
	}
	bound := distuv.ChiSquared{K: cols - 1}.Quantile(1 - 1e-6)
	assert.Less(t, x2, bound)
	assert.Greater(t, twin, bound, "the broken twin")
}

func TestRowPanics(t *testing.T) {
	w, p := make([]float32, 6), make([]float32, 6)
	assert.PanicsWithValue(t, "simd: cols = 0, want ≥ 1", func() { Softmax(p, w, 0) })
	assert.PanicsWithValue(t, "simd: len(w) = 6, want a multiple of 4", func() { Softmax(p, w, 4) })
	for i, f := range []func(){
		func() { Softmax(p[:5], w, 2) },
		func() { LogSoftmax(p[:5], w, 2) },
		func() { LogSumExp(make([]float64, 2), w, 2) },
		func() { Weights(p, make([]float64, 2), w, 2, 0) },
		func() { Weights(p[:1], make([]float64, 3), w, 2, 0) },
		func() { Categorical(make([]int32, 2), w, 2, make([]float64, 2)) },
		func() { Categorical(make([]int32, 3), w, 2, make([]float64, 2)) },
		func() { ArgMax(make([]int32, 2), w, 2) },
	} {
		assert.Panics(t, f, fmt.Sprint(i))
	}
}
