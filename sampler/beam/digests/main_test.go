package main

import (
	"context"
	"os"
	"strings"
	"testing"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test binary is the program if it is started with its flags.
func TestMain(m *testing.M) {
	sdk.Init()
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		main()
		return
	}
	os.Exit(m.Run())
}

func try(args string) (string, error) {
	o, err := parse(strings.Fields(args))
	if err != nil {
		return "", err
	}
	out := &strings.Builder{}
	err = o.run(context.Background(), out)
	return out.String(), err
}

// One digest for each job, whatever runs it.
func TestDigests(t *testing.T) {
	levels := "purego,avx2"
	if b, err := os.ReadFile("/proc/cpuinfo"); err != nil || !strings.Contains(string(b), "avx2") {
		levels = "purego"
	}
	out, err := try("-shards 1,7 -levels " + levels)
	require.NoError(t, err, out)
	assert.Contains(t, out, "3 jobs: equal digests and tallies within each")
	t.Log("\n" + out)
	out, err = try("-kinds chains -shards 100 -engines goroutines,prism -levels purego")
	require.NoError(t, err, out)
	assert.Contains(t, out, "2 runs")
}

func TestDifferent(t *testing.T) {
	const row = "chains purego prism 1 aa bb 0.1s\n"
	require.NoError(t, equal(&strings.Builder{}, row+row))
	require.ErrorContains(t, equal(&strings.Builder{}, row+strings.Replace(row, "aa", "ab", 1)), "chains differ: aa bb and ab bb")
	require.ErrorContains(t, equal(&strings.Builder{}, row+strings.Replace(row, "bb", "bc", 1)), "chains differ")
}

func TestBadOptions(t *testing.T) {
	for _, args := range []string{"x", "-none", "-one -shards 0", "-one -shards x", "-one -engines none", "-one -kinds none", "-one -shards 1000", "-task chains", "-task chains/x", "-task none/1", "-one -engines processes -kinds none"} {
		_, err := try(args)
		assert.Error(t, err, args)
	}
}
