package gibbsite_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The code of README.md is the code of the examples, which run: every line of its
// Go blocks is a line of example_test.go or example_constraints_test.go, where
// "err = f()" stands for "if err := f(); err != nil {" with what follows.
func TestReadmeIsTheExamples(t *testing.T) {
	lines := map[string]bool{}
	for _, name := range []string{"example_test.go", "example_constraints_test.go"} {
		source, err := os.ReadFile(name)
		require.NoError(t, err)
		for line := range strings.Lines(string(source)) {
			lines[strings.TrimSpace(line)] = true
		}
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	inside, seen := false, 0
	for line := range strings.Lines(string(readme)) {
		line = strings.TrimSpace(line)
		switch call, checked := strings.CutPrefix(line, "err = "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```go"
			continue
		case !inside || line == "":
			continue
		case checked:
			line = "if err := " + call + "; err != nil {"
		}
		seen++
		require.True(t, lines[line], "README.md has a line that no example has: %s", line)
	}
	require.Greater(t, seen, 20)
}

// Every kernel in README's excerpt is a row of the command that it names.
func TestReadmeKernelsAreInTheTable(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	command, err := os.ReadFile("internal/simd/_gen/table/rows.go")
	require.NoError(t, err)
	_, excerpt, found := strings.Cut(string(readme), "| kernel | measured | PyTorch | times as fast |\n|---|---|---|---|\n")
	require.True(t, found)
	excerpt, _, _ = strings.Cut(excerpt, "\n\n")
	for _, line := range strings.Split(excerpt, "\n") {
		label := strings.TrimSpace(strings.Split(line, "|")[1])
		require.Contains(t, string(command), `{label: "`+label+`", `)
	}
}
