package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
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
func distribution(k *task, weight func(site int, codon string) float64) (dna []string, prob []float64) {
	dna, prob = []string{""}, []float64{1}
	for i := range len(k.letters) {
		var longer []string
		var q []float64
		total := 0.0
		fit := func(codon string) bool {
			kept, ok := k.kept[i]
			return codon == kept || !ok && translate(k.options.code.table, codon) == k.letters[i:i+1]
		}
		for _, codon := range codons.Tokens {
			if fit(codon) {
				total += weight(i, codon)
			}
		}
		for _, codon := range codons.Tokens { // their order is that of the test only
			if !fit(codon) {
				continue
			}
			for n, d := range dna {
				longer = append(longer, d+codon)
				q = append(q, prob[n]*weight(i, codon)/total)
			}
		}
		dna, prob = longer, q
	}
	n := 0
	for i, d := range dna {
		if !slices.Contains(judge(k, d), false) {
			dna[n], prob[n] = d, prob[i]
			n++
		}
	}
	return dna[:n], prob[:n]
}

// Every number of a small problem against enumeration with the judge's own code.
func TestSmallProteinsAgreeWithEnumeration(t *testing.T) {
	for _, c := range []struct{ protein, args string }{
		{"MKFLEF", "-gc 0.2,0.4 -avoid GAATTC -homopolymer 4"},
		{"EFGSR*", "-gc 0.3,0.6 -avoid GAATTC,GGATCC,GANTC -homopolymer 3"},
		{"KKNNPG", "-gc 0,1 -avoid= -homopolymer 5"},
		{"WGRPH", "-gc 0.55,0.7 -avoid GGTCTC,CCNGG -homopolymer 0"},
		{"MKFLEF", "-gc 0,1 -avoid GAATTC -before GGAAT -after CGAAT -homopolymer 3"},
		{"SEFKLG", "-avoid= -windows 5,0.2,0.6 -before AAT -after TTC"},
		{"SEFKLG", "-gc 0.3,0.5 -avoid= -windows 7,0.15,0.75,3 -before AATG -after TTCCGGC"},
		{"GEFGR", "-gc 0,1 -avoid= -require GAATTC"},
		{"SGPGR", "-gc 0,1 -avoid GGTCTC -require CCNGG=2,SSWSS -after GAGA"},
		{"KLKLKL", "-gc 0,1 -avoid= -homopolymer 0 -unique 6"},
		{"KAKARK", "-gc 0,1 -avoid= -homopolymer 0 -unique 5 -before GCAAA -after CGTAA"},
		{"SLSLS", "-gc 0.3,0.7 -avoid= -unique 5 -keep 2=CTT,4=TTA -windows 6,0.1,0.7 -before GTC"},
		{"WKL*", "-code 4 -gc 0,1 -avoid TAA"},
	} {
		path := write(t, ">small\n"+c.protein+"\n")
		args := append([]string{"-protein", path, "-designs", "2000", "-trials", "2000"}, strings.Fields(c.args)...)
		small(t, c.protein+" "+c.args, args, nil)
	}
}

// small compares a run with enumeration. weight is the relative weight of a codon, nil
// for the usage of the host.
func small(t *testing.T, name string, args []string, weight func(k *task, site int, codon string) float64) {
	t.Helper()
	o, err := parse(args)
	if err != nil {
		t.Fatal(name, err)
	}
	r := do(t, args...)
	g, err := load(o)
	if err != nil {
		t.Fatal(name, err)
	}
	k := &task{options: o, gene: g, host: coli}
	if k.kept, err = keep(o.keep, g, o.code); err != nil {
		t.Fatal(name, err)
	}
	dna, p := distribution(k, func(site int, codon string) float64 {
		if weight != nil {
			return weight(k, site, codon)
		}
		return coli.of[codon]
	})
	mass, best := exact.Sum(p), 0
	if len(dna) < 2 || mass > 0.999 {
		t.Errorf("%s: %d designs of mass %v: nothing is excluded or left", name, len(dna), mass)
	}
	index := make(map[string]int)
	for k := range dna {
		index[dna[k]] = k
		if p[k] > p[best] {
			best = k
		}
	}
	// Rows of float32 logarithms: up to 1.2e-7 per codon.
	if d := r.Mass - math.Log(mass); math.Abs(d) > 2e-6 {
		t.Errorf("%s: log mass is off by %g", name, d)
	}
	if d := p[index[r.Map.DNA]]/p[best] - 1; math.Abs(d) > 2e-6 {
		t.Errorf("%s: MAP %s is not the likeliest, %s is", name, r.Map.DNA, dna[best])
	}
	counts := make([]int, len(dna))
	for _, f := range r.Designs {
		k, ok := index[f.DNA]
		if !ok {
			t.Fatalf("%s: %s is not allowed", name, f.DNA)
		}
		counts[k]++
		if d := f.LogProb - math.Log(p[k]/mass); math.Abs(d) > 4e-6 {
			t.Errorf("%s: log_prob of %s is off by %g", name, f.DNA, d)
		}
	}
	for k := range p {
		p[k] /= mass
	}
	exact.Counts(t, counts, p, rate)
	if v := exact.BinomialPValue(r.free.accepted, r.free.trials, mass); v < rate {
		t.Errorf("%s: %d of %d accepted, expected %v", name, r.free.accepted, r.free.trials, mass)
	}
	if r.Violations != 0 {
		t.Errorf("%s: %d violations", name, r.Violations)
	}
}

