package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/examples/internal/checkpoint/checkpointtest"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
)

// square is a cycle of four vertices: its largest cut is 4.
const square = "4 4\n1 2 1\n2 3 1\n3 4 1\n4 1 1\n"

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.txt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

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

func TestKernelsAgreeWithTheExactAnswer(t *testing.T) {
	r := do(t, "-lattice", "3,3", "-method", "dmala,gibbs,chromatic,metropolis,gwg,gwg-2,hb,hb-4-1,lb,paths,dlmc,dhams,sw,wolff,houdayer,tempering,auto", "-chains", "16", "-steps", "2000", "-warmup", "200")
	if r.Exact == nil {
		t.Fatal("nine spins can be enumerated")
	}
	for _, f := range r.Methods {
		// Five standard errors: one run in a million fails for normal errors.
		if d := (*f.Mean - r.Exact.Mean) / *f.MCSE; d < -5 || d > 5 {
			t.Errorf("%s: mean %v is %.1f standard errors from %v", f.Method, *f.Mean, d, r.Exact.Mean)
		}
	}
	for _, want := range []string{"gibbs", "exact", "log Z = ", "ESS/s"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, r)
		}
	}
}

func TestAnnealFindsTheLargestCut(t *testing.T) {
	r := do(t, "-graph", write(t, square), "-anneal", "-chains", "4", "-steps", "200")
	if r.BestCut == nil || *r.BestCut != 4 {
		t.Errorf("best cut of a square: %v, want 4", r.BestCut)
	}
	if !strings.Contains(r.String(), "best cut: 4\n") {
		t.Errorf("%s", r)
	}
}

func TestFormats(t *testing.T) {
	for text, want := range map[string]string{
		square:                       "rudy",
		"# a comment\n\n0 1 2.5\n":   "bits",
		"spins 4\n0 1 2.5\n":         "bits",
		"% only a comment and blank": "rudy",
	} {
		if got := detect([]byte(text)); got != want {
			t.Errorf("detect(%q) = %s, want %s", text, got, want)
		}
	}
	// E = −2 x_0 x_1 over bits has its minimum −2 at (1, 1).
	r := do(t, "-graph", write(t, "0 1 -2\n"), "-anneal", "-steps", "50")
	if *r.BestEnergy != -2 {
		t.Errorf("lowest energy %v, want -2", *r.BestEnergy)
	}
	// Over spins E = 3 s_0 s_1 has its minimum −3.
	for _, args := range [][]string{{write(t, "spins\n0 1 3\n"), "auto"}, {write(t, "0 1 3\n"), "spins"}} {
		if r := do(t, "-graph", args[0], "-format", args[1], "-anneal", "-steps", "50"); *r.BestEnergy != -3 {
			t.Errorf("lowest energy %v, want -3", *r.BestEnergy)
		}
	}
}

