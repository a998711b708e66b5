package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gibbsite-go/gibbsite/constraint"
	"github.com/gibbsite-go/gibbsite/examples/internal/picture/picturetest"
	"github.com/gibbsite-go/gibbsite/internal/exact"
)

// rate is the false-positive rate of a statistical test.
const rate = 1e-6

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
	path := filepath.Join(t.TempDir(), "file.txt")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// distribution enumerates the designs of a protein that the judge lets pass,
// with their probabilities under codon usage given the protein.
func distribution(o options, p protein, u usage) (dna []string, prob []float64) {
	dna, prob = []string{""}, []float64{1}
	for i := range len(p.letters) {
		var longer []string
		var q []float64
		total := 0.0
		for codon, f := range u.of {
			if translate(codon) == p.letters[i:i+1] {
				total += f
			}
		}
		for _, codon := range codons.Tokens { // their order is that of the test only
			if translate(codon) != p.letters[i:i+1] {
				continue
			}
			for k, d := range dna {
				longer = append(longer, d+codon)
				q = append(q, prob[k]*u.of[codon]/total)
			}
		}
		dna, prob = longer, q
	}
	n := 0
	for k, d := range dna {
		ok := true
		for _, v := range judge(o, p, d) {
			ok = ok && v
		}
		if ok {
			dna[n], prob[n] = d, prob[k]
			n++
		}
	}
	return dna[:n], prob[:n]
}

// Every number of a small problem against enumeration with the judge's own code.
func TestSmallProteinsAgreeWithEnumeration(t *testing.T) {
	for _, c := range []struct{ protein, gc, avoid, run string }{
		{"MKFLEF", "0.2,0.4", "GAATTC", "4"},
		{"EFGSR*", "0.3,0.6", "GAATTC,GGATCC,GANTC", "3"},
		{"KKNNPG", "0,1", "", "5"},
		{"WGRPH", "0.55,0.7", "GGTCTC,CCNGG", "0"},
	} {
		path := write(t, ">small\n"+c.protein+"\n")
		args := []string{"-protein", path, "-gc", c.gc, "-avoid", c.avoid, "-homopolymer", c.run, "-designs", "5000", "-trials", "5000"}
		r := do(t, args...)
		o, _ := parse(args)
		dna, p := distribution(o, protein{"", c.protein}, coli)
		mass, best := exact.Sum(p), 0
		index := make(map[string]int)
		for k := range dna {
			index[dna[k]] = k
			if p[k] > p[best] {
				best = k
			}
		}
		// Rows of float32 logarithms: up to 1.2e-7 per codon.
		if d := r.Mass - math.Log(mass); math.Abs(d) > 1e-6 {
			t.Errorf("%s: log mass is off by %g", c.protein, d)
		}
		if d := p[index[r.Map.DNA]]/p[best] - 1; math.Abs(d) > 1e-6 {
			t.Errorf("%s: MAP %s is not the likeliest, %s is", c.protein, r.Map.DNA, dna[best])
		}
		counts := make([]int, len(dna))
		for _, f := range r.Designs {
			k, ok := index[f.DNA]
			if !ok {
				t.Fatalf("%s: %s is not allowed", c.protein, f.DNA)
			}
			counts[k]++
			if d := f.LogProb - math.Log(p[k]/mass); math.Abs(d) > 2e-6 {
				t.Errorf("%s: log_prob of %s is off by %g", c.protein, f.DNA, d)
			}
		}
		for k := range p {
			p[k] /= mass
		}
		exact.Counts(t, counts, p, rate)
		if v := exact.BinomialPValue(r.free.accepted, r.free.trials, mass); v < rate {
			t.Errorf("%s: %d of %d accepted, expected %v", c.protein, r.free.accepted, r.free.trials, mass)
		}
		if r.Violations != 0 {
			t.Errorf("%s: %d violations", c.protein, r.Violations)
		}
	}
}

