package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the programs of the guides print into the guides")

// Every program of a guide runs and prints what stands below it; a test of one passes.
func TestGuides(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the programs of the guides")
	}
	program := regexp.MustCompile("(?s)```go\n(package .*?)```\n(\n```text\n(.*?)```\n)?")
	tmp, err := os.MkdirTemp(".", "programs")
	require.NoError(t, err)
	defer os.RemoveAll(tmp)
	files, err := filepath.Glob("guides/*.md")
	require.NoError(t, err)
	require.Len(t, files, len(order))
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			found := program.FindAllStringSubmatch(string(b), -1)
			require.NotEmpty(t, found)
			assert.NotContains(t, program.ReplaceAllString(string(b), ""), "```go", "code that is no whole program")
			text := string(b)
			for i, m := range found {
				code, printed := m[1], m[3]
				dir := filepath.Join(tmp, fmt.Sprintf("%s%d", strings.TrimSuffix(filepath.Base(file), ".md"), i))
				require.NoError(t, os.MkdirAll(dir, 0o755))
				name, args := "main.go", []string{"run", "./" + filepath.ToSlash(dir)}
				if strings.HasPrefix(code, "package main\n") {
					require.NotEmpty(t, m[2], "no output below program %d", i)
				} else {
					name, args[0] = "guide_test.go", "test"
				}
				path := filepath.Join(dir, name)
				require.NoError(t, os.WriteFile(path, []byte(code), 0o644))
				unformatted, err := exec.Command("gofmt", "-l", path).CombinedOutput()
				require.NoError(t, err, string(unformatted))
				assert.Empty(t, string(unformatted))
				out, err := exec.Command("go", args...).CombinedOutput()
				require.NoError(t, err, string(out))
				switch {
				case args[0] == "test":
				case *update:
					text = strings.Replace(text, m[0], strings.TrimSuffix(m[0], m[2])+"\n```text\n"+string(out)+"```\n", 1)
				default:
					assert.Equal(t, printed, string(out), file)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
		})
	}
}
