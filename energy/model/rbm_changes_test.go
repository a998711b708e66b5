package model_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	_ energy.Incremental          = (*model.RBM)(nil)
	_ energy.IncrementalBipartite = (*model.RBM)(nil)
)

// unevenMachine has weights of many magnitudes, which float32 sums round.
func unevenMachine(r *rand.Rand, visible, hidden int) machine {
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(math.Ldexp(r.NormFloat64(), r.IntN(60)-30))
		}
		return v
	}
	return machine{draw(visible * hidden), draw(hidden), draw(visible)}
}

// After thousands of random changes, energies, fields and intermediate results
// have the bits of a fresh evaluation: nothing drifts.
func TestRBMChangesLikeFromScratch(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for _, shape := range [][2]int{{1, 1}, {7, 3}, {90, 63}, {40, 64}, {33, 200}} {
		visible, hidden := shape[0], shape[1]
		const chains, steps = 3, 3000
		u := unevenMachine(r, visible, hidden)
		m, err := model.NewRBM(u.w, u.bh, u.bv)
		require.NoError(t, err)
		scaled, err := energy.Scale(m, 0.3)
		require.NoError(t, err)
		for _, m := range []energy.Model{m, scaled} {
			inc, ok := energy.As[energy.Incremental](m)
			require.True(t, ok)
			size := inc.CacheLen()
			x, y := make([]int32, chains*visible), make([]int32, chains*visible)
			cache, next := make([]float64, chains*size), make([]float64, chains*size)
			e, h, e1, h1 := make([]float64, chains), make([]float32, len(x)), make([]float64, chains), make([]float32, len(x))
			inc.FieldFrom(e, h, cache, x, nil, nil)
			layers, _ := m.(*model.RBM) // nil of the scaled one
			f, f1 := make([]float32, chains*hidden), make([]float32, chains*hidden)
			for step := range steps {
				copy(y, x)
				for s := range chains {
					for range r.IntN(1 + 3*s) { // chain 0 stays
						y[s*visible+r.IntN(visible)] ^= 1
					}
				}
				if layers != nil && step%2 == 1 {
					layers.HiddenFieldFrom(e, f, next, y, cache, x)
					layers.HiddenField(f1, y)
					require.Equal(t, f1, f)
				}
				inc.FieldFrom(e, h, next, y, cache, x)
				x, y, cache, next = y, x, next, cache
				if step%97 != 0 && step != steps-1 {
					continue
				}
				inc.Field(e1, h1, x)
				require.Equal(t, e1, e)
				require.Equal(t, h1, h)
				inc.FieldFrom(e1, h1, next, x, nil, nil)
				require.Equal(t, next, cache)
				m.Energy(e1, x)
				require.Equal(t, e, e1)
			}
		}
	}
}

// The activations that the energy sees are those of the weights as given, to
// 2^−52 of the sum of their magnitudes per weight. Arithmetic here is exact.
func TestRBMRoundsWeightsLittle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		visible, hidden := rapid.IntRange(1, 30).Draw(t, "visible"), rapid.IntRange(1, 5).Draw(t, "hidden")
		u := unevenMachine(r, visible, hidden)
		m, err := model.NewRBM(u.w, u.bh, u.bv)
		require.NoError(t, err)
		x := make([]int32, visible)
		for i := range x {
			x[i] = r.Int32N(2)
		}
		cache := make([]float64, m.CacheLen())
		m.FieldFrom(make([]float64, 1), make([]float32, visible), cache, x, nil, nil)
		sum := func(bias float32, w []float32) (want, slack float64) {
			exact := big.NewFloat(float64(bias)).SetPrec(2000)
			size := math.Abs(float64(bias))
			for i, l := range x {
				size += math.Abs(float64(w[i]))
				if l == 1 {
					exact.Add(exact, big.NewFloat(float64(w[i])))
				}
			}
			want, _ = exact.Float64()
			return want, size * 0x1p-52 * float64(visible+2)
		}
		for j, b := range u.bh {
			want, slack := sum(b, u.w[j*visible:(j+1)*visible])
			require.InDelta(t, want, cache[j], slack)
		}
		want, slack := sum(0, u.bv)
		require.InDelta(t, want, cache[hidden], slack)
	})
}

func TestRBMFieldFromPanics(t *testing.T) {
	m, err := model.NewRBM(make([]float32, 6), make([]float32, 2), make([]float32, 3))
	require.NoError(t, err)
	e, h, x, c := make([]float64, 1), make([]float32, 3), make([]int32, 3), make([]float64, m.CacheLen())
	for want, f := range map[string]func(){
		"model: len(x) = 2, want a multiple of 3": func() { m.FieldFrom(e, h[:2], c, x[:2], nil, nil) },
		"model: len(h) = 2, want 3":               func() { m.FieldFrom(e, h[:2], c, x, nil, nil) },
		"model: len(e) = 0, want 1":               func() { m.FieldFrom(nil, h, c, x, nil, nil) },
		"model: len(newCache) = 1, want 128":      func() { m.FieldFrom(e, h, c[:1], x, nil, nil) },
		"model: len(x) = 0, want 3":               func() { m.FieldFrom(e, h, c, x, c, x[:0]) },
		"model: len(f) = 3, want 2":               func() { m.HiddenFieldFrom(e, h, c, x, nil, nil) },
		"model: len(cache) = 0, want 128":         func() { m.FieldFrom(e, h, c, x, nil, x) },
	} {
		require.PanicsWithValue(t, want, f)
	}
}
