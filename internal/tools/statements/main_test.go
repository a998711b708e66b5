package main

import (
	"archive/tar"
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const source = `package p

func f(x int) int { // if, assignment, switch, two cases, two returns
	if x > 0 {
		x++
	}
	switch x {
	case 1:
		return 1
	default:
		return 0
	}
}

var g = func() { f(1) } // a call
`

// Blocks do not count, and neither do tests and what the go command does not look at.
func TestTree(t *testing.T) {
	file := &fstest.MapFile{Data: []byte(source)}
	c, err := tree(fstest.MapFS{
		"a/x.go": file, "a/x_plan9.go": file, "a/x_test.go": file, "a/b/x.go": file,
		"a/testdata/x.go": file, "a/_gen/x.go": file, ".ci/x.go": file, "x.go": file, "a/x.txt": file,
	}, nil)
	require.NoError(t, err)
	require.Equal(t, counts{".": 8, "a": 16, "a/b": 8}, c)
	_, err = tree(fstest.MapFS{"a.go": {Data: []byte("no Go")}}, nil)
	require.ErrorContains(t, err, "a.go")
}

// Files and folders that are left out do not count.
func TestWithout(t *testing.T) {
	file := &fstest.MapFile{Data: []byte(source)}
	c, err := tree(fstest.MapFS{"a/x.go": file, "a/y.go": file, "b/x.go": file, "b/c/x.go": file, "bc/x.go": file}, []string{"a/y.go", "b"})
	require.NoError(t, err)
	require.Equal(t, counts{"a": 8, "bc": 8}, c)
}

// An archive counts as its files do.
func TestArchive(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, text := range map[string]string{"a/x.go": source, "a/x_test.go": source, "README.md": "words"} {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}))
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "a/", Typeflag: tar.TypeDir}))
	require.NoError(t, w.Close())
	c, err := archived(&b, nil)
	require.NoError(t, err)
	require.Equal(t, counts{"a": 8}, c)
	_, err = archived(strings.NewReader("no archive, which takes more bytes than these"+strings.Repeat(".", 1000)), nil)
	require.Error(t, err)
}

func TestReport(t *testing.T) {
	now := counts{"a": 90, "a/b": 10, "ab": 7, "c": 5}
	var b strings.Builder
	report(&b, nil, now, []string{"./a"})
	require.Equal(t, []string{"a", "90", "a/b", "10", "total", "100"}, strings.Fields(b.String()))
	b.Reset()
	report(&b, counts{"a": 100, "d": 20}, now, nil)
	require.Equal(t, strings.Fields("a 100 90 -10.0%  a/b 0 10 new  ab 0 7 new  c 0 5 new  d 20 0 -100.0%  total 120 112 -6.7%"), strings.Fields(b.String()))
}

// The packages of this module have statements.
func TestModule(t *testing.T) {
	c, err := tree(os.DirFS("../../.."), nil)
	require.NoError(t, err)
	require.Greater(t, len(c), 60)
	require.Greater(t, c["internal/trellis"], 500)
}
