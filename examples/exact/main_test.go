package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gibbsite-go/gibbsite/energy"
)

// sprinkler is the network of rain, sprinkler and wet grass (Russell and Norvig 1995),
// with the season left out: site 0 rain, 1 sprinkler given rain, 2 wet given both.
const sprinkler = `BAYES
3
2 2 2
3
1 0
2 0 1
3 0 1 2
2 .8 .2
4 .6 .4 .99 .01
8 1 0 .1 .9 .2 .8 .01 .99
`

func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func do(t *testing.T, args ...string) (*report, error) {
	t.Helper()
	o, err := parse(args)
	require.NoError(t, err)
	o.progress = io.Discard
	return run(context.Background(), o)
}

func must(t *testing.T, args ...string) *report {
	t.Helper()
	r, err := do(t, args...)
	require.NoError(t, err)
	return r
}

// The grass is wet: known answers of the sprinkler network, p(wet) = .44838 and p(rain |
// wet) = .16038 / .44838.
func TestSprinkler(t *testing.T) {
	path, wet := file(t, "a.uai", sprinkler), file(t, "a.evid", "1 2 1\n")
	rain := .2 * (.99*.8 + .01*.99)
	p := .8*.4*.9 + rain
	r := must(t, "-model", path, "-evidence", wet, "-query", "mar")
	require.InDelta(t, math.Log(p), *r.LogZ, 1e-14)
	require.InDelta(t, rain/p, r.Marginals[0][1], 1e-14)
	require.Equal(t, []float64{0, 1}, r.Marginals[2])
	r = must(t, "-model", path, "-evidence", wet, "-query", "map")
	require.Equal(t, []int32{0, 1, 1}, r.MAP)
	require.InDelta(t, -math.Log(.8*.4*.9), *r.Energy, 1e-14)
	require.Equal(t, "MPE\n3 0 1 1\n", r.String())
	r = must(t, "-model", path, "-evidence", wet)
	require.Equal(t, fmt.Sprintf("PR\n%v\n", *r.LogZ/math.Ln10), r.String())
	const n = 4000
	r = must(t, "-model", path, "-query", "sample", "-n", fmt.Sprint(n), "-json")
	require.InDelta(t, 0, *r.LogZ, 1e-15)
	require.Len(t, r.Samples, n)
	count := 0
	for _, x := range r.Samples {
		count += int(x[2])
	}
	require.InDelta(t, p, float64(count)/n, 4.9*math.Sqrt(p*(1-p)/n), "at an error rate of 1e-6")
	require.Equal(t, r.Samples[:7], must(t, "-model", path, "-query", "sample", "-n", "7").Samples)
	require.Equal(t, n, strings.Count(r.String(), "\n"))
	text := must(t, "-model", path, "-query", "mar").String()
	require.True(t, strings.HasPrefix(text, "MAR\n3 2 0.8"), text)
	require.Len(t, strings.Fields(text), 2+3*3)
	b, err := json.Marshal(r)
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(b, &keys))
	for _, key := range []string{"width", "log_z", "samples", "seconds"} {
		require.Contains(t, keys, key)
	}
}

// A graph that is too wide is refused with figures.
func TestRefusal(t *testing.T) {
	var b strings.Builder
	const n = 40
	fmt.Fprintf(&b, "MARKOV\n%d\n%s\n%d\n", n, strings.Repeat("2 ", n), n*(n-1)/2)
	for i := range n {
		for j := range i {
			fmt.Fprintln(&b, 2, j, i)
		}
	}
	b.WriteString(strings.Repeat("4 1 2 3 4\n", n*(n-1)/2))
	_, err := do(t, "-model", file(t, "wide.uai", b.String()))
	var w *energy.WidthError
	require.ErrorAs(t, err, &w)
	var m json.Marshaler
	require.True(t, errors.As(err, &m))
	text, err := json.Marshal(m)
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(text, &keys))
	require.Equal(t, 40.0, keys["width_lower_bound"])
	require.Greater(t, keys["bytes"], 1e12)
	require.Contains(t, keys["error"], "a graph of 40 variables and width ≥ 40.0")
}

func TestArguments(t *testing.T) {
	for want, args := range map[string][]string{
		"no -model":              {},
		"unexpected argument":    {"-model", "a", "b"},
		"-query = \"all\", want": {"-model", "a", "-query", "all"},
		"-n = 0, want ≥ 1":       {"-model", "a", "-n", "0"},
		"-memory = 0, want > 0":  {"-model", "a", "-memory", "0"},
		"flag provided but not":  {"-models", "a"},
	} {
		_, err := parse(args)
		require.ErrorContains(t, err, want)
	}
	path := file(t, "a.uai", sprinkler)
	_, err := do(t, "-model", filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = do(t, "-model", path, "-evidence", file(t, "e", "3 2 0 1 1"))
	require.ErrorContains(t, err, "read: Evidence: 4 numbers after 3")
	_, err = do(t, "-model", path, "-evidence", file(t, "e", "1 3 0"))
	require.ErrorContains(t, err, "energy: Clamp: site 3 is fixed, want 0 … 2")
	_, err = do(t, "-model", path, "-evidence", file(t, "e", "2 0 1 1 1"), "-query", "map")
	require.NoError(t, err)
	_, err = do(t, "-model", file(t, "z.uai", "MARKOV 2 2 2 2 2 0 1 2 0 1 4 0 1 1 0 4 1 0 0 1"), "-query", "mar")
	require.ErrorContains(t, err, "every state has energy +Inf")
}

// Public files of inference competitions have the answers of an independent program.
func TestPublicFiles(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "data", "uai")
	f, err := os.Open(filepath.Join(folder, "ANSWERS.txt"))
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	small := []string{"54.wcsp.uai", "GEOM30a_5.wcsp.uai", "driverlog01ac.wcsp.uai", "grid10x10.f10.uai", "or_chain_139.fg.uai"}
	tested := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		var name, width string
		var logZ, best float64
		if n, _ := fmt.Sscanf(s.Text(), "%s width %s logZ %g logMAP %g", &name, &width, &logZ, &best); n < 4 {
			continue
		}
		if name = strings.TrimSuffix(name, ".txt"); testing.Short() && !slices.Contains(small, name) {
			continue
		}
		path := filepath.Join(folder, name)
		require.InDelta(t, logZ, *must(t, "-model", path, "-json").LogZ, 1e-6, name)
		require.InDelta(t, -best, *must(t, "-model", path, "-query", "map", "-json").Energy, 1e-6, name)
		tested++
	}
	require.GreaterOrEqual(t, tested, len(small))
}

// Files of other formats are read by the ends of their names.
func TestFormats(t *testing.T) {
	bif := file(t, "a.BIF", "variable a { type discrete [ 2 ] { y, n }; }\nprobability ( a ) { table 0.25, 0.75; }\n")
	r := must(t, "-model", bif, "-query", "mar")
	require.InDelta(t, 0, *r.LogZ, 1e-15)
	require.InDelta(t, 0.25, r.Marginals[0][0], 1e-15)
	wcsp := file(t, "a.wcsp", "two 2 2 1 10\n2 2\n2 0 1 4 2\n0 1 3\n1 1 10\n")
	r = must(t, "-model", wcsp, "-query", "map")
	require.Equal(t, []int32{0, 1}, r.MAP)
	require.InDelta(t, 3, *r.Energy, 1e-14)
	_, err := do(t, "-model", file(t, "b.bif", "MARKOV"))
	require.ErrorContains(t, err, "read: BIF: line 1")
}
