package bonds

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

func TestOf(t *testing.T) {
	b := Of(exact.Must(model.MaxCut(exact.Must(model.NewGraph(3, []model.Edge{{I: 0, J: 1, W: 1}, {I: 1, J: 2, W: -3}})))))
	assert.Equal(t, 3, b.Sites())
	assert.Equal(t, []float64{-1, 2, 3}, b.Field) // of a cut, less what flips gain
	assert.Equal(t, []float64{2, 2, -6, -6}, b.Weight)
	assert.Equal(t, 10.0, b.Reach())
	assert.Nil(t, Of(exact.Must(model.NewPotts(model.Lattice{3, 3}, 3, 1, nil))))
	learner := exact.Must(exact.Must(model.NewIsing(model.Lattice{3, 3}, 1, 0)).Learn())
	assert.Nil(t, Of(learner), "numbers that change")
}

// Integers finds the integers that a scaled model was made of, whatever the scale.
func TestIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SliceOfN(rapid.IntRange(-9, 9), 4, 4).Draw(t, "k")
		scale := rapid.Float64Range(1e-3, 1e3).Draw(t, "scale")
		q := []model.Edge{{I: 0, J: 1, W: float64(k[0])}, {I: 1, J: 2, W: float64(k[1])}}
		m, err := model.NewQuadratic(3, q, model.Polynomial{Linear: []float64{float64(k[2]), 0, float64(k[3])}})
		require.NoError(t, err)
		s, err := energy.Scale(m, scale)
		require.NoError(t, err)
		b := Of(s)
		w, f, unit, ok := b.Integers(100)
		require.True(t, ok)
		for i, v := range b.Weight {
			require.InDelta(t, v, float64(w[i])*unit, scale*1e-12)
		}
		for i, v := range b.Field {
			require.InDelta(t, v, float64(f[i])*unit, scale*1e-12)
		}
		// No larger unit would do.
		d := 0
		for _, v := range append(append([]int32{}, w...), f...) {
			d = gcd(d, int(v))
		}
		require.LessOrEqual(t, d, 1)
	})
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

func TestIntegersRefuses(t *testing.T) {
	for name, b := range map[string]*Bonds{
		"π":        {Start: []int32{0, 0, 0}, Field: []float64{1, math.Pi}},
		"too many": {Start: []int32{0, 0, 0}, Field: []float64{1, 101}},
		"infinite": {Start: []int32{0, 0, 0}, Field: []float64{1, math.Inf(1)}},
		"nearly":   {Start: []int32{0, 0, 0}, Field: []float64{1, 2 + 1e-10}},
	} {
		_, _, _, ok := b.Integers(100)
		assert.False(t, ok, name)
	}
	_, f, unit, ok := (&Bonds{Start: []int32{0, 0}, Field: []float64{0}}).Integers(100)
	assert.True(t, ok)
	assert.Equal(t, []int32{0}, f)
	assert.Equal(t, 1.0, unit)
}

func TestCheck(t *testing.T) {
	fit := func() *Bonds {
		return &Bonds{Start: []int32{0, 1, 2}, Adj: []int32{1, 0}, Weight: []float64{2, 2}, Field: []float64{1, 1}}
	}
	require.NoError(t, fit().Check(2))
	for want, spoil := range map[string]func(b *Bonds){
		"1 fields and 3 rows, want 2 and 3":           func(b *Bonds) { b.Field = b.Field[:1] },
		"rows from 0 to 3, 2 columns and 2 weights":   func(b *Bonds) { b.Start[2] = 3 },
		"rows from 0 to 2, 2 columns and 1 weights":   func(b *Bonds) { b.Weight = b.Weight[:1] },
		"row 0 from 0 to 3":                           func(b *Bonds) { b.Start[1] = 3 },
		"column 7 after -1 in row 0":                  func(b *Bonds) { b.Adj[0] = 7 },
		"column 0 after -1 in row 0":                  func(b *Bonds) { b.Adj[0] = 0 },
		"column -2 after -1 in row 0":                 func(b *Bonds) { b.Adj[0] = -2 },
		"numbers of site 1 that add up to NaN":        func(b *Bonds) { b.Weight[1] = math.NaN() },
		"numbers of site 0 that add up to +Inf, want": func(b *Bonds) { b.Field[0] = math.Inf(1) },
	} {
		b := fit()
		spoil(b)
		assert.ErrorContains(t, b.Check(2), want)
	}
}