// Harmonised codons, from the formula: the native DNA is of an organism that uses the
// codons of each amino acid the other way round.
func TestHarmony(t *testing.T) {
	other := usage{of: map[string]float64{}}
	var table strings.Builder
	for _, codon := range codons.Tokens {
		other.of[codon] = math.Round(1000 / (1 + coli.of[codon]))
		fmt.Fprintf(&table, "%s %v\n", codon, other.of[codon])
	}
	native := "CTGAAAGGCTTA"
	args := []string{"-dna", write(t, native), "-harmonise", write(t, table.String()), "-strength", "4", "-gc", "0.3,0.6", "-designs", "2000", "-trials", "2000"}
	small(t, "harmony", args, func(k *task, site int, codon string) float64 {
		most := func(u usage, aa string) float64 {
			m := 0.0
			for c, f := range u.of {
				if translate(1, c) == aa {
					m = max(m, f)
				}
			}
			return m
		}
		aa, was := k.letters[site:site+1], native[3*site:3*site+3]
		return math.Exp(-4 * math.Abs(coli.of[codon]/most(coli, aa)-other.of[was]/most(other, aa)))
	})
	r := do(t, args...)
	if r.Native == nil || r.Native.DNA != native || r.Map.Discord == nil || !(*r.Map.Discord < *r.Native.Discord) || !strings.Contains(r.String(), "discord: mean") {
		t.Errorf("%+v", r.Native)
	}
	if !strings.Contains(r.Exact, "the source") || !strings.Contains(r.String(), r.Exact) {
		t.Errorf("the report says %q:\n%s", r.Exact, r)
	}
	for _, f := range r.Designs {
		if *f.Discord < *r.Map.Discord-1e-9 {
			t.Errorf("%v is less than that of the MAP, %v", *f.Discord, *r.Map.Discord)
		}
	}
}

func TestDefaults(t *testing.T) {
	trials := "20000"
	if testing.Short() {
		trials = "3000"
	}
	r := do(t, "-trials", trials)
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
	if again.Designs[7].DNA != r.Designs[7].DNA {
		t.Error("a seed gives the same designs")
	}
	if other := do(t, "-trials", "1", "-seed", "2"); other.Designs[7].DNA == r.Designs[7].DNA {
		t.Error("another seed gives others")
	}
	for _, want := range []string{">map cai=", ">design_1 ", "and 99 more: with -out FOLDER", "violations: 0", "P(all | protein) = 0.085"} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("the text lacks %q", want)
		}
	}
}

// Everything at once, on a protein that cannot be enumerated: no design may break
// anything, and -windows without -gc asks for nothing of the whole.
func TestAllTogether(t *testing.T) {
	args := []string{"-protein", write(t, gfp.letters[:60]), "-before", "TTAAGAAGGAGATATACAT", "-after", "TAACTCGAGCACC", "-windows", "40,0.3,0.7,5",
		"-require", "AAGCTT=1,CANNTG", "-avoid", "GGTCTC,GCNGC", "-unique", "12", "-keep", "2=AGC,3-4=AAA", "-designs", "40", "-trials", "200"}
	if _, err := run(t.Context(), must(parse(args))); err == nil || !strings.Contains(err.Error(), "-keep: codon 4, AAA, stands for K in translation table 11, want G") {
		t.Fatal(err)
	}
	args[15] = "2=AGC,3=AAA"
	r := do(t, args...)
	if len(r.Designs) != 40 || r.Violations != 0 || len(r.demands) != 10 || slices.Contains(r.kept, 39) || r.free.accepted > 150 {
		t.Errorf("%d designs, %d violations of %q", len(r.Designs), r.Violations, r.demands)
	}
	if !strings.Contains(r.String(), "flanks of 19 and 13 bases") || !slices.Contains(r.demands, "GC content in [0, 1]") {
		t.Error(r)
	}
}