// Every file here has the lowest energy −2, or the cut 2, at its two sites.
func TestFormatsByExtension(t *testing.T) {
	for name, text := range map[string]string{
		"a.qubo":  "p qubo 0 2 0 1\n0 1 -2\n",
		"a.csv":   "left,right\n0,-2\n0,0\n",
		"a.uai":   "MARKOV\n2\n2 2\n1\n2 0 1\n4 1 1 1 7.38905609893065\n",
		"a.col":   "p edge 2 1\ne 1 2 2\n",
		"b.json":  `{"variable_ids": [0, 1], "variable_domain": "boolean", "scale": 1, "offset": 0, "linear_terms": [], "quadratic_terms": [{"id_head": 0, "id_tail": 1, "coeff": -2}]}`,
		"c.json":  `{"type": "BinaryQuadraticModel", "version": {"bqm_schema": "3.0.0"}, "variable_labels": [0, 1], "variable_type": "SPIN", "offset": 0, "linear_biases": [0, 0], "quadratic_biases": [2], "quadratic_head": [0], "quadratic_tail": [1]}`,
		"d.model": "0 1 -2\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		r := do(t, "-graph", path, "-anneal", "-steps", "50")
		if r.BestCut != nil {
			if *r.BestCut != 2 {
				t.Errorf("%s: best cut %v, want 2", name, *r.BestCut)
			}
		} else if math.Abs(*r.BestEnergy+2) > 1e-12 {
			t.Errorf("%s: lowest energy %v, want -2", name, *r.BestEnergy)
		}
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		`no kernel "hmc"`:     {"-method", "hmc"},
		`"gwg-0", want`:       {"-method", "gwg-0"},
		`"hb-3" has 1`:        {"-method", "hb-3"},
		`"gibbs" twice`:       {"-method", "gibbs, gibbs"},
		"-alpha = -1":         {"-alpha", "-1"},
		"-alpha = 0.2 with":   {"-alpha", "0.2", "-method", "gibbs"},
		"no such file":        {"-graph", "missing.txt"},
		"line 3":              {"-graph", write(t, "2 2\n1 2 1\n1 x 1\n")},
		"3 levels, want 2 ":   {"-graph", write(t, "MARKOV 1 3 0"), "-format", "uai"},
		`-format = "xml"`:     {"-graph", write(t, square), "-format", "xml"},
		`-lattice = "5,x"`:    {"-lattice", "5,x"},
		"-beta":               {"-beta", "-1"},
		"go with -anneal":     {"-seconds", "3"},
		"-seconds = -1":       {"-anneal", "-seconds", "-1"},
		"-chains = 0":         {"-chains", "0"},
		`unexpected argument`: {"extra"},
		"Config.Warmup = -7":  {"-warmup", "-7", "-steps", "1"},
	} {
		o, err := parse(args)
		if err == nil {
			_, err = run(context.Background(), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want one that contains %q", args, err, want)
		}
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(do(t, "-lattice", "3,3", "-chains", "4", "-steps", "20", "-warmup", "-1"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Model   map[string]any
		Exact   struct{ Mean, Log_Z float64 }
		Methods []map[string]any
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Methods) != 4 || got.Exact.Log_Z == 0 || got.Model["sites"] != 9.0 {
		t.Errorf("%s", b)
	}
	for _, key := range []string{"method", "mean", "mcse", "rhat", "ess_bulk", "ess_tail", "ess_per_second", "accept", "moves_per_step", "ms_per_step"} {
		if _, ok := got.Methods[1][key]; !ok {
			t.Errorf("no %q in %s", key, b)
		}
	}
	if bytes.Contains(b, []byte("best_cut")) {
		t.Error("what is absent is left out")
	}
}

func TestPictures(t *testing.T) {
	r := do(t, "-lattice", "4,6", "-chains", "2", "-steps", "100", "-out", t.TempDir())
	picturetest.Album(t, r.Figures(), "trace", "histogram", "forest", "ranks", "autocorrelation", "effective-draws", "energy", "pairs", "lattice")
}

func TestLongRunsAreCondensed(t *testing.T) {
	o, err := parse([]string{"-steps", "1000000000"})
	if err != nil || !o.long() {
		t.Fatalf("long: %v, %v", o.long(), err)
	}
	if _, err := parse([]string{"-steps", "1000000000", "-out", "pictures"}); err == nil || !strings.Contains(err.Error(), "pictures need every draw") {
		t.Errorf("pictures of a long run: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

func TestKernelsMayBeListedWithBlanks(t *testing.T) {
	if r := do(t, "-lattice", "3", "-method", "gibbs, gwg", "-chains", "2", "-steps", "50"); len(r.Methods) != 2 || r.Methods[1].Method != "gwg" {
		t.Errorf("%+v", r.Methods)
	}
}

func TestSearchEnds(t *testing.T) {
	// A square has a cut of 4.
	dir := t.TempDir()
	path := write(t, "4 4\n1 2 1\n2 3 1\n3 4 1\n4 1 1\n")
	r := do(t, "-graph", path, "-anneal", "-target", "4", "-out", dir)
	if *r.BestCut != 4 || len(r.Partition) != 4 || r.Partition[0] == r.Partition[1] || r.Partition[0] != r.Partition[2] {
		t.Errorf("cut %v of %v", *r.BestCut, r.Partition)
	}
	if r.Model.Steps >= searchRounds {
		t.Errorf("%d rounds, want an end at the target", r.Model.Steps)
	}
	text, err := os.ReadFile(filepath.Join(dir, "partition.txt"))
	if want := strings.ReplaceAll(strings.Trim(fmt.Sprint(r.Partition), "[]"), " ", "\n") + "\n"; err != nil || string(text) != want {
		t.Errorf("partition.txt = %q, %v, want %q", text, err, want)
	}
	b, err := json.Marshal(r)
	if err != nil || !bytes.Contains(b, []byte(`"partition":[`)) {
		t.Errorf("%s, %v", b, err)
	}
	for _, more := range [][]string{nil, {"-method", "gibbs", "-steps", "20"}} {
		r = do(t, append([]string{"-graph", path, "-anneal", "-seconds", "0.05"}, more...)...)
		if *r.BestCut != 4 || r.CPUSeconds > 5 {
			t.Errorf("%q: cut %v after %v s", more, *r.BestCut, r.CPUSeconds)
		}
	}
	r = do(t, "-graph", path, "-anneal", "-target", "4", "-method", "gibbs", "-steps", "20")
	if *r.BestCut != 4 {
		t.Errorf("cut %v", *r.BestCut)
	}
}

// The best known cut of G1 is 11 624.
func TestG1(t *testing.T) {
	path := filepath.Join("..", "..", "..", "shared", "data", "G1.txt")
	if _, err := os.Stat(path); err != nil {
		t.Skip("optional data file is absent: ", err)
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := do(t, "-graph", path, "-anneal", "-target", "11624")
	if *r.BestCut != 11624 {
		t.Errorf("best cut %v, want 11624", *r.BestCut)
	}
}

// A run that is interrupted again and again ends with the figures of one that is
// not.
func TestResume(t *testing.T) {
	for _, args := range [][]string{
		{"-lattice", "3,3", "-chains", "4", "-steps", "400", "-warmup", "20", "-method", "dmala,gibbs"},
		{"-lattice", "4,4", "-chains", "2", "-steps", "300", "-anneal"},
	} {
		whole := do(t, args...)
		r := checkpointtest.Interrupted(t, parse, run, args, "-seed", "2", "-b", "0.7")
		for i, f := range r.Methods {
			if w := whole.Methods[i]; *f.Mean != *w.Mean || *f.MCSE != *w.MCSE || *f.Accept != *w.Accept {
				t.Errorf("%q: %+v, in one piece %+v", args, f, w)
			}
		}
		if whole.BestEnergy != nil && *r.BestEnergy != *whole.BestEnergy {
			t.Errorf("%q: %v, in one piece %v", args, *r.BestEnergy, *whole.BestEnergy)
		}
	}
}

// A run that has ended does nothing when it is resumed.
func TestResumeAfterTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{"-lattice", "4,4", "-chains", "2", "-steps", "50", "-anneal", "-method", "gibbs", "-checkpoint", dir}
	first := do(t, args...)
	file := dir + ".anneal"
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if second := do(t, append(args, "-resume")...); *second.BestEnergy != *first.BestEnergy {
		t.Errorf("energy %v, before %v", *second.BestEnergy, *first.BestEnergy)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the checkpoint has changed (%v)", err)
	}
}
