package constraint

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMask(t *testing.T) {
	rows := [][]int32{{1, 3}, nil, {0}, {2, 1, 2}}
	m, err := NewMask(4, rows)
	require.NoError(t, err)
	requireLanguage(t, m, 4, 6, func(x []int32) bool {
		for i, token := range x {
			if i < len(rows) && rows[i] != nil && !slices.Contains(rows[i], token) {
				return false
			}
		}
		return true
	})
	require.False(t, m.Allows(1, 4))
	require.False(t, m.Allows(1, -1))
	require.True(t, m.Allows(4, 9))
	sites, levels := m.Shape()
	require.Equal(t, []int{4, 4}, []int{sites, levels})

	w := make([]float32, 5*4)
	m.Apply(w)
	for i := range 5 {
		for l := range 4 {
			require.Equal(t, m.Allows(i, int32(l)), w[i*4+l] == 0)
			require.Equal(t, !m.Allows(i, int32(l)), math.IsInf(float64(w[i*4+l]), -1))
		}
	}
	m.Apply(w[:8])
	require.PanicsWithValue(t, "constraint: len(w) = 3, want a multiple of 4", func() { m.Apply(w[:3]) })
	require.Zero(t, testing.AllocsPerRun(100, func() { m.Apply(w) }))
}

func TestMaskOfManyLevels(t *testing.T) {
	m, err := NewMask(200, [][]int32{{0, 63, 64, 127, 199}})
	require.NoError(t, err)
	for l := range int32(200) {
		require.Equal(t, slices.Contains([]int32{0, 63, 64, 127, 199}, l), m.Allows(0, l))
	}
	of, n := m.Classes(201)
	require.Equal(t, 2, n)
	require.Equal(t, of[1], of[200])
}

func TestMaskErrors(t *testing.T) {
	var argument *ArgumentError
	_, err := NewMask(0, nil)
	require.ErrorAs(t, err, &argument)
	for _, l := range []int32{-1, 3} {
		_, err = NewMask(3, [][]int32{nil, {0, l}})
		require.ErrorAs(t, err, &argument)
		require.ErrorContains(t, err, "a level of site 1 = ")
	}
	_, err = NewMask(3, [][]int32{nil, {}})
	require.ErrorIs(t, err, ErrInfeasible)
	require.ErrorContains(t, err, "site 1")
}
