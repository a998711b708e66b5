package gibbsite_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// check returns v and panics on an error, which is what the programs of the
// example_program_… files do with theirs.
func check[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Programs as a new user writes them stay short: whole files, imports and
// comments included; what they do with an error is check.
func TestProgramsAreShort(t *testing.T) {
	for name, most := range map[string]int{
		"physicist": 60, "language": 60, "survey": 30, "planner": 60, "trader": 60,
	} {
		source, err := os.ReadFile("example_program_" + name + "_test.go")
		require.NoError(t, err)
		lines := strings.Count(string(source), "\n")
		assert.LessOrEqual(t, lines, most, name)
		assert.Contains(t, string(source), "// Output:", name)
		for line := range strings.Lines(string(source)) {
			assert.LessOrEqual(t, len(line), 160, "%s: a long line: %s", name, line)
			assert.LessOrEqual(t, strings.Count(line, "; "), 3, "%s: a crowded line: %s", name, line)
		}
	}
}
