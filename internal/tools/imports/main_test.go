package main

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// The module obeys its whitelist.
func TestModule(t *testing.T) {
	packages, err := read(os.DirFS("../../.."))
	require.NoError(t, err)
	require.Greater(t, len(packages), 60)
	for _, v := range parse(whitelist).violations(packages) {
		t.Error(v)
	}
}

// What is not allowed is found, in files that this machine does not build, too.
func TestViolations(t *testing.T) {
	file := func(imports string) *fstest.MapFile { return &fstest.MapFile{Data: []byte("package p\n" + imports)} }
	own := func(name string) string { return "import _ \"" + module + "/" + name + "\"\n" }
	packages, err := read(fstest.MapFS{
		"energy/a.go":               file(own("internal/check") + "import \"math\""),
		"sampler/a.go":              file(own("energy")),
		"sampler/b_plan9.go":        file(own("dual")),
		"sampler/c_test.go":         file(own("projection")),
		"sampler/samplertest/a.go":  file(own("sampler") + own("energy") + own("internal/exact") + "import \"testing\""),
		"sampler/mcmc/a.go":         file(own("sampler/samplertest")),
		"new/a.go":                  file(""),
		"internal/check/a.go":       file(own("energy")),
		"internal/conformance/a.go": file(own("dual") + own("new")),
		"dual/dualtest/a.go":        file(own("sampler")),
		"dual/a.go":                 file("import \"C\"\nimport \"example.org/x\"\n" + own("internal/exact/runs")),
		"examples/go.mod":           file(""),
		"examples/a.go":             file(own("nothing")),
	})
	require.NoError(t, err)
	require.Equal(t, []string{
		"dual: may not import C",
		"dual: may not import example.org/x",
		"dual: may not import " + module + "/internal/exact/runs",
		"dual/dualtest: may not import " + module + "/sampler",
		"internal/check: may not import " + module + "/energy",
		"new: has no line in internal/tools/imports/whitelist",
		"sampler: may not import " + module + "/dual",
		"sampler/mcmc: may not import " + module + "/sampler/samplertest",
	}, parse("energy :\nsampler : energy # no more\nsampler/mcmc : sampler\ndual : energy\n").violations(packages))
}
