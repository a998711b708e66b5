package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const knapsack = "Maximize\n 6 a + 5 b + 4 c\nSubject To\n weight: 5 a + 4 b + 3 c <= 8\nBinary\n a b c\nEnd\n"

func answer(t *testing.T, args ...string) (*report, error) {
	t.Helper()
	o, err := parse(args)
	require.NoError(t, err)
	return run(context.Background(), o)
}

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestAnswers(t *testing.T) {
	path := file(t, "knapsack.lp", knapsack)
	r, err := answer(t, "-file", path, "-n", "2")
	require.NoError(t, err)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	var got struct {
		Variables int
		Exact     bool
		Rows      []struct {
			Values   map[string]float64
			Energy   float64
			Violated []string
		}
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.True(t, got.Exact)
	require.Equal(t, -10.0, got.Rows[0].Energy)
	require.Equal(t, map[string]float64{"a": 1, "b": 0, "c": 1}, got.Rows[0].Values)
	require.Equal(t, -9.0, got.Rows[1].Energy)
	require.Contains(t, r.String(), "by search, exact\na=1 b=0 c=1 energy=-10\n")

	r, err = answer(t, "-file", path, "-count")
	require.NoError(t, err)
	require.Equal(t, 6.0, *r.Count)
	require.Contains(t, r.String(), "6 feasible states")
	r, err = answer(t, "-file", path, "-sample", "-n", "50")
	require.NoError(t, err)
	total := 0
	for _, row := range r.Set.Rows {
		total += row.Occurrences
	}
	require.Equal(t, 50, total)
	require.Empty(t, r.Warnings())

	mps := filepath.Join(t.TempDir(), "knapsack.mps")
	_, err = answer(t, "-file", path, "-write", mps)
	require.NoError(t, err)
	r, err = answer(t, "-file", mps)
	require.NoError(t, err)
	require.Equal(t, -10.0, r.Set.Rows[0].Energy)
}

func TestRefusals(t *testing.T) {
	for _, args := range [][]string{{}, {"-file", "x", "more"}, {"-file", "x", "-n", "0"}, {"-file", "x", "-beta", "0"}, {"-file", "x", "-sample", "-count"}} {
		_, err := parse(args)
		require.Error(t, err)
	}
	for want, path := range map[string]string{
		"no such file":                       file(t, "a", "") + "b",
		"neither the name nor the beginning": file(t, "a", "hello"),
		"read: QBSolv: line 1":               file(t, "c.qubo", "p qubo"),
		"no state meets all required":        file(t, "d.cnf", "p cnf 1 2\n1 0\n-1 0\n"),
	} {
		_, err := answer(t, "-file", path)
		require.ErrorContains(t, err, want)
	}
	_, err := answer(t, "-file", file(t, "k.lp", knapsack), "-write", "x.unknown")
	require.ErrorContains(t, err, "implies no format")
}
