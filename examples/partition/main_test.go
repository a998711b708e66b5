package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
	"github.com/gibbsite-go/gibbsite/examples/internal/command"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// cliques is two cliques of four and three nodes with one edge between them.
const cliques = "7 10\n1 2 1\n1 3 1\n1 4 1\n2 3 1\n2 4 1\n3 4 1\n5 6 1\n5 7 1\n6 7 1\n4 5 1\n"

func do(t *testing.T, args ...string) *report {
	t.Helper()
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "graph.txt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is written of the club: 78 edges, members 1, 33 and 34 with 16, 12 and 17
// friends, a split into halves of modularity 0.3582.
func TestKarateClub(t *testing.T) {
	c := karate()
	seen := map[[2]int]bool{}
	for _, e := range c.edges {
		seen[[2]int{min(e.I, e.J), max(e.I, e.J)}] = true
	}
	if len(seen) != 78 || len(c.edges) != 78 || c.weight != 78 {
		t.Errorf("%d edges, %d different, weight %v", len(c.edges), len(seen), c.weight)
	}
	if c.degree[0] != 16 || c.degree[32] != 12 || c.degree[33] != 17 {
		t.Errorf("degrees %v", c.degree)
	}
	ones := 0
	for _, l := range c.known {
		ones += int(l)
	}
	if ones != 17 || math.Abs(c.modularity(c.known)-0.3582) > 5e-5 {
		t.Errorf("%d members followed the instructor, modularity %v", ones, c.modularity(c.known))
	}
	if c.agreement(c.known) != 1 {
		t.Error("the known split agrees with itself")
	}
	swapped := make([]int32, c.n)
	for i, l := range c.known {
		swapped[i] = 1 - l
	}
	if c.agreement(swapped) != 1 {
		t.Error("and with the names of the sides exchanged")
	}
}

// The quadratic energy is −beta·m·Q up to a constant, Q counted edge by edge.
func TestEnergyIsModularity(t *testing.T) {
	const beta = 1.7
	c, err := load(write(t, cliques))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.model(beta)
	if err != nil {
		t.Fatal(err)
	}
	all := exact.States(7, 2)
	for k, e := range exact.Energies(m) {
		want := -beta * c.weight * c.modularity(all[k])
		if math.Abs(e-want) > 1e-12 {
			t.Fatalf("%v: energy %v, want %v", all[k], e, want)
		}
	}
}

// Every kernel against the sum over all partitions of the given sizes.
func TestKernelsAgreeWithEnumeration(t *testing.T) {
	path := write(t, cliques)
	c, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	const beta = 1.5
	total, mean, best := 0.0, 0.0, 0.0
	for _, x := range exact.States(7, 2) {
		ones := 0
		for _, l := range x {
			ones += int(l)
		}
		if ones != 3 {
			continue
		}
		q := c.modularity(x)
		w := math.Exp(beta * c.weight * q)
		total, mean, best = total+w, mean+w*q, math.Max(best, q)
	}
	mean /= total
	r := do(t, "-graph", path, "-chains", "16", "-steps", "2000", "-warmup", "200")
	if r.Size != 3 || !r.Balanced || r.Agreement != nil || len(r.Methods) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, f := range r.Methods {
		// Five standard errors: one run in a million fails for normal errors.
		if d := (*f.Mean - mean) / *f.MCSE; d < -5 || d > 5 {
			t.Errorf("%s: mean %v is %.1f standard errors from %v", f.Method, *f.Mean, d, mean)
		}
		if f.Best != best {
			t.Errorf("%s: best %v, want %v", f.Method, f.Best, best)
		}
	}
}

func TestDefaults(t *testing.T) {
	r := do(t, "-method", "dmala", "-steps", "1000")
	if !r.Balanced || *r.Agreement < 0.9 || *r.RHat > 1.05 {
		t.Errorf("balanced %v, agreement %v, R-hat %v", r.Balanced, *r.Agreement, *r.RHat)
	}
	// The greatest modularity of two communities of 17, 0.371795.
	if math.Abs(r.Modularity-0.371795) > 1e-6 {
		t.Errorf("modularity %v", r.Modularity)
	}
	if want := "agree in 94.1 % of the nodes, all but 9 and 10"; !strings.Contains(r.String(), want) {
		t.Errorf("the text lacks %q:\n%s", want, r)
	}
}

func TestOtherSizes(t *testing.T) {
	r := do(t, "-method", "swap, pairgibbs", "-size", "5", "-steps", "50", "-chains", "3", "-warmup", "0")
	ones := 0
	for _, l := range r.Partition {
		ones += int(l)
	}
	if ones != 5 || !r.Balanced || len(r.Methods) != 2 || r.Methods[1].Method != "pairgibbs" {
		t.Errorf("%d on one side; %+v", ones, r.Methods)
	}
}

// The count is judged on the draws themselves.
func TestTallyFindsUnbalancedDraws(t *testing.T) {
	c := karate()
	y := tally{Best: make([]int32, c.n), Q: math.Inf(-1), With: make([]float64, c.n)}
	y.see(c, 17, c.known)
	if y.Unbalanced != 0 || y.Q != c.modularity(c.known) || y.With[0] != 1 || y.With[33] != 0 {
		t.Errorf("%+v", y)
	}
	y.see(c, 17, make([]int32, c.n))
	if y.Unbalanced != 1 || y.Draws != 2 {
		t.Errorf("%+v", y)
	}
	trace, err := newTrace(options{chains: 1, steps: 1}, c)
	if err != nil {
		t.Fatal(err)
	}
	r := newReport(options{}, c)
	r.add(&outcome{name: "x", steps: 1, tally: []tally{y}, summary: trace.Summary()})
	if r.Balanced {
		t.Error("the report calls such draws balanced")
	}
}

func TestJSON(t *testing.T) {
	r := do(t, "-steps", "100", "-chains", "4")
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"modularity", "agreement", "rhat", "balanced", "partition", "methods"} {
		if got[key] == nil {
			t.Errorf("no %q in %s", key, b)
		}
	}
	if got["exact"] != r.Exact || !strings.Contains(r.String(), "\n"+command.Chains+"\n") {
		t.Errorf("%q is not in %s", r.Exact, r)
	}
	if got["balanced"] != true {
		t.Errorf("%s", b)
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		`no kernel "gibbs"`:         {"-method", "gibbs"},
		"no such file":              {"-graph", "missing.txt"},
		"line 3":                    {"-graph", write(t, "2 2\n1 2 1\n1 x 1\n")},
		"edge 1–2 has weight -1":    {"-graph", write(t, "2 1\n1 2 -1\n")},
		"no edges":                  {"-graph", write(t, "3 0\n")},
		"-size = 34, want < 34":     {"-size", "34"},
		"-size = -1":                {"-size", "-1"},
		"-beta = NaN":               {"-beta", "NaN"},
		"-chains = 0":               {"-chains", "0"},
		"-warmup = -3":              {"-warmup", "-3"},
		"figures are kept of every": {"-steps", "1000000000"},
		"unexpected argument":       {"extra"},
	} {
		o, err := parse(args)
		if err == nil {
			_, err = run(context.Background(), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

func TestPicture(t *testing.T) {
	for _, args := range [][]string{{}, {"-graph", write(t, cliques)}} {
		r := do(t, append(args, "-method", "dmala", "-chains", "2", "-steps", "50", "-out", t.TempDir())...)
		picturetest.Album(t, r.Figures(), "graph", "trace", "histogram", "forest", "ranks", "autocorrelation", "effective-draws", "energy")
	}
	// Nodes spread over the unit square, and none covers another.
	at := place(karate())
	for i := range at {
		for j := range i {
			if d := math.Hypot(at[i].X-at[j].X, at[i].Y-at[j].Y); d < 0.02 {
				t.Errorf("nodes %d and %d are %v apart", i+1, j+1, d)
			}
		}
	}
}

// A run that is interrupted again and again ends with the figures of one that is
// not, those that its observers count included.
func TestResume(t *testing.T) {
	args := []string{"-chains", "4", "-steps", "100", "-warmup", "20", "-method", "dmala,swap", "-graph", write(t, cliques), "-size", "3"}
	whole := do(t, args...)
	r := checkpointtest.Interrupted(t, parse, run, args, "-beta", "2")
	for i, f := range r.Methods {
		w := whole.Methods[i]
		if *f.Mean != *w.Mean || *f.Accept != *w.Accept || f.Best != w.Best || f.Unbalanced != w.Unbalanced {
			t.Errorf("%+v, in one piece %+v", f, w)
		}
	}
	if r.Modularity != whole.Modularity || !slices.Equal(r.Partition, whole.Partition) {
		t.Errorf("%+v, in one piece %+v", r, whole)
	}

	swaps := func(ctx context.Context, o options) (*outcome, error) {
		c, err := load(o.graph)
		if err != nil {
			return nil, err
		}
		return sample(ctx, o, c, "swap")
	}
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	one, err := swaps(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if with := checkpointtest.Interrupted(t, parse, swaps, args, "-beta", "2").with(); !slices.Equal(with, one.with()) {
		t.Errorf("together %v, in one piece %v", with, one.with())
	}
}
