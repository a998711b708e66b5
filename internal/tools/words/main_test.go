package main

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// The project uses none of the words.
func TestProject(t *testing.T) {
	words, err := parse(list)
	require.NoError(t, err)
	require.NotEmpty(t, words)
	found, err := search(os.DirFS("../../.."), words, nil)
	require.NoError(t, err)
	require.Empty(t, found)
}

// Words are found in names, comments and documents, wherever a line does not excuse them.
func TestSearch(t *testing.T) {
	words, err := parse("# comment\n\nr" + "oom | space | r" + "oom service\nsees of | looks at |\n")
	require.NoError(t, err)
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	tree := fstest.MapFS{
		"a/x.go":        file("package a\n\nvar newR" + "oom, broom int // r" + "oom\n"),
		"README.md":     file("What it sees of\nthe world; r" + "oom service.\n"),
		"CHANGELOG.md":  file("r" + "oom"),
		"testdata/x.md": file("r" + "oom"),
		".ci/run":       file("R" + "OOM"),
		"x.txt":         file("r" + "oom"),
	}
	found, err := search(tree, words, nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		`.ci/run:1: "r` + `oom": write space`,
		`README.md:1: "sees of": write looks at`,
		`a/x.go:3: "r` + `oom": write space`,
	}, found)
	found, err = search(tree, words, []string{"a/"})
	require.NoError(t, err)
	require.Len(t, found, 1)
}

// A line of the list has three columns, and its expression is one.
func TestParse(t *testing.T) {
	for _, line := range []string{"a | b", "a | b | ("} {
		_, err := parse(line)
		require.Error(t, err, line)
	}
}
