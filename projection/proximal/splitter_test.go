package proximal_test

import (
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/projection/proximal"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Linear rows are linear by their pointer and inside a struct, too: they take no
// linearisation, and those that contradict each other are refused.
func TestAnyFormOfRowsIsTheSame(t *testing.T) {
	type slabs struct{ constraint.Slabs }
	type linear struct{ constraint.Linear }
	forms := func(a []constraint.Row, b []float64) []constraint.Smooth {
		l := constraint.Linear{A: a, B: b}
		s := l.Slabs()
		return []constraint.Smooth{l, &l, linear{l}, &linear{l}, s, &s, slabs{s}, &slabs{s}}
	}
	up := constraint.Row{Index: []int32{0}, Value: []float64{1}}
	down := constraint.Row{Index: []int32{0}, Value: []float64{-1}}
	var want []float64
	for _, set := range forms([]constraint.Row{up, down}, []float64{1, 0}) {
		s, err := proximal.Projector{Set: set}.Compile(t.Context(), 2)
		require.NoError(t, err, "%T", set)
		z := make([]float64, 2)
		c, err := s.Solve(z, []float64{3, 1})
		require.NoError(t, err)
		assert.Zero(t, c.Outer, "%T", set)
		if want == nil {
			want = z
		}
		assert.Equal(t, want, z, "%T", set)
	}
	for _, set := range forms([]constraint.Row{up, down}, []float64{0, -1}) {
		_, err := proximal.Projector{Set: set}.Compile(t.Context(), 2)
		assert.ErrorIs(t, err, constraint.ErrInfeasible, "%T", set)
	}
}
