package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// -bound prints a bound, and "optimal" only where the best state has it.
func TestBound(t *testing.T) {
	planar := filepath.Join(t.TempDir(), "planar.txt")
	require.NoError(t, os.WriteFile(planar, []byte("4 4\n1 2 1\n2 3 1\n3 1 1\n3 4 2\n"), 0o600))
	complete := filepath.Join(t.TempDir(), "k5.txt")
	require.NoError(t, os.WriteFile(complete, []byte("5 10\n1 2\n1 3\n1 4\n1 5\n2 3\n2 4\n2 5\n3 4\n3 5\n4 5\n"), 0o600))
	for path, want := range map[string]struct {
		cut     float64
		optimal bool
	}{planar: {4, true}, complete: {6, false}} {
		o, err := parse([]string{"-graph", path, "-anneal", "-steps", "5", "-bound"})
		require.NoError(t, err)
		r, err := run(context.Background(), o)
		require.NoError(t, err)
		text, err := json.Marshal(r)
		require.NoError(t, err)
		var got struct {
			Cut       float64 `json:"best_cut"`
			Bound     float64
			Gap       float64
			Optimal   bool
			Partition []int
		}
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want.cut, got.Cut)
		require.Equal(t, want.optimal, got.Optimal)
		require.GreaterOrEqual(t, got.Bound, got.Cut)
		require.Equal(t, got.Bound-got.Cut, got.Gap)
		require.NotEmpty(t, got.Partition)
		require.Contains(t, r.String(), map[bool]string{true: "gap 0, proven optimal", false: "not proven optimal"}[want.optimal])
	}
	_, err := parse([]string{"-bound"})
	require.ErrorContains(t, err, "-bound goes with -anneal")
	o, err := parse([]string{"-lattice", "3,3", "-anneal", "-steps", "2", "-bound"})
	require.NoError(t, err)
	r, err := run(context.Background(), o)
	require.NoError(t, err)
	require.True(t, *r.Optimal)
}
