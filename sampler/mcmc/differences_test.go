package mcmc

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// fieldOnly hides everything but the energy and the compact field of a model and
// counts the states that it evaluates; windowOnly leaves the windows, tableOnly
// the table.
type (
	fieldOnly struct {
		energy.Binary
		states *int
	}
	windowOnly struct {
		energy.Windowed
		states *int
	}
	tableOnly struct {
		energy.Differentiable
		states *int
	}
)

func (m fieldOnly) Energy(e []float64, x []int32) { *m.states += len(e); m.Binary.Energy(e, x) }
func (m fieldOnly) Field(e []float64, h []float32, x []int32) {
	*m.states += len(e)
	m.Binary.Field(e, h, x)
}
func (m windowOnly) Energy(e []float64, x []int32) { *m.states += len(e); m.Windowed.Energy(e, x) }
func (m windowOnly) Window(e []float64, g []float32, x []int32, w int) {
	*m.states += len(e)
	m.Windowed.Window(e, g, x, w)
}
func (m tableOnly) Energy(e []float64, x []int32) { *m.states += len(e); m.Differentiable.Energy(e, x) }
func (m tableOnly) Gradient(e []float64, g []float32, x []int32) {
	*m.states += len(e)
	m.Differentiable.Gradient(e, g, x)
}

// field gives a rugged model of two levels the compact form of its table.
type field struct{ *exact.Rugged }

func (m field) Field(e []float64, h []float32, x []int32) {
	g := make([]float32, 2*len(x))
	m.Gradient(e, g, x)
	for i := range h {
		h[i] = g[2*i+1] - g[2*i]
	}
}

// A model that knows its field or its windows is evaluated once a step, in every
// kernel that proposes by a table and through every wrapper, and without
// allocation.
func TestOneEvaluationAStep(t *testing.T) {
	exact.SkipUnderRace(t)
	const chains, steps = 4, 25
	states := new(int)
	ising := exact.Must(model.NewIsing(model.Lattice{300}, 0.3, 0.1))
	f := fieldOnly{ising, states}
	table := tableOnly{exact.Must(model.NewIndependent(make([]float64, 600), 2)), new(int)}
	// Four ordinal levels: J couples neighbours on a ring of 60 sites.
	a := make([]model.Edge, 60)
	for i := range a {
		a[i] = model.Edge{I: i, J: (i + 1) % 60, W: 0.1}
	}
	ordinal, ok := energy.As[energy.Windowed](exact.Must(model.NewQuadratic(60, a, model.Polynomial{Values: []float32{0, 1, 2, 4}})))
	require.True(t, ok)
	w := windowOnly{ordinal, states}
	models := map[string]energy.Model{
		"field": f, "field scaled": exact.Must(energy.Scale(f, 0.5)),
		"field clamped": exact.Must(energy.Clamp(f, map[int]int32{7: 0})),
		"field + field": exact.Must(energy.Sum(f, fieldOnly{ising, new(int)})),
		"field + table": exact.Must(energy.Sum(f, table)),
		"table + field": exact.Must(energy.Sum(table, exact.Must(energy.Scale(f, 2)))),
		"window":        w, "window scaled": exact.Must(energy.Scale(w, 0.5)),
		"window clamped":  exact.Must(energy.Clamp(w, map[int]int32{7: 0})),
		"window + table":  exact.Must(energy.Sum(w, tableOnly{exact.Must(model.NewIndependent(make([]float64, 240), 4)), new(int)})),
		"window + window": exact.Must(energy.Sum(w, windowOnly{ordinal, new(int)})),
	}
	methods := []sampler.Method{
		GWG{}, GWG{Flips: 2}, Paths{}, LocallyBalanced{Balance: Barker}, DLMC{StepSize: 0.1}, DMALA{StepSize: 0.2}, DULA{}, Cyclical{},
		DMALA{StepSize: 0.2, Balance: Barker}, DUPS{},
	}
	for name, m := range models {
		for _, method := range methods {
			t.Run(fmt.Sprintf("%s/%T", name, method), func(t *testing.T) {
				sites, _ := m.Shape()
				k, err := method.Kernel(context.Background(), m, chains)
				require.NoError(t, err)
				x := make([]int32, chains*sites)
				info, r := make([]sampler.Info, chains), make([]sampler.Stream, chains)
				require.NoError(t, k.Reset(sampler.Control{}, x))
				*states = 0
				for range steps {
					k.Step(sampler.Control{}, info, x, r)
				}
				assert.LessOrEqual(t, float64(*states), 1.2*chains*steps)
				assert.Zero(t, testing.AllocsPerRun(10, func() { k.Step(sampler.Control{}, info, x, r) }))
			})
		}
	}
}
