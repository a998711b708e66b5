package cost

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// Every model has costs that are positive, and a table costs no less than an energy.
func TestEveryModelCosts(t *testing.T) {
	for name, m := range exact.Library(t) {
		c := Of(m)
		for _, v := range []float64{c.Energy, c.Table, c.Row, c.Field} {
			assert.True(t, v > 0 && !math.IsInf(v, 0), "%s: %+v", name, c)
		}
		assert.GreaterOrEqual(t, c.Table, c.Energy, name)
		assert.GreaterOrEqual(t, c.Move, 0., name)
	}
}

// What a model says itself counts, through wrappers too; others are counted by what
// they look at.
func TestOf(t *testing.T) {
	f := energy.Func{Sites: 10, Levels: 3, E: func([]int32) float64 { return 0 }}
	want := Of(f)
	assert.Equal(t, 60., want.Energy)
	assert.Equal(t, 60.*21, want.Table)
	scaled := exact.Must(energy.Scale(f, .5))
	assert.Equal(t, want, Of(scaled))
	assert.Equal(t, want, Of(exact.Must(energy.Clamp(f, map[int]int32{1: 2}))))
	assert.Equal(t, 2*want.Table, Of(exact.Must(energy.Sum(f, f))).Table)
	g := f
	g.Grad = func([]float32, []int32) float64 { return 0 }
	assert.Equal(t, 180., Of(g).Table)
	b := Of(bare{f})
	assert.Equal(t, b.Energy+10*b.Row, b.Table)
	assert.Equal(t, 180., Of(tabledOnly{bare{f}, f}).Table)
	small, large := exact.Must(model.NewIsing(model.FreeLattice{4, 4}, .1, 0)), exact.Must(model.NewIsing(model.FreeLattice{8, 8}, .1, 0))
	assert.Greater(t, Of(large).Table, 3*Of(small).Table)
	assert.InDelta(t, 3, Of(small).Degree, 1e-12)
	torus := exact.Must(model.NewIsing(model.Lattice{8, 8}, .1, 0))
	assert.Less(t, Of(torus).Table, Of(large).Table)
}

// A dense model costs its products, and more levels an entry each; a move costs its row.
func TestDenseModels(t *testing.T) {
	dense := func(n int, values ...float32) Model {
		return Of(exact.Must(model.NewDenseQuadratic(n, make([]float64, n*n), model.Polynomial{Values: values})))
	}
	two, wide, three := dense(8), dense(80), dense(8, 0, 1, 2)
	assert.Equal(t, two.Energy, two.Table)
	assert.Greater(t, wide.Table, 2*two.Table)
	assert.Greater(t, three.Table, three.Energy)
	assert.Equal(t, float64(visit), two.Row)
	assert.Greater(t, wide.Move, two.Move)
	assert.Less(t, wide.Field, wide.Table, "fields are kept up to date")
	assert.Zero(t, three.Changed, "not with three levels")
}

// A Memo asks once.
func TestMemo(t *testing.T) {
	small := exact.Must(model.NewIsing(model.FreeLattice{4, 4}, .1, 0))
	var m Memo
	assert.Equal(t, Of(small), m.Of(small))
	assert.Equal(t, Of(small), m.Of(nil))
}

// bare says nothing but its energy, tabledOnly its table, too.
type bare struct{ f energy.Func }

func (b bare) Shape() (sites, levels int)    { return b.f.Shape() }
func (b bare) Energy(e []float64, x []int32) { b.f.Energy(e, x) }

type tabledOnly struct {
	bare
	f energy.Func
}

func (b tabledOnly) Gradient(e []float64, g []float32, x []int32) { b.f.Gradient(e, g, x) }
