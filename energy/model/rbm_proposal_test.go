package model_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// evenMachine has weights and biases like noise of the given size.
func evenMachine(r *rand.Rand, visible, hidden int, size float64) machine {
	draw := func(n int, sd float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(sd * r.NormFloat64())
		}
		return v
	}
	return machine{draw(visible*hidden, size), draw(hidden, 1), draw(visible, 1)}
}

// off returns how far the field for proposals of site i may be from that of FieldFrom.
func (m machine) off(i int) float64 {
	hidden, visible := len(m.bh), len(m.bv)
	size := 0.0
	for j := range hidden {
		size += math.Abs(float64(m.w[j*visible+i]))
	}
	unit := 0x1p-100
	for {
		sum, most := 0.0, 0.0
		for j := range hidden {
			v := math.RoundToEven(math.Abs(float64(m.w[j*visible+i])) / unit)
			sum, most = sum+v, max(most, v)
		}
		if sum < 1<<19 && most < 1<<15 {
			return unit*float64(hidden)/4 + 0x1p-14*(size+unit*float64(hidden)/2)
		}
		unit *= 2
	}
}

// The field for proposals is the one of first order within the bound that its doc
// states, or that of FieldFrom where this is too much. Arithmetic here is float64.
func TestRBMProposalField(t *testing.T) {
	rough := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2))
		visible, hidden := rapid.IntRange(1, 40).Draw(t, "visible"), rapid.IntRange(1, 40).Draw(t, "hidden")
		var u machine
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			u = unevenMachine(r, visible, hidden)
		case 1:
			u = evenMachine(r, visible, hidden, 0)
		case 2: // a large weight among small ones
			u = evenMachine(r, visible, hidden, 1e-6)
			u.w[r.IntN(len(u.w))] = 10
		default:
			u = evenMachine(r, visible, hidden, rapid.SampledFrom([]float64{1e-30, 0.05, 1, 30, 1e6}).Draw(t, "size"))
		}
		m, err := model.NewRBM(u.w, u.bh, u.bv)
		require.NoError(t, err)
		const states = 3
		x := make([]int32, states*visible)
		for i := range x {
			x[i] = r.Int32N(2)
		}
		e, h, next := make([]float64, states), make([]float32, len(x)), make([]float64, states*m.CacheLen())
		e1, h1, next1 := make([]float64, states), make([]float32, len(x)), make([]float64, len(next))
		m.FieldFrom(e, h, next, x, nil, nil)
		m.ProposalFrom(e1, h1, next1, x, nil, nil)
		require.Equal(t, e, e1)
		require.Equal(t, next, next1)
		coarse := false
		for i := range visible {
			coarse = coarse || u.off(i) > 1./8
		}
		if coarse {
			require.Equal(t, h, h1)
			return
		}
		rough++
		half := func(v []float32, more float32) float64 { // how far NewRBM rounds what is added to much larger numbers
			sum := math.Abs(float64(more))
			for _, w := range v {
				sum += math.Abs(float64(w))
			}
			_, e := math.Frexp(sum)
			return math.Ldexp(1, e-53)
		}
		for s := range states {
			for i, b := range u.bv {
				want, size, grid := -float64(b), math.Abs(float64(b)), half(u.bv, 0)
				for j := range hidden {
					grid += half(u.w[j*visible:(j+1)*visible], u.bh[j])
					w := float64(u.w[j*visible+i])
					a := float64(float32(next[s*m.CacheLen()+j]))
					want -= w / (1 + math.Exp(-a))
					size += math.Abs(w)
				}
				// Roundings to float32: σ, origin, sum and h.
				require.InDelta(t, want, h1[s*visible+i], u.off(i)+8*0x1p-24*size+grid, "state %d, site %d", s, i)
			}
		}
	})
	assert.Greater(t, rough, 3)
}

// By changes and from nothing, of many states and of one, the bits are the same.
func TestRBMProposalFromChanges(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for _, shape := range [][2]int{{1, 1}, {33, 7}, {64, 130}} {
		visible, hidden := shape[0], shape[1]
		u := evenMachine(r, visible, hidden, 0.2)
		m, err := model.NewRBM(u.w, u.bh, u.bv)
		require.NoError(t, err)
		const states = 40
		x, y := make([]int32, states*visible), make([]int32, states*visible)
		for i := range x {
			x[i], y[i] = r.Int32N(2), r.Int32N(2)
		}
		size := m.CacheLen()
		e, h, cache, next := make([]float64, states), make([]float32, len(x)), make([]float64, states*size), make([]float64, states*size)
		m.ProposalFrom(e, h, cache, x, nil, nil)
		m.ProposalFrom(e, h, next, y, cache, x)
		e1, h1, next1 := make([]float64, 1), make([]float32, visible), make([]float64, size)
		for s := range states {
			m.ProposalFrom(e1, h1, next1, y[s*visible:(s+1)*visible], nil, nil)
			require.Equal(t, e1[0], e[s])
			require.Equal(t, h1, h[s*visible:(s+1)*visible])
			require.Equal(t, next1, next[s*size:(s+1)*size])
		}
	}
}

// What many states choose has the bits of changes, one by one, and log-odds of visible
// sites are sums in float32.
func TestRBMChosenRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 3))
		visible, hidden := rapid.IntRange(1, 70).Draw(t, "visible"), rapid.IntRange(1, 140).Draw(t, "hidden")
		u := unevenMachine(r, visible, hidden)
		m, err := model.NewRBM(u.w, u.bh, u.bv)
		require.NoError(t, err)
		states := rapid.IntRange(20, 70).Draw(t, "states")
		x, y, g := make([]int32, states*visible), make([]int32, states*visible), make([]int32, states*hidden)
		for i := range x {
			x[i], y[i] = r.Int32N(2), 1-r.Int32N(2)*r.Int32N(2)
		}
		for j := range g {
			g[j] = r.Int32N(2)
		}
		size := m.CacheLen()
		e, f, cache, next := make([]float64, states), make([]float32, states*hidden), make([]float64, states*size), make([]float64, states*size)
		m.HiddenFieldFrom(e, f, cache, x, nil, nil)
		m.HiddenFieldFrom(e, f, next, y, cache, x)
		v := make([]float32, len(x))
		m.VisibleField(v, g)
		grid := 0.0 // how far NewRBM may have moved weights
		for _, w := range [][]float32{u.w, u.bh, u.bv} {
			for _, v := range w {
				grid += math.Abs(float64(v)) * 0x1p-51
			}
		}
		e1, f1, next1, v1 := make([]float64, 1), make([]float32, hidden), make([]float64, size), make([]float32, visible)
		for s := range states {
			at, to := s*visible, (s+1)*visible
			m.HiddenFieldFrom(e1, f1, next1, y[at:to], cache[s*size:(s+1)*size], x[at:to])
			require.Equal(t, e1[0], e[s])
			require.Equal(t, f1, f[s*hidden:(s+1)*hidden])
			require.Equal(t, next1, next[s*size:(s+1)*size])
			m.VisibleField(v1, g[s*hidden:(s+1)*hidden])
			require.Equal(t, v1, v[at:to])
			for i, b := range u.bv {
				want, sum := float64(b), math.Abs(float64(b))
				for j := range hidden {
					w := float64(u.w[j*visible+i]) * float64(g[s*hidden+j])
					want, sum = want+w, sum+math.Abs(w)
				}
				require.InDelta(t, want, v1[i], sum*0x1p-24*float64(hidden/4+4)+grid)
			}
		}
	})
}