func TestDefaults(t *testing.T) {
	r := do(t)
	if len(r.Designs) != 100 || r.Violations != 0 || len(r.Map.DNA) != 714 {
		t.Fatalf("%d designs, %d violations, %d bases", len(r.Designs), r.Violations, len(r.Map.DNA))
	}
	if v := exact.BinomialPValue(r.free.accepted, r.free.trials, math.Exp(r.Mass)); v < rate {
		t.Errorf("%d of %d accepted, expected %v", r.free.accepted, r.free.trials, math.Exp(r.Mass))
	}
	seen := map[string]bool{}
	for _, f := range r.Designs {
		if f.LogProb > r.Map.LogProb {
			t.Error("a design is likelier than the MAP")
		}
		if !(f.GC >= 0.45 && f.GC <= 0.55) || strings.Contains(f.DNA, "GAATTC") || strings.Contains(f.DNA, "GAGACC") {
			t.Error(f)
		}
		seen[f.DNA] = true
	}
	if len(seen) != 100 { // two alike have probability below e⁻¹⁵⁰
		t.Errorf("%d different designs", len(seen))
	}
	again := do(t, "-trials", "1")
	if again.Designs[7] != r.Designs[7] {
		t.Error("a seed gives the same designs")
	}
	if other := do(t, "-trials", "1", "-seed", "2"); other.Designs[7] == r.Designs[7] {
		t.Error("another seed gives others")
	}
	for _, want := range []string{">map cai=", ">design_100 ", "violations: 0", "P(all | protein) = 0.085"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("the text lacks %q", want)
		}
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(do(t, "-designs", "2", "-trials", "10"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Designs    []map[string]any
		Map        map[string]any
		Violations *int
		Mass       *float64 `json:"log_feasible_mass"`
		Acceptance *float64 `json:"reject_acceptance"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Designs) != 2 || got.Violations == nil || got.Mass == nil || got.Acceptance == nil {
		t.Fatalf("%s", b)
	}
	for _, key := range []string{"dna", "cai", "gc", "log_prob"} {
		if got.Designs[1][key] == nil || got.Map[key] == nil {
			t.Errorf("no %q in %s", key, b)
		}
	}
}

func TestErrorsAreClear(t *testing.T) {
	for want, args := range map[string][]string{
		`-gc = "0.6,0.5"`:                           {"-gc", "0.6,0.5"},
		`-gc = "x"`:                                 {"-gc", "x"},
		`-gc = "NaN,1"`:                             {"-gc", "NaN,1"},
		`no number of G and C`:                      {"-gc", "0.5001,0.5002"},
		`'X' in the site GAXTC`:                     {"-avoid", "GAXTC"},
		"more than 4096 words":                      {"-avoid", "NNNNNNN"},
		"-homopolymer = -1":                         {"-homopolymer", "-1"},
		"-designs = 0":                              {"-designs", "0"},
		"-trials = 0":                               {"-trials", "0"},
		"unexpected argument":                       {"extra"},
		"no such file":                              {"-protein", "missing.fasta"},
		"open missing.txt":                          {"-usage", "missing.txt"},
		"line 2, column 3: 'B'":                     {"-protein", write(t, ">p\nMKB\n")},
		"GC content in [0.5, 1], given the protein": {"-protein", write(t, "MFFFF"), "-gc", "0.5,1"},
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

// Each demand can be met alone, but not both: MAAAA has GC content ≥ 9/15 and
// reaches 0.6 by GCA and GCT only, which the sites forbid.
func TestClashesAreInfeasible(t *testing.T) {
	o, err := parse([]string{"-protein", write(t, "MAAAA"), "-gc", "0,0.61", "-avoid", "GCA,GCTG", "-homopolymer", "0"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = run(context.Background(), o)
	if !errors.Is(err, constraint.ErrInfeasible) || !strings.Contains(err.Error(), "all constraints together") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if o, err = parse(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run: %v", err)
	}
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	r := do(t, "-designs", "3", "-trials", "50", "-out", dir)
	if len(r.files) != 1 {
		t.Fatalf("files: %v", r.files)
	}
	text, err := os.ReadFile(r.files[0])
	if err != nil || strings.Count(string(text), ">") != 4 || strings.Count(string(text), "\n") != 4*13 {
		t.Errorf("%v\n%s", err, text)
	}
	picturetest.Album(t, r.Figures(), "designs")
}
