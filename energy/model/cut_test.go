package model_test

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/energy/model"
	"github.com/gibbsite-go/gibbsite/internal/exact"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMaxCutIsTheCut(t *testing.T) {
	edges := []model.Edge{{I: 0, J: 1, W: 3}, {I: 1, J: 2, W: -1}, {I: 2, J: 3, W: 2}, {I: 3, J: 4, W: 1}, {I: 4, J: 0, W: 1}, {I: 0, J: 2, W: 2}}
	g, err := model.NewGraph(5, edges)
	require.NoError(t, err)
	m, err := model.MaxCut(g)
	require.NoError(t, err)
	e := make([]float64, 1)
	for _, x := range exact.States(5, 2) {
		cut := 0.0
		for _, b := range edges {
			if x[b.I] != x[b.J] {
				cut += b.W
			}
		}
		m.Energy(e, x)
		require.Equal(t, cut, g.Cut(x))
		require.Equal(t, 8./2-cut, e[0], "half the weight of all edges, minus the cut")
	}
	assert.PanicsWithValue(t, "model: len(x) = 4, want 5", func() { g.Cut(make([]int32, 4)) })
	assert.Zero(t, testing.AllocsPerRun(10, func() { g.Cut([]int32{0, 1, 0, 1, 1}) }))
}
