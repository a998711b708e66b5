package model_test

import (
	"math"
	"testing"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var (
	_ energy.Differentiable = (*model.Independent)(nil)
	_ energy.Conditional    = (*model.Independent)(nil)
	_ energy.Graphical      = (*model.Independent)(nil)
	_ energy.Supported      = (*model.Independent)(nil)
)

var forbidden = math.Inf(-1)

func TestIndependentByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.IntRange(1, 4).Draw(t, "levels")
		sites := rapid.IntRange(1, 4).Draw(t, "sites")
		unit := rapid.SampledFrom([]float64{1, 0.1}).Draw(t, "unit")
		logw := make([]float64, sites*levels)
		basic := true
		for i := range logw {
			k := rapid.IntRange(-4, 3).Draw(t, "w")
			logw[i] = unit * float64(k)
			if k == -4 {
				logw[i] = forbidden
			}
		}
		for i := range sites {
			logw[i*levels+rapid.IntRange(0, levels-1).Draw(t, "allowed")] = 0
			basic = basic && logw[i*levels] > forbidden
		}
		m, err := model.NewIndependent(logw, levels)
		require.NoError(t, err)
		exact.CheckModel(t, m, unit == 1, func(x []int32) float64 {
			e := 0.0
			for i, l := range x {
				e -= logw[i*levels+int(l)]
			}
			return e
		})
		_, binary := energy.As[energy.Binary](m)
		require.Equal(t, levels == 2, binary)
		_, local := energy.As[energy.Local](m)
		require.Equal(t, basic, local)

		for _, x := range exact.States(sites, levels) {
			y := append([]int32(nil), x...)
			m.Repair(y)
			for i := range x {
				best := logw[i*levels+int(y[i])]
				require.Greater(t, best, forbidden)
				if logw[i*levels+int(x[i])] > forbidden {
					require.Equal(t, x[i], y[i])
					continue
				}
				for _, w := range logw[i*levels : (i+1)*levels] {
					require.LessOrEqual(t, w, best)
				}
			}
		}
	})
}

// From a forbidden level the table still leads to the allowed ones.
func TestIndependentFromForbiddenLevels(t *testing.T) {
	m, err := model.NewIndependent([]float64{forbidden, 0, forbidden, 2}, 4)
	require.NoError(t, err)
	e, g, d := make([]float64, 1), make([]float32, 4), make([]float64, 4)
	inf := math.Inf(1)
	m.Gradient(e, g, []int32{0})
	require.Equal(t, []float32{0, float32(-inf), float32(inf), float32(-inf)}, g)
	m.Conditional(d, 0, []int32{2})
	require.Equal(t, []float64{inf, -inf, 0, -inf}, d)
}

func TestBernoulli(t *testing.T) {
	m, err := model.NewBernoulli([]float64{math.Log(3), math.Inf(1), math.Inf(-1)})
	require.NoError(t, err)
	p, _ := exact.Law(m)
	want := make([]float64, 8)
	want[exact.Index([]int32{0, 1, 0}, 2)], want[exact.Index([]int32{1, 1, 0}, 2)] = 0.25, 0.75
	require.InDeltaSlice(t, want, p, 0x1p-51)

	b, _ := energy.As[energy.Binary](m)
	e, h := make([]float64, 1), make([]float32, 3)
	b.Field(e, h, []int32{1, 1, 0})
	require.Equal(t, []float32{-float32(math.Log(3)), float32(math.Inf(-1)), float32(math.Inf(1))}, h)
}

func TestIndependentRefuses(t *testing.T) {
	for _, c := range []struct {
		logw   []float64
		levels int
		want   string
	}{
		{nil, 0, "levels = 0, want ≥ 1"},
		{nil, 2, "len(logw) = 0, want a positive multiple of 2"},
		{make([]float64, 3), 2, "len(logw) = 3, want a positive multiple of 2"},
		{[]float64{0, math.NaN()}, 2, "logw[1] = NaN, want a number < +Inf"},
		{[]float64{0, math.Inf(1)}, 2, "logw[1] = +Inf, want a number < +Inf"},
		{[]float64{0, 0, forbidden, forbidden}, 2, "site 1 forbids every level"},
		{[]float64{1e308, 1e308}, 1, "the log-weights add up to more than 8.988465674311579e+307, energies would overflow"},
	} {
		_, err := model.NewIndependent(c.logw, c.levels)
		require.EqualError(t, err, "model: NewIndependent: "+c.want)
	}
	_, err := model.NewBernoulli(nil)
	require.EqualError(t, err, "model: NewBernoulli: len(logits) = 0, want ≥ 1")
	_, err = model.NewBernoulli([]float64{0, math.NaN()})
	require.EqualError(t, err, "model: NewBernoulli: logits[1] = NaN, want a number")
}

func TestIndependentPanicsAndAllocatesNothing(t *testing.T) {
	m, err := model.NewIndependent(make([]float64, 6), 2)
	require.NoError(t, err)
	b, _ := energy.As[energy.Binary](m)
	l, _ := energy.As[energy.Local](m)
	e, g, x, d := make([]float64, 1), make([]float32, 6), make([]int32, 3), make([]float64, 6)
	for want, f := range map[string]func(){
		"model: len(x) = 2, want a multiple of 3": func() { m.Repair(x[:2]) },
		"model: len(e) = 0, want 1":               func() { m.Energy(nil, x) },
		"model: len(g) = 5, want 6":               func() { m.Gradient(e, g[:5], x) },
		"model: len(h) = 2, want 3":               func() { b.Field(e, g[:2], x) },
		"model: len(d) = 1, want 2":               func() { m.Conditional(d[:1], 0, x) },
		"model: len(d) = 3, want 6":               func() { l.Locals(d[:3], x) },
		"model: len(d) = 4, want 6":               func() { l.Move(d[:4], 0, 1, x) },
	} {
		require.PanicsWithValue(t, want, f)
	}
	exact.Steady(t, "Independent", func() {
		m.Energy(e, x)
		m.Gradient(e, g, x)
		b.Field(e, g[:3], x)
		m.Conditional(d[:2], 1, x)
		l.Locals(d, x)
		l.Move(d, 1, 1, x)
		m.Repair(x)
	})
}
