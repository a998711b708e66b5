package mcmc

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/gibbsite-go/gibbsite/sampler"
)

// fielded is a model that has a field and nothing else, and counts the states that it
// is asked about.
type fielded struct {
	of     *exact.Quadratic
	states int
}

func (m *fielded) Shape() (int, int) { return m.of.Shape() }

func (m *fielded) Energy(e []float64, x []int32) {
	m.states += len(e)
	m.of.Energy(e, x)
}

func (m *fielded) Field(e []float64, h []float32, x []int32) {
	m.states += len(e)
	m.of.Field(e, h, x)
}

// No method that weighs the changes of a state evaluates a model with a field more than
// 1.2 times a step and chain, what it does at its start left out.
func TestEvaluationsAStep(t *testing.T) {
	const chains, steps = 4, 50
	for name, method := range map[string]sampler.Method{
		"dmala": DMALA{}, "dula": DULA{}, "cyclical": Cyclical{}, "dlmc": DLMC{}, "paths": Paths{},
		"gwg": GWG{}, "gwg-3": GWG{Flips: 3}, "dups": DUPS{},
		"dmala-barker": DMALA{Balance: Barker}, "dula-max": DULA{Balance: Max},
		"sqrt": LocallyBalanced{}, "barker": LocallyBalanced{Balance: Barker}, "min": LocallyBalanced{Balance: Min}, "max": LocallyBalanced{Balance: Max},
	} {
		m := &fielded{of: exact.NewQuadratic(10, 1)}
		k := exact.Must(method.Kernel(context.Background(), m, chains))
		x, info, r := make([]int32, chains*10), make([]sampler.Info, chains), make([]sampler.Stream, chains)
		for s := range r {
			r[s] = *sampler.NewStream(1, uint64(s))
		}
		require.NoError(t, k.Reset(sampler.Control{}, x))
		m.states = 0
		for range steps {
			k.Step(sampler.Control{}, info, x, r)
		}
		require.Positive(t, m.states, name)
		require.LessOrEqual(t, float64(m.states), 1.2*chains*steps, name)
	}
}

// A model with a field has one weight a site, of its flip, and no table of two columns.
func TestFlipsHaveOneColumn(t *testing.T) {
	quadratic := &fielded{of: exact.NewQuadratic(6, 1)}
	for _, method := range []sampler.Method{GWG{}, GWG{Flips: 2}, LocallyBalanced{}, LocallyBalanced{Balance: Max}} {
		k := exact.Must(method.Kernel(context.Background(), quadratic, 3)).(*hastings).proposal.(*gwg)
		require.Len(t, k.g, 3*6)
		require.Len(t, k.w.Now, 3*6)
	}
	plain := energy.Func{Sites: 6, Levels: 2, E: func(x []int32) float64 { return float64(x[0]) }}
	require.Len(t, exact.Must(GWG{}.Kernel(context.Background(), plain, 3)).(*hastings).proposal.(*gwg).w.Now, 3*6*2)
	require.Len(t, exact.Must(LocallyBalanced{Exact: true}.Kernel(context.Background(), quadratic, 3)).(*hastings).proposal.(*gwg).w.Now, 3*6*2)
}
