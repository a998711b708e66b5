package trellis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// asked counts how often a filter asks whether to stop.
type asked int

func (a *asked) Done(int) bool { *a++; return false }

// A site costs something in every phase, however few its levels and edges: a filter
// of many sites asks as often as that takes.
func TestFilterAsksOnTheWay(t *testing.T) {
	const sites = 1 << 16
	no11 := &table{levels: 2, next: []int{0, 1, 0, -1}, accepting: []bool{true, true}}
	g, err := Compile(context.Background(), no11, Config{Sites: sites, Levels: 2})
	require.NoError(t, err)
	v := make([]float32, 2*sites)
	whole := NewRunner(g)
	want, err := whole.Filter(v)
	require.NoError(t, err)

	var n asked
	r := NewRunner(g)
	got, err := r.FilterUntil(v, &n, false)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.GreaterOrEqual(t, int(n), 3*sites*siteWork/askEvery)
}
