package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// -bound prints a bound, and "optimal" only where the best state has it.
func TestBound(t *testing.T) {
	planar := filepath.Join(t.TempDir(), "planar.txt")
	require.NoError(t, os.WriteFile(planar, []byte("4 4\n1 2 1\n2 3 1\n3 1 1\n3 4 2\n"), 0o600))
	seven := "7 21\n"
	for i := 1; i <= 7; i++ {
		for j := i + 1; j <= 7; j++ {
			seven += fmt.Sprintln(i, j)
		}
	}
	complete := filepath.Join(t.TempDir(), "k7.txt") // of 35 triangles five share a bond: at least 7 bonds are not cut, and 9 are not
	require.NoError(t, os.WriteFile(complete, []byte(seven), 0o600))
	for path, want := range map[string]struct {
		cut     float64
		optimal bool
	}{planar: {4, true}, complete: {12, false}} {
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

// The time of the proof is not taken from the search.
func TestBoundLeavesTimeToSearch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "random.txt")
	r, edges := rand.New(rand.NewPCG(4, 6)), map[[2]int]bool{}
	for len(edges) < 3000 {
		if i, j := r.IntN(200), r.IntN(200); i < j {
			edges[[2]int{i + 1, j + 1}] = true
		}
	}
	text := "200 3000\n"
	for _, e := range slices.SortedFunc(maps.Keys(edges), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) }) {
		text += fmt.Sprintln(e[0], e[1])
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	o, err := parse([]string{"-graph", path, "-anneal", "-seconds", "0.25", "-bound"})
	require.NoError(t, err)
	got, err := run(context.Background(), o)
	require.NoError(t, err)
	require.Positive(t, got.Model.Steps)
	require.Greater(t, *got.BestCut, 1800.)
	require.Greater(t, got.CPUSeconds, 0.5, "the proof takes longer than the search")
}
