package gibbsite_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test that SECURITY.md names exists, and every promise names one.
func TestSecurityPromisesAreHeld(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "examples") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(source, -1) {
			tests[string(m[1])] = true
		}
		return err
	}))
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	promises := 0
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.Contains(line, "held by") || strings.Contains(line, "---") {
			continue
		}
		promises++
		names := named.FindAllStringSubmatch(cells[2], -1)
		require.NotEmpty(t, names, "no test holds: %s", cells[1])
		for _, n := range names {
			require.True(t, tests[n[1]], "%s, which holds%s, does not exist", n[1], cells[1])
		}
	}
	require.Greater(t, promises, 12)
}
