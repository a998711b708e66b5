package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A module's archive has its files, and none of the modules within it.
func TestWrite(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module m\n", "a/a.go": "package a\n", "sub/go.mod": "module s\n", "sub/b/b.go": "package b\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	files := []string{"go.mod", "a/a.go", "a/deleted.go", "sub/go.mod", "sub/b/b.go"}
	for folder, want := range map[string][]string{".": {"go.mod", "a/a.go"}, "sub": {"go.mod", "b/b.go"}} {
		require.NoError(t, write("out", "v1.2.3", folder, files))
		at := filepath.Join("out", filepath.FromSlash(root), folder, "@v", "v1.2.3.zip")
		archive, err := zip.OpenReader(at)
		require.NoError(t, err)
		var got []string
		for _, f := range archive.File {
			got = append(got, f.Name)
		}
		require.NoError(t, archive.Close())
		for i, name := range want {
			want[i] = filepath.ToSlash(filepath.Join(root, folder)) + "@v1.2.3/" + name
		}
		require.Equal(t, want, got)
	}
	require.NoError(t, os.WriteFile("go.mod", []byte("module m\n\nreplace x => y\n"), 0o644))
	require.ErrorContains(t, write("out", "v1.2.3", ".", files), "replace")
}
