package simd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// changesOf returns changes of one state by the rows given: i is added, ^i subtracted.
func changesOf(rows []int32, sites int) *Changes {
	return &Changes{rows: append(rows, make([]int32, max(0, sites-len(rows)))...), counts: []int{len(rows)}, sites: sites}
}

// TestAddRows compares sums of few digits, exact in any order, with a plain loop
// over columns.
func TestAddRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cols, count := rapid.IntRange(1, 200).Draw(t, "columns"), rapid.IntRange(1, 20).Draw(t, "rows")
		w := make([]float32, cols*count)
		for i := range w {
			w[i] = float32(int32(i*i%1009) - 500)
		}
		rows := rapid.SliceOf(rapid.Int32Range(int32(-count), int32(count-1))).Draw(t, "changes")
		src, dst, f := make([]float64, cols), make([]float64, cols), make([]float32, cols)
		for j := range src {
			src[j] = float64(j) * 0x1p-32
		}
		c := changesOf(rows, count)
		c.Add(0, dst, f, src, w)
		wide := make([]float64, len(w))
		for i, v := range w {
			wide[i] = float64(v)
		}
		dst64 := make([]float64, cols)
		c.Add64(0, dst64, src, wide)
		require.Equal(t, dst, dst64)
		for j := range dst {
			want := float64(j) * 0x1p-32
			require.Equal(t, want, src[j])
			for _, r := range rows {
				if r >= 0 {
					want += float64(w[int(r)*cols+j])
				} else {
					want -= float64(w[int(^r)*cols+j])
				}
			}
			require.Equal(t, want, dst[j])
			require.Equal(t, float32(want), f[j])
		}
		// Back again, in place and in another order.
		for k := range rows {
			rows[k] = ^rows[k]
		}
		for l, r := 0, len(rows)-1; l < r; l, r = l+1, r-1 {
			rows[l], rows[r] = rows[r], rows[l]
		}
		changesOf(rows, count).Add(0, dst, f, dst, w)
		require.Equal(t, src, dst)
	})
}

func TestChangesPanics(t *testing.T) {
	c, d, f := new(Changes), make([]float64, 2), make([]float32, 6)
	c.Set([]int32{1, 0, 1}, nil, 3)
	for want, call := range map[string]func(){
		"simd: len(y) = 3, want a multiple of sites = 2, which is to be ≥ 1": func() { new(Changes).Set([]int32{1, 0, 1}, nil, 2) },
		"simd: len(y) = 0, want a multiple of sites = 0, which is to be ≥ 1": func() { new(Changes).Set(nil, nil, 0) },
		"simd: len(x) = 0, want 1":   func() { new(Changes).Set([]int32{1}, []int32{}, 1) },
		"simd: len(f) = 6, want 2":   func() { c.Add(0, d, f, d, f) },
		"simd: len(src) = 1, want 2": func() { c.Add(0, d, f[:2], d[:1], f) },
		"simd: len(w) = 3, want 6":   func() { c.Add(0, d, f[:2], d, f[:3]) },
		"simd: len(src) = 2, want 1": func() { c.Add64(0, d[:1], d, d) },
		"simd: len(w) = 2, want 3":   func() { c.Add64(0, d[:1], d[:1], d) },
	} {
		assert.PanicsWithValue(t, want, call)
	}
	assert.NotPanics(t, func() { c.Add(0, nil, nil, nil, nil) })
}

// TestChanges compares the sites found with a plain comparison, on every backend.
func TestChanges(t *testing.T) {
	var c Changes // reused, as it is in steps
	rapid.Check(t, func(t *rapid.T) {
		sites, states := rapid.IntRange(1, 200).Draw(t, "sites"), rapid.IntRange(0, 3).Draw(t, "states")
		if rapid.IntRange(0, 19).Draw(t, "many") == 0 {
			sites += 2 * 16384 // beyond one call
		}
		r := newRand(rapid.Uint64().Draw(t, "seed"))
		y, x := make([]int32, states*sites), make([]int32, states*sites)
		for i := range y {
			y[i], x[i] = r.Int32N(2), r.Int32N(2)
		}
		before := x
		if rapid.Bool().Draw(t, "from zero") {
			before = nil
			clear(x)
		}
		for _, l := range append(backends(), purego) {
			withBackend(l, func() {
				c.Set(y, before, sites)
				total := 0
				for k := range states {
					var want []int32
					for i := range sites {
						switch y[k*sites+i] - x[k*sites+i] {
						case 1:
							want = append(want, int32(i))
						case -1:
							want = append(want, ^int32(i))
						}
					}
					total += len(want)
					require.Equal(t, append([]int32{}, want...), append([]int32{}, c.of(k)...), levelNames[l])
				}
				require.Equal(t, total, c.Len())
			})
		}
	})
}

func BenchmarkAddRows(b *testing.B) {
	const cols, count, changed = 512, 784, 50
	w, f, sums := randomFloats(1, cols*count), make([]float32, cols), make([]float64, cols)
	rows, r := make([]int32, changed), newRand(3)
	for k := range rows {
		rows[k] = r.Int32N(2*count) - count
	}
	c := changesOf(rows, count)
	onEach(b, "50x512", func(b *testing.B) {
		for b.Loop() {
			c.Add(0, sums, f, sums, w)
		}
		perElement(b, cols*changed, 4)
	})
}
