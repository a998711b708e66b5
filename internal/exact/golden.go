package exact

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rate is the false-positive rate of a statistical test. The rate applies to the whole test:
// several comparisons in one test share it (Bonferroni correction).
const Rate = 1e-6

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden fails the test if a text differs from the contents of a golden file, and reports the lines
// that differ. The path of the file is relative to the module's root. With the flag -update, it
// writes the text to the file instead.
func Golden(t *testing.T, path, got string) {
	t.Helper()
	path = filepath.Join(root(t), filepath.FromSlash(path))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	was, is := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	differ := 0
	for _, line := range is {
		if !slices.Contains(was, line) {
			t.Errorf("%s does not have %q", filepath.Base(path), line)
			differ++
		}
	}
	for _, line := range was {
		if !slices.Contains(is, line) {
			t.Errorf("%s has %q", filepath.Base(path), line)
			differ++
		}
	}
	if differ > 0 {
		t.Fatalf("of a new part, or where results change on purpose: go test -run '^%s$' -update rewrites %s", t.Name(), path)
	}
	require.Equal(t, string(want), got, "the lines, in another order")
}

// root returns the root folder of the module being tested.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		require.NotEqual(t, dir, up, "no go.mod above the test")
		dir = up
	}
}

var long = flag.Bool("long", false, "run the long forms of tests: every case, at full size (see docs/CHECKS.md)")

// Long reports whether the flag -long is set, which makes tests run in their long form.
func Long() bool { return *long }
