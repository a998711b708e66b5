package main

import (
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// screen is how many lines of go doc are read without scrolling.
const screen = 45

// No overview of a package for users is longer than a screen, as go doc prints it.
func TestOverviews(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	found := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); base == "internal" || base == "testdata" || base == "node_modules" || base != ".." && strings.ContainsAny(base[:1], "._") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil || f.Doc == nil {
			return err
		}
		found++
		lines := strings.Count(string(new(comment.Printer).Text(new(comment.Parser).Parse(f.Doc.Text()))), "\n")
		t.Log(lines, path)
		assert.LessOrEqual(t, lines, screen, path)
		return nil
	}))
	assert.Greater(t, found, 60)
	_, err := os.Stat(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
}
