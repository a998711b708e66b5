package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every mistake is of text that is there once.
func TestMistakesApply(t *testing.T) {
	t.Chdir("../../..")
	all, err := withRecipe()
	require.NoError(t, err)
	require.Len(t, all, 21)
	names := map[string]bool{}
	for _, m := range all {
		require.False(t, names[m.name], "%s occurs twice", m.name)
		names[m.name] = true
		copied := t.TempDir()
		for _, e := range m.edits {
			if e.old == "" {
				require.NoFileExists(t, e.file)
				require.NoError(t, os.MkdirAll(filepath.Join(copied, filepath.Dir(e.file)), 0o755))
				continue
			}
			text, err := os.ReadFile(e.file)
			require.NoError(t, err, m.name)
			at := filepath.Join(copied, e.file)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
			require.NoError(t, os.WriteFile(at, text, 0o644))
		}
		undo, err := apply(copied, m.edits)
		require.NoError(t, err, m.name)
		require.NoError(t, undo())
		for _, e := range m.edits {
			if e.old == "" {
				require.NoFileExists(t, filepath.Join(copied, e.file))
				continue
			}
			want, err := os.ReadFile(e.file)
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(copied, e.file))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), m.name)
		}
	}
}

// Text that has moved, or is there twice, is an error.
func TestApplyRefuses(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x y y"), 0o644))
	for want, e := range map[string]edit{
		`"z" 0 times`: {"a", "z", ""}, `"y" 2 times`: {"a", "y", "z"}, "a exists": {"a", "", "new"}, "no such file": {"b", "x", "y"},
	} {
		undo, err := apply(dir, []edit{{"a", "x", "w"}, e})
		require.ErrorContains(t, err, want)
		require.NoError(t, undo())
		text, err := os.ReadFile(filepath.Join(dir, "a"))
		require.NoError(t, err)
		require.Equal(t, "x y y", string(text))
	}
}

func TestFailed(t *testing.T) {
	for want, out := range map[string]string{
		"TestA/b/c":                       "--- FAIL: TestA (1s)\n    --- FAIL: TestA/b (1s)\n        --- FAIL: TestA/b/c (0s)\n--- FAIL: TestD (0s)\nFAIL\n",
		"TestLong, which ran out of time": "panic: test timed out after 10m0s\n\trunning tests:\n\t\tTestLong (9m0s)\n",
		"exit status 3":                   "exit status 3\nFAIL\n",
	} {
		require.Equal(t, want, failed(out))
	}
}
