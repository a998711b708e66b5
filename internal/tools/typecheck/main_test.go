package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	for name, text := range map[string]string{
		"go.mod":      "module m\n\ngo 1.26\n",
		"a.go":        "package m\n\nimport \"sort\"\n\nvar Ints = sort.IntSlice{1}\n",
		"a_test.go":   "package m_test\n\nimport \"m\"\n\nvar _ = append(m.Ints, 1<<40)\n",
		"a_arm64.go":  "package m\n\nvar x string = 1\n",
		"sub/b.go":    "package sub\n\nimport \"m\"\n\nvar N = len(m.Ints)\n",
		"in_test.go":  "package m\n\nfunc length() int { return Ints.Len() }\n",
		"ex_test.go":  "package m_test\n\nimport \"m/sub\"\n\nvar _ = sub.N\n",
		"sub/c_js.go": "package sub\n\nvar y = undefined\n",
	} {
		require.NoError(t, os.MkdirAll("sub", 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for arch, want := range map[string]string{
		"amd64": "",
		"386":   "cannot use 1 << 40 (untyped int constant 1099511627776) as int value in argument to append (overflows)",
		"arm64": "cannot use 1 (untyped int constant) as string value in variable declaration",
	} {
		packages, err := list(arch, []string{"./..."})
		require.NoError(t, err)
		found := check(packages, arch)
		if want == "" {
			require.Empty(t, found)
			continue
		}
		require.NotEmpty(t, found, arch)
		for _, err := range found {
			require.ErrorContains(t, err, want, arch)
		}
	}
	_, err := list("amd64", []string{"./absent"})
	require.Error(t, err)
}