// The error for a problem that is too large names what would help.
func TestTooLarge(t *testing.T) {
	defer func(was int) { mostBytes = was }(mostBytes)
	mostBytes = 1 << 16
	leucines := strings.Repeat("LS", 40)
	_, err := run(t.Context(), must(parse([]string{"-protein", write(t, leucines), "-gc", "0,1", "-unique", "8"})))
	if err == nil || !strings.Contains(err.Error(), "no 8 bases twice: more than") || !strings.Contains(err.Error(), "a larger -unique needs fewer") {
		t.Error(err)
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
		Exact      string
		Mass       *float64 `json:"log_feasible_mass"`
		Acceptance *float64 `json:"reject_acceptance"`
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Designs) != 2 || got.Violations == nil || got.Mass == nil || got.Acceptance == nil || !strings.Contains(got.Exact, "usage in the host, given") {
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
		`-gc = "0.6,0.5"`:       {"-gc", "0.6,0.5"},
		`-gc = "x"`:             {"-gc", "x"},
		`-gc = "NaN,1"`:         {"-gc", "NaN,1"},
		`no number of G and C`:  {"-gc", "0.5001,0.5002"},
		`'X' in the site GAXTC`: {"-avoid", "GAXTC"},
		"more than 4096 words":  {"-avoid", "NNNNNNN"},
		"-homopolymer = -1":     {"-homopolymer", "-1"},
		"-designs = 0":          {"-designs", "0"},
		"-trials = 0":           {"-trials", "0"},
		"unexpected argument":   {"extra"},
		"no such file":          {"-protein", "missing.fasta"},
		"open missing.txt":      {"-usage", "missing.txt"},
		"line 2, column 3: 'B'": {"-protein", write(t, ">p\nMKB\n")},
		"no DNA of this protein has GC content in [0.5, 1]":          {"-protein", write(t, "MFFFF"), "-gc", "0.5,1"},
		"-windows = \"9,0.3\"":                                       {"-windows", "9,0.3"},
		"size = 0, want 1 … 10000 bases":                             {"-windows", "0,0.3,0.5"},
		"step = -1, want one number":                                 {"-windows", "9,0.3,0.5,-1"},
		"among 3 bases is in [0.4, 0.5]":                             {"-windows", "3,0.4,0.5"},
		"size = 16, want at most the 15 bases":                       {"-protein", write(t, "MFFFF"), "-windows", "16,0.3,0.5"},
		"-before: letter 3 is 'N'":                                   {"-before", "ACN"},
		"-after: 1001 bases, want at most 1000":                      {"-after", strings.Repeat("A", 1001)},
		"-require: 'X' in the site GAX":                              {"-require", "GAX"},
		"\"GAATTC=0\", want a site and a number of 1 … 100":          {"-require", "GAATTC=0"},
		"\"=2\", want a site before the number":                      {"-require", "=2"},
		"-avoid and -require both have GAATTC":                       {"-require", "GAATTC", "-avoid", "GAATTC"},
		"required GAATTC: no complete design of this protein":        {"-require", "GAATTC", "-protein", write(t, "MKKK"), "-gc", "0,1"},
		"-unique = 1, want 2 … 1000":                                 {"-unique", "1"},
		"no 6 bases twice: no design of this protein gets":           {"-unique", "6", "-protein", write(t, "MWWWWW"), "-gc", "0,1"},
		"-flank = 1001, want 0 … 1000":                               {"-flank", "1001"},
		"-strength = 0, want more than 0":                            {"-strength", "0"},
		"-strength = NaN":                                            {"-strength", "NaN"},
		"-code: translation table 7, want 1 … 6":                     {"-code", "7"},
		"want one of them":                                           {"-dna", "x", "-protein", "y"},
		"-gene = \"x\" needs -genbank":                               {"-gene", "x"},
		"-harmonise = \"x\" needs -genbank or -dna":                  {"-harmonise", "x"},
		"-keep: \"1\" keeps codons of -genbank or -dna":              {"-keep", "1"},
		"-keep: codons \"9-8\", want some of 1 … 238":                {"-keep", "9-8=AAA"},
		"-keep: \"x\", want codons such as":                          {"-keep", "x"},
		"want a codon of A, C, G and T, not \"AX\"":                  {"-keep", "2=ax"},
		"codon 2, AAA, stands for K in translation table 11, want S": {"-keep", "2=AAA"},
		"codon 2 is AGC and TCA":                                     {"-keep", "2=AGC,2=TCA"},
		"is a stop codon of translation table 11 within":             {"-dna", write(t, "ATGTGAAAA")},
		"a coding sequence of 4 bases":                               {"-dna", write(t, "ATGT")},
		"'X' is none of the bases ACGTU":                             {"-dna", write(t, "ATGX")},
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
	if !errors.Is(err, constraint.ErrInfeasible) || !strings.Contains(err.Error(), "GC content in [0, 0.61], and forbidden sites and homopolymers exclude each other") {
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
	if len(r.files) != 2 {
		t.Fatalf("files: %v", r.files)
	}
	text, err := os.ReadFile(r.files[0])
	if err != nil || strings.Count(string(text), ">") != 4 || strings.Count(string(text), "\n") != 4*13 {
		t.Errorf("%v\n%s", err, text)
	}
	picturetest.Album(t, r.Figures(), "designs")
}
